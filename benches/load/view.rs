//! `setguard serve --inventory full` in a large cluster: its memory, also while it starts, and the
//! latency of reviews against a server that sees an empty cluster.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    time::{Duration, Instant},
};

use crate::{
    Arguments, certificate,
    cluster::Cluster,
    harness::process::free_ports,
    plain::{self, trust},
    reviews,
    throughput::{Side, setguard_args},
};

/// Measures and prints the results.
pub(crate) fn measure(arguments: &Arguments) {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = certificate::write(folder.path());
    let (objects, bytes) = Cluster::new("36", true).size();
    println!("\nview: {objects} objects, {} MiB as JSON", bytes >> 20);

    let start = |name, cluster: Cluster| {
        let kubeconfig = cluster.serve(folder.path());
        let [admin] = free_ports();
        let side = Side::start(name, folder.path(), |port| {
            let (program, mut args) = setguard_args(port, &certificate, &key);
            args.retain(|arg| !arg.to_string_lossy().starts_with("--admin-listen"));
            args.push(format!("--admin-listen=127.0.0.1:{admin}").into());
            args.push("--inventory=full".into());
            // `env` becomes the program.
            let kubeconfig = format!("KUBECONFIG={}", kubeconfig.display());
            let before = [kubeconfig.into(), program.into_os_string()];
            (Path::new("env").to_owned(), before.into_iter().chain(args).collect())
        });
        (side, SocketAddr::from(([127, 0, 0, 1], admin)))
    };
    let fewer = |minor| Cluster::new(minor, true).without("poddisruptionbudgets");
    for (name, cluster) in [
        ("pages", Cluster::new("33", true)),
        ("streams", Cluster::new("36", true)),
        ("pages without PodDisruptionBudgets", fewer("33")),
        ("streams without PodDisruptionBudgets", fewer("36")),
    ] {
        let (side, admin) = start(name, cluster);
        let seconds = complete(admin);
        println!(
            "{name:36} complete after {seconds:.1} s: {:.1} MiB resident, {:.1} MiB at most, \
             {} MiB of items",
            side.memory("VmRSS"),
            side.memory("VmHWM"),
            metric(admin, "setguard_inventory_bytes ").unwrap_or(0) >> 20,
        );
    }

    let tls = trust(&certificate);
    let request = plain::post("/validate", "", &reviews::daemon_set_update(reviews::SMALL));
    let mut sides = [("empty", false), ("full", true)].map(|(name, full)| {
        let (mut side, admin) = start(name, Cluster::new("36", full));
        complete(admin);
        side.wait(&tls, &request);
        side.round(arguments.connections, &tls, &request, Duration::from_secs(1));
        side.rounds.clear();
        side
    });
    for _ in 0..arguments.rounds {
        for side in &mut sides {
            let length = Duration::from_secs(arguments.seconds);
            side.round(arguments.connections, &tls, &request, length);
        }
    }
    sides.iter().for_each(Side::print);
    let [empty, full] = sides.each_ref().map(|side| side.median(|round| round.p50));
    println!("p50 with a large cluster: {:.2} times that with an empty one", full / empty);
}

/// Waits until all kinds are known, and returns how many seconds that took.
fn complete(admin: SocketAddr) -> f64 {
    let start = Instant::now();
    while get(admin, "/readyz?verbose").matches(": fresh, ").count() < 9 {
        assert!(start.elapsed() < Duration::from_secs(120), "{}", get(admin, "/readyz?verbose"));
        std::thread::sleep(Duration::from_millis(20));
    }
    start.elapsed().as_secs_f64()
}

fn metric(admin: SocketAddr, start: &str) -> Option<usize> {
    get(admin, "/metrics").lines().find_map(|line| line.strip_prefix(start)?.parse().ok())
}

fn get(address: SocketAddr, path: &str) -> String {
    let mut answer = String::new();
    let Ok(mut stream) = TcpStream::connect(address) else { return answer };
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let _ = stream.read_to_string(&mut answer);
    answer
}

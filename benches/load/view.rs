//! `setguard serve --inventory full` in a large cluster: its memory, including startup, and the latency of reviews
//! compared with a server that sees an empty cluster.

use setguard_testing::cluster::Cluster;

use crate::{
    Arguments, certificate,
    harness::process::free_ports,
    http,
    load::Side,
    reviews,
    throughput::{setguard, setguard_args},
};
use setguard_testing::prelude::*;

pub(crate) fn measure(arguments: &Arguments, core: Option<&str>) {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = certificate::write(folder.path());
    let (objects, bytes) = Cluster::full("36").size();
    println!("\nview: {objects} objects, {} MiB as JSON", bytes >> 20);
    let start = |name, cluster: Cluster| {
        let [port, admin] = free_ports();
        let kubeconfig = cluster.serve(folder.path());
        let more = [format!("--admin-listen=127.0.0.1:{admin}"), "--inventory=full".to_owned()];
        let mut args = setguard_args(port, &certificate, &key);
        args.retain(|arg| arg != "--admin-listen=127.0.0.1:0");
        // `env` becomes the program.
        args.insert(0, setguard().into());
        args.insert(0, format!("KUBECONFIG={}", kubeconfig.display()).into());
        args.extend(more.map(Into::into));
        let side = Side::start(name, folder.path(), port, core, Path::new("env"), args);
        (side, SocketAddr::from(([127, 0, 0, 1], admin)))
    };
    // API servers before 1.34 send lists in pages, later ones stream them.
    for (name, minor) in [("pages", "33"), ("streams", "36")] {
        let (side, admin) = start(name, Cluster::full(minor));
        let seconds = complete(admin);
        let metrics = http::get(admin, "/metrics");
        let items = metrics.lines().find_map(|line| line.strip_prefix("setguard_inventory_bytes "));
        println!(
            "{name:8} complete after {seconds:.1} s: {:.1} MiB resident, {:.1} MiB at most, {} bytes of items",
            side.memory("VmRSS"),
            side.memory("VmHWM"),
            items.unwrap_or("unknown"),
        );
    }
    let mut sides =
        [("empty", Cluster::empty("36")), ("full", Cluster::full("36"))].map(|(name, cluster)| {
            let (side, admin) = start(name, cluster);
            complete(admin);
            side
        });
    let review = reviews::daemon_set_update(reviews::SMALL);
    arguments.load(&certificate, &review).take_turns(&mut sides);
    let [empty, full] = sides.each_ref().map(|side| side.median(|round| round.p50));
    println!("p50 with a large cluster: {:.2} times that with an empty one", full / empty);
}

fn complete(admin: SocketAddr) -> f64 {
    let start = Instant::now();
    let ready = || http::get(admin, "/readyz?verbose");
    while ready().matches(": fresh, ").count() < 9 {
        assert!(start.elapsed() < Duration::from_secs(120), "{}", ready());
        std::thread::sleep(Duration::from_millis(20));
    }
    start.elapsed().as_secs_f64()
}

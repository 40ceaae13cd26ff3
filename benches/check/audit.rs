//! `setguard audit` of a large cluster.

use crate::{Cluster, Cost, Process};
use setguard_testing::prelude::*;

pub(crate) fn measure() {
    let (objects, bytes) = Cluster::audited(0).size();
    println!("\nsetguard audit: {objects} objects, {} MiB as JSON", bytes >> 20);
    run("all healthy", &Cluster::audited(0), true);
    run("1 in 100 sets is not", &Cluster::audited(100), false);
    let (objects, bytes) = Cluster::audited_small(0).size();
    println!("\n1,000 sets, 20,000 pods: {objects} objects, {} MiB as JSON", bytes >> 20);
    run("1 in 10 sets is not", &Cluster::audited_small(10), false);
    run("no set is healthy", &Cluster::audited_small(1), false);
}

fn run(name: &str, cluster: &Cluster, is_healthy: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = cluster.clone().serve(folder.path());
    let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
    let variables = [("KUBECONFIG", kubeconfig.as_os_str())];
    let mut process =
        Process::start_with(program, &["audit", "--format=json"], &variables, folder.path());
    let (status, Cost { seconds, processor, memory }) = Cost::of(&mut process);
    let report = fs::read_to_string(&process.output).unwrap_or_default();
    let log = fs::read_to_string(&process.log).unwrap_or_default();
    assert_ne!(status.code(), Some(2), "{log:.2000}");
    let report: Value = serde_json::from_str(&report).expect("a report");
    assert!(report["summary"]["objects"].as_u64() >= Some(1_000), "every set must be evaluated");
    let sent = cluster.sent();
    let pods = sent.get("pods").copied().unwrap_or(0);
    assert!(!is_healthy || pods == 0, "no pod may be read when all is healthy");
    println!(
        "{name:22} {processor:.1} s of processor in {seconds:.1} s  {memory:.1} MiB at most, {} MiB read, \
         of which {} MiB pods",
        sent.values().sum::<usize>() >> 20,
        pods >> 20
    );
}

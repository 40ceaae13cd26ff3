//! `setguard audit` of a large cluster.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    cluster::Cluster,
    cost::{Cost, wait_for},
    harness::process::Process,
};

/// Measures and prints the results.
pub(crate) fn measure() {
    let (objects, bytes) = Cluster::audited(0).size();
    println!("\nsetguard audit: {objects} objects, {} MiB as JSON", bytes >> 20);
    run("all healthy", 0);
    run("1 in 100 sets is not", 100);
}

fn run(name: &str, unhealthy: usize) {
    let cluster = Cluster::audited(unhealthy);
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = cluster.clone().serve(folder.path());
    let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
    let variables = [("KUBECONFIG", kubeconfig.as_os_str())];
    let mut process =
        Process::start_with(program, &["audit", "--format=json"], &variables, folder.path());
    let (status, Cost { seconds, processor, memory }) = wait_for(&mut process);
    let report = fs::read_to_string(&process.output).unwrap_or_default();
    let log = fs::read_to_string(&process.log).unwrap_or_default();
    assert_ne!(status.code(), Some(2), "{log:.2000}");
    let report: Value = serde_json::from_str(&report).expect("a report");
    assert!(report["summary"]["objects"].as_u64() >= Some(5_000), "every set must be evaluated");
    let sent = cluster.sent();
    let pods = sent.get("pods").copied().unwrap_or(0);
    assert!(unhealthy > 0 || pods == 0, "no pod may be read when all is healthy");
    println!(
        "{name:22} {processor:.1} s of processor in {seconds:.1} s  {memory:.1} MiB at most, {} MiB read, \
         of which {} MiB pods",
        sent.values().sum::<usize>() >> 20,
        pods >> 20
    );
}

//! `setguard check` on many manifests.

use tempfile::TempDir;

use crate::{Cost, Process, harness::process::leashed};
use setguard_testing::prelude::*;

pub(crate) fn measure() {
    println!("\nsetguard check on a folder of manifests, one object per file");
    let whole = |i: u32| manifest(i, &format!("team-{}", i % 50));
    for count in [1_000, 10_000] {
        run(&written(count, &whole), count, &[], "");
    }
    // OnDelete ignores these fields.
    let faulty = |i: u32| {
        let more = "updateStrategy: {type: OnDelete, rollingUpdate: {";
        let daemon = whole(i).replace("updateStrategy: {rollingUpdate: {", more);
        daemon.replace("replicas: 3", &format!("replicas: 3\n  {more}partition: 1}}}}"))
    };
    run(&written(10_000, &faulty), 10_000, &[], ", with a finding in each");
    let folder = written(10_000, &whole);
    commit(folder.path());
    run(&folder, 10_000, &["--against-ref", "HEAD"], ", compared with a commit");
}

fn written(count: u32, manifest: &dyn Fn(u32) -> String) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for i in 0..count {
        fs::write(folder.path().join(format!("{i}.yaml")), manifest(i)).expect("a file");
    }
    folder
}

pub(crate) fn commit(folder: &Path) {
    let git = "git -c user.name=bench -c user.email=bench@example.com";
    let commands = format!("{git} init -q && {git} add . && {git} commit -qm all");
    let ran = Command::new("sh").args(["-c", &commands]).current_dir(folder).status();
    assert!(ran.expect("a shell").success(), "{commands}");
}

fn run(folder: &TempDir, count: u32, args: &[&str], title: &str) {
    let logs = tempfile::tempdir().expect("a folder");
    let args = [&["check", ".", "--format=json"], args].concat();
    // `SETGUARD` selects a binary other than this build's.
    let own = || PathBuf::from(env!("CARGO_BIN_EXE_setguard"));
    let program = env::var_os("SETGUARD").map_or_else(own, PathBuf::from);
    let program = program.canonicalize().expect("setguard");
    let mut command = leashed(&program);
    let command = command.args(&args).current_dir(folder.path());
    let mut process = Process::spawn(command, &program, logs.path(), None, None);
    let (status, Cost { seconds, processor, memory }) = Cost::of(&mut process);
    let report = fs::read_to_string(&process.output).unwrap_or_default();
    assert!(matches!(status.code(), Some(0 | 1)), "setguard check ended with {status}");
    let report: Value = serde_json::from_str(&report).expect("a report");
    assert_eq!(report["summary"]["objects"], count, "every object must be checked");
    println!(
        "{count:6} files{title}  {seconds:.2} s  {processor:.2} s of processor  {memory:.1} MiB at most"
    );
}

const MANIFEST: &str = include_str!("../data/workload.yaml");

/// A realistic manifest with a comment. Every second one is a DaemonSet.
pub(crate) fn manifest(i: u32, namespace: &str) -> String {
    let name = format!("workload-{i}");
    let (kind, more) = if i.is_multiple_of(2) {
        ("DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}")
    } else {
        ("StatefulSet", "serviceName: workload\n  replicas: 3")
    };
    let i = i.to_string();
    let values = [
        ("{i}", &*i),
        ("{kind}", kind),
        ("{name}", &name),
        ("{namespace}", namespace),
        ("{more}", more),
    ];
    values.iter().fold(MANIFEST.to_owned(), |text, (name, value)| text.replace(name, value))
}

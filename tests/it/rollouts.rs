//! Compares `setguard plan` with recorded steps of the real controllers. The end-to-end tests record the steps; see
//! docs/testing.md.

use crate::prelude::*;
use crate::traces::Trace;

fn traces() -> Vec<Trace> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<_> = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    texts
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn plans_agree_with_what_the_controllers_did() {
    let traces = traces();
    assert!(traces.len() >= 200, "{} traces", traces.len());
    let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
    let check = |traces: &[Trace]| {
        let folder = tempfile::tempdir().unwrap();
        let mut wrong = Vec::new();
        for trace in traces {
            let differences = trace.differences(&trace.plan(program, folder.path()));
            if !differences.is_empty() {
                wrong.push(format!("{}:\n  {}", trace.name, differences.join("\n  ")));
            }
        }
        wrong
    };
    let (one, other) = traces.split_at(traces.len() / 2);
    let wrong = thread::scope(|scope| {
        let halves = [one, other].map(|half| scope.spawn(|| check(half)));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect::<Vec<_>>()
    });
    let (wrong_count, total) = (wrong.len(), traces.len());
    assert!(wrong.is_empty(), "{wrong_count} of {total} plans are wrong:\n{}", wrong.join("\n"));
}

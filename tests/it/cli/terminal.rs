//! Output: commands to paste, colours, long lines and closed pipes.

use std::{fs, path::Path};

use super::{Folder, MISSPELT, Ran};

#[test]
fn printed_commands_can_be_pasted() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/core/src/rules");
    let printed = |fixture: &str, change: &dyn Fn(String) -> String| {
        let read = |end: &str| {
            change(fs::read_to_string(fixtures.join(fixture.to_owned() + end)).unwrap())
        };
        let folder = Folder::quiet([
            ("new.yaml", read(".yaml").as_str()),
            ("old.yaml", &read(".old.yaml")),
            ("policy.yaml", "apiVersion: setguard.io/v1alpha1\nkind: Policy\n"),
        ]);
        let arguments = ["check", "new.yaml", "--against", "old.yaml", "--policy", "policy.yaml"];
        folder.setguard(&arguments).stdout
    };
    let larger = printed("immutable_field/cases/warn.claim-size", &|text| text);
    assert!(larger.contains("\n  kubectl delete sts --cascade=orphan web\n"), "{larger}");
    let larger = printed("immutable_field/cases/warn.claim-size-in-namespace", &|text| text);
    assert!(larger.contains("\n  kubectl delete sts --cascade=orphan -n shop web\n"), "{larger}");
    assert!(larger.contains("\n  kubectl edit pvc -n shop data-web-0\n"), "{larger}");
    // web-1 is below the partition: if deleted, it comes back with the old template.
    let stuck = printed("ordered_rollout_stuck/cases/warn.updating", &|text| {
        text.replacen(
            "  replicas: 3",
            "  updateStrategy: {rollingUpdate: {partition: 2}}\n  replicas: 3",
            1,
        )
        .replace(
            "updateRevision: web-7c9b\n  replicas: 3",
            "updateRevision: web-6d8f\n  replicas: 2",
        )
        .replace("readyReplicas: 2", "readyReplicas: 1")
    });
    let advice = "lower the partition to 1 or less and then run command 2 (restarts 1 pod)";
    assert!(stuck.contains(advice), "{stuck}");
    assert!(stuck.contains("\n  kubectl delete pod web-1\n"), "{stuck}");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let many = [MISSPELT; 2_000].join("---\n");
    let folder = Folder::quiet([("a.yaml", many.as_str())]);
    // The pipe closes before the first byte, so that even a short output fails.
    let closed = |args: &[&str], code| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        Ran::from(command.args(args).stdout(writer).output().unwrap()).ends(code).reports_only("");
    };
    for (args, code) in [
        (&["check", "a.yaml"][..], 1),
        (&["check", "a.yaml", "--format", "json"], 1),
        (&["plan", "a.yaml"], 1),
        (&["rules"], 0),
        (&["explain", "schema"], 0),
        (&["completions", "bash"], 0),
        // The other reports are complete.
        (&["check", "a.yaml", "--output", "concise=report", "--output", "text=report.txt"], 1),
    ] {
        closed(args, code);
    }
    for report in ["report", "report.txt"] {
        let report = folder.read(report);
        assert!(report.contains("in 2000 of 2000 sets in 1 file"), "{report}");
    }
}

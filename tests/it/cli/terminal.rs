//! Closed pipes.

use super::{Folder, MISSPELT, Ran};

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

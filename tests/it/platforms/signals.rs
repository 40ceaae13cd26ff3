//! The signals that end a command: SIGINT and SIGTERM, and Ctrl-Break on Windows.

use std::process::ExitStatus;

use send_ctrlc::{Interruptible as _, InterruptibleChild, InterruptibleCommand as _};

use crate::prelude::*;

fn audit_ended_by(signal: impl FnOnce(&mut InterruptibleChild)) -> ExitStatus {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = Folder::new([]);
    let url = format!("http://{}", server.local_addr().unwrap());
    folder.write("kubeconfig", http::kubeconfig(&url));
    let mut audit = folder
        .command(env!("CARGO_BIN_EXE_setguard"))
        .args(["audit", "--output", "json=report.json"])
        .env("KUBECONFIG", folder.path("kubeconfig"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn_interruptible()
        .unwrap();
    let (mut connection, _) = server.accept().unwrap();
    assert_eq!(connection.read(&mut [0]).unwrap(), 1, "a request");
    signal(&mut audit);
    let status = audit.wait().unwrap();
    let left: Vec<_> = std::fs::read_dir(folder.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name != "kubeconfig")
        .collect();
    assert!(left.is_empty(), "files that were prepared stay: {left:?}");
    status
}

#[test]
fn a_terminated_command_cleans_up_and_has_the_code_for_it() {
    let status = audit_ended_by(|audit| audit.terminate().unwrap());
    assert_eq!(status.code(), Some(128 + 15));
}

// The test needs a new process group to send signals, and Windows sends no Ctrl-C to such a group.
#[cfg(unix)]
#[test]
fn an_interrupted_command_cleans_up_and_has_the_code_for_it() {
    let status = audit_ended_by(|audit| audit.interrupt().unwrap());
    assert_eq!(status.code(), Some(128 + 2));
}

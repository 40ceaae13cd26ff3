//! `setguard serve` as a user starts it.

use std::{fs, path::Path};

use crate::process::Process;

/// A running `setguard serve`.
#[derive(Debug)]
pub(crate) struct Webhook {
    process: Process,
}

impl Webhook {
    /// Starts the program and waits until it has printed how to register it.
    pub(crate) fn start(folder: &Path, args: &[&str]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
        let common = ["serve", "--admin-listen=127.0.0.1:0"];
        let process = Process::start(program, common.iter().chain(args), folder);
        Webhook { process }
    }

    /// The YAML of its webhook configurations.
    pub(crate) fn configurations(&self) -> String {
        fs::read_to_string(&self.process.stdout).expect("what it printed")
    }
}

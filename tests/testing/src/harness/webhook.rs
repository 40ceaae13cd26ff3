//! `setguard serve` as a user starts it.

use std::{fs, io::Read, path::Path, process::Stdio};

use super::process::{Process, leashed};

#[derive(Debug)]
pub struct Webhook {
    _process: Process,
}

impl Webhook {
    /// Starts this program with a self-signed certificate. Also returns its output: the webhook configurations for
    /// `kubectl apply -f -`.
    pub fn start(program: &Path, logs: &Path, flags: &[&str]) -> (Self, String) {
        let flags = [&["--listen=127.0.0.1:0"], flags].concat();
        let (webhook, mut stdout) = Self::start_with(program, logs, &flags);
        let mut configurations = String::new();
        stdout.read_to_string(&mut configurations).expect("text and end of file");
        (webhook, configurations)
    }

    /// Starts the server with these flags and waits until it listens.
    pub fn start_with(program: &Path, logs: &Path, flags: &[&str]) -> (Self, impl Read + use<>) {
        let args = [&["serve", "--admin-listen=127.0.0.1:0"], flags].concat();
        let pipe = Some(Stdio::piped());
        let mut process = Process::spawn(leashed(program).args(args), program, logs, pipe, None);
        let stdout = process.stdout();
        let log = process.log.clone();
        process.wait_until("setguard to listen", || {
            fs::read_to_string(&log).ok()?.contains("listening").then_some(())
        });
        (Webhook { _process: process }, stdout)
    }
}

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    sync::Arc,
    thread,
};

use rustls::ClientConfig;
use serde_json::Value;
use tempfile::TempDir;

use crate::{certificate, plain};

#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) webhook: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) tls: Arc<ClientConfig>,
}

pub(crate) struct Server {
    child: Child,
    pub(crate) target: Target,
    /// The server's log, if the benchmark does not read it.
    _log: Option<BufReader<ChildStderr>>,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start(program: &Path, reads_log: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [certificate, key] = certificate::write(folder.path());
        let mut child = Command::new(program)
            .args(["serve", "--log-format=json", "--listen=127.0.0.1:0"])
            .args(["--admin-listen=127.0.0.1:0", "--tls-cert"])
            .arg(&certificate)
            .arg("--tls-key")
            .arg(&key)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("setguard starts");
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let listening = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).expect("its log") > 0, "setguard does not listen");
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            if line["fields"]["message"] == "listening" {
                break line;
            }
        };
        let address = |field: &str| {
            let address = listening["fields"][field].as_str().and_then(|text| text.parse().ok());
            address.expect("an address")
        };
        let tls = plain::trust(&certificate);
        let target = Target { webhook: address("webhook"), admin: address("admin"), tls };
        let log = if reads_log {
            thread::spawn(move || log.read_to_end(&mut Vec::new()));
            None
        } else {
            Some(log)
        };
        Server { child, target, _log: log, _folder: folder }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

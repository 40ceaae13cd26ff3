use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Stdio,
    sync::Arc,
};

use rustls::ClientConfig;
use tempfile::TempDir;

use crate::{
    certificate,
    harness::process::{Process, free_ports, leashed},
    http, plain,
};

#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) webhook: SocketAddr,
    pub(crate) admin: SocketAddr,
    pub(crate) tls: Arc<ClientConfig>,
}

pub(crate) struct Server {
    process: Process,
    pub(crate) target: Target,
    _folder: TempDir,
}

impl Server {
    pub(crate) fn start(program: &Path, reads_log: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [certificate, key] = certificate::write(folder.path());
        let [webhook, admin] =
            free_ports().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let mut command = leashed(program);
        command.args(["serve", "--log-format=json", &format!("--listen={webhook}")]);
        command.arg(format!("--admin-listen={admin}"));
        command.arg("--tls-cert").arg(&certificate).arg("--tls-key").arg(&key);
        // Nobody reads the pipe.
        let log = (!reads_log).then(Stdio::piped);
        let mut process = Process::spawn(&mut command, program, folder.path(), None, log);
        process.wait_until("setguard to listen", || {
            http::get(admin, "/readyz").starts_with("HTTP/1.1 200").then_some(())
        });
        let target = Target { webhook, admin, tls: plain::trust(&certificate) };
        Server { process, target, _folder: folder }
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

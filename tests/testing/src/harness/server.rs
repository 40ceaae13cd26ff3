//! `setguard serve` with a certificate of its own, on free ports.

use std::{ffi::OsStr, net::Ipv4Addr};

use tempfile::TempDir;

use super::process::{Process, free_ports, leashed};
use crate::prelude::*;
use crate::{certificate, http};

pub struct Server {
    pub process: Process,
    pub webhook: SocketAddr,
    pub admin: SocketAddr,
    /// PEM.
    pub certificate: PathBuf,
    _folder: TempDir,
}

impl Server {
    /// Starts this program and waits until it is ready. Its log goes to a file unless it is set.
    pub fn start(
        program: &Path,
        args: &[&str],
        variables: &[(&str, &OsStr)],
        log: Option<Stdio>,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [certificate, key] = certificate::write(folder.path());
        let [webhook, admin] =
            free_ports().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let mut command = leashed(program);
        let ports = [format!("--listen={webhook}"), format!("--admin-listen={admin}")];
        command.arg("serve").args(ports).arg("--tls-cert").arg(&certificate);
        command.arg("--tls-key").arg(&key).args(args).envs(variables.iter().copied());
        let mut process = Process::spawn(&mut command, program, folder.path(), None, log);
        process.wait_until("setguard to be ready", || is_ready(admin).then_some(()));
        Server { process, webhook, admin, certificate, _folder: folder }
    }
}

pub fn is_ready(admin: SocketAddr) -> bool {
    http::get(admin, "/readyz").starts_with("HTTP/1.1 200")
}

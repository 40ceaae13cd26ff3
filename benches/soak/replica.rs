//! One replica of setguard, as a pod runs it.

use std::net::Ipv4Addr;

use tempfile::TempDir;

use crate::harness::{
    process::{Process, eventually, free_ports},
    server::is_ready,
};
use setguard_testing::prelude::*;

/// A replica with its own files. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Replica {
    program: PathBuf,
    kubeconfig: PathBuf,
    folder: TempDir,
    pub(crate) webhook: SocketAddr,
    pub(crate) admin: SocketAddr,
    process: Option<Process>,
}

impl Replica {
    pub(crate) fn new(program: &Path, kubeconfig: &Path, files: &[(&str, &str)]) -> Self {
        let [webhook, admin] =
            free_ports().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let folder = tempfile::tempdir().expect("a folder");
        let (program, kubeconfig) = (program.to_owned(), kubeconfig.to_owned());
        let replica = Replica { program, kubeconfig, folder, webhook, admin, process: None };
        files.iter().for_each(|(name, text)| replica.write(name, text));
        replica
    }

    /// Replaces a file atomically, like a kubelet.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = |name: &str| self.folder.path().join(name);
        let new = path(&format!("{name}.new"));
        fs::write(&new, text).expect("a file");
        fs::rename(new, path(name)).expect("a file");
    }

    pub(crate) fn start(&mut self) {
        let folder = self.folder.path();
        let flags = [
            format!("--listen={}", self.webhook),
            format!("--admin-listen={}", self.admin),
            format!("--tls-cert={}", folder.join("tls.crt").display()),
            format!("--tls-key={}", folder.join("tls.key").display()),
            format!("--policy={}", folder.join("policy.yaml").display()),
        ];
        let mut args = vec!["serve", "--inventory=full", "--drain-delay=2s"];
        args.extend(flags.iter().map(String::as_str));
        let variables = [("KUBECONFIG", self.kubeconfig.as_os_str())];
        self.process = Some(Process::start_with(&self.program, &args, &variables, folder));
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.process.as_ref().map(Process::id)
    }

    /// Ends the program, with SIGKILL or, like a kubelet, with SIGTERM, and waits for its end.
    pub(crate) fn stop(&mut self, kills: bool) {
        let Some(mut process) = self.process.take() else { return };
        if !kills {
            process.terminate();
            eventually("the end of a replica", || process.ended().ok_or("it is running"));
        }
    }

    pub(crate) fn wait(&mut self) {
        let admin = self.admin;
        let process = self.process.as_mut().expect("a replica that was started");
        process.wait_until("a replica to be ready", || is_ready(admin).then_some(()));
    }
}

//! One replica of setguard, as a pod runs it.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread,
};

use tempfile::TempDir;

use crate::{
    harness::process::{eventually, free_ports},
    http,
};

/// A replica, with files of its own. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Replica {
    program: PathBuf,
    kubeconfig: PathBuf,
    folder: TempDir,
    pub(crate) webhook: SocketAddr,
    pub(crate) admin: SocketAddr,
    child: Option<Child>,
    reader: Arc<Reader>,
}

/// The reader of the log, which can stop reading.
#[derive(Debug, Default)]
struct Reader {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Replica {
    /// Creates a replica that isn't running yet, with this certificate and key, and this policy.
    pub(crate) fn new(program: &Path, kubeconfig: &Path, files: &[(&str, &str)]) -> Self {
        let [webhook, admin] =
            free_ports().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let replica = Replica {
            program: program.to_owned(),
            kubeconfig: kubeconfig.to_owned(),
            folder: tempfile::tempdir().expect("a folder"),
            webhook,
            admin,
            child: None,
            reader: Arc::default(),
        };
        files.iter().for_each(|(name, text)| replica.write(name, text));
        replica
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Replaces a file as a kubelet does: at once.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let new = self.path(&format!("{name}.new"));
        fs::write(&new, text).expect("a file");
        fs::rename(new, self.path(name)).expect("a file");
    }

    /// Starts the program.
    pub(crate) fn start(&mut self) {
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.path(name).display());
        let mut child = Command::new(&self.program)
            .args(["serve", "--log-format=json", "--inventory=full", "--drain-delay=2s"])
            .args([format!("--listen={}", self.webhook), format!("--admin-listen={}", self.admin)])
            .args([file("tls-cert", "tls.crt"), file("tls-key", "tls.key")])
            .args([file("policy", "policy.yaml")])
            .env("KUBECONFIG", AsRef::<OsStr>::as_ref(&self.kubeconfig))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("setguard starts");
        let log = child.stderr.take().expect("a pipe");
        let reader = Arc::clone(&self.reader);
        thread::spawn(move || reader.read(log));
        self.child = Some(child);
    }

    /// Returns the process id, if the program is running.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends the program, with SIGKILL or as a kubelet does with SIGTERM, and waits for its end.
    pub(crate) fn stop(&mut self, kills: bool) {
        let Some(mut child) = self.child.take() else { return };
        if kills {
            child.kill().expect("a running program");
        } else {
            let status = Command::new("kill").arg(child.id().to_string()).status();
            assert!(status.is_ok_and(|status| status.success()), "kill");
        }
        child.wait().expect("its end");
    }

    /// Stops or continues to read the log.
    pub(crate) fn reads_log(&self, reads: bool) {
        *self.reader.stopped.lock().expect("an unpoisoned lock") = !reads;
        self.reader.changed.notify_all();
    }

    /// Waits until the program is ready.
    pub(crate) fn wait(&mut self) {
        eventually("a replica to be ready", || {
            let ended = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            assert!(ended.is_none(), "a replica ended: {ended:?}");
            if is_ready(self.admin) { Ok(()) } else { Err("not ready") }
        });
    }
}

/// Returns whether the program with this admin port is ready.
pub(crate) fn is_ready(admin: SocketAddr) -> bool {
    http::get(admin, "/readyz").starts_with("HTTP/1.1 200")
}

impl Reader {
    fn read(&self, log: ChildStderr) {
        for _ in BufReader::new(log).lines() {
            let stopped = self.stopped.lock().expect("an unpoisoned lock");
            drop(self.changed.wait_while(stopped, |stopped| *stopped));
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.reads_log(true);
        self.stop(true);
    }
}

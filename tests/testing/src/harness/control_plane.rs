//! A real control plane on the loopback interface: etcd, kube-apiserver and, for tests that need them, controllers and
//! the scheduler. Without kubelets, no container ever runs.

use std::net::{IpAddr, Ipv4Addr};

use tempfile::TempDir;

use super::{
    kubectl::Kubectl,
    process::{Process, free_ports},
};
use crate::prelude::*;

/// The folder of the binaries, as `setup-envtest use -p env` prints it.
pub const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The administrator's bearer token.
pub const ADMIN_TOKEN: &str = "administrator";
/// The name and token of setguard's user, who has no permissions at first.
pub const SETGUARD: &str = "setguard";
/// The name and token of a second user without permissions, for the case that revokes some.
pub const RESTRICTED: &str = "restricted";
const CONTROLLERS_TOKEN: &str = "controller-manager";
const SCHEDULER_TOKEN: &str = "scheduler";

pub const CONTROLLER_MANAGER: &str = "kube-controller-manager";
pub const SCHEDULER: &str = "kube-scheduler";

#[derive(Debug)]
pub struct ControlPlane {
    pub kubectl: Kubectl,
    pub assets: PathBuf,
    pub port: u16,
    // Dropped in this order: each process depends on the later ones.
    processes: Mutex<Vec<Process>>,
    etcd_port: u16,
    peer_port: u16,
    folder: TempDir,
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver and waits until they are ready.
    ///
    /// # Panics
    /// With the end of the log, if one of them does not start.
    pub fn start(assets: &Path) -> Self {
        Self::start_with(assets, &[])
    }

    /// Like [`start`](Self::start), with feature gates such as `A=true`.
    pub fn start_with_gates(assets: &Path, gates: &[&str]) -> Self {
        Self::start_with(assets, &[&format!("--feature-gates={}", gates.join(","))])
    }

    /// Like [`start`](Self::start), with additional kube-apiserver flags.
    pub fn start_with(assets: &Path, more: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("setguard-e2e-").tempdir().expect("a folder");
        let [etcd_port, peer_port, port] = free_ports();
        write_keys(folder.path());
        let admin = write_kubeconfig(folder.path(), "admin", ADMIN_TOKEN, port);
        let kubectl = Kubectl {
            program: assets.join("kubectl"),
            kubeconfig: admin,
            home: folder.path().to_owned(),
        };
        let etcd = start_etcd(assets, folder.path(), etcd_port, peer_port);
        let processes = Mutex::new(vec![etcd]);
        let assets = assets.to_owned();
        let mut control_plane =
            ControlPlane { kubectl, port, assets, processes, etcd_port, peer_port, folder };
        control_plane.start_api_server(more);
        control_plane
    }

    pub fn start_api_server(&mut self, more: &[&str]) {
        let ControlPlane { assets, folder, etcd_port, port, kubectl, .. } = self;
        let mut api_server = start_api_server(assets, folder.path(), *etcd_port, *port, more);
        api_server.wait_until("the API server to be ready", || {
            kubectl.run(&["get", "--raw", "/readyz"], "").success.then_some(())
        });
        self.processes.get_mut().expect("an unpoisoned lock").insert(0, api_server);
    }

    /// Kills kube-apiserver, the newest program.
    pub fn stop_api_server(&mut self) {
        drop(self.processes.get_mut().expect("an unpoisoned lock").remove(0));
    }

    /// Restarts etcd, the oldest program, with its data.
    pub fn restart_etcd(&mut self) {
        let ControlPlane { assets, folder, etcd_port, peer_port, processes, kubectl, .. } = self;
        let processes = processes.get_mut().expect("an unpoisoned lock");
        drop(processes.pop());
        let mut etcd = start_etcd(assets, folder.path(), *etcd_port, *peer_port);
        etcd.wait_until("etcd to be back", || {
            kubectl.run(&["get", "--raw", "/readyz"], "").success.then_some(())
        });
        processes.push(etcd);
    }

    pub const fn etcd(&self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.etcd_port)
    }

    /// The minor release of the API server: 36 for 1.36.
    pub fn minor(&self) -> u32 {
        let version = self.kubectl.run(&["get", "--raw", "/version"], "").json();
        let minor = version["minor"].as_str().expect("a minor version");
        minor.trim_end_matches('+').parse().expect("a number")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn setguard_kubeconfig(&self) -> PathBuf {
        write_kubeconfig(self.folder.path(), SETGUARD, SETGUARD, self.port)
    }

    pub fn setguard_kubeconfig_through(&self, port: u16) -> PathBuf {
        write_kubeconfig(self.folder.path(), &format!("{SETGUARD}-{port}"), SETGUARD, port)
    }

    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("api-server.crt")
    }

    pub fn has(assets: &Path, program: &str) -> bool {
        assets.join(program).is_file()
    }

    pub fn start_controllers(&self, controllers: &[&str]) {
        self.start_controllers_with_gates(controllers, &[]);
    }

    pub fn start_controllers_with_gates(&self, controllers: &[&str], gates: &[&str]) {
        self.start_program(
            CONTROLLER_MANAGER,
            CONTROLLERS_TOKEN,
            &[
                &format!("--controllers={}", controllers.join(",")),
                "--use-service-account-credentials",
                &format!("--feature-gates={}", gates.join(",")),
                // Production limits would only slow the tests down.
                "--kube-api-qps=1000",
                "--kube-api-burst=2000",
                "--concurrent-statefulset-syncs=20",
                "--concurrent-daemonset-syncs=20",
            ],
        );
    }

    pub fn start_scheduler(&self) {
        self.start_program(SCHEDULER, SCHEDULER_TOKEN, &[]);
    }

    fn start_program(&self, program: &str, token: &str, more: &[&str]) {
        let kubeconfig = self.kubeconfig(program, token);
        let mut args = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        args.extend(more.iter().map(|&flag| flag.to_owned()));
        let process = Process::start(&self.assets.join(program), args, self.folder());
        self.processes.lock().expect("an unpoisoned lock").insert(0, process);
    }

    pub fn kubeconfig(&self, name: &str, token: &str) -> PathBuf {
        write_kubeconfig(self.folder(), name, token, self.port)
    }
}

fn start_etcd(assets: &Path, folder: &Path, port: u16, peer_port: u16) -> Process {
    let url = format!("http://127.0.0.1:{port}");
    let peer_url = format!("http://127.0.0.1:{peer_port}");
    let args = [
        format!("--data-dir={}", folder.join("etcd").display()),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        format!("--listen-peer-urls={peer_url}"),
        format!("--initial-advertise-peer-urls={peer_url}"),
        format!("--initial-cluster=default={peer_url}"),
        // The data need not survive the tests.
        "--unsafe-no-fsync".to_owned(),
    ];
    Process::start(&assets.join("etcd"), args, folder)
}

fn start_api_server(
    assets: &Path,
    folder: &Path,
    etcd_port: u16,
    port: u16,
    more: &[&str],
) -> Process {
    let file = |name: &str| folder.join(name).display().to_string();
    let args = [
        format!("--etcd-servers=http://127.0.0.1:{etcd_port}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        format!("--cert-dir={}", file("api-server")),
        format!("--tls-cert-file={}", file("api-server.crt")),
        format!("--tls-private-key-file={}", file("api-server.key")),
        "--service-account-issuer=https://127.0.0.1".to_owned(),
        format!("--service-account-key-file={}", file("accounts.pub")),
        format!("--service-account-signing-key-file={}", file("accounts.key")),
        format!("--token-auth-file={}", file("tokens.csv")),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // kubeadm sets this; it is off by default.
        "--allow-privileged".to_owned(),
        // No controller creates the default service accounts.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
    ];
    let args = args.iter().map(String::as_str).chain(more.iter().copied());
    Process::start(&assets.join("kube-apiserver"), args, folder)
}

fn write_keys(folder: &Path) {
    let write = |name: &str, text: String| fs::write(folder.join(name), text).expect("a file");
    let server =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    write("api-server.crt", server.cert.pem());
    write("api-server.key", server.signing_key.serialize_pem());
    let accounts = rcgen::KeyPair::generate().expect("a key");
    write("accounts.key", accounts.serialize_pem());
    write("accounts.pub", accounts.public_key_pem());
    let tokens = format!(
        "{ADMIN_TOKEN},admin,admin,system:masters\n\
         {CONTROLLERS_TOKEN},system:kube-controller-manager,controllers\n\
         {SCHEDULER_TOKEN},system:kube-scheduler,scheduler\n\
         {SETGUARD},{SETGUARD},{SETGUARD}\n\
         {RESTRICTED},{RESTRICTED},{RESTRICTED}\n"
    );
    write("tokens.csv", tokens);
}

fn write_kubeconfig(folder: &Path, name: &str, token: &str, port: u16) -> PathBuf {
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{ "name": "e2e", "cluster": {
            "server": format!("https://127.0.0.1:{port}"),
            "certificate-authority": folder.join("api-server.crt"),
        }}],
        "users": [{ "name": name, "user": { "token": token } }],
        "contexts": [{ "name": "e2e", "context": { "cluster": "e2e", "user": name } }],
        "current-context": "e2e",
    });
    let path = folder.join(format!("{name}.kubeconfig"));
    fs::write(&path, config.to_string()).expect("a kubeconfig");
    path
}

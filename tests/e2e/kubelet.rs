//! A stand-in for the kubelet, without containers: for each pod of a namespace, the image's program runs as a process,
//! with the arguments, files, address and identity that the pod would have.
//!
//! Each pod has its own address in the loopback network, such as 127.4.2.1. Only Linux has these addresses without
//! further setup.

use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr},
    os::unix::fs::symlink,
    process,
    sync::atomic::{AtomicBool, AtomicU8, Ordering},
    thread::JoinHandle,
};

use k8s_openapi::api::{
    authentication::v1::TokenRequest,
    core::v1::{ConfigMap, Container, Secret, ServiceAccount, Volume},
};
use kube::ResourceExt as _;
use tempfile::TempDir;

use crate::prelude::*;

const PERIOD: Duration = Duration::from_millis(100);

/// The number of the next pod. It wraps after 255 pods, when the first addresses are free again.
static STARTED: AtomicU8 = AtomicU8::new(1);

#[derive(Debug)]
pub(crate) struct Kubelet {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: Option<JoinHandle<()>>,
    folder: TempDir,
}

#[derive(Debug, Default)]
struct Seen {
    ready: Vec<SocketAddr>,
    complaints: Vec<String>,
}

impl Kubelet {
    /// Starts the kubelet. The service's endpoints are the ready pods with a port of this name.
    pub(crate) fn start(namespace: &Namespace<'_>, port: &'static str, service: Service) -> Self {
        let kubectl = &namespace.control_plane.kubectl;
        let folder = tempfile::Builder::new().prefix("setguard-pods-").tempdir().expect("a folder");
        let (stop, seen) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Seen>>::default());
        let work = Work {
            folder: folder.path().to_owned(),
            namespace: namespace.name,
            kubeconfig: kubectl.kubeconfig.clone(),
            // Each pod gets a copy with its own token.
            identity: fs::read(&kubectl.kubeconfig).expect("a kubeconfig"),
            port,
            service,
            seen: Arc::clone(&seen),
            pods: HashMap::new(),
            done: HashSet::new(),
        };
        let stopped = Arc::clone(&stop);
        // The processes end with this thread.
        let thread = thread::spawn(move || work.run(&stopped));
        Kubelet { stop, seen, thread: Some(thread), folder }
    }

    pub(crate) fn ready(&self) -> Vec<SocketAddr> {
        self.seen.lock().expect("an unpoisoned lock").ready.clone()
    }

    /// Returns a function with the currently ready addresses, for any thread.
    pub(crate) fn watch_ready(&self) -> impl Fn() -> Vec<SocketAddr> + Send + 'static {
        let seen = Arc::clone(&self.seen);
        move || seen.lock().expect("an unpoisoned lock").ready.clone()
    }

    /// Programs that ended by themselves or needed SIGKILL.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.seen.lock().expect("an unpoisoned lock").complaints.clone()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn logs(&self, pod: &str) -> String {
        let folders = fs::read_dir(self.folder.path()).expect("a folder").flatten();
        let mine = folders.filter(|it| it.file_name().to_string_lossy().starts_with(pod));
        mine.map(|it| fs::read_to_string(it.path().join("setguard.err")).unwrap_or_default())
            .collect()
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    folder: PathBuf,
    namespace: &'static str,
    kubeconfig: PathBuf,
    identity: Vec<u8>,
    port: &'static str,
    service: Service,
    seen: Arc<Mutex<Seen>>,
    /// By uid.
    pods: HashMap<String, Running>,
    /// Pods whose program has ended for good.
    done: HashSet<String>,
}

struct Running {
    process: Process,
    folder: PathBuf,
    address: Ipv4Addr,
    ready: bool,
    /// The time limit for the end of the process.
    deadline: Option<Instant>,
}

impl Work {
    fn run(mut self, stopped: &AtomicBool) {
        client::block_on(async {
            let client = client::of(&self.kubeconfig).await;
            while !stopped.load(Ordering::Relaxed) {
                // The next round tries again, like a real kubelet.
                if let Err(error) = self.round(&client).await {
                    eprintln!("kubelet: {error}");
                }
                sleep(PERIOD).await;
            }
        });
    }

    async fn round(&mut self, client: &Client) -> kube::Result<()> {
        let pods = Api::<Pod>::namespaced(client.clone(), self.namespace)
            .list(&ListParams::default())
            .await?
            .items;
        let mut ready = Vec::new();
        for pod in &pods {
            let uid = pod.uid().unwrap_or_default();
            let bound = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
            if !bound || self.done.contains(&uid) {
                continue;
            }
            if !self.pods.contains_key(&uid) {
                let running = self.launch(client, pod).await?;
                self.pods.insert(uid.clone(), running);
            }
            ready.extend(self.look_after(client, pod, &uid).await?);
        }
        self.service.set(ready.clone());
        self.seen.lock().expect("an unpoisoned lock").ready = ready;
        Ok(())
    }

    async fn launch(&mut self, client: &Client, pod: &Pod) -> kube::Result<Running> {
        let container = container(pod);
        assert_eq!(container.command, None, "the image's own program must run");
        let folder = self.folder.join(pod.name_any());
        let _ = fs::create_dir(&folder);
        // A unique address for each pod of all cases. It includes the process id, because other tests may run on this
        // machine.
        let [_, _, high, low] = process::id().to_be_bytes();
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let address = Ipv4Addr::new(127, high.max(1), low, number);

        write_volumes(client, pod, &folder).await?;
        let mut args = container.args.clone().unwrap_or_default();
        for arg in &mut args {
            *arg = arg.replace("[::]:", &format!("{address}:"));
            for mount in container.volume_mounts.iter().flatten() {
                let path = folder.join(&mount.name).display().to_string();
                *arg = arg.replace(&mount.mount_path, &path);
            }
        }
        let kubeconfig = self.identify(client, pod, &folder).await?;
        // Also for a pod without a token, so that it does not find the user's kubeconfig.
        let variables = [("HOME", folder.as_os_str()), ("KUBECONFIG", kubeconfig.as_os_str())];
        let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let process = Process::start_with(program, &args, &variables, &folder);
        Ok(Running { process, folder: folder.clone(), address, ready: false, deadline: None })
    }

    /// Writes a kubeconfig with a token of the pod's service account, if the pod mounts one. Returns its path.
    async fn identify(&self, client: &Client, pod: &Pod, folder: &Path) -> kube::Result<PathBuf> {
        let path = folder.join("kubeconfig");
        let spec = pod.spec.clone().unwrap_or_default();
        if spec.automount_service_account_token == Some(false) {
            return Ok(path);
        }
        let account = spec.service_account_name.unwrap_or_else(|| "default".to_owned());
        let namespace = pod.namespace().unwrap_or_default();
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), &namespace);
        let request = TokenRequest::default();
        let request =
            accounts.create_token_request(&account, &PostParams::default(), &request).await?;
        let token = request.status.unwrap_or_default().token;
        let mut config: Value = serde_json::from_slice(&self.identity).expect("it is JSON");
        config["users"][0]["user"] = json!({ "token": token });
        fs::write(&path, config.to_string()).expect("a file");
        Ok(path)
    }

    /// Advances the state of a pod. Returns its endpoint if it is ready.
    async fn look_after(
        &mut self,
        client: &Client,
        pod: &Pod,
        uid: &str,
    ) -> kube::Result<Option<SocketAddr>> {
        let Some(running) = self.pods.get_mut(uid) else { return Ok(None) };
        let pods = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
        let name = pod.name_any();
        let complain = |what: &str| {
            let complaint = format!("{name} {what}");
            self.seen.lock().expect("an unpoisoned lock").complaints.push(complaint);
        };
        let terminating = pod.metadata.deletion_timestamp.is_some();
        if let Some(status) = running.process.ended() {
            let serves = container(pod).readiness_probe.is_some();
            if serves && (!terminating || !status.success()) {
                complain(&format!("ended with {status}"));
            }
            if terminating {
                let _ = pods.delete(&name, &DeleteParams::default().grace_period(0)).await;
            } else {
                let phase = if status.success() { "Succeeded" } else { "Failed" };
                set_status(&pods, pod, &json!({ "phase": phase })).await?;
            }
            self.pods.remove(uid);
            self.done.insert(uid.to_owned());
            return Ok(None);
        }
        if terminating {
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(30).unsigned_abs();
            match running.deadline {
                None => {
                    running.process.terminate();
                    running.deadline = Some(Instant::now() + Duration::from_secs(grace));
                }
                Some(deadline) if Instant::now() > deadline => {
                    complain("did not end in time");
                    running.process.kill();
                }
                Some(_) => {}
            }
            // A terminating pod is not an endpoint, whatever it answers.
            return Ok(None);
        }
        write_volumes(client, pod, &running.folder).await?;
        let ready = is_ready(container(pod), running.address);
        if ready != running.ready || pod.status.as_ref().is_none_or(|it| it.start_time.is_none()) {
            let now = Timestamp::now().to_string();
            let status = if ready { "True" } else { "False" };
            let conditions = ["Ready", "ContainersReady"]
                .map(|it| json!({ "type": it, "status": status, "lastTransitionTime": now }));
            let status = json!({ "phase": "Running", "startTime": now, "conditions": conditions });
            set_status(&pods, pod, &status).await?;
            running.ready = ready;
        }
        let port = port(container(pod), self.port).filter(|_| ready);
        Ok(port.map(|port| SocketAddr::new(IpAddr::V4(running.address), port)))
    }
}

fn container(pod: &Pod) -> &Container {
    let containers = pod.spec.as_ref().map(|spec| &*spec.containers).unwrap_or_default();
    containers.first().expect("a container, which the API requires")
}

fn port(container: &Container, name: &str) -> Option<u16> {
    let mut ports = container.ports.iter().flatten();
    let port = ports.find(|port| port.name.as_deref() == Some(name))?;
    u16::try_from(port.container_port).ok()
}

fn is_ready(container: &Container, address: Ipv4Addr) -> bool {
    let probe = container.readiness_probe.as_ref().and_then(|probe| probe.http_get.as_ref());
    let Some(probe) = probe else { return false };
    let name = serde_json::to_value(&probe.port).expect("a name");
    let port = name.as_str().and_then(|name| port(container, name)).expect("a named port");
    let address = SocketAddr::new(address.into(), port);
    http::get(address, probe.path.as_deref().unwrap_or("/")).starts_with("HTTP/1.1 200")
}

async fn set_status(pods: &Api<Pod>, pod: &Pod, status: &Value) -> kube::Result<Pod> {
    let patch = Patch::Strategic(json!({ "status": status }));
    pods.patch_status(&pod.name_any(), &PatchParams::default(), &patch).await
}

/// Writes ConfigMaps and Secrets like a kubelet: all files of a volume change at once.
async fn write_volumes(client: &Client, pod: &Pod, folder: &Path) -> kube::Result<()> {
    let namespace = pod.namespace().unwrap_or_default();
    for volume in pod.spec.iter().filter_map(|spec| spec.volumes.as_ref()).flatten() {
        let files = read_volume(client, &namespace, volume).await?;
        let folder = folder.join(&volume.name);
        let current = files.iter().all(|(file, bytes)| {
            fs::read(folder.join(file)).is_ok_and(|existing| existing == *bytes)
        });
        if !current {
            write_volume(&folder, &files);
        }
    }
    Ok(())
}

async fn read_volume(
    client: &Client,
    namespace: &str,
    volume: &Volume,
) -> kube::Result<BTreeMap<String, Vec<u8>>> {
    if let Some(source) = &volume.config_map {
        let maps = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        let data = maps.get(&source.name).await?.data.unwrap_or_default();
        return Ok(data.into_iter().map(|(file, text)| (file, text.into_bytes())).collect());
    }
    let source = volume.secret.as_ref().expect("the chart has no other volumes");
    let secrets = Api::<Secret>::namespaced(client.clone(), namespace);
    let secret = secrets.get(source.secret_name.as_deref().unwrap_or_default()).await?;
    let wanted = |file: &String| {
        source.items.as_ref().is_none_or(|items| items.iter().any(|item| item.key == *file))
    };
    let data = secret.data.unwrap_or_default().into_iter();
    Ok(data.map(|(file, bytes)| (file, bytes.0)).filter(|(file, _)| wanted(file)).collect())
}

fn write_volume(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    let version = (0..).map(|i| format!("..{i}")).find(|it| !folder.join(it).exists());
    let version = version.unwrap_or_default();
    fs::create_dir_all(folder.join(&version)).expect("a folder");
    for (file, bytes) in files {
        fs::write(folder.join(&version).join(file), bytes).expect("a file");
        let _ = symlink(Path::new("..data").join(file), folder.join(file));
    }
    symlink(&version, folder.join("..new")).expect("a link");
    fs::rename(folder.join("..new"), folder.join("..data")).expect("a link");
}

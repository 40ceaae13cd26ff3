//! `serve --tls-managed`: two replicas, with lifetimes of seconds and minimal permissions.

use tempfile::TempDir;

use crate::free_ports;
use crate::prelude::*;

pub(super) const CASES: &[Case] = &[Case::new("managed-certificates", managed)];

const SECRET: &str = "setguard-ca";
const KINDS: [&str; 2] = ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"];

fn managed(namespace: &Namespace<'_>) {
    let site = Site::new(namespace);
    site.create_secret();
    // Helm installs the Deployment before the webhook configurations.
    let mut replicas = [0, 1].map(|i| site.replica(i));
    for i in [0, 1] {
        eventually("being ready without webhook configurations", || site.ready(i));
    }
    register(namespace, site.ports);
    eventually("a caBundle", || site.all_well());

    rotation(&site);
    secret(&site, &replicas);
    bundle(&site, &replicas);
    assert!(site.metric(0, "event=\"leaf-signed\"") >= 3);
    lost(&site, &mut replicas);
    drop(replicas);
    cleanup(&site);
}

/// During CA rotation, every review gets an answer and every handshake verifies.
fn rotation(site: &Site<'_>) {
    let first = site.bundle(0);
    let certificates = |pem: &str| pem.matches("BEGIN CERTIFICATE").count();
    let (mut most, mut rounds) = (0, 0);
    loop {
        let result = site.all_well();
        assert_eq!(result, Ok(()), "round {rounds}, bundle of {most}");
        let now = site.bundle(0);
        most = most.max(certificates(&now));
        rounds += 1;
        if !now.contains(&*first) {
            break;
        }
        assert!(rounds < 3000, "the first CA is never removed");
    }
    assert_eq!(most, 2, "the old and the new CA are published together");
    assert_eq!(site.bundle(0), site.bundle(1));
}

/// The replicas restore a deleted or damaged Secret. Without the right to create it, they report what is missing and
/// continue, until an administrator creates an empty Secret.
fn secret(site: &Site<'_>, replicas: &[Process; 2]) {
    let nonsense = json!({ "data": { "ca.crt": BASE64.encode("nonsense") } }).to_string();
    for args in [&["delete", "secret", SECRET][..], &["patch", "secret", SECRET, "-p", &nonsense]] {
        let before = site.bundle(0);
        site.namespace.kubectl(args, "").accepted();
        if args[0] == "delete" {
            for replica in replicas {
                let why = format!("Secret {SECRET} does not exist, and setguard may not create");
                let log = || fs::read_to_string(&replica.log).expect("a log");
                becomes("a log of what is missing", log, |log| log.contains(&why));
            }
            assert_eq!(site.all_well(), Ok(()));
            site.create_secret();
        }
        // CAs may come and go, but at least one must stay.
        let all = || before.split_inclusive("-----END CERTIFICATE-----\n");
        let is_back = |now: &String| all().any(|certificate| now.contains(certificate));
        becomes("the Secret to be back", || site.secret(), is_back);
        assert_eq!(site.all_well(), Ok(()));
    }
    let restored = [0, 1].map(|i| site.metric(i, "event=\"secret-restored\""));
    assert!(restored.iter().sum::<u32>() >= 2, "{restored:?}");
}

/// The replicas repair a changed `caBundle`, and trust nothing in it, whatever its name.
fn bundle(site: &Site<'_>, replicas: &[Process; 2]) {
    let [foreign, namesake] = ["somebody", "setguard managed CA"].map(authority);
    let mut changes = 0;
    for kind in KINDS {
        for value in [&*foreign, &namesake, ""] {
            let path = "/webhooks/0/clientConfig/caBundle";
            let patch =
                json!([{ "op": "add", "path": path, "value": BASE64.encode(value) }]).to_string();
            let args = ["patch", kind, site.namespace.name, "--type=json", "-p"];
            let args = [&args[..], &[&patch]].concat();
            site.namespace.kubectl(&args, "").accepted();
            eventually("the caBundle to be repaired", || {
                let now = site.bundles(kind);
                let right = now.iter().all(|now| *now == site.secret());
                if right { Ok(()) } else { Err(format!("{now:?}")) }
            });
            eventually("reviews to be answered again", || site.all_well());
            changes += u32::from(!value.is_empty());
        }
    }
    let published = KINDS.iter().flat_map(|kind| site.bundles(kind)).collect::<String>();
    assert!(!(published + &site.secret()).contains(&*namesake));
    // The replica that drops a CA reports it once.
    let dropped = [0, 1].map(|i| site.metric(i, "event=\"authority-dropped\""));
    assert_eq!(dropped.iter().sum::<u32>(), changes, "{dropped:?}");
    let logs = replicas.iter().map(|it| fs::read_to_string(&it.log).expect("a log"));
    let warned = logs.flat_map(|log| {
        let lines =
            log.lines().filter(|line| line.contains("WARN") && line.contains("a CA was dro"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    });
    assert_eq!(warned.filter(|line| line.contains("setguard managed CA")).count(), 2);
}

fn authority(name: &str) -> String {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let now = std::time::SystemTime::now();
    params.not_before = now.into();
    params.not_after = (now + std::time::Duration::from_secs(1800)).into();
    params.self_signed(&rcgen::KeyPair::generate().expect("a key")).expect("a CA").pem()
}

/// Without the Secret and a running replica, nothing vouches for the published CA: the next replica replaces it.
fn lost(site: &Site<'_>, replicas: &mut [Process; 2]) {
    for replica in replicas.iter_mut() {
        replica.kill();
        eventually("the end", || replica.ended().ok_or("it runs"));
    }
    site.namespace.kubectl(&["delete", "secret", SECRET], "").accepted();
    // With the right to create the Secret, possible without the chart, setguard creates it.
    site.namespace.does("create role creates-secrets --verb=create --resource=secrets");
    site.namespace.bind("Role", "creates-secrets", SETGUARD);
    let old = site.bundle(0);
    for (i, replica) in replicas.iter_mut().enumerate() {
        *replica = site.replica(i);
    }
    eventually("reviews to be answered again", || site.all_well());
    let new = site.bundle(0);
    let kept = old.split_inclusive("-----END CERTIFICATE-----\n").filter(|it| new.contains(it));
    assert_eq!((kept.count(), new), (0, site.secret()));
}

fn cleanup(site: &Site<'_>) {
    let name = site.namespace.name;
    for expected in ["MutatingWebhookConfiguration managed-certificates deleted", "no webhook"] {
        let output = setguard(&site.kubeconfig, &["cleanup", "--webhook-config", name]).accepted();
        assert!(output.stdout.contains(expected), "{output}");
    }
    for kind in KINDS {
        site.namespace.kubectl(&["get", kind, name], "").refused(&["not found"]);
    }
}

struct Site<'a> {
    namespace: &'a Namespace<'a>,
    folder: TempDir,
    kubeconfig: PathBuf,
    ports: [u16; 2],
    admin: [u16; 2],
}

impl<'a> Site<'a> {
    fn new(namespace: &'a Namespace<'a>) -> Self {
        allow(namespace);
        let [one, other, admin_one, admin_other] = free_ports();
        Site {
            namespace,
            folder: tempfile::tempdir().expect("a folder"),
            kubeconfig: namespace.control_plane.setguard_kubeconfig(),
            ports: [one, other],
            admin: [admin_one, admin_other],
        }
    }

    fn replica(&self, i: usize) -> Process {
        let logs = self.folder.path().join(i.to_string());
        fs::create_dir_all(&logs).expect("a folder");
        let name = self.namespace.name;
        let args = format!(
            "serve --listen=127.0.0.1:{} --admin-listen=127.0.0.1:{} --tls-managed \
             --tls-managed-namespace={name} --tls-managed-secret={SECRET} \
             --tls-managed-dns-name=127.0.0.1 --tls-managed-dns-name=setguard.setguard.svc \
             --tls-managed-webhook-config={name} --tls-managed-ca-lifetime=36s \
             --tls-managed-leaf-lifetime=15s --tls-managed-settle=3s --tls-managed-check-interval=1s",
            self.ports[i], self.admin[i]
        );
        let args: Vec<_> = args.split(' ').collect();
        let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
        Process::start_with(program, &args, &[("KUBECONFIG", self.kubeconfig.as_os_str())], &logs)
    }

    fn create_secret(&self) {
        self.namespace.kubectl(&["create", "secret", "generic", SECRET], "").accepted();
    }

    fn ready(&self, i: usize) -> Result<(), String> {
        let reply = self.get(i, "/readyz");
        if reply.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(reply) }
    }

    fn get(&self, i: usize, path: &str) -> String {
        http::get(SocketAddr::from(([127, 0, 0, 1], self.admin[i])), path)
    }

    fn metric(&self, i: usize, label: &str) -> u32 {
        let text = self.get(i, "/metrics");
        let lines = text.lines().filter(|line| line.contains(label));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok()).sum()
    }

    fn secret(&self) -> String {
        let get = format!("get secret {SECRET} --ignore-not-found -o jsonpath={{.data.ca\\.crt}}");
        decode(&self.namespace.does(&get).stdout)
    }

    fn bundles(&self, kind: &str) -> Vec<String> {
        let configuration = self.namespace.read(&format!("{kind}/{}", self.namespace.name));
        let webhooks = configuration["webhooks"].as_array().expect("webhooks").iter();
        let bundle = |it: &Value| it["clientConfig"]["caBundle"].as_str().unwrap_or("").to_owned();
        webhooks.map(|webhook| decode(&bundle(webhook))).collect()
    }

    fn bundle(&self, i: usize) -> String {
        self.bundles(KINDS[0]).remove(i)
    }

    /// Whether both replicas answer many reviews, and their certificates verify against the published CA.
    fn all_well(&self) -> Result<(), String> {
        let many: Vec<Value> = (0..20).map(|i| daemon_set(&format!("agent-{i}"))).collect();
        let many = json!({ "apiVersion": "v1", "kind": "List", "items": many });
        let output = self.namespace.dry_run(&many);
        if !output.success {
            return Err(output.to_string());
        }
        for i in [0, 1] {
            self.ready(i)?;
            let file = self.folder.path().join("ca.crt");
            fs::write(&file, self.bundle(i)).expect("a file");
            let (url, ca) = (format!("https://127.0.0.1:{}", self.ports[i]), file.display());
            let probe = ["probe", "--url", &url, "--ca", &ca.to_string()];
            let output = setguard(&self.kubeconfig, &probe);
            if !output.success {
                return Err(output.stderr);
            }
        }
        Ok(())
    }
}

fn decode(base64: &str) -> String {
    let bytes = BASE64.decode(base64.trim()).expect("base64");
    String::from_utf8(bytes).expect("PEM")
}

fn allow(namespace: &Namespace<'_>) {
    let name = namespace.name;
    let api = "rbac.authorization.k8s.io";
    let verbs = ["get", "watch", "patch"];
    let role = json!({
        "apiVersion": format!("{api}/v1"), "kind": "Role", "metadata": { "name": name },
        "rules": [
            { "apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET], "verbs": verbs },
        ],
    });
    let cluster_role = json!({
        "apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": { "name": name },
        "rules": [{
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": KINDS.map(|kind| format!("{kind}s")),
            "resourceNames": [name],
            "verbs": ["get", "watch", "patch", "delete"],
        }],
    });
    namespace.apply(&role).silently();
    namespace.apply(&cluster_role).silently();
    for kind in ["Role", "ClusterRole"] {
        namespace.bind(kind, name, SETGUARD);
    }
}

fn register(namespace: &Namespace<'_>, ports: [u16; 2]) {
    for (kind, path) in [("Validating", "validate"), ("Mutating", "mutate")] {
        let names = ports.map(|port| format!("replica-{port}.setguard.io"));
        let urls = ports.map(|port| format!("https://127.0.0.1:{port}/{path}"));
        // setguard writes the certificate.
        let webhooks = [0, 1].map(|i| (&*names[i], &*urls[i], &[][..]));
        namespace.register(&format!("{kind}WebhookConfiguration"), &webhooks, &["daemonsets"]);
    }
}

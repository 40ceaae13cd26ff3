//! The chart, from `helm install` to `helm uninstall`, on a separate control plane.
//!
//! The real controllers and the real scheduler handle the Deployment, the Job and the pods. Only the kubelet is a
//! stand-in, and the API server reaches the Service through `webhook.url`.

mod argo;
mod arming;
mod clouds;
mod conflicts;
mod emergency;
mod flux;
mod guarded;
mod invalid;
mod load;
mod policies;
mod release;
mod rights;
mod switch;
mod system;

use self::{load::Load, release::Release};
use super::HELM;
use crate::prelude::*;

/// The programs for a chart with running pods.
const RUNNING: &[&str] = &[CONTROLLER_MANAGER, SCHEDULER, HELM];
const QUOTA: &[&str] = &[CONTROLLER_MANAGER, HELM];
const ARGO: &[&str] = &[CONTROLLER_MANAGER, SCHEDULER, HELM, argo::AGENT];
const FLUX: &[&str] = &[CONTROLLER_MANAGER, SCHEDULER, HELM, flux::CONTROLLER, flux::CRDS];

pub(super) const CASES: &[Case] = &[
    Case::needing(RUNNING, "the-chart-from-install-to-uninstall", chart),
    Case::needing(&[HELM], "the-chart-is-upgraded-over-what-others-wrote", conflicts::upgrades),
    Case::needing(RUNNING, "the-chart-goes-with-its-namespace", arming::namespace),
    Case::needing(RUNNING, "the-chart-says-why-it-does-not-guard", arming::why_not),
    Case::needing(RUNNING, "the-chart-says-that-it-guards-no-longer", arming::no_longer),
    Case::needing(RUNNING, "the-chart-guards-or-says-that-it-does-not", guarded::life),
    Case::needing(RUNNING, "the-chart-guards-while-its-mode-changes", guarded::modes),
    Case::needing(RUNNING, "the-chart-guards-under-an-older-one", guarded::older),
    Case::needing(RUNNING, "the-chart-survives-an-invalid-policy", invalid::policy),
    Case::needing(RUNNING, "the-chart-without-a-server", policies::alone),
    Case::needing(RUNNING, "the-chart-from-the-webhook-to-policies", policies::there_and_back),
    Case::needing(RUNNING, "the-chart-with-both", policies::both),
    Case::needing(RUNNING, "the-chart-is-switched-off-in-an-emergency", emergency::page),
    Case::needing(RUNNING, "the-chart-gives-few-rights", rights::rights),
    Case::needing(&[HELM], "the-chart-tells-system-namespaces-by-prefix", system::prefixes),
    Case::needing(&[HELM], "the-chart-exempts-users", system::users),
    Case::needing(&[HELM], "the-chart-is-accepted-on-each-platform", clouds::dry_runs),
    Case::needing(&[HELM], "the-chart-complies-with-pod-security", clouds::pod_security),
    Case::needing(QUOTA, "the-chart-brings-the-quota-of-its-priority-class", clouds::quota),
    Case::needing(FLUX, "the-chart-is-installed-by-flux", flux::flux),
    Case::needing(ARGO, "the-chart-is-synced-by-the-engine-of-argo-cd", argo::documented),
    Case::needing(
        ARGO,
        "the-chart-is-synced-by-the-engine-of-argo-cd-by-default",
        argo::by_default,
    ),
];

const CONTROLLERS: &[&str] = &[
    "deployment-controller", "replicaset-controller", "job-controller", "disruption-controller",
    "garbage-collector-controller",
];

const NAME: &str = "guard-setguard";
const KINDS: [&str; 2] = ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"];

fn chart(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let before = everything(&site.own);
    let release = Release::new(&site.own, "guard");

    let mut values = values(&site.url);
    for short in ["--tls-managed-ca-lifetime=60s", "--tls-managed-leaf-lifetime=20s"] {
        values["extraArgs"].as_array_mut().expect("a list").push(json!(short));
    }
    // `helm test` sends a faulty object all the way.
    values["test"] = json!({ "namespace": "shop" });
    install(&site, &release, &values);
    validates(&site);
    release.run("test", &Value::Null);

    let load = Load::start(&site);
    reload(&site, &release, &mut values);
    scaled(&site, &release, &mut values);
    roll(&site, &release, &mut values);
    rotate(&site);
    load.assert_all_decided();
    arming::by_hand(&site, &release, &values);
    switch::both_ways(&site, &release, &mut values);

    // From here on, setguard does not validate the writes, but it must not block them either.
    let load = Load::start(&site);
    release.run("uninstall", &Value::Null);
    load.assert_none_failed();
    site.wait_until_only(&before);
}

/// Installs webhooks at a silent address, for the objects with a label. Returns a dry run that creates such an object
/// in a namespace, with additional kubectl flags.
fn unanswered<'a>(
    namespace: &'a Namespace<'_>,
    release: &Release<'_>,
    mut webhook: Value,
) -> impl Fn(&str, &[&str]) -> Output + 'a {
    webhook["arm"] = json!("atOnce");
    webhook["url"] = json!("https://127.0.0.1:1");
    // The objects of other cases lack this label.
    webhook["objectSelector"] = json!({ "matchLabels": { "chart": namespace.name } });
    webhook["validating"]["systemFailurePolicy"] = json!("Fail");
    let (success, text) = release.output("install", &[], &json!({ "webhook": webhook }));
    assert!(success, "{text}");
    let mut set = daemon_set("agent");
    set["metadata"]["labels"] = json!({ "chart": namespace.name });
    move |within, more| {
        let args =
            [&["create", "--dry-run=server", "-f", "-", "--namespace", within], more].concat();
        namespace.control_plane.kubectl.run(&args, &set.to_string())
    }
}

struct Site<'a> {
    own: Namespace<'a>,
    shop: Namespace<'a>,
    load: Namespace<'a>,
    kubelet: Kubelet,
    url: String,
}

/// The default values, except for the URL, durations, TLS version and paired controller.
fn values(url: &str) -> Value {
    json!({
        "webhook": { "url": url },
        "tls": { "minVersion": "1.3", "managed": { "extraDnsNames": ["127.0.0.1"] } },
        "minReadySeconds": 3, "shutdown": { "drainSeconds": 3, "graceSeconds": 5 },
        "extraArgs": ["--tls-managed-settle=5s", "--tls-managed-check-interval=1s"],
        "policy": { "injection": { "pairedControllers": { "users": [load::CONTROLLER] } } },
    })
}

/// Installs with one command. No write fails before a pod is ready, or when the webhooks begin to apply.
fn install(site: &Site<'_>, release: &Release<'_>, values: &Value) {
    let load = Load::start(site);
    release.run("install", values);
    arming::wait(&site.shop);
    load.assert_none_failed();
    assert_spread(site);
}

fn assert_spread(site: &Site<'_>) {
    let pods = node::pods(&site.own, "app.kubernetes.io/component=webhook");
    let nodes: BTreeSet<_> = pods.iter().filter_map(node::bound_to).collect();
    assert_eq!(nodes, BTreeSet::from(["node-a", "node-b"]));
}

fn validates(site: &Site<'_>) {
    let surge = surging("agent");
    site.shop.apply(&surge).refused(&[load::REFUSED]);
    site.shop.assert_none("daemonsets");
    let long = stateful_set(&"a".repeat(57));
    site.shop.apply(&long).refused(&["(setguard: name-too-long)"]);
    site.shop.apply(&stateful_set("cache")).accepted();
    site.shop.kubectl(&["delete", "statefulset/cache"], "").silently();
    // setguard validates nothing in its own namespace.
    site.own.apply(&surge).silently();
    site.own.kubectl(&["delete", "daemonset/agent"], "").silently();
    let system = Namespace { control_plane: site.own.control_plane, name: "kube-system" };
    system.dry_run(&surge).refused(&[load::REFUSED]);
}

fn reload(site: &Site<'_>, release: &Release<'_>, values: &mut Value) {
    let pods = site.kubelet.ready();
    let mut set = daemon_set("agent");
    set["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{ "containerPort": 80 }]);
    site.shop.apply(&set).accepted();
    values["policy"]["rules"] = json!({ "no-readiness-probe": "deny" });
    release.run("upgrade", values);
    for pod in &pods {
        let metrics = || http::get(SocketAddr::new(pod.ip(), 8080), "/metrics");
        let done = "setguard_policy_reloads_total{result=\"success\"} 1\n";
        becomes("the policy to be reloaded", metrics, |it| it.contains(done));
    }
    assert_eq!(site.kubelet.ready(), pods, "no pod may be restarted for that");
    set["metadata"]["name"] = json!("another");
    site.shop.apply(&set).refused(&["(setguard: no-readiness-probe)"]);
    site.shop.kubectl(&["delete", "daemonset/agent"], "").silently();
}

/// With a limit about claims, the API server sends scale-downs too.
fn scaled(site: &Site<'_>, release: &Release<'_>, values: &mut Value) {
    let mut set = stateful_set("db");
    set["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({ "whenDeleted": "Retain", "whenScaled": "Delete" });
    add_claim(&mut set, None, "1Gi");
    set["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] =
        json!({ "tcpSocket": { "port": 80 } });
    site.shop.apply(&set).accepted();
    let scale =
        || site.shop.kubectl(&["scale", "statefulset/db", "--replicas=1", "--dry-run=server"], "");
    scale().silently();
    values["policy"]["limits"] = json!([{ "deletesClaims": false, "reason": "agreed" }]);
    release.run("upgrade", values);
    let refused = "data-db-1; the policy forbids it by deletesClaims: false";
    becomes("scale-downs to be refused", &scale, |output| output.stderr.contains(refused));
    values["policy"]["limits"] = json!([]);
    release.run("upgrade", values);
    becomes("scale-downs to be accepted", scale, |output| output.success);
    site.shop.kubectl(&["delete", "statefulset/db"], "").silently();
}

fn roll(site: &Site<'_>, release: &Release<'_>, values: &mut Value) {
    let before = site.kubelet.ready();
    assert_eq!(before.len(), 2, "{before:?}");
    values["podAnnotations"] = json!({ "e2e": "another" });
    release.run("upgrade", values);
    site.wait_for_others(&before);
    let pods = || node::pods(&site.own, "app.kubernetes.io/component=webhook").len();
    becomes("the old pods to be gone", pods, |count| *count == 2);
    assert_spread(site);
}

fn rotate(site: &Site<'_>) {
    let first = site.bundle(KINDS[0]);
    let mut most = 0;
    eventually("a new CA", || {
        let now = KINDS.map(|kind| site.bundle(kind));
        most = most.max(now[0].matches("BEGIN CERTIFICATE").count());
        let gone = now.iter().all(|now| !now.contains(&*first));
        if gone { Ok(()) } else { Err(format!("{now:?}")) }
    });
    assert_eq!(most, 2, "the old and the new CA are published together");
    let file = site.kubelet.folder().join("published.crt");
    fs::write(&file, site.bundle(KINDS[1])).expect("a file");
    let probe = ["probe", "--url", &site.url, "--ca", &file.display().to_string()];
    setguard(&site.own.control_plane.kubectl.kubeconfig, &probe).accepted();
}

impl<'a> Site<'a> {
    fn new(control_plane: &'a ControlPlane) -> Self {
        Site::in_namespace(control_plane, "guards")
    }

    fn in_namespace(control_plane: &'a ControlPlane, own: &'static str) -> Self {
        control_plane.start_controllers(CONTROLLERS);
        control_plane.start_scheduler();
        let own = Namespace::create(control_plane, own);
        let shop = Namespace::create(control_plane, "shop");
        let load = Namespace::create(control_plane, "load");
        for node in ["node-a", "node-b"] {
            node::create(&own, node, None);
        }
        let service = Service::start();
        let url = format!("https://127.0.0.1:{}", service.port);
        let kubelet = Kubelet::start(&own, "webhook", service);
        Site { own, shop, load, kubelet, url }
    }

    /// Waits until two pods are ready, none of them from `before`.
    fn wait_for_others(&self, before: &[SocketAddr]) {
        eventually("two new pods", || {
            let now = self.kubelet.ready();
            let others = now.iter().all(|pod| !before.contains(pod));
            if others && now.len() == 2 { Ok(()) } else { Err(format!("{now:?}")) }
        });
    }

    fn wait_until_only(&self, before: &BTreeSet<String>) {
        let left = || (&everything(&self.own) - before).into_iter().collect::<Vec<_>>().join(", ");
        becomes("all objects to be deleted", left, String::is_empty);
        assert_eq!(self.kubelet.complaints(), [""; 0]);
    }

    /// Returns the parts of the configurations that setguard writes, with their context, and the generation, to reveal
    /// changes that setguard has undone.
    fn written(&self) -> [Value; 2] {
        KINDS.map(|kind| {
            let stored = self.own.read(&format!("{kind}/{NAME}"));
            let metadata = &stored["metadata"];
            json!({
                "owners": metadata["ownerReferences"],
                "generation": metadata["generation"],
                "webhooks": stored["webhooks"],
            })
        })
    }

    /// The patch of docs/troubleshooting.md.
    fn patch_policy(&self) {
        let page = include_str!("../../../docs/troubleshooting.md");
        let patch = page.split_once("--patch '").and_then(|(_, rest)| rest.split_once('\''));
        let (patch, _) = patch.expect("a patch in the page");
        let patch = patch.replace(".setguard.io", &format!(".{NAME}.setguard.io"));
        self.own.kubectl(&["patch", KINDS[0], NAME, "--patch", &patch], "").accepted();
    }

    fn policy(&self) -> Value {
        let webhooks = self.own.read(&format!("{}/{NAME}", KINDS[0]))["webhooks"].take();
        let [update, create] = [0, 1].map(|i| webhooks[i]["failurePolicy"].clone());
        assert_eq!(update, create, "the patch changes both");
        create
    }

    fn bundle(&self, kind: &str) -> String {
        let path = "jsonpath={.webhooks[0].clientConfig.caBundle}";
        let output = self.own.kubectl(&["get", kind, NAME, "-o", path], "").accepted();
        let bytes = BASE64.decode(output.stdout).expect("base64");
        String::from_utf8(bytes).expect("PEM")
    }
}

/// All objects of the cluster, except events and leases.
fn everything(namespace: &Namespace<'_>) -> BTreeSet<String> {
    let resources = ["api-resources", "--verbs=list", "-o", "name"];
    let resources = namespace.kubectl(&resources, "").accepted().stdout;
    let transient = ["events", "events.events.k8s.io", "leases.coordination.k8s.io"];
    let resources: Vec<_> = resources.lines().filter(|it| !transient.contains(it)).collect();
    let format =
        "jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{\"\\n\"}{end}";
    let args = ["get", &resources.join(","), "--all-namespaces", "-o", format];
    let output = namespace.control_plane.kubectl.run(&args, "").accepted();
    output.stdout.lines().map(str::to_owned).collect()
}

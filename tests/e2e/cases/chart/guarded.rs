//! Two faulty writes and a good one, ten times a second: no good write is refused, and no faulty one admitted while
//! a replica reports armed webhooks.

use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use tokio::time::{MissedTickBehavior, interval};

use super::{KINDS, NAME, Site, arming, load::REFUSED, release::Release, values};
use crate::prelude::*;
use crate::{Background, Stop};

const PACE: Duration = Duration::from_millis(100);

const PROBE: [&str; 7] =
    ["probe", "--validating-config", NAME, "--mutating-config", NAME, "--namespace", "shop"];

const ARMED: &str = "setguard_webhooks_armed{kind=\"ValidatingWebhookConfiguration\"} ";

pub(super) fn life(shared: &Namespace<'_>) {
    let all = helm::all();
    for helm in &all {
        life_of_policies(shared, helm);
    }
    let modes =
        ["webhook", "both"].into_iter().flat_map(|mode| all.iter().map(move |it| (mode, it)));
    for (mode, helm) in modes {
        eprintln!("mode {mode}, {}", helm.display());
        let control_plane = ControlPlane::start(&shared.control_plane.assets);
        let site = Site::new(&control_plane);
        let release = Release::by(helm.clone(), &site.own, "guard");
        let mut values = values(&site.url);
        values["mode"] = json!(mode);
        values["test"] = json!({ "namespace": "shop" });

        // With or without --wait, an installation ends when the webhooks apply.
        let pairs = Pairs::start(&site);
        release.succeeds("install", &[], &values);
        let from_now = Pairs::start(&site);
        release.run("test", &Value::Null);
        from_now.end("after the installation").assert_all_refused();
        pairs.end("the installation").assert_never_in_silence();

        let pairs = Pairs::start(&site);
        values["podAnnotations"] = json!({ "e2e": "another" });
        for (command, values) in [("upgrade", &values), ("rollback", &Value::Null)] {
            let before = site.kubelet.ready();
            release.run(command, values);
            // Helm 3 does not wait for the end of the old pods.
            site.wait_for_others(&before);
        }
        pairs.end("an upgrade and a rollback").assert_all_refused();

        // In these modes, the policies refuse the faulty object meanwhile.
        healed(&site, mode == "both");
        changed(&site, &release, mode == "both");

        let pairs = Pairs::start(&site);
        release.run("uninstall", &Value::Null);
        assert_eq!(pairs.end("the uninstallation").refused, [""; 0]);
    }
}

/// The rules that the DaemonSet of `helm test` violates.
const RULES: [&str; 2] = ["name-too-long", "selector-on-managed-labels"];

/// Without a server, only `helm test` shows that setguard is armed.
fn life_of_policies(shared: &Namespace<'_>, helm: &Path) {
    eprintln!("mode policies, {}", helm.display());
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let release = Release::by(helm.to_owned(), &site.own, "guard");
    let mut values = json!({ "mode": "policies", "test": { "namespace": "shop" } });
    values["webhook"] = json!({ "mutating": { "enabled": control_plane.minor() >= 36 } });

    let pairs = Pairs::start(&site);
    release.run("install", &values);
    arming::wait(&site.load);
    assert_eq!(pairs.end("the installation").refused, [""; 0]);
    // The command of docs/admission-policies.md.
    let compare = ["diff", "--server-side", "--force-conflicts", "-f", "-"];
    let compared = || site.own.kubectl(&compare, &release.manifest());
    compared().silently();

    let pairs = Pairs::start(&site);
    release.run("test", &Value::Null);
    values["commonAnnotations"] = json!({ "e2e": "another" });
    release.run("upgrade", &values);
    release.run("rollback", &Value::Null);
    let kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings";
    let get = ["get", kinds, "-l=app.kubernetes.io/instance=guard", "-o=json"];
    let rendered = site.own.kubectl(&get, "").accepted().stdout;
    for _ in 0..4 {
        site.own.kubectl(&["replace", "-f", "-"], &rendered).accepted();
    }
    pairs.end("an upgrade, a rollback and a tool that heals").assert_all_refused();

    // A different client makes these policies select nothing.
    let pairs = Pairs::start(&site);
    let patch = r#"--patch={"spec": {"matchResources": {"namespaceSelector": {"matchLabels": {"no": "where"}}}}}"#;
    let bindings = RULES.map(|rule| format!("{rule}.{NAME}.setguard.io"));
    let kind = "validatingadmissionpolicybinding";
    for binding in &bindings {
        site.own.kubectl(&["patch", kind, binding, "--type=merge", patch], "").accepted();
        let differences = compared().stdout;
        assert!(differences.contains(binding) && differences.contains("where"), "{differences}");
    }
    let test = || release.output("test", &[], &Value::Null).0;
    becomes("the test to fail", test, |success| !success);
    // Helm 3 leaves fields alone that it has not set.
    if !release.sees_conflicts() {
        for binding in &bindings {
            site.own.kubectl(&["delete", kind, binding], "").accepted();
        }
    }
    release.take_back(&values);
    becomes("the test to succeed", test, |success| *success);
    pairs.end("another selector").assert_all_refused();

    let pairs = Pairs::start(&site);
    release.run("uninstall", &Value::Null);
    assert_eq!(pairs.end("the uninstallation").refused, [""; 0]);
}

/// A tool restores the configurations as rendered, without rules, again and again.
fn healed(site: &Site<'_>, has_policies: bool) {
    let rendered = KINDS.map(|kind| {
        let mut stored = site.own.read(&format!("{kind}/{NAME}"));
        for field in ["managedFields", "resourceVersion", "uid", "generation"] {
            stored["metadata"].as_object_mut().expect("metadata").remove(field);
        }
        for webhook in stored["webhooks"].as_array_mut().expect("webhooks") {
            let is_rehearsal = webhook["name"].as_str().is_some_and(|it| it.contains("rehearsal"));
            if !is_rehearsal {
                webhook.as_object_mut().expect("a webhook").remove("rules");
            }
        }
        stored.to_string()
    });
    let pairs = Pairs::start(site);
    for _ in 0..4 {
        for rendered in &rendered {
            site.own.kubectl(&["replace", "-f", "-"], rendered).accepted();
        }
        arming::wait_for_rules(&site.own);
    }
    let pairs = pairs.end("a tool that heals");
    pairs.assert_never_in_silence();
    assert!(!has_policies || pairs.admitted == 0, "{pairs:?}");
    arming::logs_say(&site.kubelet, "another client has taken the rules away from the webhooks");
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let name = format!("setguard_webhooks_disarmed_total{{kind=\"{kind}\"}} ");
        // Losses in quick succession, before the watch shows the first, count as one.
        let count = metric(site, &name);
        assert!(count >= 1, "{name}{count}");
    }
    becomes("a minute without a change", || metric(site, ARMED), |it| *it == 1);
}

/// Somebody writes a wrong value once: it stays, and every report shows it until the command that setguard prints
/// restores the value.
fn changed(site: &Site<'_>, release: &Release<'_>, has_policies: bool) {
    let nothing = json!({ "matchLabels": { "no": "where" } });
    let never = json!([{ "name": "never", "expression": "false" }]);
    for (field, value) in [
        ("namespaceSelector", nothing.clone()),
        ("objectSelector", nothing),
        ("matchConditions", never),
        ("failurePolicy", json!("Ignore")),
        ("timeoutSeconds", json!(1)),
        ("matchPolicy", json!("Exact")),
        ("clientConfig", json!({ "url": "https://127.0.0.1:1/validate" })),
    ] {
        eprintln!("another {field}");
        let pairs = Pairs::start(site);
        let change = json!([
            { "op": "add", "path": format!("/webhooks/1/{field}"), "value": value },
        ]);
        let patch = ["patch", KINDS[0], NAME, "--type=json", "--patch", &change.to_string()];
        site.own.kubectl(&patch, "").accepted();
        let foreign = "setguard_webhooks_foreign{kind=\"ValidatingWebhookConfiguration\"} ";
        becomes("the metric", || metric(site, foreign), |it| *it == 1);
        assert_eq!(metric(site, ARMED), 0);
        let said = format!("create.validate.{NAME}.setguard.io has another {field}");
        arming::logs_say(&site.kubelet, &said);
        let kubeconfig = &site.own.control_plane.kubectl.kubeconfig;
        let audit = setguard(kubeconfig, &["audit"]).to_string();
        assert!(audit.contains(&said), "{audit}");
        let probe = setguard(kubeconfig, &["probe", "--validating-config", NAME]);
        let probe = probe.refused(&[]).to_string();
        assert!(probe.contains(&said), "{probe}");
        if field == "namespaceSelector" {
            let (success, text) = release.output("test", &[], &Value::Null);
            assert!(!success, "{text}");
        }
        let (_, command) = probe.split_once("kubectl patch ").expect("a command");
        let (_, restore) = command.split_once("--patch='").expect("a patch");
        let (restore, _) = restore.rsplit_once('\'').expect("a patch");
        let restore = restore.replace(r"'\''", "'");
        let patch = ["patch", KINDS[0], NAME, "--type=json", "--patch", &restore];
        site.own.kubectl(&patch, "").accepted();
        becomes("the metric", || metric(site, foreign), |it| *it == 0);
        let pairs = pairs.end(field);
        // Calls of the wrong address fail, and so do good writes.
        if field == "clientConfig" {
            assert_eq!(pairs.in_silence, 0, "{pairs:?}");
        } else {
            pairs.assert_never_in_silence();
        }
        assert!(!has_policies || pairs.admitted == 0, "{pairs:?}");
    }
    becomes("a minute without a change", || metric(site, ARMED), |it| *it == 1);
    // From outside: each webhook refuses, and the message has its name.
    // A set that is being deleted proves nothing, and neither does a name that is taken.
    for mut set in [daemon_set("a"), stateful_set("a"), daemon_set("setguard-probe")] {
        let kind = set["kind"].as_str().expect("a kind").to_lowercase();
        let name = set["metadata"]["name"].as_str().expect("a name").to_owned();
        if name == "a" {
            set["metadata"]["finalizers"] = json!(["setguard.io/e2e"]);
        }
        site.shop.apply(&set).accepted();
        if name == "a" {
            let object = format!("{kind}/{name}");
            site.shop.kubectl(&["delete", &object, "--wait=false"], "").accepted();
        }
    }
    setguard(&site.own.control_plane.kubectl.kubeconfig, &PROBE).accepted();
    release.run("test", &Value::Null);
}

/// From the webhook to policies and back, in the steps that the chart demands.
pub(super) fn modes(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let release = Release::new(&site.own, "guard");
    let mut values = values(&site.url);
    let mutates = control_plane.minor() >= 36;
    values["test"] = json!({ "namespace": "shop" });
    // The policies inject with the default settings only.
    values["policy"] = json!({});
    release.run("install", &values);
    let mut labelled = daemon_set("control");
    labelled["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
    let injected =
        || site.shop.would_store(&labelled)["spec"]["template"]["spec"]["tolerations"].take();
    let once = injected();
    assert!(once.is_array(), "{once}");
    let pairs = Pairs::start(&site);
    let go = |values: &mut Value, mode: &str| {
        values["mode"] = json!(mode);
        if !mutates {
            values["webhook"]["mutating"] = json!({ "enabled": mode != "policies" });
        }
        release.output("upgrade", &["--wait"], values)
    };
    for [refused, first, last] in [["policies", "both", "policies"], ["webhook", "both", "webhook"]]
    {
        let (success, text) = go(&mut values, refused);
        assert!(!success && text.contains("Upgrade to mode=both first"), "{text}");
        for mode in [first, last] {
            let (success, text) = go(&mut values, mode);
            assert!(success, "{mode}: {text}");
            release.run("test", &Value::Null);
            if mutates {
                assert_eq!(injected(), once, "{mode}");
            }
            if mode == "both" {
                // What policies inject proves no webhook.
                let probe = setguard(&control_plane.kubectl.kubeconfig, &PROBE).accepted();
                let is_open = probe.stdout.contains("labelled.mutate.guard-setguard.setguard.io");
                assert_eq!(is_open, mutates, "{probe}");
            }
        }
    }
    pairs.end("changes of the mode").assert_all_refused();
}

/// Older charts over this one. Before `create.validate`, one webhook was for creations too, and the first charts had no
/// annotation. Faulty sets are refused, or nothing says armed.
pub(super) fn older(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let mut release = Release::new(&site.own, "guard");
    let values = values(&site.url);
    release.run("install", &values);
    for is_annotated in [true, false] {
        let newer = release.chart.clone();
        release.chart = control_plane.kubectl.home.join(format!("older-{is_annotated}"));
        let copied = Command::new("cp").arg("-r").args([&newer, &release.chart]).status();
        assert!(copied.expect("cp runs").success());
        let edit = |file: &str, from: &str, to: &str| {
            let file = release.chart.join(file);
            let text = fs::read_to_string(&file).expect("a file of the chart");
            assert!(text.contains(from), "{from}");
            fs::write(file, text.replace(from, to)).expect("a file");
        };
        edit("files/webhook-rules.yaml", "    - UPDATE\n", "    - CREATE\n    - UPDATE\n");
        edit(
            "templates/validating-webhook.yaml", "\"validate\" \"validateCreated\"", "\"validate\"",
        );
        if !is_annotated {
            let annotation = "dict \"setguard.io/webhooks\" (toRawJson $webhooks)";
            edit("templates/_webhook.tpl", annotation, "dict");
        }
        let pairs = Pairs::start(&site);
        release.run("upgrade", &values);
        if is_annotated {
            arming::wait(&site.load);
            becomes("an armed replica", || metric(&site, ARMED), |it| *it == 1);
            let from_now = Pairs::start(&site);
            release.run("test", &Value::Null);
            from_now.end("an older chart").assert_all_refused();
        } else {
            arming::logs_say(&site.kubelet, "it has no annotation setguard.io/webhooks");
        }
        release.chart = newer;
        release.run("upgrade", &values);
        arming::wait(&site.load);
        pairs.end("an older chart and back").assert_never_in_silence();
    }
    release.run("test", &Value::Null);
}

pub(super) fn metric(site: &Site<'_>, name: &str) -> u64 {
    let of = |pod: SocketAddr| read(pod, name).unwrap_or_default();
    site.kubelet.ready().into_iter().map(of).min().unwrap_or_default()
}

pub(super) fn read(pod: SocketAddr, name: &str) -> Option<u64> {
    let metrics = http::get(SocketAddr::new(pod.ip(), 8080), "/metrics");
    metrics.lines().find_map(|line| line.strip_prefix(name))?.parse().ok()
}

pub(super) struct Pairs(Background<Outcome>);

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pairs: usize,
    /// Faulty writes that were admitted.
    admitted: usize,
    /// Admitted faulty writes for which a replica reported armed webhooks, before and for a second afterwards.
    in_silence: usize,
    /// Good writes that were refused, and faulty writes that were refused for an unexpected reason.
    refused: Vec<String>,
    mistaken: Vec<String>,
}

impl Pairs {
    pub(super) fn start(site: &Site<'_>) -> Self {
        let (name, ready) = (site.load.name, site.kubelet.watch_ready());
        let kubeconfig = &site.load.control_plane.kubectl.kubeconfig;
        Pairs(Background::start(kubeconfig, move |client, stop| write(client, name, ready, stop)))
    }

    pub(super) fn end(self, what: &str) -> Outcome {
        let outcome = self.0.stop();
        eprintln!("{what}: {outcome:?}");
        outcome
    }
}

impl Outcome {
    fn assert_never_in_silence(&self) {
        assert_eq!((self.in_silence, &self.refused[..]), (0, &[][..]), "{self:?}");
    }

    pub(super) fn assert_all_refused(&self) {
        self.assert_never_in_silence();
        assert_eq!(self.mistaken, [""; 0]);
        assert!(self.admitted == 0 && self.pairs > 5, "{self:?}");
    }
}

async fn write(
    client: Client,
    name: &str,
    ready: impl Fn() -> Vec<SocketAddr>,
    stop: Stop,
) -> Outcome {
    let sets = Api::<DaemonSet>::namespaced(client.clone(), name);
    let stateful = Api::<StatefulSet>::namespaced(client, name);
    let typed = |set| serde_json::from_value::<DaemonSet>(set).expect("a manifest");
    let (good, bad) = (typed(daemon_set("agent")), typed(surging("agent")));
    // The policy of this rule does not find all that the rule finds.
    let mut twice = stateful_set("db");
    add_claim(&mut twice, None, "1Gi");
    let templates = twice["spec"]["volumeClaimTemplates"].as_array_mut().expect("templates");
    templates.push(templates[0].clone());
    let twice: StatefulSet = serde_json::from_value(twice).expect("a manifest");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let is_armed = || ready().into_iter().any(|pod| read(pod, ARMED) == Some(1));
    let mut outcome = Outcome::default();
    let mut pace = interval(PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !stop.is_set() {
        pace.tick().await;
        outcome.pairs += 1;
        let was_armed = is_armed();
        let refusals = [
            (sets.create(&dry, &bad).await.err(), REFUSED),
            (stateful.create(&dry, &twice).await.err(), "(setguard: claim-name-duplicate"),
        ];
        for (error, expected) in &refusals {
            let other = error.as_ref().map(ToString::to_string);
            outcome.mistaken.extend(other.filter(|it| !it.contains(expected)));
        }
        if refusals.iter().any(|(error, _)| error.is_none()) {
            outcome.admitted += 1;
            // The API server uses a change at once, and a watch reports it to the replicas a little later.
            let mut says_so = was_armed && is_armed();
            for _ in 0..10 {
                if says_so {
                    pace.tick().await;
                    says_so = is_armed();
                }
            }
            outcome.in_silence += usize::from(says_so);
        }
        if let Err(error) = sets.create(&dry, &good).await {
            outcome.refused.push(error.to_string());
        }
    }
    outcome
}

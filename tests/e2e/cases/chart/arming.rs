//! Webhooks that get their rules only when the API server can call setguard.

use super::{CONTROLLERS, KINDS, NAME, Site, guarded, load, release::Release, values};
use crate::prelude::*;

pub(super) fn wait(shop: &Namespace<'_>) {
    becomes("the webhooks to be called", || shop.dry_run(&surging("agent")), |it| !it.success);
}

fn unarmed(own: &Namespace<'_>, kind: &str) -> Vec<String> {
    let stored = own.read(&format!("{kind}/{NAME}"));
    let webhooks = stored["webhooks"].as_array().expect("webhooks").iter();
    let unarmed = webhooks.filter(|it| it["rules"].as_array().is_none_or(Vec::is_empty));
    unarmed.map(|webhook| webhook["name"].as_str().unwrap_or_default().to_owned()).collect()
}

pub(super) fn wait_for_rules(own: &Namespace<'_>) {
    for kind in KINDS {
        becomes("the rules", || unarmed(own, kind).join(", "), String::is_empty);
    }
}

/// An administrator's manual changes stay; setguard restores its own changes.
pub(super) fn by_hand(site: &Site<'_>, release: &Release<'_>, values: &Value) {
    site.patch_policy();
    let patch = r#"--patch=[{"op": "remove", "path": "/webhooks/0/rules"}]"#;
    site.own.kubectl(&["patch", KINDS[0], NAME, "--type=json", patch], "").accepted();
    wait_for_rules(&site.own);
    assert_eq!(site.policy(), "Ignore");
    release.take_back(values);

    // A deleted configuration stays deleted, even after some rounds of setguard.
    site.own.kubectl(&["delete", &KINDS.join(","), NAME], "").accepted();
    wait_for_metrics(&site.kubelet, 0);
    for kind in KINDS {
        site.own.kubectl(&["get", kind, NAME], "").refused(&["NotFound"]);
    }
    // Helm creates the configurations again, and no write fails meanwhile. A rehearsal without the caBundle must not
    // fail either, because it would raise the alert SetguardCertificateNotTrusted.
    let before: Vec<_> = site.kubelet.ready().into_iter().map(|it| (it, distrust(it))).collect();
    let load = load::Load::start(site);
    release.take_back(values);
    wait(&site.shop);
    load.assert_none_failed();
    wait_for_metrics(&site.kubelet, 1);
    for (pod, count) in before {
        assert_eq!(distrust(pod), count, "handshakes that the API server refused");
    }
}

fn distrust(pod: SocketAddr) -> u64 {
    let name = r#"setguard_tls_handshake_failures_total{reason="refused-by-client"} "#;
    guarded::read(pod, name).unwrap_or_else(|| panic!("no {name}"))
}

fn wait_for_metrics(kubelet: &Kubelet, armed: u8) {
    let of = |kind| format!("setguard_webhooks_armed{{kind=\"{kind}\"}} {armed}\n");
    let lines = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"].map(of);
    for pod in kubelet.ready() {
        let metrics = || http::get(SocketAddr::new(pod.ip(), 8080), "/metrics");
        let has_all = |metrics: &String| lines.iter().all(|line| metrics.contains(line));
        becomes("the metrics of both configurations", metrics, has_all);
    }
}

/// An API server that cannot reach the pods, then can; finally the namespace is deleted.
pub(super) fn namespace(shared: &Namespace<'_>) {
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.stop_api_server();
    // OpenShift's API server has this plugin: only a client that may delete the object may set an owner.
    let strict = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    // On by default since 1.37, as in the other cases.
    let gate = "--feature-gates=ExcludeAdmissionWebhookVirtualResources=false";
    let has_gate = shared.control_plane.minor() >= 37;
    let flags = if has_gate { &[strict, gate][..] } else { &[strict] };
    control_plane.start_api_server(flags);
    control_plane.start_controllers(&[CONTROLLERS, &["namespace-controller"]].concat());
    control_plane.start_scheduler();
    let own = Namespace::create(&control_plane, "doomed");
    let shop = Namespace::create(&control_plane, "shop");
    node::create(&own, "node-a", None);
    let service = Service::start();
    let mut values = values(&format!("https://127.0.0.1:{}", service.port));
    values["webhook"]["ownerNeedsDelete"] = json!(true);
    values["webhook"]["installCheck"] = json!({ "enabled": true, "timeoutSeconds": 5 });
    let kubelet = Kubelet::start(&own, "webhook", service);
    let release = Release::new(&own, "guard");

    // Nothing listens at this port, as behind a firewall.
    let right = values["webhook"]["url"].take();
    values["webhook"]["url"] = json!("https://127.0.0.1:1");
    let (success, text) = release.output("install", &["--wait"], &values);
    assert!(!success && text.contains("post-install"), "{text}");
    let why = "failed calling webhook";
    becomes("a log of what the API server says", || kubelet.logs(NAME), |logs| logs.contains(why));
    shop.apply(&daemon_set("first")).silently();
    wait_for_metrics(&kubelet, 0);

    values["webhook"]["url"] = right;
    release.run("upgrade", &values);
    wait(&shop);
    let uid = own.read("namespace/doomed")["metadata"]["uid"].clone();
    let owner = json!([{ "apiVersion": "v1", "kind": "Namespace", "name": "doomed", "uid": uid }]);
    for kind in KINDS {
        let ask = || own.read(&format!("{kind}/{NAME}"))["metadata"]["ownerReferences"].take();
        becomes("an owner", ask, |owners| *owners == owner);
    }
    // Helm leaves the owner alone.
    release.run("upgrade", &values);
    assert_eq!(own.read(&format!("{}/{NAME}", KINDS[0]))["metadata"]["ownerReferences"], owner);

    own.kubectl(&["delete", "namespace", "doomed"], "").accepted();
    let ask = || shop.kubectl(&["get", &KINDS.join(","), "-o", "name"], "").accepted().stdout;
    becomes("no webhook configuration to be left", ask, |left| left.is_empty());
    shop.apply(&daemon_set("last")).silently();
}

pub(super) fn logs_say(kubelet: &Kubelet, why: &str) {
    becomes("the cause in the log", || kubelet.logs(NAME), |logs| logs.contains(why));
}

/// After arming, somebody removes a webhook, and the API server can no longer call setguard.
pub(super) fn no_longer(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let release = Release::new(&site.own, "guard");
    let mut values = values(&site.url);
    values["replicaCount"] = json!(1);
    values["extraArgs"].as_array_mut().expect("a list").push(json!("--arm-check-interval=1s"));
    release.run("install", &values);
    wait(&site.shop);
    let patch = |patch: Value| {
        let patch = format!("--patch={}", json!([patch]));
        site.own.kubectl(&["patch", KINDS[0], NAME, "--type=json", &patch], "").accepted();
    };

    patch(json!({ "op": "remove", "path": "/webhooks/1" }));
    let why = "ValidatingWebhookConfiguration guard-setguard is not as the chart wrote it: \
               create.validate.guard-setguard.setguard.io is missing";
    logs_say(&site.kubelet, why);
    let said = setguard(&control_plane.kubectl.kubeconfig, &["audit"]).stderr;
    assert!(said.contains(why), "{said}");
    release.run("upgrade", &values);
    wait(&site.shop);
    wait_for_metrics(&site.kubelet, 1);

    // A replica that starts after the deletion does not know the configuration, and reports that too.
    site.own.kubectl(&["delete", KINDS[0], NAME], "").accepted();
    site.own
        .kubectl(&["delete", "pods", "-l", "app.kubernetes.io/component=webhook"], "")
        .accepted();
    logs_say(&site.kubelet, "although it was installed together with the other one");
    release.run("upgrade", &values);
    wait(&site.shop);

    // Like a firewall that closes later.
    let url = "https://127.0.0.1:1/validate";
    patch(json!({ "op": "replace", "path": "/webhooks/3/clientConfig/url", "value": url }));
    logs_say(&site.kubelet, "the API server does not show that it calls setguard");
    let uncalled = || guarded::metric(&site, "setguard_webhooks_uncalled_total ");
    becomes("the metric", uncalled, |count| *count > 0);
}

/// The log has each cause for webhooks without rules, with the remedy, and `helm test` fails.
pub(super) fn why_not(shared: &Namespace<'_>) {
    let off = "--disable-admission-plugins=ValidatingAdmissionWebhook";
    let control_plane = ControlPlane::start_with(&shared.control_plane.assets, &[off]);
    let site = Site::new(&control_plane);
    let release = Release::new(&site.own, "guard");
    let mut values = values(&site.url);
    values["replicaCount"] = json!(1);
    values["webhook"]["installCheck"] = json!({ "enabled": false });
    release.run("install", &values);
    let logs_say = |why: &str| logs_say(&site.kubelet, why);
    logs_say("the API server does not call webhooks for ConfigMap guards/guard-setguard-rehearsal");
    logs_say("Is its admission plugin ValidatingAdmissionWebhook enabled");
    let (success, text) = release.output("test", &[], &Value::Null);
    assert!(!success, "{text}");
    let logs = site.kubelet.logs(&format!("{NAME}-test"));
    let why = "ValidatingWebhookConfiguration guard-setguard has no rules, or not all of them";
    assert!(logs.contains(why), "{logs}");
    for kind in ["rolebinding", "configmap"] {
        let name = format!("{NAME}-rehearsal");
        site.own.kubectl(&["delete", kind, &name], "").accepted();
        logs_say(match kind {
            "rolebinding" => "grant it what Role guard-setguard-rehearsal of the chart grants",
            _ => "ConfigMap guards/guard-setguard-rehearsal does not exist",
        });
        release.run("upgrade", &values);
    }
    site.own.kubectl(&["delete", &KINDS.join(","), NAME], "").accepted();
    logs_say("neither webhook configuration guard-setguard exists");
}

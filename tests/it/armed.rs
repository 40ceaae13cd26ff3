//! The answers of a server about its webhook configurations, while it can and cannot read them.

use serde_json::{Value, json};
use setguard_files::report::fingerprint::digest;

use crate::{
    api_server::{ApiServer, Cluster},
    daemon::{Daemon, certificate_in, eventually},
};

const KIND: &str = "ValidatingWebhookConfiguration";
const RESOURCE: &str = "validatingwebhookconfigurations";

struct Site {
    api_server: ApiServer,
    daemon: Daemon,
}

impl Site {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(more: &[&str]) -> Self {
        let api_server = ApiServer::start("37");
        let metadata = json!({ "name": "guard-rehearsal", "namespace": "default" });
        api_server.apply("configmaps", &json!({ "kind": "ConfigMap", "metadata": metadata }));
        api_server.apply(RESOURCE, &configuration("sets", "sets"));
        let dir = tempfile::tempdir().unwrap();
        certificate_in(dir.path());
        let kubeconfig = api_server.kubeconfig(dir.path());
        let args = [&["--arm-webhooks=guard", "--arm-check-interval=1s"], more].concat();
        let mut daemon = Daemon::with_files(dir.path(), &args, &[("KUBECONFIG", &kubeconfig)]);
        daemon.dir = Some(dir);
        let site = Site { api_server, daemon };
        site.measures("armed", 1);
        site
    }

    fn measures(&self, name: &str, value: u64) {
        self.daemon.measured(&format!("setguard_webhooks_{name}{{kind=\"{KIND}\"}} {value}"));
    }

    fn writes(&self, annotated: &str, selected: &str) {
        self.api_server.apply(RESOURCE, &configuration(annotated, selected));
    }
}

/// The configuration has a different selector than the chart wrote.
fn configuration(annotated: &str, selected: &str) -> Value {
    let webhook = |of: &str| {
        json!([{
            "name": "create.validate.setguard.io",
            "objectSelector": { "matchLabels": { "of": of } },
            "rules": [{ "resources": ["daemonsets"], "scope": "*" }],
        }])
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": KIND,
        "metadata": {
            "name": "guard",
            "annotations": { "setguard.io/webhooks": webhook(annotated).to_string() },
        },
        "webhooks": webhook(selected),
    })
}

#[test]
fn a_replica_that_sees_nothing_is_not_armed() {
    let site = Site::new();
    site.api_server.change(|world| world.cut = true);
    site.measures("armed", 0);
    site.api_server.change(|world| world.cut = false);
    site.measures("armed", 1);
}

#[test]
fn what_is_read_after_a_restore_counts_although_its_version_is_lower() {
    let site = Site::new();
    let watches = || site.api_server.asked(&format!("{RESOURCE}?"));
    let before = watches();
    site.api_server.change(|world| {
        world.cut = true;
        world.go_back();
    });
    eventually("another watch", || (watches() > before).then_some(()));
    site.writes("sets", "nothing");
    site.api_server.change(|world| world.cut = false);
    site.measures("foreign", 1);
    site.measures("armed", 0);
    site.writes("sets", "sets");
    site.measures("foreign", 0);
    site.writes("sets", "nothing");
    site.measures("disarmed_total", 2);
}

#[test]
fn changes_that_are_undone_are_counted() {
    let site = Site::new();
    for count in 1..=3 {
        site.writes("sets", "nothing");
        site.measures("foreign", 1);
        site.writes("sets", "sets");
        site.measures("foreign", 0);
        site.measures("disarmed_total", count);
    }
    site.measures("armed", 0);

    // The annotation says how the webhooks should be, so nothing differs from it.
    site.writes("nothing", "nothing");
    site.measures("rewritten_total", 1);
    let line = site
        .daemon
        .logged("the annotation setguard.io/webhooks has changed, and the webhooks follow it");
    assert_eq!(line["level"], "WARN");
}

fn hash(of: &str) -> String {
    let written = configuration(of, of);
    let annotation = written["metadata"]["annotations"]["setguard.io/webhooks"].as_str();
    digest(annotation.unwrap())
}

#[test]
fn a_probe_compares_the_annotation_too() {
    let cluster = Cluster::of("probe", "37");
    let annotations = format!("--annotations={},{}", hash("others"), hash("sets"));
    let args = ["--validating-config=guard", &annotations];
    cluster.has(RESOURCE, &configuration("sets", "sets"));
    cluster.run(&args).ends(0);
    cluster.has(RESOURCE, &configuration("nothing", "nothing"));
    cluster.run(&args).ends(2).reports("is not the one that the chart wrote");
}

#[test]
fn webhooks_and_annotation_that_change_together_are_foreign() {
    let site = Site::with(&[&format!("--arm-annotations={},{}", hash("others"), hash("sets"))]);
    site.writes("nothing", "nothing");
    site.measures("foreign", 1);
    site.measures("armed", 0);
    let line = site.daemon.logged("another client has changed the webhook configurations, and setguard leaves that to administrators");
    let problem = line["fields"]["problem"].as_str().unwrap();
    assert!(problem.contains("helm upgrade restores the annotation. Check"), "{problem}");
    site.writes("others", "others");
    site.measures("foreign", 0);
}

#[test]
fn a_replica_that_only_compares_writes_nothing() {
    let site = Site::with(&["--arm-compare-only"]);
    let mut without = configuration("sets", "sets");
    without["webhooks"][0].as_object_mut().unwrap().remove("rules");
    site.api_server.apply(RESOURCE, &without);
    site.measures("disarmed_total", 1);
    site.measures("armed", 0);
    site.writes("sets", "nothing");
    site.measures("foreign", 1);
    assert_eq!(site.api_server.asked("dryRun"), 0);
    let stored = site.api_server.get(RESOURCE, "", "guard").unwrap();
    assert_eq!(stored["webhooks"], configuration("sets", "nothing")["webhooks"]);
}

#[test]
fn a_webhook_that_is_gone_from_the_annotation_too_is_missed() {
    let cluster = Cluster::of("probe", "37");
    let mut reduced = configuration("sets", "sets");
    let annotation = reduced["metadata"]["annotations"]["setguard.io/webhooks"].take();
    let name = |it: &str| it.replace("create.validate", "rehearsal.validate");
    reduced["metadata"]["annotations"]["setguard.io/webhooks"] =
        json!(name(annotation.as_str().unwrap()));
    reduced["webhooks"][0]["name"] = json!("rehearsal.validate.setguard.io");
    cluster.has(RESOURCE, &reduced);
    let ran = cluster.run(&["--validating-config=guard", "--namespace=shop"]);
    ran.ends(2).reports("webhook create.validate.setguard.io has no rules yet");
}

#[test]
fn a_warning_of_a_policy_is_no_refusal() {
    let cluster = Cluster::of("probe", "37");
    cluster.api_server.change(|world| world.warning = "no (setguard: name-too-long, x)");
    cluster.run(&["--namespace=shop"]).ends(2).reports("no policy refuses it");
    cluster.run(&["--namespace=shop", "--warned"]).ends(0).prints("only name-too-long and");
}

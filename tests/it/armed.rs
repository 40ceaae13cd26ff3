//! The answers of a server about its webhook configurations, while it can and cannot read them.

use setguard_files::report::fingerprint::digest;

use crate::prelude::*;
use crate::{api_server::Cluster, daemon::certificate_in};

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
        for namespace in ["default", "guards"] {
            let metadata = json!({ "name": "guard-rehearsal", "namespace": namespace });
            api_server.apply("configmaps", &json!({ "kind": "ConfigMap", "metadata": metadata }));
        }
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

/// An older chart has no --arm-rehearsal.
#[test]
fn rehearsals_are_in_the_namespace_of_the_release() {
    let site = Site::with(&["--arm-owner=guards"]);
    let asked = |it: &str| site.api_server.asked(&format!("namespaces/{it}/configmaps/"));
    eventually("a rehearsal", || (asked("guards") > 0).then_some(()));
    assert_eq!(asked("default"), 0);
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
    assert!(
        problem.contains("with --force-conflicts in Helm 4, restores the annotation. Check"),
        "{problem}"
    );
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

/// Whoever may write the configuration can forge the annotation, but not what setguard itself registers.
#[test]
fn a_forged_annotation_hides_no_rule_and_the_rest_is_called_not_compared() {
    let cluster = Cluster::of("probe", "37");
    let printed = setguard::server::webhooks::printed("setguard", 443, "PEM").unwrap();
    let (printed, _) = printed.split_once("kind: MutatingWebhookConfiguration").unwrap();
    let printed = printed.trim_start_matches("---").rsplit_once("---").unwrap().0;
    let whole: Value = serde_saphyr::from_str(printed).unwrap();
    let probe = |change: fn(&mut Vec<Value>)| {
        let mut forged = whole.clone();
        change(forged["webhooks"].as_array_mut().unwrap());
        let annotation = forged["webhooks"].to_string();
        forged["metadata"]["annotations"] = json!({ "setguard.io/webhooks": annotation });
        cluster.has(RESOURCE, &forged);
        cluster.run(&["--validating-config=setguard"])
    };
    let selects_nothing: fn(&mut Vec<Value>) =
        |it| it[0]["namespaceSelector"] = json!({ "matchLabels": { "no": "where" } });
    probe(selects_nothing)
        .ends(0)
        .prints("not compared with the chart: the selectors, match conditions,");
    probe(|it| it.truncate(1)).ends(2).reports("create.validate….setguard.io is missing");
    for change in
        [(|it| it[1]["rules"].as_array_mut().unwrap().truncate(1)) as fn(&mut Vec<Value>), |it| {
            it[0]["matchConditions"][0]["expression"] = json!("false");
        }]
    {
        probe(change).ends(2).reports("has other rules or conditions than those of setguard");
    }
}

#[test]
fn a_warning_of_a_policy_is_no_refusal() {
    let cluster = Cluster::of("probe", "37");
    cluster.api_server.change(|world| world.warning = "no (setguard: name-too-long, x)");
    cluster.run(&["--namespace=shop"]).ends(2).reports("no policy refuses it");
    cluster.run(&["--namespace=shop", "--warned"]).ends(0).prints("only name-too-long and");
}

#[test]
fn a_set_that_is_being_deleted_proves_nothing() {
    let cluster = Cluster::of("probe", "37");
    cluster.has(RESOURCE, &configuration("sets", "sets"));
    cluster.api_server.change(|world| world.warning = "pod-never-created: x");
    let deleted =
        json!({ "name": "a", "namespace": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z" });
    for metadata in [deleted, json!({ "name": "b", "namespace": "shop" })] {
        cluster.has("daemonsets", &json!({ "metadata": metadata }));
    }
    let annotations = format!("--annotations={}", hash("sets"));
    cluster.run(&["--validating-config=guard", "--namespace=shop", &annotations]);
    assert_eq!(["a", "b"].map(|it| cluster.api_server.asked(&format!("daemonsets/{it}?"))), [0, 1]);
}

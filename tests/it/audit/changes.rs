//! An audit of one set, and the changes since an earlier audit.

use super::{COVERED, Cluster, covered, mixed, stored, waiting};
use crate::prelude::*;

fn last(cluster: &Cluster, args: &[&str]) -> Value {
    let report = cluster.json(1, args);
    cluster.folder.write("last.json", report.to_string().as_bytes());
    report
}

const AGAINST: [&str; 2] = ["--against", "last.json"];

#[test]
fn what_is_new_still_there_and_gone_is_said() {
    let cluster = Cluster::audited().rules(COVERED, "");
    for name in ["a", "b"] {
        cluster.has("statefulsets", &covered("shop", name));
    }
    let first = last(&cluster, &[]);
    assert_eq!((&first["changes"], &first["findings"][0]["change"]), (&Value::Null, &Value::Null));
    let same = cluster.json(1, &AGAINST);
    assert_eq!(same["changes"], json!({"new": 0, "still": 2, "gone": []}));
    assert_eq!(same["findings"][1]["change"], "still");

    cluster.has("statefulsets", &stored("StatefulSet", "shop", "b"));
    cluster.has("statefulsets", &covered("shop", "c"));
    let report = cluster.json(1, &AGAINST);
    let changes = &report["changes"];
    assert_eq!((&changes["new"], &changes["still"]), (&json!(1), &json!(1)));
    assert_eq!(changes["gone"][0]["object"]["name"], "b");
    assert_eq!(changes["gone"][0]["rule"], "partition-covers-all");
    let found = report["findings"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|it| (&it["object"]["name"], &it["change"])).collect();
    assert_eq!(found, [(&json!("a"), &json!("still")), (&json!("c"), &json!("new"))]);
    let text = cluster.run(&AGAINST).stdout;
    assert!(text.contains("\ngone[partition-covers-all]: StatefulSet shop/b: "), "{text}");
    assert!(text.contains("\nsince the earlier audit: 1 new, 1 still, gone: 1\n"), "{text}");
    assert_eq!(text.matches(" = new: ").count(), 1, "{text}");
}

#[test]
fn what_is_not_audited_now_is_not_gone() {
    let cluster = mixed();
    last(&cluster, &[]);
    let bank = cluster.json(0, &["-n", "bank", "--against", "last.json"]);
    assert_eq!(bank["changes"], json!({"new": 0, "still": 0, "gone": []}));
    // A user with fewer rights has fewer findings.
    cluster.api_server.change(|world| world.forbidden = ["statefulsets"].into());
    let less = cluster.json(0, &AGAINST);
    assert_eq!(less["changes"], json!({"new": 0, "still": 1}));
    assert!(cluster.run(&AGAINST).stdout.contains("gone: unknown\n"));
}

#[test]
fn an_earlier_audit_is_the_json_of_an_audit() {
    let cluster = mixed();
    for (text, why) in
        [("{", "cannot be read"), ("{\"kind\": \"CheckReport\"}", "is a CheckReport")]
    {
        cluster.folder.write("last.json", text.as_bytes());
        let ran = cluster.run(&AGAINST).ends(2);
        assert!(
            ran.stderr.contains("--against: last.json") && ran.stderr.contains(why),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(cluster.run(&["--against", "none.json"]).code, 2);
}

#[test]
fn one_set_can_be_audited_alone() {
    let cluster = Cluster::audited().rules(COVERED, "");
    cluster.has("statefulsets", &waiting("down", 0)).has("statefulsets", &covered("shop", "a"));
    let found = cluster.findings(1, &["statefulset/down", "-n", "shop"]);
    assert_eq!(found, ["fewer-ready-than-wanted shop/down"]);
    let report = cluster.json(1, &["sts/a", "-n", "shop"]);
    assert_eq!(report["summary"]["objects"], 1);
    assert_eq!(report["findings"][0]["object"]["name"], "a");
    let both = cluster.findings(1, &["sts/a", "sts/down", "-n", "shop"]);
    assert_eq!(both.len(), 2);

    cluster
        .run(&["sts/none", "-n", "shop"])
        .ends(2)
        .reports("error: there is no StatefulSet shop/none\n");
    // The kubeconfig's namespace is unset.
    cluster.run(&["ds/none"]).reports("there is no DaemonSet default/none");
    for args in [
        &["sts/a", "-A"][..],
        &["a"],
        &["pod/a"],
        &["sts/a", "-n", "shop", "-n", "bank"],
        &["sts/a", "-n", "shop", "--cluster-reports", "auto"],
    ] {
        assert_eq!(cluster.run(args).code, 2, "{args:?}");
    }
}

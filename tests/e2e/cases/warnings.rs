//! What is let in, with a word or without.

use serde_json::json;

use super::Case;
use crate::{
    manifests::{daemon_set, stateful_set},
    namespace::Namespace,
};

pub(super) const CASES: &[Case] = &[
    Case::new("partition-covers-all-is-warned-of", partition_covers_all),
    Case::new("what-is-good-passes-in-silence", good),
];

fn partition_covers_all(namespace: &Namespace<'_>) {
    let mut set = stateful_set("web");
    set["spec"]["updateStrategy"] = json!({ "rollingUpdate": { "partition": 5 } });
    namespace.apply(&set).with_warning("partition-covers-all");
    let stored = namespace.read("statefulset/web");
    assert_eq!(stored["spec"]["updateStrategy"]["rollingUpdate"]["partition"], 5);
}

fn good(namespace: &Namespace<'_>) {
    for mut set in [daemon_set("agent"), stateful_set("web")] {
        namespace.apply(&set).silently();
        set["spec"]["template"]["spec"]["containers"][0]["image"] =
            json!("registry.example/main:2");
        namespace.apply(&set).silently();
    }
    for object in ["daemonset/agent", "statefulset/web"] {
        let stored = namespace.read(object);
        let image = &stored["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "registry.example/main:2");
    }
    namespace.kubectl(&["scale", "statefulset/web", "--replicas=7"], "").silently();
    assert_eq!(namespace.read("statefulset/web")["spec"]["replicas"], 7);
    namespace.kubectl(&["delete", "daemonset/agent", "statefulset/web"], "").silently();
    namespace.assert_none("daemonsets,statefulsets");
}

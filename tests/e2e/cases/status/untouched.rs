//! Healthy sets next to the faulty ones. No printed command may touch them.

use super::cluster::{Cluster, daemon_set_of, stateful_set_of};
use crate::prelude::*;

/// The namespace of the healthy sets.
const CALM: &str = "calm";
pub(super) const PODS: usize = 3;

/// The generation of each healthy set, and the uids of its pods.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Untouched(BTreeMap<String, (Value, BTreeSet<String>)>);

pub(super) fn create(cluster: &Cluster<'_>) {
    cluster.namespace(CALM, &json!({}));
    cluster.apply(&within(stateful_set_of("calm", "main", 2, "good:1"), CALM));
    let one_node = json!({ "nodeSelector": { "kubernetes.io/hostname": "n0" } });
    cluster.apply(&within(with_pod(daemon_set_of("steady", "main", "good:1"), &one_node), CALM));
}

impl Untouched {
    pub(super) fn of(cluster: &Cluster<'_>) -> Self {
        let list = |what: &str| -> Vec<Value> {
            let list = cluster.kubectl(&["get", what, "-n", CALM, "-o", "json"], "").json();
            list["items"].as_array().cloned().unwrap_or_default()
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let pods = list("pods");
        let pods_of = |name: &str| {
            let own = pods.iter().filter(|pod| pod["metadata"]["labels"]["app"] == name);
            own.map(|pod| text(&pod["metadata"]["uid"])).collect()
        };
        let sets = list("statefulsets,daemonsets").into_iter().map(|set| {
            let name = text(&set["metadata"]["name"]);
            let pods = pods_of(&name);
            (name, (set["metadata"]["generation"].clone(), pods))
        });
        Untouched(sets.collect())
    }

    #[track_caller]
    pub(super) fn assert(&self, cluster: &Cluster<'_>, after: &str) {
        assert_eq!(self.0.values().map(|(_, pods)| pods.len()).sum::<usize>(), PODS, "{self:?}");
        assert_eq!(*self, Untouched::of(cluster), "a healthy set was touched by {after}");
    }
}

use super::{claims, volumes};
use crate::rules::prelude::*;

/// A pod that a StatefulSet waits for and that does not become ready.
pub(in crate::rules) struct Halt<'a> {
    pub(in crate::rules) ordinal: i64,
    pub(in crate::rules) pod: &'a Pod,
    /// The other pods like it, if the set does not wait for them in order.
    pub(in crate::rules) others: Vec<&'a str>,
}

impl<'a> Halt<'a> {
    /// Returns the pod that the controller has long waited for, if no other rule explains it with a claim, a volume, a
    /// deletion that does not end, or a refusal to create it.
    ///
    /// Kubernetes: `processReplica` and `updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go.
    pub(in crate::rules) fn of(query: &StatusQuery<'a>, replicas: &Replicas<'a>) -> Option<Self> {
        let elsewhere = volumes::elsewhere(query, replicas);
        let is_of_loop = query.is_of_loop();
        let is_late = |(ordinal, pod): &(i64, &Pod)| {
            let is_explained = pod.deleted.is_some()
                || is_of_loop(pod)
                || elsewhere.contains_key(ordinal)
                || !claims::unbound(query, &replicas.settings, *ordinal, Some(pod)).is_empty();
            !is_explained && query.audit.is_long_ago(query.unready_since(pod))
        };
        let is_fine = |(_, pod): &(i64, &Pod)| !query.is_unready(pod) && pod.deleted.is_none();
        let Range { start, end } = replicas.settings.ordinals;
        let pods = replicas.pods.range(start..end).map(|(ordinal, pod)| (*ordinal, *pod));
        let mut halts: Vec<_> = if replicas.settings.is_ordered {
            let exist = (start..end).zip(pods).take_while(|(wanted, (at, _))| wanted == at);
            let first = exist.map(|(_, pod)| pod).find(|pod| !is_fine(pod));
            first.filter(is_late).into_iter().collect()
        } else if Refusal::of_creation(query).is_some() {
            Vec::new()
        } else {
            // An update begins with the last pod, and replaces broken pods of the old template.
            let is_open = |(at, pod): &(i64, &Pod)| {
                let is_old = replicas.is_updating() && !pod.is_of(replicas.update_revision());
                !(is_old && replicas.replaces(*at))
            };
            pods.rev().filter(|it| !is_fine(it) && is_late(it) && is_open(it)).collect()
        };
        halts.sort_by_cached_key(|(_, pod)| query.outlook(pod).hold);
        let mut halts = halts.into_iter();
        let (ordinal, pod) = halts.next()?;
        Some(Halt { ordinal, pod, others: halts.map(|(_, pod)| &*pod.name).collect() })
    }
}

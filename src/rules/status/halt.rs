//! The pod for which a StatefulSet waits.

use super::{claims, refusal::Refusal, replicas::Replicas, rule::Asked, volumes};
use crate::observed::Pod;

/// A pod that does not become ready, for which a StatefulSet waits.
pub(super) struct Halt<'a> {
    pub(super) ordinal: i64,
    pub(super) pod: &'a Pod,
}

impl<'a> Halt<'a> {
    /// The pod for which the controller waits, if it has waited for long and no other rule says why:
    /// a claim, a volume, a deletion that does not end, or a refusal to create it.
    ///
    /// Kubernetes: `processReplica` and `updateStatefulSet`,
    /// pkg/controller/statefulset/stateful_set_control.go.
    pub(super) fn of(asked: &Asked<'a>, replicas: &Replicas<'a>) -> Option<Self> {
        let is_ordered = replicas.settings.is_ordered;
        let is_refused = Refusal::of(asked).is_some();
        let mut ordinals: Vec<i64> = replicas.settings.ordinals.clone().collect();
        if !is_ordered {
            // An update begins with the last pod.
            ordinals.reverse();
        }
        for ordinal in ordinals {
            let pod = replicas.pods.get(&ordinal).copied();
            if let Some(pod) = pod.filter(|pod| !pod.ready.0 || pod.deleted.is_some()) {
                let is_explained = pod.deleted.is_some()
                    || !claims::unbound(asked, replicas, ordinal).is_empty()
                    || volumes::elsewhere(asked, replicas, ordinal).is_some();
                if !is_explained && asked.audit.is_long_ago(pod.ready.1) {
                    return Some(Halt { ordinal, pod });
                }
            } else if pod.is_some() {
                continue;
            }
            if is_ordered || is_refused {
                return None;
            }
        }
        None
    }
}

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::{
    kubernetes::int_or_percent::{scaled, shown},
    object::DaemonSetSpec,
};

/// The settings of the new spec.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many seconds a pod must be ready to count as available.
    pub min_ready_seconds: i64,
    /// `None`: old pods are replaced only after somebody deletes them.
    pub rolling: Option<Rolling>,
    /// The old pod holds a port of the node that the new one needs, so a surge pod stays Pending.
    pub old_holds_port: bool,
}

/// How a DaemonSet replaces its pods by itself.
#[derive(Clone, Debug)]
pub struct Rolling {
    max_unavailable: IntOrString,
    max_surge: IntOrString,
}

/// How many pods a rolling update replaces at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RolloutBudget {
    /// The number of pods that may be unavailable.
    pub max_unavailable: usize,
    /// The number of nodes that may have a second pod.
    pub max_surge: usize,
}

impl Settings {
    /// Reads a spec that has its defaults.
    pub fn of<T>(spec: &DaemonSetSpec<T>) -> Self {
        let strategy = spec.update_strategy.as_ref();
        let is_rolling = strategy.and_then(|it| it.type_.as_deref()) != Some("OnDelete");
        let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
        let max_unavailable = rolling.and_then(|it| it.max_unavailable.clone());
        let max_surge = rolling.and_then(|it| it.max_surge.clone());
        Settings {
            old_holds_port: false,
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0).into(),
            rolling: is_rolling.then(|| Rolling {
                max_unavailable: max_unavailable.unwrap_or(IntOrString::Int(1)),
                max_surge: max_surge.unwrap_or(IntOrString::Int(0)),
            }),
        }
    }

    /// Returns whether old pods are replaced only after somebody deletes them.
    pub const fn is_on_delete(&self) -> bool {
        self.rolling.is_none()
    }

    /// Returns how many pods are replaced at once if this number of nodes should have one. Kubernetes:
    /// `updatedDesiredNodeCounts`; both percentages are rounded up.
    pub fn budget(&self, nodes: usize) -> RolloutBudget {
        let total = i32::try_from(nodes).unwrap_or(i32::MAX);
        let count = |value: &IntOrString| {
            let count = scaled(value, total, true).unwrap_or(0);
            usize::try_from(count).unwrap_or(0)
        };
        let Some(rolling) = &self.rolling else {
            return RolloutBudget { max_unavailable: 0, max_surge: 0 };
        };
        let max_surge = count(&rolling.max_surge);
        let max_unavailable = match count(&rolling.max_unavailable) {
            0 if nodes > 0 && max_surge == 0 => 1,
            count => count,
        };
        RolloutBudget { max_unavailable, max_surge }
    }

    /// Returns how all pods are replaced, as far as that does not depend on the nodes.
    pub fn shape(&self) -> String {
        let Some(Rolling { max_unavailable, max_surge }) = &self.rolling else {
            return "OnDelete: a pod is replaced only after you delete it".to_owned();
        };
        let at_a_time = |value: &IntOrString| match value {
            IntOrString::Int(1) => "one at a time".to_owned(),
            value => format!("at most {} at a time", shown(value)),
        };
        let (surge, down) = (shown(max_surge), shown(max_unavailable));
        match self.surges() {
            true => format!(
                "all pods are replaced, {}, each once its new pod is ready: maxSurge {surge}, maxUnavailable {down}",
                at_a_time(max_surge)
            ),
            false => format!(
                "all pods are replaced, {}: maxUnavailable {down}",
                at_a_time(max_unavailable)
            ),
        }
    }

    pub(super) fn surges(&self) -> bool {
        self.rolling.as_ref().is_some_and(|rolling| is_surge(&rolling.max_surge))
    }
}

/// Returns whether a rolling update starts new pods before it deletes the old ones. The API server rejects a `maxSurge`
/// that is neither a number nor a percentage.
pub fn surges<T>(spec: &DaemonSetSpec<T>) -> bool {
    let strategy = spec.update_strategy.as_ref();
    let strategy = strategy.filter(|it| it.type_.as_deref() == Some("RollingUpdate"));
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    rolling.and_then(|rolling| rolling.max_surge.as_ref()).is_some_and(is_surge)
}

/// Kubernetes: `AllowsSurge`, pkg/controller/daemon/util/daemonset_util.go.
fn is_surge(max_surge: &IntOrString) -> bool {
    scaled(max_surge, 1, true).is_some_and(|count| count > 0)
}

//! The events of a pod, which add to its status.

use super::foreign_text::one_line;
use crate::{
    kubernetes::kind::Kind,
    observed::{Event, INITIALIZING, LONGEST_GAP, NOT_READY, NotReadyKind, NotReadyReason, Pod},
    rules::rule::status::StatusQuery,
};

/// Events that show why a pod does not start.
const WHY_NOT_STARTED: [&str; 7] = [
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedMapVolume",
    "FailedMount",
    "FailedPrepareDynamicResources",
    "FailedResourceClaimCreation",
    "NetworkNotReady",
];
/// The beginning of the message of a kubelet that has waited for all volumes of a pod, and not for one that it
/// names with a cause. Newer kubelets name the volumes too.
///
/// Kubernetes: `WaitForAttachAndMount`, pkg/kubelet/volumemanager/volume_manager.go.
const NO_CAUSE: &str = "Unable to attach or mount volumes: ";
/// An event of a kubelet without the credentials for a registry.
const NO_PULL_SECRET: &str = "FailedToRetrieveImagePullSecret";
/// The words of registries that refuse a client, in lower case.
const DENIED: [&str; 5] = ["authoriz", "denied", "forbidden", "401", "basic auth credentials"];

/// Events that occur only while a pod is not ready.
const GRAVE: [&str; 11] = [
    "BackOff",
    "Evicted",
    "Failed",
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedMapVolume",
    "FailedMount",
    "FailedScheduling",
    "NetworkNotReady",
    "OutOfcpu",
    "OutOfmemory",
];
/// The time within which a kubelet reports that a new pod is not ready, in seconds.
const SOON: i64 = 60;
/// The exit codes of a container that is killed.
const KILLED: [&str; 2] = ["exit code 137,", "exit code 143,"];

impl StatusQuery<'_> {
    /// Returns the time since which a pod has not been ready, in seconds since 1970. The time before its creation
    /// counts too if warnings about earlier pods follow each other without a long gap: about pods of its name, or
    /// for a DaemonSet about all of its pods. A pod whose container ends again and again is ready in between, so
    /// the time counts for which that must have gone on; and so is one that only flaps.
    pub(in crate::rules) fn unready_since(&self, pod: &Pod) -> i64 {
        if let Some(since) = self.flaps_since(pod) {
            return since;
        }
        let since = self.changed(pod);
        // A pod that only starts may be the fix.
        let is_stuck = pod
            .trouble
            .as_ref()
            .is_some_and(|it| !matches!(it.kind, NotReadyKind::Waiting | NotReadyKind::NoKubelet));
        let (observed, set) = (self.audit.observed, self.set);
        let own = observed.events(set.namespace(), Kind::Pod, &pod.name).iter();
        if !is_stuck || since > pod.created + SOON {
            // The pod may have been ready since it was created.
            let looped = pod.trouble.as_ref().map_or(0, |it| it.looped);
            return match self.audit.is_long_ago(since) {
                true => since,
                false => since.saturating_sub(looped).max(pod.created.min(since)),
            };
        }
        let earlier = observed.events_of_daemons(set);
        let mut grave: Vec<&Event> =
            own.chain(earlier).filter(|it| GRAVE.contains(&&*it.reason)).collect();
        grave.sort_unstable_by_key(|it| std::cmp::Reverse(it.last));
        grave.into_iter().fold(since, |since, event| match event.last.saturating_add(LONGEST_GAP) {
            end if end >= since => since.min(event.first),
            _ => since,
        })
    }
}

impl StatusQuery<'_> {
    /// Returns the time at which a pod became ready or unready. If that is in the future, the clock of its node is
    /// ahead, by about as much as the start of the pod seems to be later than its assignment to the node.
    fn changed(&self, pod: &Pod) -> i64 {
        let is_idle = pod.trouble.as_ref().is_some_and(|it| it.kind == NotReadyKind::NoKubelet);
        let since = if is_idle { pod.bound } else { pod.ready.1 };
        let now = self.audit.now.as_second();
        if since <= now + SOON || pod.created > now {
            return since;
        }
        (since - pod.ahead).clamp(pod.created, now)
    }
}

/// Returns the reason why a pod is not ready, from its status and its events.
pub(in crate::rules) fn with_events(
    query: &StatusQuery<'_>,
    pod: &Pod,
    trouble: &NotReadyReason,
) -> String {
    let events = query.audit.observed.events(query.set.namespace(), Kind::Pod, &pod.name);
    let is_begun = matches!(&*trouble.reason, NOT_READY | INITIALIZING);
    let of = |wanted: &dyn Fn(&Event) -> bool| events.iter().find(|it| wanted(it));
    if trouble.kind == NotReadyKind::Waiting
        && let Some(event) = why_not_started(events)
    {
        return format!("{}: {}", event.reason, one_line(&event.message));
    }
    let said = match (&*trouble.message, events.first()) {
        ("", Some(event)) => one_line(&event.message),
        ("", None) if trouble.kind == NotReadyKind::Waiting => {
            return format!("{}, and no event says why", trouble.reason);
        }
        (said, _) => one_line(said),
    };
    let is_killed = trouble.kind == NotReadyKind::Broken
        && KILLED.iter().any(|it| format!("{said},").contains(it));
    let unhealthy = of(&|it| {
        &*it.reason == "Unhealthy"
            && (is_begun || is_killed && !it.message.starts_with("Readiness"))
    });
    if let Some(event) = of(&|it| &*it.reason == NO_PULL_SECRET && is_denied(&said)) {
        return format!("{}: {said}; {}", trouble.reason, one_line(&event.message));
    }
    match (unhealthy, &*said) {
        (Some(event), _) if &*trouble.reason == NOT_READY => {
            format!("{said}: {}", one_line(&event.message))
        }
        (Some(event), _) => format!("{}: {said}: {}", trouble.reason, one_line(&event.message)),
        (None, "") => trouble.reason.clone().into(),
        (None, said) => format!("{}: {said}", trouble.reason),
    }
}

/// Returns the latest of these events that says why a pod does not start, if one does.
pub(in crate::rules) fn why_not_started(events: &[Event]) -> Option<&Event> {
    let mut all = events.iter().filter(|it| WHY_NOT_STARTED.contains(&&*it.reason));
    let latest = all.next()?;
    if !latest.message.starts_with(NO_CAUSE) {
        return Some(latest);
    }
    // A kubelet repeats the cause, unless it waits for the volume to be attached: that is said once.
    let is_current = |it: &&Event| {
        &*it.reason == "FailedAttachVolume" || it.last.saturating_add(LONGEST_GAP) >= latest.last
    };
    all.find(|it| !it.message.starts_with(NO_CAUSE) && is_current(it)).or(Some(latest))
}

/// Returns whether a message says that a registry refuses the credentials, or their absence.
fn is_denied(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    DENIED.iter().any(|it| message.contains(it))
}

/// Returns whether a message of the kubelet says that a ConfigMap, a Secret, or a key of it, or another object
/// that a pod refers to is missing.
///
/// Kubernetes: `makeEnvironmentVariables` and `getPullSecretsForPod`, pkg/kubelet/kubelet_pods.go; `collectData`,
/// pkg/volume/projected/projected.go.
pub(in crate::rules) fn names_absent(message: &str) -> bool {
    let is_absent = |kind: &str| {
        let rest = message.split_once(kind).and_then(|(_, rest)| rest.split_once('"'));
        rest.is_some_and(|(_, rest)| rest.starts_with(" not found"))
    };
    is_absent("configmap \"")
        || is_absent("secret \"")
        || is_absent("serviceaccounts \"")
        || is_absent("resourceclaimtemplate.resource.k8s.io \"")
        || message.contains("Unable to retrieve some image pull secrets ")
        || message.contains("couldn't find key ")
        || message.contains("references non-existent ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absent_object_is_one_that_can_be_created() {
        for message in [
            "CreateContainerConfigError: container app: configmap \"app-config\" not found",
            "FailedMount: MountVolume.SetUp failed for volume \"tls\" : secret \"agent-tls\" not found",
            "couldn't find key password in Secret shop/db",
            "references non-existent config key: a",
            "failed to fetch token: serviceaccounts \"db\" not found",
            "resource claim template \"gpu\": resourceclaimtemplate.resource.k8s.io \"gpu\" not found",
        ] {
            assert!(names_absent(message), "{message}");
        }
        for message in [
            "container has runAsNonRoot and image will run as root (pod: \"db-0_shop(x)\")",
            "driver name ebs.csi.aws.com not found in the list of registered CSI drivers",
            "",
        ] {
            assert!(!names_absent(message), "{message}");
        }
    }
}

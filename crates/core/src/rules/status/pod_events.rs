//! Explains the status of a pod with its events.

use crate::observed::{INITIALIZING, LONGEST_GAP, NOT_READY, NotReadyReason};
use crate::rules::prelude::*;

const WHY_NOT_STARTED: [&str; 7] = [
    "FailedAttachVolume", "FailedCreatePodSandBox", "FailedMapVolume", "FailedMount",
    "FailedPrepareDynamicResources", "FailedResourceClaimCreation", "NetworkNotReady",
];
/// The message of a kubelet that timed out on the volumes of a pod without a specific cause. Newer kubelets also name
/// the volumes.
///
/// Kubernetes: `WaitForAttachAndMount`, pkg/kubelet/volumemanager/volume_manager.go.
const NO_CAUSE: &str = "Unable to attach or mount volumes: ";
const NO_PULL_SECRET: &str = "FailedToRetrieveImagePullSecret";
/// How registries refuse a client, in lower case.
const DENIED: [&str; 5] = ["authoriz", "denied", "forbidden", "401", "basic auth credentials"];

/// Events that occur only while a pod is not ready.
const GRAVE: [&str; 11] = [
    "BackOff", "Evicted", "Failed", "FailedAttachVolume", "FailedCreatePodSandBox",
    "FailedMapVolume", "FailedMount", "FailedScheduling", "NetworkNotReady", "OutOfcpu",
    "OutOfmemory",
];
/// How soon a kubelet reports a new pod as unready, in seconds.
const SOON: i64 = 60;
const KILLED: [&str; 2] = ["exit code 137,", "exit code 143,"];

impl StatusQuery<'_> {
    /// Returns since when a pod has been unready, in seconds since 1970. This includes the time before its creation if
    /// warnings about earlier pods follow each other closely: about pods of its name or, for a DaemonSet, about all of
    /// its pods. For a pod in a crash loop or that flaps, it includes the times when the pod was ready in between.
    pub(in crate::rules) fn unready_since(&self, pod: &Pod) -> i64 {
        if let Some(since) = self.flaps_since(pod) {
            return since;
        }
        let since = self.changed(pod);
        // A pod that is starting may be the fix.
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
    /// Returns when a pod last became ready or unready. If that is in the future, its node's clock is ahead by about
    /// the time from the assignment to the node to the start of the pod.
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

pub(in crate::rules) fn why_not_started(events: &[Event]) -> Option<&Event> {
    let mut all = events.iter().filter(|it| WHY_NOT_STARTED.contains(&&*it.reason));
    let latest = all.next()?;
    if !latest.message.starts_with(NO_CAUSE) {
        return Some(latest);
    }
    // A kubelet repeats the cause, unless it waits for the volume to be attached: it reports that once.
    let is_current = |it: &&Event| {
        &*it.reason == "FailedAttachVolume" || it.last.saturating_add(LONGEST_GAP) >= latest.last
    };
    all.find(|it| !it.message.starts_with(NO_CAUSE) && is_current(it)).or(Some(latest))
}

fn is_denied(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    DENIED.iter().any(|it| message.contains(it))
}

/// Returns whether the kubelet's message reports a missing ConfigMap, Secret, key or other object that a pod refers to.
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

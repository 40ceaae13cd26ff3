//! The reasons why a pod is not ready, and whether it will become ready.

use jiff::Timestamp;
use setguard_core::{
    kubernetes::kind::Kind,
    observed::{Event, NewNode, NotReadyKind, NotReadyReason, Pod, Scaling, WorkloadStatus},
};

use super::obstacle::{Hold, Obstacle, View};

/// The words of registries and kubelets for an image that does not exist.
const NO_IMAGE: [&str; 6] = [
    "not found",
    "manifest unknown",
    "name unknown",
    "does not exist",
    "no match for platform",
    "no matching manifest",
];
/// The words of registries and kubelets for a program that does not exist, or not for this processor.
const NO_PROGRAM: [&str; 3] =
    ["executable file not found", "no such file or directory", "exec format error"];
/// The event of a kubelet that has no credentials for a registry. Another client may be about to create them.
const NO_PULL_SECRET: &str = "FailedToRetrieveImagePullSecret";
/// The events of pods that get no volume or no network.
const OF_NODES: [&str; 5] = [
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedMapVolume",
    "FailedMount",
    "NetworkNotReady",
];
/// The time for which an event of a kubelet counts, in seconds. A kubelet tries again after two
/// minutes at most.
const LATEST: i64 = 150;

/// Returns the obstacle of a pod that is not ready.
pub(crate) fn obstacle(view: &View<'_>, set: &WorkloadStatus, pod: &Pod) -> Obstacle {
    // A pod on a node that is down does not end, whatever its grace period is.
    if let Some(obstacle) = of_node(view, pod) {
        return obstacle;
    }
    if let Some(end) = pod.deleted {
        let why = pod.finalizers.as_ref().map(|it| format!(" (finalizers: {it})"));
        let until = Timestamp::from_second(end).ok().filter(|end| *end > view.now);
        let until = until.map(|end| format!(", for which its containers have until {end}"));
        let [why, until] = [why, until].map(Option::unwrap_or_default);
        let text = format!("{} is being deleted{why}{until}", pod.name);
        let hold = Hold::TransientSince(end);
        let mut obstacle = Obstacle::new("deleted", hold, text).of_pod(&pod.name, end);
        // The end of the pod's grace period may be in the future.
        obstacle.since = obstacle.since.filter(|end| *end <= view.now.as_second());
        return obstacle;
    }
    let scaling = scaling(view, set, pod);
    let (group, hold, event) = of_status(view, set, pod, scaling);
    let since = if group == KUBELET { pod.bound } else { pod.ready.1 };
    let why = match (event, pod.trouble.as_deref()) {
        (Some(Event { reason, message, .. }), _) => format!(": {reason}: {message}"),
        (None, Some(NotReadyReason { reason, message, .. })) if !message.is_empty() => {
            format!(": {reason}: {message}")
        }
        (None, Some(NotReadyReason { reason, .. })) => format!(": {reason}"),
        (None, None) => String::new(),
    };
    let scaled = scaling.map(|Scaling { by, node, message, .. }| {
        let does = match node {
            NewNode::Coming(_) => "is adding a node",
            NewNode::Late => "began to add a node, which has not come",
            NewNode::Refused => "adds no node",
        };
        format!("; {by} {does}: {message}")
    });
    let text = format!("{} is not ready{why}{}", pod.name, scaled.unwrap_or_default());
    Obstacle::new(group, hold, text).of_pod(&pod.name, since)
}

/// Returns the last answer of an autoscaler of nodes to a pod that has no place.
fn scaling<'a>(view: &View<'a>, set: &WorkloadStatus, pod: &Pod) -> Option<Scaling<'a>> {
    let trouble = pod.trouble.as_deref()?;
    let has_no_place = trouble.kind == NotReadyKind::Unschedulable;
    has_no_place.then(|| view.observed.scaling(set.namespace(), pod, view.now.as_second()))?
}

/// Returns the obstacle of a node that is down, or gone.
fn of_node(view: &View<'_>, pod: &Pod) -> Option<Obstacle> {
    let name = pod.node.as_deref().filter(|_| pod.is_bound)?;
    if !view.observed.knows(Kind::Node, "") {
        return None;
    }
    let (hold, text, since) = match view.observed.node(name).map(|node| node.not_ready) {
        Some(None) => return None,
        Some(Some(since)) => {
            let state = if pod.deleted.is_some() { "does not end" } else { "is not ready" };
            let text = format!("{} {state}: its node {name} is not ready", pod.name);
            (Hold::TransientSince(since), text, since)
        }
        None => {
            let text = format!("{} is not ready: its node {name} does not exist", pod.name);
            (Hold::Transient, text, pod.ready.1)
        }
    };
    Some(Obstacle::new("node", hold, text).of_pod(&pod.name, since))
}

/// The kind of trouble of a pod in one word, the time that it may last, and the event that says more.
type Told<'a> = (&'static str, Hold, Option<&'a Event>);

/// Returns the kind of trouble that the status and the events of a pod tell.
fn of_status<'a>(
    view: &View<'a>,
    set: &WorkloadStatus,
    pod: &Pod,
    scaling: Option<Scaling<'_>>,
) -> Told<'a> {
    let Some(trouble) = pod.trouble.as_deref() else { return ("slow", Hold::Slow, None) };
    let says = |words: &[&str]| words.iter().any(|word| trouble.message.contains(word));
    let (group, hold) = match trouble.kind {
        NotReadyKind::Ended => ("ended", Hold::Transient),
        NotReadyKind::Unschedulable if trouble.message.contains("persistentvolumeclaim \"") => {
            ("place", Hold::Likely)
        }
        NotReadyKind::Unschedulable => match scaling.map(|it| it.node) {
            Some(NewNode::Coming(end)) => ("place", Hold::Until(end)),
            _ => ("place", Hold::Transient),
        },
        NotReadyKind::Broken => match &*trouble.reason {
            "InvalidImageName" | "ErrImageNeverPull" | "SignatureValidationFailed" => {
                ("image", Hold::Fact)
            }
            "ErrImagePull" | "ImagePullBackOff" if says(&NO_IMAGE) => {
                let lacks_secret = recent(view, set, pod).any(|it| &*it.reason == NO_PULL_SECRET);
                ("image", if lacks_secret { Hold::Transient } else { Hold::Fact })
            }
            "ErrImagePull" | "ImagePullBackOff" | "ImageInspectError" | "RegistryUnavailable" => {
                ("image", Hold::Transient)
            }
            // What it lacks may come late, such as a Secret from cert-manager or external-secrets.
            "CreateContainerConfigError" => ("config", Hold::Transient),
            "CreateContainerError" => ("config", Hold::Likely),
            _ if pod.restarts >= view.limits.restarts => (CRASH, Hold::Fact),
            _ if says(&NO_PROGRAM) => (CRASH, Hold::Likely),
            _ => (CRASH, Hold::Crash),
        },
        NotReadyKind::NoKubelet => (KUBELET, Hold::Transient),
        NotReadyKind::Waiting => return of_waiting(view, set, pod, trouble),
    };
    (group, hold, None)
}

/// The word for a pod that has a node whose kubelet does nothing. It is not the word for a pod without a node, whose
/// patience ends when it gets one.
const KUBELET: &str = "kubelet";

/// The word for containers that start and end again.
pub(crate) const CRASH: &str = "crash";

/// Returns the events of a pod that count, the latest first.
fn recent<'a>(view: &View<'a>, set: &WorkloadStatus, pod: &Pod) -> impl Iterator<Item = &'a Event> {
    let (now, created) = (view.now.as_second(), pod.created);
    let events = view.observed.events(set.namespace(), Kind::Pod, &pod.name).iter();
    events.filter(move |event| event.last + LATEST > now && event.last >= created)
}

/// Returns the kind of trouble of a pod that is about to start, or to become ready. Its status alone decides how long
/// that may last: whoever may create events can write any event.
fn of_waiting<'a>(
    view: &View<'a>,
    set: &WorkloadStatus,
    pod: &Pod,
    trouble: &NotReadyReason,
) -> Told<'a> {
    // No scheduler has processed the pod yet.
    if &*trouble.reason == "Pending" {
        return ("begin", Hold::Transient, None);
    }
    let event = recent(view, set, pod).find(|it| OF_NODES.contains(&&*it.reason));
    match pod.has_sandbox {
        Some(false) => ("mount", Hold::Transient, event),
        Some(true) => ("slow", Hold::Slow, None),
        None => ("slow", Hold::Slow, event),
    }
}

//! The reasons why a pod is not ready, and whether it will become ready.

use super::obstacle::{Hold, Obstacle, View};
use crate::{
    kubernetes::kind::Kind,
    observed::{Event, Pod, Set, Trouble, TroubleKind},
};

/// The words of registries and kubelets for an image that does not exist.
const NO_IMAGE: [&str; 6] = [
    "not found",
    "manifest unknown",
    "name unknown",
    "does not exist",
    "no match for platform",
    "no matching manifest",
];
/// The words of registries and kubelets for a program that does not exist.
const NO_PROGRAM: [&str; 2] = ["executable file not found", "no such file or directory"];
/// The words of registries and kubelets for a volume that cannot be made from the existing objects.
const NO_SOURCE: [&str; 2] = ["not found", "non-existent"];
/// The time for which an event of a kubelet counts, in seconds. A kubelet tries again after two
/// minutes at most.
const LATEST: i64 = 150;

/// Returns the obstacle of a pod that is not ready.
pub(crate) fn obstacle(view: &View<'_>, set: &Set, pod: &Pod) -> Obstacle {
    let since = pod.ready.1;
    // A pod on a node that is down does not end, whatever its grace period is.
    if let Some(obstacle) = of_node(view, pod) {
        return obstacle;
    }
    if let Some(end) = pod.deleted {
        let why = pod.finalizers.as_ref().map(|it| format!(" (finalizers: {it})"));
        let text = format!("{} is being deleted{}", pod.name, why.unwrap_or_default());
        let hold = Hold::TransientSince(end);
        let mut obstacle = Obstacle::new("deleted", hold, text).of_pod(&pod.name, end);
        // The end of the pod's grace period may be in the future.
        obstacle.since = obstacle.since.filter(|end| *end <= view.now.as_second());
        return obstacle;
    }
    let (group, hold) = of_status(view, set, pod);
    let text = match pod.trouble.as_deref() {
        Some(Trouble { reason, message, .. }) if !message.is_empty() => {
            format!("{} is not ready: {reason}: {message}", pod.name)
        }
        Some(Trouble { reason, .. }) => format!("{} is not ready: {reason}", pod.name),
        None => format!("{} is not ready", pod.name),
    };
    Obstacle::new(group, hold, text).of_pod(&pod.name, since)
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

/// Returns the kind of trouble that the status and the events of a pod tell, in one word, and the
/// time that it may last.
fn of_status(view: &View<'_>, set: &Set, pod: &Pod) -> (&'static str, Hold) {
    let Some(trouble) = pod.trouble.as_deref() else { return ("slow", Hold::Slow) };
    let says = |words: &[&str]| words.iter().any(|word| trouble.message.contains(word));
    match trouble.kind {
        TroubleKind::Ended => ("ended", Hold::Transient),
        TroubleKind::Unschedulable if trouble.message.contains("persistentvolumeclaim \"") => {
            ("place", Hold::Likely)
        }
        TroubleKind::Unschedulable => ("place", Hold::Transient),
        TroubleKind::Broken => match &*trouble.reason {
            "InvalidImageName" | "ErrImageNeverPull" => ("image", Hold::Fact),
            "ErrImagePull" | "ImagePullBackOff" if says(&NO_IMAGE) => ("image", Hold::Fact),
            "ErrImagePull" | "ImagePullBackOff" => ("image", Hold::Transient),
            "CreateContainerConfigError" | "CreateContainerError" => ("config", Hold::Likely),
            _ if pod.restarts >= view.limits.restarts => (CRASH, Hold::Fact),
            _ if says(&NO_PROGRAM) => (CRASH, Hold::Likely),
            _ => (CRASH, Hold::Transient),
        },
        TroubleKind::NoKubelet => ("begin", Hold::Transient),
        TroubleKind::Waiting => of_waiting(view, set, pod, trouble),
    }
}

/// The word for containers that start and end again.
pub(crate) const CRASH: &str = "crash";

/// Returns the kind of trouble of a pod that is about to start, or to become ready.
fn of_waiting(view: &View<'_>, set: &Set, pod: &Pod, trouble: &Trouble) -> (&'static str, Hold) {
    let now = view.now.as_second();
    let events = view.observed.events(set.namespace(), Kind::Pod, &pod.name);
    let is_recent = |event: &&Event| event.last + LATEST > now && event.last >= pod.created;
    for event in events.iter().filter(is_recent) {
        let says = |words: &[&str]| words.iter().any(|word| event.message.contains(word));
        match &*event.reason {
            "FailedMount" if says(&NO_SOURCE) => return ("mount", Hold::Likely),
            "FailedMount" | "FailedMapVolume" | "FailedAttachVolume" | "FailedCreatePodSandBox" => {
                return ("mount", Hold::Transient);
            }
            _ => {}
        }
    }
    match &*trouble.reason {
        // No scheduler has processed the pod yet.
        "Pending" => ("begin", Hold::Transient),
        _ => ("slow", Hold::Slow),
    }
}

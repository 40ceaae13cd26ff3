//! Predicts whether a pod becomes ready by itself, for commands that wait.

use crate::observed::NewNode;
use crate::rules::prelude::*;

/// Nothing happens, as in the moment between two pods.
pub const IDLE: &str = "idle";
/// A container repeatedly starts and ends.
pub const CRASH: &str = "crash";
/// Pods end or are deleted, and are created again.
pub const LOOP: &str = "loop";

/// How registries and kubelets describe an image that does not exist.
const NO_IMAGE: [&str; 6] = [
    "not found", "manifest unknown", "name unknown", "does not exist", "no match for platform",
    "no matching manifest",
];
/// How they describe a program that does not exist, or is built for a different processor.
const NO_PROGRAM: [&str; 3] =
    ["executable file not found", "no such file or directory", "exec format error"];
/// The kubelet has no credentials for a registry. A different client may be about to create them.
const NO_PULL_SECRET: &str = "FailedToRetrieveImagePullSecret";
/// How long an event of a kubelet counts, in seconds. A kubelet retries after at most two minutes.
const LATEST: i64 = 150;

impl StatusQuery<'_> {
    /// Predicts whether an unready pod becomes ready by itself. The status decides, and events only extend the
    /// patience: anybody who may create events can write any event.
    pub(in crate::rules) fn outlook(&self, pod: &Pod) -> Outlook {
        let (observed, node) = (self.audit.observed, pod.node.as_deref().filter(|_| pod.is_bound));
        match node.map(|name| observed.node(name).map(|node| node.not_ready)) {
            // A pod on a node that is down does not end, whatever its grace period is.
            Some(Some(Some(since))) => return Outlook::new("node", Hold::Since(since)),
            Some(None) if observed.knows(Kind::Node, "") => {
                return Outlook::new("node", Hold::Passing);
            }
            _ => {}
        }
        if let Some(end) = pod.deleted {
            return Outlook::new("deleted", Hold::Since(end));
        }
        let slow = Outlook::new("slow", Hold::Slow);
        let Some(trouble) = pod.trouble.as_deref() else { return slow };
        let says = |words: &[&str]| words.iter().any(|word| trouble.message.contains(word));
        match (trouble.kind, &*trouble.reason) {
            (NotReadyKind::Ended, _) => Outlook::new("ended", Hold::Passing),
            (NotReadyKind::Unschedulable, _) if says(&["persistentvolumeclaim \""]) => {
                Outlook::new("place", Hold::Seldom)
            }
            (NotReadyKind::Unschedulable, _) => match self.scaling(pod).map(|it| it.node) {
                Some(NewNode::Coming(end)) => Outlook::new("place", Hold::Until(end)),
                _ => Outlook::new("place", Hold::Passing),
            },
            (NotReadyKind::NoKubelet, _) => Outlook::new("kubelet", Hold::Passing),
            (NotReadyKind::Waiting, "Pending") => Outlook::new("begin", Hold::Passing),
            (NotReadyKind::Waiting, _) if pod.has_sandbox == Some(false) => {
                Outlook::new("mount", Hold::Passing)
            }
            (NotReadyKind::Waiting, _) => slow,
            (_, "InvalidImageName" | "ErrImageNeverPull" | "SignatureValidationFailed") => {
                Outlook::new("image", Hold::Lasting)
            }
            (_, "ErrImagePull" | "ImagePullBackOff")
                if says(&NO_IMAGE) && !self.lacks_secret(pod) =>
            {
                Outlook::new("image", Hold::Lasting)
            }
            (
                _,
                "ErrImagePull" | "ImagePullBackOff" | "ImageInspectError" | "RegistryUnavailable",
            ) => Outlook::new("image", Hold::Passing),
            // The missing object may come late, such as a Secret from cert-manager or external-secrets.
            (_, "CreateContainerConfigError") => Outlook::new("config", Hold::Passing),
            (_, "CreateContainerError") => Outlook::new("config", Hold::Seldom),
            _ if says(&NO_PROGRAM) => Outlook::new(CRASH, Hold::Seldom),
            _ => Outlook::new(CRASH, Hold::Crash(pod.restarts)),
        }
    }

    /// Returns whether the kubelet has recently reported missing credentials for a registry.
    fn lacks_secret(&self, pod: &Pod) -> bool {
        let now = self.audit.now.as_second();
        let events = self.audit.observed.events(self.set.namespace(), Kind::Pod, &pod.name);
        let is_recent = |last: i64| last + LATEST > now && last >= pod.created;
        events.iter().any(|it| &*it.reason == NO_PULL_SECRET && is_recent(it.last))
    }
}

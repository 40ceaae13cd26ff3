//! A pod of a set.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserialize;

use super::meta::{Condition, Metadata, Owner};
use crate::{finding::shorten, rollout::Health};

/// The states of containers that do not start by themselves.
const BROKEN: [&str; 8] = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];
/// The longest message that is kept, in bytes.
pub(super) const LONGEST: usize = 400;

/// A pod of a set, reduced to what matters for rollouts.
#[derive(Clone, Debug)]
pub struct Pod {
    /// Its name.
    pub name: Box<str>,
    /// The node that it is on or for.
    pub node: Option<Box<str>>,
    /// Whether it is on that node already.
    pub is_bound: bool,
    /// In seconds since 1970.
    pub created: i64,
    /// When it is to be gone, if it is being deleted.
    pub deleted: Option<i64>,
    /// The finalizers that keep it from being gone, separated by commas.
    pub finalizers: Option<Box<str>>,
    /// Whether its containers have ended for good: its phase is `Failed` or `Succeeded`.
    pub has_ended: bool,
    /// Whether it is ready, and since when it has been ready or not.
    pub ready: (bool, i64),
    /// Why it is not ready, if its status says more than that.
    pub trouble: Option<Box<Trouble>>,
    revision: Box<str>,
    generation: Box<str>,
}

/// Why a pod is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What kind of trouble it is.
    pub kind: TroubleKind,
    /// One word, such as `ImagePullBackOff`.
    pub reason: Box<str>,
    /// What the kubelet or the scheduler says about it, at most a few hundred bytes. May be empty.
    pub message: Box<str>,
}

/// What kind of trouble a pod has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The scheduler finds no node for it, or not its node.
    Unschedulable,
    /// A container does not start by itself.
    Broken,
    /// A container is about to start.
    Waiting,
    /// The pod has ended.
    Ended,
}

impl Pod {
    /// Reads a pod, and which set controls it.
    pub(crate) fn read(json: &str) -> serde_json::Result<(Option<Owner>, Self)> {
        let Raw { metadata, spec, status } = serde_json::from_str(json)?;
        let labels = metadata.labels.as_ref();
        let label = |label: Option<&Cow<'_, str>>| label.map(|it| &**it).unwrap_or_default().into();
        let has_ended = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
        let created = metadata.created();
        let condition = status.condition("Ready");
        let ready = condition.is_some_and(|it| it.status == "True");
        let since = condition.and_then(|it| it.last_transition_time.as_ref());
        let pod = Pod {
            name: metadata.name().into(),
            is_bound: spec.node_name.as_deref().is_some_and(|name| !name.is_empty()),
            node: spec.node().map(Into::into),
            created,
            deleted: metadata.deleted(),
            finalizers: metadata.finalizers(),
            has_ended,
            ready: (ready && !has_ended, since.map_or(created, |it| it.0.as_second())),
            trouble: if ready && !has_ended { None } else { status.trouble().map(Box::new) },
            revision: label(labels.and_then(|it| it.revision.as_ref())),
            generation: label(labels.and_then(|it| it.generation.as_ref())),
        };
        Ok((metadata.owner(), pod))
    }

    /// Its revision: the whole name for StatefulSets, only the hash for DaemonSets.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// Whether it is of this revision.
    pub fn is_of(&self, revision: &str) -> bool {
        &*self.revision == revision
    }

    /// Whether it is of this generation of the template of a DaemonSet.
    pub fn is_of_generation(&self, generation: &str) -> bool {
        &*self.generation == generation
    }

    /// Its ordinal, if it is a pod of the StatefulSet with this name.
    pub fn ordinal(&self, set: &str) -> Option<i64> {
        self.name.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
    }

    /// Whether it has been ready for so many seconds.
    pub fn is_available(&self, min_ready_seconds: i64, now: Timestamp) -> bool {
        let (ready, since) = self.ready;
        ready && (min_ready_seconds <= 0 || since + min_ready_seconds <= now.as_second())
    }

    /// How it is. A pod that is not ready is assumed to become so, unless a container of it is known
    /// not to start.
    pub fn health(&self, now: Timestamp) -> Health {
        match (self.ready, self.trouble.as_ref().map(|it| it.kind)) {
            _ if self.has_ended => Health::Ended,
            ((true, since), _) => Health::Ready(since - now.as_second()),
            (_, Some(TroubleKind::Broken)) => Health::Broken,
            _ => Health::Starting,
        }
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a, Labels<'a>>,
    #[serde(borrow, default)]
    spec: Spec<'a>,
    #[serde(borrow, default)]
    status: Status<'a>,
}

#[derive(Default, Deserialize)]
struct Labels<'a> {
    #[serde(borrow, rename = "controller-revision-hash")]
    revision: Option<Cow<'a, str>>,
    /// The generation of the template of a DaemonSet.
    #[serde(borrow, rename = "pod-template-generation")]
    generation: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec<'a> {
    #[serde(borrow)]
    node_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    affinity: Option<Affinity<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Affinity<'a> {
    #[serde(borrow)]
    node_affinity: Option<NodeAffinity<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeAffinity<'a> {
    #[serde(borrow, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    required: Option<Terms<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Terms<'a> {
    #[serde(borrow)]
    node_selector_terms: Vec<Term<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Term<'a> {
    #[serde(borrow)]
    match_fields: Option<Vec<Requirement<'a>>>,
}

#[derive(Deserialize)]
struct Requirement<'a> {
    #[serde(borrow, default)]
    key: Cow<'a, str>,
    #[serde(borrow, default)]
    operator: Cow<'a, str>,
    #[serde(borrow, default)]
    values: Option<Vec<Cow<'a, str>>>,
}

impl Spec<'_> {
    /// Kubernetes: `GetTargetNodeName`, pkg/controller/daemon/util/daemonset_util.go.
    fn node(&self) -> Option<&str> {
        if let Some(name) = self.node_name.as_deref().filter(|name| !name.is_empty()) {
            return Some(name);
        }
        let required = self.affinity.as_ref()?.node_affinity.as_ref()?.required.as_ref()?;
        let fields = required.node_selector_terms.iter().flat_map(|it| it.match_fields.iter());
        let mut names =
            fields.flatten().filter(|it| it.key == "metadata.name" && it.operator == "In");
        names.next()?.values.as_ref()?.first().map(|name| &**name)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status<'a> {
    #[serde(borrow)]
    phase: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    conditions: Option<Vec<Condition<'a>>>,
    #[serde(borrow)]
    init_container_statuses: Option<Vec<Container<'a>>>,
    #[serde(borrow)]
    container_statuses: Option<Vec<Container<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Container<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    state: Option<ContainerState<'a>>,
    #[serde(borrow, default)]
    last_state: Option<ContainerState<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContainerState<'a> {
    #[serde(borrow)]
    waiting: Option<Why<'a>>,
    #[serde(borrow)]
    terminated: Option<Why<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Why<'a> {
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    exit_code: Option<i32>,
}

impl Status<'_> {
    fn condition(&self, name: &str) -> Option<&Condition<'_>> {
        self.conditions.iter().flatten().find(|condition| condition.type_ == name)
    }

    fn trouble(&self) -> Option<Trouble> {
        let trouble = |kind, reason: &str, message: &str| {
            let message = shorten(message.trim(), LONGEST).into_owned().into();
            Some(Trouble { kind, reason: reason.into(), message })
        };
        let text = |text: &Option<Cow<'_, str>>| text.as_deref().unwrap_or_default().to_owned();
        if let Some(phase @ ("Failed" | "Succeeded")) = self.phase.as_deref() {
            let reason = self.reason.as_deref().unwrap_or(phase);
            return trouble(TroubleKind::Ended, reason, &text(&self.message));
        }
        let scheduled = self.condition("PodScheduled").filter(|it| it.status == "False");
        if let Some(scheduled) = scheduled {
            let reason = scheduled.reason.as_deref().unwrap_or("Unschedulable");
            return trouble(TroubleKind::Unschedulable, reason, &text(&scheduled.message));
        }
        let init = self.init_container_statuses.iter().flatten();
        let containers = self.container_statuses.iter().flatten().chain(init);
        let waiting = containers.filter_map(|container| {
            let why = container.state.as_ref()?.waiting.as_ref()?;
            Some((container, why, why.reason.as_deref()?))
        });
        let is_broken = |(.., reason): &(_, _, &str)| BROKEN.contains(reason);
        let (container, why, reason) =
            waiting.clone().find(is_broken).or(waiting.clone().next_back())?;
        if !BROKEN.contains(&reason) {
            return trouble(TroubleKind::Waiting, reason, &text(&why.message));
        }
        let mut message = format!("container {}", container.name);
        let last = container.last_state.as_ref().and_then(|it| it.terminated.as_ref());
        if let Some(last) = last.filter(|_| reason == "CrashLoopBackOff") {
            let code = last.exit_code.unwrap_or_default();
            message.push_str(&format!(" ended with exit code {code}"));
            if let Some(reason) = last.reason.as_deref().filter(|it| *it != "Error") {
                message.push_str(&format!(" ({reason})"));
            }
        } else if let Some(said) = &why.message {
            message.push_str(&format!(": {said}"));
        }
        trouble(TroubleKind::Broken, reason, &message)
    }
}

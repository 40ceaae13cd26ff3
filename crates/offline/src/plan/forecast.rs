use setguard_core::{finding::difference::Difference, words};

use super::cluster::neighbors::OverBudget;
use crate::plan::prelude::*;

const TEMPLATE: &str = "spec.template";

/// Chart labels whose values change with each version.
const VERSIONS: [&str; 4] = ["app.kubernetes.io/version", "chart", "helm.sh/chart", "version"];

words! {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) enum ChangeKind {
        Create => "create",
        Update => "update",
        Scale => "scale",
        Delete => "delete",
        #[default]
        None => "none",
        Refused => "refused",
    }
}

impl ChangeKind {
    pub(super) const fn for_people(self) -> &'static str {
        match self {
            ChangeKind::None => "unchanged",
            it => it.as_str(),
        }
    }

    pub(super) const fn is_stored_update(self) -> bool {
        matches!(self, ChangeKind::Update | ChangeKind::Scale)
    }

    pub(super) fn of(differences: &[Difference]) -> Self {
        match differences {
            [] => ChangeKind::None,
            all if all.iter().all(|it| it.path == "spec.replicas") => ChangeKind::Scale,
            _ => ChangeKind::Update,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Forecast {
    pub(super) id: ObjectId,
    pub(super) file: Option<String>,
    pub(super) change: ChangeKind,
    pub(super) differences: Vec<Difference>,
    pub(super) refusals: Vec<PlanFinding>,
    pub(super) exceeded: Vec<PlanFinding>,
    pub(super) notes: Vec<String>,
    /// The rollout strategy, in a few words.
    pub(super) settings: Vec<String>,
    /// The simulated rollout; `None` without knowledge about the pods. A refused change has the rollout of its
    /// remedy.
    pub(super) rollout: Option<Rollout>,
}

#[derive(Debug)]
pub(super) struct Rollout {
    pub(super) course: Course,
    pub(super) kept: Vec<Kept>,
    /// The reason why pods keep the old template, if any do.
    pub(super) why_kept: Option<String>,
    /// The maximum number of unavailable pods without the change; `None` for a new object.
    pub(super) down_before: Option<usize>,
    /// The course of the rollout if new pods never become ready.
    pub(super) if_broken: Option<Course>,
    pub(super) undo: Undo,
    pub(super) estimate: Option<Estimate>,
    /// The PodDisruptionBudgets that would allow fewer evictions than the rollout takes down.
    pub(super) over_budgets: Vec<OverBudget>,
    pub(super) of_kind: OfKind,
}

/// The duration of a rollout, estimated from the past times to ready of the set's pods.
#[derive(Debug)]
pub(super) struct Estimate {
    pub(super) seconds: i64,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) struct Kept {
    pub(super) target: Target,
    pub(super) revision: Revision,
}

/// The command to use if a rollout waits for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remedy {
    /// Give up the pod's template.
    Undo,
    /// Delete the pod: the controller creates it with this template.
    Delete(Revision),
    /// Delete the pod: the set no longer needs it.
    GiveUp,
    /// Write the block `rollingUpdate`, then delete the pod: without the block it comes back with the old template.
    Complete,
    /// Find the cause: a new pod would be the same.
    Look,
}

#[derive(Debug)]
pub(super) enum OfKind {
    StatefulSet {
        is_ordered: bool,
        min_ready_seconds: i64,
        /// The deleted claims whose volumes, with the data, are retained.
        retained: BTreeSet<String>,
        remedy: Option<Remedy>,
    },
    DaemonSet {
        /// The nodes, indexed by the targets of the course.
        nodes: Vec<NodeOutlook>,
    },
}

#[derive(Debug)]
pub(super) struct NodeOutlook {
    pub(super) name: String,
    pub(super) had_pod: bool,
    pub(super) placement: Placement,
}

impl Forecast {
    /// Returns whether nothing changes, nothing happens, and nothing is worth a note.
    pub(super) fn is_idle(&self) -> bool {
        let is_quiet = |it: &Rollout| it.course.steps.is_empty() && it.course.stop.is_none();
        self.notes.is_empty()
            && self.change == ChangeKind::None
            && self.rollout.as_ref().is_none_or(is_quiet)
    }

    /// Returns whether its name says everything.
    pub(super) fn needs_no_words(&self) -> bool {
        self.is_idle() && self.exceeded.is_empty()
    }

    /// Returns a placeholder, if all refusals are because of placeholders.
    pub(super) fn placeholder(&self) -> Option<&String> {
        let are_all = self.refusals.iter().all(|it| it.placeholder.is_some());
        self.refusals.first()?.placeholder.as_ref().filter(|_| are_all)
    }

    /// Returns why a changed template reaches no pod, if pods exist and none gets it.
    pub(super) fn reaches_no_pod(&self) -> Option<String> {
        let rollout = self.rollout.as_ref()?;
        let is_changed = self.differences.iter().any(|it| it.path.starts_with("spec.template."));
        let mut steps = rollout.course.steps.iter();
        let is_made = steps.any(|it| it.action == Action::Create && it.revision == Revision::New);
        let is_kept = rollout.kept.iter().any(|it| it.revision == Revision::Old);
        (self.change == ChangeKind::Update && is_changed && is_kept && !is_made).then(|| {
            let why = rollout.why_kept.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("the new template reaches no pod{why}")
        })
    }

    /// Returns the changed labels of the template, such as a chart's version, if nothing else in it changes.
    pub(super) fn version_labels(&self) -> Option<Vec<String>> {
        let changes = || self.differences.iter().filter_map(|it| it.path.strip_prefix(TEMPLATE));
        let labels = changes().map(|path| {
            let key = path.strip_prefix(".metadata.labels")?;
            let key = key.trim_matches(['[', ']', '.']);
            VERSIONS.contains(&key).then(|| key.to_owned())
        });
        let labels: Vec<_> = labels.collect::<Option<_>>()?;
        let replaces =
            self.reaches_no_pod().is_none() && !self.settings.iter().any(|it| it == "OnDelete");
        (self.change == ChangeKind::Update && !labels.is_empty() && replaces).then_some(labels)
    }

    pub(super) fn active(&self) -> Option<&Rollout> {
        self.rollout.as_ref().filter(|it| !it.course.steps.is_empty())
    }

    /// Returns the name of a StatefulSet's pod, or of the node of a DaemonSet's pod.
    pub(super) fn name(&self, target: &Target) -> String {
        match target {
            Target::Ordinal(ordinal) => format!("{}-{ordinal}", self.id.name),
            Target::Node(index) => self.node(*index).to_owned(),
            Target::SomeNodes { count: 1, .. } => "one of the nodes".to_owned(),
            Target::SomeNodes { count, .. } => format!("{count} of the nodes"),
        }
    }

    pub(super) fn node(&self, index: usize) -> &str {
        let nodes = self.rollout.as_ref().map_or(&[][..], Rollout::nodes);
        nodes.get(index).map_or("", |node| &node.name)
    }

    /// Returns the names of all pods that a rollout waits for.
    pub(super) fn names(&self, stop: &Stop) -> Vec<String> {
        let others = stop.others.iter().map(|it| self.name(&Target::Ordinal(*it)));
        std::iter::once(self.name(&stop.target)).chain(others).collect()
    }

    pub(super) fn why(&self, stop: &Stop) -> String {
        let name = self.name(&stop.target);
        match (&stop.target, stop.why) {
            (Target::Ordinal(_), Waits::Node) => {
                format!("the node of {name} is down, so {name} neither ends nor becomes available")
            }
            (_, Waits::Node) => format!(
                "the pod on {name} neither ends nor becomes ready while that node is not ready, and it counts as \
                 unavailable"
            ),
            (Target::Ordinal(_), Waits::Deletion) => {
                let rollout = self.rollout.as_ref();
                let then = match rollout.is_some_and(Rollout::is_ordered) {
                    true => "the controller waits for it before it changes another pod",
                    false => "no pod takes its place before it is gone",
                };
                format!("{name} is still being deleted, and {then}")
            }
            (_, Waits::Deletion) => format!(
                "the pod on {name} is still being deleted; until it is gone, no pod takes its place, and the node counts \
                 as unavailable"
            ),
            (Target::Ordinal(_), Waits::ForThisPod) => {
                format!(
                    "{name} never becomes available, and the controller waits for it before it changes another pod"
                )
            }
            (Target::Ordinal(_), Waits::Budget) if stop.others.is_empty() => {
                format!("{name} never becomes available and uses up maxUnavailable")
            }
            (Target::Ordinal(_), Waits::Budget) => {
                let names = self.names(stop).join(" and ");
                format!("{names} never become available and use up maxUnavailable")
            }
            (Target::Ordinal(_), Waits::ForTheLast) => format!("{name} never becomes available"),
            (_, Waits::Port) => format!(
                "on {name} the old pod holds a port of the node that the surge pod needs, so the surge pod stays Pending"
            ),
            (_, Waits::Endlessly) => format!(
                "without spec.updateStrategy.rollingUpdate the controller makes {name} from the old template and deletes \
                 it, again and again"
            ),
            (_, Waits::Volumes) => format!(
                "{name} lacks the volume of a claim template; none can be added to a pod, and the \
                 controller changes no other pod until {name} is deleted"
            ),
            (_, Waits::Name) => format!(
                "{name} cannot be created, because another pod has this name, and the controller changes no \
                 other pod until that one is gone"
            ),
            (_, Waits::ForThisPod | Waits::Budget) => {
                "the new pods never become available and use up what may be unavailable".to_owned()
            }
            (_, Waits::ForTheLast) => "the new pods never become available".to_owned(),
        }
    }
}

impl Rollout {
    pub(super) fn nodes(&self) -> &[NodeOutlook] {
        match &self.of_kind {
            OfKind::DaemonSet { nodes } => nodes,
            OfKind::StatefulSet { .. } => &[],
        }
    }

    pub(super) const fn is_ordered(&self) -> bool {
        matches!(self.of_kind, OfKind::StatefulSet { is_ordered: true, .. })
    }

    /// Returns whether the volume of a deleted claim is retained with its data.
    pub(super) fn retains(&self, claim: &str) -> bool {
        match &self.of_kind {
            OfKind::StatefulSet { retained, .. } => retained.contains(claim),
            OfKind::DaemonSet { .. } => false,
        }
    }
}

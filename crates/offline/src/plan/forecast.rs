//! The consequences of a change for one object.

use std::collections::BTreeSet;

use setguard_core::{
    finding::difference::Difference,
    rollout::{Action, Course, Revision, Stop, Target, Waits, node::Placement, undo::Undo},
};
use setguard_files::manifests::id::ObjectId;

use super::{
    cluster::neighbors::OverBudget,
    refusal::{ExceededLimit, PlanFinding},
    remedies::Remedy,
};

const TEMPLATE: &str = "spec.template";

/// The labels that charts give to objects, and whose values change with each version.
const VERSIONS: [&str; 4] = ["app.kubernetes.io/version", "chart", "helm.sh/chart", "version"];

/// The kind of change to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Create,
    Update,
    Scale,
    Delete,
    None,
    Refused,
}

impl ChangeKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            ChangeKind::Create => "create",
            ChangeKind::Update => "update",
            ChangeKind::Scale => "scale",
            ChangeKind::Delete => "delete",
            ChangeKind::None => "none",
            ChangeKind::Refused => "refused",
        }
    }

    /// Returns the kind of a change of which only the beginning is known.
    pub(super) const fn of_incomplete(has_old: bool) -> Self {
        if has_old { ChangeKind::Update } else { ChangeKind::Create }
    }

    /// Returns whether an object of a cluster is changed.
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

/// Everything that a plan says about an object.
#[derive(Debug)]
pub(super) struct Forecast {
    pub(super) id: ObjectId,
    /// The name of its file, if several new files have the object.
    pub(super) file: Option<String>,
    pub(super) change: ChangeKind,
    pub(super) differences: Vec<Difference>,
    pub(super) refusals: Vec<PlanFinding>,
    /// The consequences that limits of the policy forbid.
    pub(super) exceeded: Vec<ExceededLimit>,
    /// Other facts that the reader needs.
    pub(super) notes: Vec<String>,
    /// The way the object is rolled out, in a few words.
    pub(super) settings: Vec<String>,
    /// The simulated rollout; `None` if nothing is known about the pods. If the change is refused, this
    /// is the rollout of the remedy.
    pub(super) rollout: Option<Rollout>,
}

/// The fate of the pods of an object.
#[derive(Debug)]
pub(super) struct Rollout {
    pub(super) course: Course,
    /// The pods that are left alone.
    pub(super) kept: Vec<Kept>,
    /// The reason why pods with the old template are left alone, if they are.
    pub(super) why_kept: Option<String>,
    /// The number of pods that would be unavailable at one time without the change; `None` for a new object.
    pub(super) down_before: Option<usize>,
    /// The obstacle that would stop the rollout if pods with the new template never became ready.
    pub(super) if_broken: Option<Stop>,
    /// The revision to which a rollback has to go.
    pub(super) undo: Undo,
    /// The duration, by what the pods of the set took before.
    pub(super) estimate: Option<Estimate>,
    /// The PodDisruptionBudgets that would allow fewer evictions than the rollout takes down.
    pub(super) over_budgets: Vec<OverBudget>,
    pub(super) of_kind: OfKind,
}

/// The duration of a rollout, by what the pods of the set took before.
#[derive(Debug)]
pub(super) struct Estimate {
    pub(super) seconds: i64,
    /// The estimate and its basis in words.
    pub(super) text: String,
}

/// Pods that are left alone.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) target: Target,
    pub(super) revision: Revision,
}

/// The part of a rollout that only one of the kinds has.
#[derive(Debug)]
pub(super) enum OfKind {
    StatefulSet {
        is_ordered: bool,
        min_ready_seconds: i64,
        /// The claims that are deleted while their volumes, with the data, are retained.
        retained: BTreeSet<String>,
        /// The command that helps where the rollout stops, if it does.
        remedy: Option<Remedy>,
    },
    DaemonSet {
        /// The nodes, in the order of the indexes in the course.
        nodes: Vec<NodeOutlook>,
    },
}

/// A node, and whether a DaemonSet has and will have a pod there.
#[derive(Debug)]
pub(super) struct NodeOutlook {
    pub(super) name: String,
    pub(super) had_pod: bool,
    pub(super) placement: Placement,
}

impl Forecast {
    /// Returns whether nothing changes, nothing happens, and nothing has to be said about that.
    pub(super) fn is_idle(&self) -> bool {
        let is_quiet = |it: &Rollout| it.course.steps.is_empty() && it.course.stop.is_none();
        self.notes.is_empty()
            && self.change == ChangeKind::None
            && self.rollout.as_ref().is_none_or(is_quiet)
    }

    /// Returns why a changed template reaches no pod, if there are pods and none gets it.
    pub(super) fn reaches_no_pod(&self) -> Option<String> {
        let rollout = self.rollout.as_ref()?;
        let is_changed = self.differences.iter().any(|it| it.path.starts_with("spec.template."));
        let is_made = rollout
            .course
            .steps
            .iter()
            .any(|it| it.action == Action::Create && it.revision == Revision::New);
        let is_kept = rollout.kept.iter().any(|it| it.revision == Revision::Old);
        (self.change == ChangeKind::Update && is_changed && is_kept && !is_made).then(|| {
            let why = rollout.why_kept.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            format!("the new template reaches no pod{why}")
        })
    }

    /// Returns the labels of the template, such as that with the version of a chart, if nothing else of it changes.
    pub(super) fn version_labels(&self) -> Option<Vec<String>> {
        let changes = || self.differences.iter().filter_map(|it| it.path.strip_prefix(TEMPLATE));
        let labels = changes().map(|path| {
            let key = path.strip_prefix(".metadata.labels")?;
            let key = key.trim_matches(['[', ']', '.']);
            VERSIONS.contains(&key).then(|| key.to_owned())
        });
        let labels: Vec<_> = labels.collect::<Option<_>>()?;
        (self.change == ChangeKind::Update && !labels.is_empty()).then_some(labels)
    }

    /// Returns the rollout if it has any steps.
    pub(super) fn active(&self) -> Option<&Rollout> {
        self.rollout.as_ref().filter(|it| !it.course.steps.is_empty())
    }

    /// Returns the name of a pod of a StatefulSet, or of the node of a pod of a DaemonSet.
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

    /// Returns why the controller does not go on.
    pub(super) fn why(&self, stop: &Stop) -> String {
        let name = self.name(&stop.target);
        match (&stop.target, stop.why) {
            (Target::Ordinal(_), Waits::ForThisPod) => {
                format!("{name} never becomes available, and no other pod is touched before")
            }
            (Target::Ordinal(_), Waits::Budget) => {
                format!("{name} never becomes available and uses up maxUnavailable")
            }
            (Target::Ordinal(_), Waits::ForTheLast) => format!("{name} never becomes available"),
            (_, Waits::Volumes) => format!(
                "{name} lacks the volume of a claim template; none can be added to a pod, and no \
                 other pod is touched before {name} is deleted"
            ),
            (_, Waits::Name) => format!(
                "{name} cannot be created, because another pod has this name, and no other pod is \
                 touched before that one is gone"
            ),
            (_, Waits::ForThisPod | Waits::Budget) => {
                "the new pods never become available and use up what may be unavailable".to_owned()
            }
            (_, Waits::ForTheLast) => "the new pods never become available".to_owned(),
        }
    }
}

impl Rollout {
    /// Returns the nodes of a DaemonSet.
    pub(super) fn nodes(&self) -> &[NodeOutlook] {
        match &self.of_kind {
            OfKind::DaemonSet { nodes } => nodes,
            OfKind::StatefulSet { .. } => &[],
        }
    }

    /// Returns whether the volume of a claim that is deleted is retained with its data.
    pub(super) fn retains(&self, claim: &str) -> bool {
        match &self.of_kind {
            OfKind::StatefulSet { retained, .. } => retained.contains(claim),
            OfKind::DaemonSet { .. } => false,
        }
    }
}

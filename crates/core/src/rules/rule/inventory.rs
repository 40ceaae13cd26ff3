//! The object that a cross-object rule checks, and its surroundings.

use crate::rules::prelude::*;
use crate::{
    finding::Reported,
    inventory::{
        Inventory,
        fixed::{Id, Refusals},
        view::View,
    },
};

/// The evidence for a rule's findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// An object exists. The rule may deny.
    Presence,
    /// The input shows what a cluster does not: whether a manifest sets a field that a stored object always has, or the
    /// keys of Secrets. Only `check` runs the rule.
    Manifest,
    /// An object does not exist. In the webhook the rule warns at most: the object may be created a moment later, or
    /// may be too new to be seen.
    Absence,
    /// A usual companion of the object does not exist. In the webhook the rule reports nothing on CREATE, because the
    /// companion may follow, and warns at most on UPDATE.
    AbsentNeighbor,
}

/// The objects that an input has completely. Other objects may be in the cluster, or in a different input.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// The kinds that the input has completely.
    pub kinds: BTreeSet<Kind>,
    /// Whether the input has all objects that are applied together.
    pub is_whole: bool,
    /// Whether the objects are applied as they are. A kustomization can add keys to a ConfigMap, and
    /// makes some itself.
    pub is_final: bool,
    /// The objects that the change removes: kind, namespace and name.
    pub removed: BTreeSet<Id>,
    /// The objects whose change the API server refuses.
    pub refusals: Refusals,
}

impl Coverage {
    /// Objects of some kinds are created with the cluster, and seldom together with a set.
    fn has(&self, kind: Kind) -> bool {
        let is_of_cluster = matches!(
            kind,
            Kind::Node
                | Kind::PriorityClass
                | Kind::RuntimeClass
                | Kind::ServiceAccount
                | Kind::StorageClass
        );
        let is_changed = !self.is_final && matches!(kind, Kind::ConfigMap | Kind::Secret);
        self.kinds.contains(&kind) || self.is_whole && !is_of_cluster && !is_changed
    }
}

/// Reads the old state of a changed object, for the rules that need it: `None` if there is none, or it is unknown.
pub type OldSummary<'a> = &'a dyn Fn() -> Option<&'a ObjectSummary>;

/// The object that a rule checks, and its surroundings.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    pub item: &'a ObjectSummary,
    pub(in crate::rules) controller: &'a Controller,
    /// Empty if rules do not evaluate the object.
    pub(in crate::rules) details: &'a Details,
    /// The pod template; `None` if only the summary is available.
    pub template: Option<&'a PodTemplateSpec>,
    /// The cluster that the object is meant for.
    pub cluster: &'a Cluster,
    around: Around<'a>,
    old: Option<OldSummary<'a>>,
}

#[derive(Clone, Copy, Debug)]
enum Around<'a> {
    /// Includes the checked object, with this index.
    Input(&'a Inventory, u32, &'a Coverage),
    /// May include an old state of the checked object.
    Cluster(&'a View),
}

impl<'a> Query<'a> {
    /// Creates a query about the object of an input with this index.
    pub fn in_input(
        inventory: &'a Inventory,
        index: usize,
        coverage: &'a Coverage,
        cluster: &'a Cluster,
    ) -> Option<Self> {
        let (item, id) = (inventory.get(index)?, u32::try_from(index).ok()?);
        Some(Query::of(item, Around::Input(inventory, id, coverage), cluster))
    }

    /// Creates a query about an object that a client writes to a cluster.
    pub fn in_cluster(view: &'a View, subject: &'a Subject<'_>, cluster: &'a Cluster) -> Self {
        let template = Some(subject.object.template());
        Query { template, ..Query::stored(view, subject.summary(), cluster) }
    }

    /// Creates a query about a stored object that only has a summary.
    pub fn stored(view: &'a View, item: &'a ObjectSummary, cluster: &'a Cluster) -> Self {
        Query::of(item, Around::Cluster(view), cluster)
    }

    fn of(item: &'a ObjectSummary, around: Around<'a>, cluster: &'a Cluster) -> Self {
        static NONE: LazyLock<(Controller, Details)> = LazyLock::new(Default::default);
        let controller = item.controller().unwrap_or(&NONE.0);
        let details = item.details().unwrap_or(&NONE.1);
        Query { item, controller, details, template: None, cluster, around, old: None }
    }

    /// Adds the object's old state.
    #[must_use]
    pub const fn changed_from(mut self, old: OldSummary<'a>) -> Self {
        self.old = Some(old);
        self
    }

    pub(in crate::rules) fn old(&self) -> Option<&'a ObjectSummary> {
        self.old.and_then(|read| read())
    }

    pub(in crate::rules) const fn inventory(&self) -> &'a Inventory {
        match self.around {
            Around::Input(inventory, ..) => inventory,
            Around::Cluster(view) => &view.inventory,
        }
    }

    /// `None` if it is the same object, is being deleted, or if setguard knows too little about its kind.
    pub(in crate::rules) fn other(&self, id: u32) -> Option<&'a ObjectSummary> {
        self.inventory().item(id).filter(|other| self.counts(other) && !self.item.is_same(other))
    }

    /// The object will stay, as far as setguard knows.
    pub(in crate::rules) fn counts(&self, other: &ObjectSummary) -> bool {
        !other.is_terminating && self.freshness(other.kind) != Freshness::Unknown
    }

    /// Of two objects with the same fault, one reports it: in an input the later one.
    pub(in crate::rules) const fn answers_for(&self, id: u32, other: &ObjectSummary) -> bool {
        match self.around {
            Around::Input(_, own, _) => id < own || !other.is_set(),
            Around::Cluster(_) => true,
        }
    }

    /// Whether rules see all objects of a kind in a namespace (`""` for cluster-scoped kinds). An input without objects
    /// of a kind shows nothing, because such objects may be applied together with it.
    pub(in crate::rules) fn knows(&self, kind: Kind, namespace: &str) -> bool {
        match self.around {
            Around::Input(inventory, _, coverage) => {
                coverage.has(kind) && inventory.has_any(kind, namespace)
            }
            Around::Cluster(view) => view.freshness(kind) != Freshness::Unknown,
        }
    }

    /// Whether rules see all Nodes, and at least one.
    pub(in crate::rules) fn knows_nodes(&self) -> bool {
        self.inventory().count(Kind::Node) > 0 && self.knows(Kind::Node, "")
    }

    /// The change removes an object from the namespace of the set, and pods of the set were there before.
    pub(in crate::rules) fn removes(&self, kind: Kind, name: &str) -> bool {
        let Around::Input(_, _, coverage) = self.around else { return false };
        let id = || (kind, self.item.namespace().into(), name.into());
        !coverage.removed.is_empty() && self.old().is_some() && coverage.removed.contains(&id())
    }

    /// The objects of an input whose change the API server refuses.
    pub(in crate::rules) const fn refusals(&self) -> Option<&'a Refusals> {
        match self.around {
            Around::Input(.., coverage) => Some(&coverage.refusals),
            Around::Cluster(_) => None,
        }
    }

    /// Whether rules see all objects of a kind in the cluster, not only an input's.
    pub(in crate::rules) fn knows_all(&self, kind: Kind) -> bool {
        matches!(self.around, Around::Cluster(_)) && self.freshness(kind) != Freshness::Unknown
    }

    /// Whether the set's namespace has pods of other controllers. The input doesn't show what these use.
    pub(in crate::rules) fn has_other_pods(&self) -> bool {
        let kinds = [Kind::Deployment, Kind::Job, Kind::ReplicaSet, Kind::ReplicationController];
        kinds.into_iter().any(|kind| self.inventory().has_any(kind, self.item.namespace()))
    }

    /// The status of a stored object shows what happened to its pods.
    pub(in crate::rules) const fn is_stored(&self) -> bool {
        matches!(self.around, Around::Cluster(_)) && self.template.is_none()
    }

    /// `the input has` or `the cluster has`
    pub(in crate::rules) const fn who_has(&self) -> &'static str {
        match self.around {
            Around::Input(..) => "the input has",
            Around::Cluster(_) => "the cluster has",
        }
    }

    /// Returns how current the objects of a kind are.
    pub fn freshness(&self, kind: Kind) -> Freshness {
        match self.around {
            Around::Input(..) => Freshness::Fresh,
            Around::Cluster(view) => view.freshness(kind),
        }
    }
}

impl Findings {
    /// `through` is the kind of objects that the finding is based on; see [`Findings::report`].
    pub(in crate::rules) fn via(
        &mut self,
        through: Kind,
        field: impl Into<Field>,
        reason: Reason,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Reported<'_> {
        self.report(field, reason, message, help).through(through.as_str())
    }
}

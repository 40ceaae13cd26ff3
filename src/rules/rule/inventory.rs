//! The object that a rule looks at among others, and what the rule finds.

use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::{
    finding::{Finding, Findings, Help, Meta, Path, Reason},
    inventory::{
        Inventory,
        item::Item,
        view::{Freshness, View},
    },
    kubernetes::{cluster::Cluster, kind::Kind},
};

/// What the findings of a rule rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// An object that is there. It may deny.
    Presence,
    /// That an object is not there. In the webhook it warns at most: the object may be created a
    /// moment later, or may be too new to be seen.
    Absence,
    /// That an object is not there which is usually applied together with the one that names it. In
    /// the webhook it says nothing about an object that is created, as the other may follow, and warns
    /// at most when the object is changed.
    AbsentNeighbor,
}

/// The object that a rule is asked about, and those around it.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The object.
    pub item: &'a Item,
    /// Its pod template; `None` if only its summary is at hand.
    pub template: Option<&'a PodTemplateSpec>,
    /// The cluster that it is meant for.
    pub cluster: &'a Cluster,
    around: Around<'a>,
}

/// The objects around the one that a rule is asked about.
#[derive(Clone, Copy, Debug)]
enum Around<'a> {
    /// Those of an input, of which it is one.
    Input(&'a Inventory, u32),
    /// Those of a cluster, of which it may be a former state.
    Cluster(&'a View),
}

impl<'a> Query<'a> {
    /// An object of an input, by its index.
    pub fn in_input(inventory: &'a Inventory, index: usize, cluster: &'a Cluster) -> Option<Self> {
        let (item, id) = (inventory.get(index)?, u32::try_from(index).ok()?);
        Some(Query { item, template: None, cluster, around: Around::Input(inventory, id) })
    }

    /// An object that a cluster is asked to store.
    pub const fn in_cluster(
        view: &'a View,
        item: &'a Item,
        template: &'a PodTemplateSpec,
        cluster: &'a Cluster,
    ) -> Self {
        Query { item, template: Some(template), cluster, around: Around::Cluster(view) }
    }

    /// An object that a cluster has stored, of which only the summary is at hand.
    pub const fn stored(view: &'a View, item: &'a Item, cluster: &'a Cluster) -> Self {
        Query { item, template: None, cluster, around: Around::Cluster(view) }
    }

    pub(in crate::rules) const fn inventory(&self) -> &'a Inventory {
        match self.around {
            Around::Input(inventory, _) => inventory,
            Around::Cluster(view) => &view.inventory,
        }
    }

    /// Another object that can be held against this one. `None` if it is this one, is being deleted,
    /// or is of a kind of which too little is known.
    pub(in crate::rules) fn other(&self, id: u32) -> Option<&'a Item> {
        self.inventory().item(id).filter(|other| self.counts(other) && !self.item.is_same(other))
    }

    /// Whether an object is there to stay, as far as is known.
    pub(in crate::rules) fn counts(&self, other: &Item) -> bool {
        !other.is_terminating && self.freshness(other.kind) != Freshness::Unknown
    }

    /// Whether, of this object and another one with the same fault, this is the one to report. In an
    /// input that is the later one.
    pub(in crate::rules) const fn answers_for(&self, id: u32, other: &Item) -> bool {
        match self.around {
            Around::Input(_, own) => id < own || !other.is_set(),
            Around::Cluster(_) => true,
        }
    }

    /// Whether it is known which objects of a kind there are in a namespace (`""` if they are in
    /// none). Nobody knows what else will be applied with an input, so one that has none tells
    /// nothing.
    pub(in crate::rules) fn knows(&self, kind: Kind, namespace: &str) -> bool {
        match self.around {
            Around::Input(inventory, _) => inventory.has_any(kind, namespace),
            Around::Cluster(view) => view.freshness(kind) != Freshness::Unknown,
        }
    }

    /// Whether all objects of a kind are known, and not only those of an input.
    pub(in crate::rules) fn knows_all(&self, kind: Kind) -> bool {
        matches!(self.around, Around::Cluster(_)) && self.freshness(kind) != Freshness::Unknown
    }

    /// Whether a cluster has stored it. What became of its pods is then seen in its status.
    pub(in crate::rules) const fn is_stored(&self) -> bool {
        matches!(self.around, Around::Cluster(_)) && self.template.is_none()
    }

    /// `the input has` or `the cluster has`.
    pub(in crate::rules) const fn who_has(&self) -> &'static str {
        match self.around {
            Around::Input(..) => "the input has",
            Around::Cluster(_) => "the cluster has",
        }
    }

    /// How current the objects of a kind are.
    pub fn freshness(&self, kind: Kind) -> Freshness {
        match self.around {
            Around::Input(..) => Freshness::Fresh,
            Around::Cluster(view) => view.freshness(kind),
        }
    }
}

/// The findings of a rule about an object among others.
#[derive(Debug)]
pub struct InventoryFindings {
    findings: Findings,
    /// The kind of the objects on which each finding rests.
    through: Vec<Kind>,
}

impl InventoryFindings {
    /// An empty list of findings of this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        InventoryFindings { findings: Findings::of(rule), through: Vec::new() }
    }

    /// Adds a finding that rests on objects of this kind; see [`Findings::report`].
    pub(in crate::rules) fn report(
        &mut self,
        through: Kind,
        path: &Path<'_>,
        reason: Reason,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) {
        if self.findings.report(path, reason, message, help).is_kept() {
            self.through.push(through);
        }
    }

    /// The findings that were kept, each with the kind of the objects on which it rests.
    pub fn into_vec(self) -> Vec<(Kind, Finding)> {
        self.through.into_iter().zip(self.findings.into_vec()).collect()
    }

    /// The number of findings that there was no room for.
    pub fn left_out(&self) -> usize {
        self.findings.left_out().map(|(_, count)| count).sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }
}

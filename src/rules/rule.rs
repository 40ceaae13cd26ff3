//! The definition of a rule.

pub mod inventory;
pub mod status;

use self::{
    inventory::{Evidence, InventoryFindings, Query},
    status::{Audit, StatusFindings, StatusQuery},
};
use crate::{
    finding::{Findings, Meta},
    kubernetes::{cluster::Cluster, kind::Kind},
    object::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
};

/// A rule: its description, and how it looks for a fault.
#[derive(Debug)]
pub struct Rule {
    /// Its description.
    pub meta: Meta,
    /// The scope of its function. Functions are pure: no IO, no clock, no policy.
    pub scope: Scope,
}

/// What the function of a rule needs to see.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// One DaemonSet or StatefulSet, and its former state: a trap, which is a setting that the API
    /// server accepts but that does not work, or not as its author intended.
    Object {
        /// When it can be found.
        phase: Phase,
        /// Whether it applies to OpenKruise too.
        openkruise: OpenKruise,
        /// The function that finds it.
        check: ObjectCheck,
    },
    /// One object among others. The rule can run only where the others are known.
    Inventory {
        /// The kinds of object that its findings are about.
        kinds: &'static [Kind],
        /// What its findings rest on.
        evidence: Evidence,
        /// The function that finds it.
        check: fn(&Query<'_>, &mut InventoryFindings),
    },
    /// The status of the objects in a running cluster.
    Status {
        /// The kinds of object that its findings are about.
        kinds: &'static [Kind],
        /// The function that finds it.
        check: StatusCheck,
    },
}

/// An operation on an object for which the API server calls webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The object is new.
    Create,
    /// The object replaces an older one.
    Update,
}

impl Operation {
    /// The name as in an AdmissionReview: `CREATE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
        }
    }
}

/// The point of an admission at which a trap can see what it looks for.
///
/// The API server runs mutating webhooks, drops the fields of disabled features, validates the
/// object itself, and then runs validating webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only before the API server drops or refuses it: in `/mutate`, as a warning, and in `check`.
    Before {
        /// The operations at which it can find something: `CREATE`, `UPDATE`.
        operations: &'static [Operation],
        /// Selects the writes that the API server sends to `/mutate` for this trap, in CEL. It is
        /// true for every write in which the trap can find something, and for few others. An error
        /// counts as false, so it must not fail, whatever an object of the built-in kinds has.
        sent_if: &'static str,
    },
    /// Once the API server has accepted the object: in `/validate` and in `check`.
    After,
}

/// Whether a trap of the built-in controllers applies to OpenKruise's DaemonSets and StatefulSets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKruise {
    /// Yes: the OpenKruise controller does the same.
    Applies,
    /// Yes, unless the StatefulSet reserves ordinals or updates its pods in another order.
    AppliesInOrder,
    /// No: OpenKruise refuses the setting, or does something else.
    DoesNotApply,
}

/// The function of a trap, by the kinds that it looks at.
#[derive(Clone, Copy, Debug)]
pub enum ObjectCheck {
    /// DaemonSets.
    DaemonSet(fn(&DaemonSetSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// StatefulSets.
    StatefulSet(fn(&StatefulSetSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// Both.
    Both(fn(&Subject<'_>, &Cluster, &mut Findings)),
}

/// The function of a rule about status, by what it looks at.
#[derive(Clone, Copy, Debug)]
pub enum StatusCheck {
    /// One set and what is around it. Runs only on sets whose status is up to date.
    Set(fn(&StatusQuery<'_>, &mut StatusFindings)),
    /// One set in which no other rule about status has found anything but notes.
    IfSilent(fn(&StatusQuery<'_>, &mut StatusFindings)),
    /// Objects of which no set knows.
    Others(fn(&Audit<'_>, &mut StatusFindings)),
}

impl Rule {
    /// The kinds that it looks at.
    pub const fn kinds(&self) -> &'static [Kind] {
        match self.scope {
            Scope::Object { check: ObjectCheck::DaemonSet(_), .. } => &[Kind::DaemonSet],
            Scope::Object { check: ObjectCheck::StatefulSet(_), .. } => &[Kind::StatefulSet],
            Scope::Object { check: ObjectCheck::Both(_), .. } => {
                &[Kind::DaemonSet, Kind::StatefulSet]
            }
            Scope::Inventory { kinds, .. } | Scope::Status { kinds, .. } => kinds,
        }
    }

    /// The point of an admission at which a trap can see what it looks for.
    pub const fn phase(&self) -> Option<Phase> {
        match self.scope {
            Scope::Object { phase, .. } => Some(phase),
            Scope::Inventory { .. } | Scope::Status { .. } => None,
        }
    }

    /// What the findings of a rule about several objects rest on.
    pub const fn evidence(&self) -> Option<Evidence> {
        match self.scope {
            Scope::Inventory { evidence, .. } => Some(evidence),
            Scope::Object { .. } | Scope::Status { .. } => None,
        }
    }

    /// Returns whether a trap applies to OpenKruise's objects too, at least to some.
    pub const fn covers_openkruise(&self) -> bool {
        matches!(
            self.scope,
            Scope::Object { openkruise: OpenKruise::Applies | OpenKruise::AppliesInOrder, .. }
        )
    }

    /// Returns whether the rule applies to an object, given the controller that manages it.
    pub fn applies_to(&self, object: &Object<'_>) -> bool {
        let (Scope::Object { openkruise, .. }, Some(own)) = (self.scope, &object.kruise) else {
            return true;
        };
        match openkruise {
            OpenKruise::Applies => true,
            OpenKruise::AppliesInOrder => !own.has_custom_order(),
            OpenKruise::DoesNotApply => false,
        }
    }

    /// Looks for a trap in an object, if the trap looks at objects of this kind.
    pub fn run(&self, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
        let Scope::Object { check, .. } = self.scope else { return };
        match (check, &subject.object.workload) {
            (ObjectCheck::DaemonSet(check), Workload::DaemonSet(spec)) => {
                check(spec, subject, cluster, found);
            }
            (ObjectCheck::StatefulSet(check), Workload::StatefulSet(spec)) => {
                check(spec, subject, cluster, found);
            }
            (ObjectCheck::Both(check), _) => check(subject, cluster, found),
            (ObjectCheck::DaemonSet(_) | ObjectCheck::StatefulSet(_), _) => {}
        }
    }

    /// Looks at an object among others, if the rule needs these.
    pub fn run_among(&'static self, query: &Query<'_>) -> InventoryFindings {
        let mut found = InventoryFindings::of(&self.meta);
        if let Scope::Inventory { check, .. } = self.scope {
            check(query, &mut found);
        }
        found
    }
}

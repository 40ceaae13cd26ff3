//! What a trap is: a setting that the API server accepts but that does not work, or not as its
//! author intended.

use crate::{
    finding::{Findings, Meta},
    kubernetes::{cluster::Cluster, resource::Kind},
    object::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
};

/// The point of an admission at which a trap can see what it looks for.
///
/// The API server runs mutating webhooks, drops the fields of disabled features, validates the
/// object itself, and then runs validating webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only before the API server drops or refuses it: in `/mutate`, as a warning, and in `check`.
    Before {
        /// The operations at which it can find something: `CREATE`, `UPDATE`.
        operations: &'static [&'static str],
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

/// The kinds that a trap looks at, and its function. The functions are pure: no IO, no clock, no
/// policy.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// DaemonSets.
    DaemonSet(fn(&DaemonSetSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// StatefulSets.
    StatefulSet(fn(&StatefulSetSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// Both.
    Both(fn(&Subject<'_>, &Cluster, &mut Findings)),
}

/// A trap.
#[derive(Debug)]
pub struct Trap {
    /// Its description.
    pub meta: Meta,
    /// When it can be found.
    pub phase: Phase,
    /// Whether it applies to OpenKruise too.
    pub openkruise: OpenKruise,
    /// The function that finds it.
    pub check: Check,
}

impl Trap {
    /// The kinds that it looks at.
    pub const fn kinds(&self) -> &'static [&'static str] {
        const DAEMON_SET: &str = Kind::DaemonSet.as_str();
        const STATEFUL_SET: &str = Kind::StatefulSet.as_str();
        match self.check {
            Check::DaemonSet(_) => &[DAEMON_SET],
            Check::StatefulSet(_) => &[STATEFUL_SET],
            Check::Both(_) => &[DAEMON_SET, STATEFUL_SET],
        }
    }

    /// Whether the trap applies to an object, given the controller that manages it.
    pub fn applies_to(&self, object: &Object<'_>) -> bool {
        let Some(own) = &object.kruise else { return true };
        match self.openkruise {
            OpenKruise::Applies => true,
            OpenKruise::AppliesInOrder => !own.has_custom_order(),
            OpenKruise::DoesNotApply => false,
        }
    }

    /// Looks for the trap in an object, if the trap looks at objects of this kind.
    pub fn run(&'static self, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
        match (self.check, &subject.object.workload) {
            (Check::DaemonSet(check), Workload::DaemonSet(spec)) => {
                check(spec, subject, cluster, found);
            }
            (Check::StatefulSet(check), Workload::StatefulSet(spec)) => {
                check(spec, subject, cluster, found);
            }
            (Check::Both(check), _) => check(subject, cluster, found),
            (Check::DaemonSet(_) | Check::StatefulSet(_), _) => {}
        }
    }
}

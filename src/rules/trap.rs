//! What a trap is: something that the API server accepts and that then does not work, or not as
//! its author meant.

use crate::{
    finding::{Findings, Meta},
    kubernetes::{cluster::Cluster, resource::Kind},
    object::{DaemonSetSpec, Object, StatefulSetSpec, Subject, Workload},
};

/// When a trap can see what it looks for.
///
/// The API server runs mutating webhooks, drops the fields of disabled features, validates the
/// object itself, and then runs validating webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only before the API server has dropped or refused it: `/mutate`, as a warning, and `check`.
    Before,
    /// Once the API server has accepted the object: `/validate`, and `check`.
    After,
}

/// Whether a trap of the built-in controllers is one for the sets of OpenKruise too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKruise {
    /// It is: the controller does the same.
    Holds,
    /// It is, unless the StatefulSet reserves ordinals or updates its pods in another order.
    HoldsInOrder,
    /// It is not: OpenKruise refuses it, or does something else.
    DoesNotHold,
}

/// Which objects a trap looks at, and how. The functions are pure: no IO, no clock, no policy.
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
    /// What it says of itself.
    pub meta: Meta,
    /// When it can be seen.
    pub phase: Phase,
    /// Whether it holds for OpenKruise.
    pub openkruise: OpenKruise,
    /// How it is found.
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

    /// Whether an object of this kind and controller can fall into it.
    pub fn holds_for(&self, object: &Object<'_>) -> bool {
        let Some(own) = &object.kruise else { return true };
        match self.openkruise {
            OpenKruise::Holds => true,
            OpenKruise::HoldsInOrder => !own.goes_its_own_way(),
            OpenKruise::DoesNotHold => false,
        }
    }

    /// Looks for it in an object, if it is of one of its kinds.
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

pub mod cel;
pub mod inventory;
pub mod status;

pub use self::cel::Cel;
use crate::rules::prelude::*;

/// A rule: its description and its functions.
#[derive(Debug)]
pub struct Rule {
    pub meta: Meta,
    /// The functions, and what each needs to see. They are pure: no I/O, no clock, no policy.
    pub scopes: &'static [Scope],
    /// CEL expressions, so that the API server finds the fault itself.
    pub cel: Option<fn() -> &'static Cel>,
}

/// How much the function of a rule needs to see.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// One DaemonSet or StatefulSet and its previous state. The rule is a trap: it finds a setting that the API server
    /// accepts, but that does not work as intended.
    Object {
        /// When the trap can find its fault.
        phase: Phase,
        /// Whether the trap applies to OpenKruise too.
        openkruise: OpenKruise,
        /// The function that finds the fault.
        check: ObjectCheck,
    },
    /// One object among others. The rule runs only with a view of the others.
    Inventory {
        /// The kinds of object that findings are about.
        kinds: &'static [Kind],
        /// The evidence for the findings.
        evidence: Evidence,
        /// The function that finds the fault.
        check: fn(&Query<'_>, &mut Findings),
    },
    /// A part of the program reports the finding, not a function of the rule.
    Engine {
        /// The kinds of object that findings are about.
        kinds: &'static [Kind],
        /// The commands that report the finding.
        by: &'static [Runner],
    },
    /// The status of objects in a running cluster.
    Status {
        /// The kinds of object that findings are about.
        kinds: &'static [Kind],
        /// The function that finds the fault.
        check: StatusCheck,
    },
}

/// Leaves the functions for clusters out of what a browser downloads.
pub(crate) const fn linked<const N: usize>(mut scopes: [Scope; N]) -> [Scope; N] {
    let mut i = 0;
    while cfg!(target_family = "wasm") && i < N {
        if let Scope::Status { kinds, .. } = scopes[i] {
            scopes[i] = Scope::Engine { kinds, by: &[Runner::Audit] };
        }
        i += 1;
    }
    scopes
}

/// Leaves out the texts of an explanation too: a browser asks for them when a reader does.
pub(crate) const fn explanation(text: &'static str) -> &'static str {
    if cfg!(target_family = "wasm") { "" } else { text }
}

/// When a trap can find its fault during an admission.
///
/// The API server runs mutating webhooks, drops the fields of disabled features, validates the object, and then runs
/// validating webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only before the API server drops or rejects the setting: in `/mutate`, as a warning, and in `check`.
    Before {
        /// The operations that can contain the fault.
        operations: &'static [Operation],
        /// A CEL expression that selects the writes that the API server sends to `/mutate` for this trap. It is true
        /// for every write where the trap can find a fault, and for few others. An error counts as false, so the
        /// expression must not fail for any object of the built-in kinds.
        sent_if: &'static str,
    },
    /// Only in a manifest, in `check`. The API server drops the setting before `/validate`, and a condition for
    /// `/mutate` would have to read every container in every write.
    Manifest,
    /// In `check` and `audit`, and in `/validate` only to deny: the API server itself warns about the fault in each
    /// write.
    Warned,
    /// Once the API server has accepted the object, in `/validate` and in `check`.
    After,
}

words! {
    /// An operation that the API server calls webhooks for.
    #[derive(Clone, Copy, Debug, serde::Deserialize, PartialEq, Eq)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Operation {
        /// The object is new.
        Create => "CREATE",
        /// The object replaces an older one.
        Update => "UPDATE",
    }
}

/// Whether a trap for the built-in controllers applies to OpenKruise's DaemonSets and StatefulSets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenKruise {
    /// Yes: the OpenKruise controller behaves the same.
    Applies,
    /// Yes, unless the StatefulSet reserves ordinals or updates its pods in a different order.
    AppliesInOrder,
    /// No: OpenKruise rejects the setting or behaves differently.
    DoesNotApply,
}

/// The function of a trap, by kind.
#[derive(Clone, Copy, Debug)]
pub enum ObjectCheck {
    /// For DaemonSets.
    DaemonSet(fn(&DaemonSetSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// For StatefulSets.
    StatefulSet(fn(&StatefulSetSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// For both kinds.
    Both(fn(&Subject<'_>, &Cluster, &mut Findings)),
    /// For the pod template of both kinds.
    Pod(fn(&PodSpec, &Subject<'_>, &Cluster, &mut Findings)),
    /// For each container in the pod template of both kinds.
    Container(fn(&Container, &PodSpec, &Path<'_>, &mut Findings)),
}

/// The function of a status rule, by subject.
#[derive(Clone, Copy, Debug)]
pub enum StatusCheck {
    /// A set with its surroundings. Runs only if the set's status is up to date.
    Workload(fn(&StatusQuery<'_>, &mut StatusFindings)),
    /// Like `Workload`, for faults that do not block a rollout.
    Aside(fn(&StatusQuery<'_>, &mut StatusFindings)),
    /// A set about which the other status rules have found nothing but notes.
    IfSilent(fn(&StatusQuery<'_>, &mut StatusFindings)),
    /// Objects that belong to no set.
    Others(fn(&Audit<'_>, &mut StatusFindings)),
}

words! {
    /// A command that runs rules.
    #[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
    pub enum Runner {
        /// `setguard check`
        Check => "`check`",
        /// `setguard serve`, as a validating webhook.
        Validate => "webhook",
        /// `setguard serve`, as a mutating webhook.
        Mutate => "webhook that mutates",
        /// `setguard audit`, and for status rules also `setguard wait`.
        Audit => "`audit`",
        /// The API server itself, through a policy from `setguard export vap`.
        Policy => "admission policy",
    }
}

/// Both kinds of sets.
pub const SETS: &[Kind] = &[Kind::DaemonSet, Kind::StatefulSet];

impl Scope {
    /// Returns the scope of a trap that works on objects that the API server has accepted.
    pub const fn trap(openkruise: OpenKruise, check: ObjectCheck) -> Self {
        Scope::Object { phase: Phase::After, openkruise, check }
    }

    /// Returns the kinds that findings are about.
    pub const fn kinds(&self) -> &'static [Kind] {
        match self {
            Scope::Object { check: ObjectCheck::DaemonSet(_), .. } => &[Kind::DaemonSet],
            Scope::Object { check: ObjectCheck::StatefulSet(_), .. } => &[Kind::StatefulSet],
            Scope::Object { .. } => SETS,
            Scope::Inventory { kinds, .. }
            | Scope::Status { kinds, .. }
            | Scope::Engine { kinds, .. } => kinds,
        }
    }

    const fn runners(&self) -> &'static [Runner] {
        match self {
            Scope::Object { phase: Phase::Manifest, .. }
            | Scope::Inventory { evidence: Evidence::Manifest, .. } => &[Runner::Check],
            Scope::Object { phase: Phase::Warned, .. } => &[Runner::Check, Runner::Audit],
            Scope::Object { phase: Phase::After, .. } | Scope::Inventory { .. } => {
                &[Runner::Check, Runner::Validate, Runner::Audit]
            }
            Scope::Object { phase: Phase::Before { .. }, .. } => {
                &[Runner::Check, Runner::Mutate, Runner::Audit]
            }
            Scope::Status { .. } => &[Runner::Audit],
            Scope::Engine { by, .. } => by,
        }
    }
}

impl Rule {
    /// Returns the kinds that the rule checks.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for kind in self.scopes.iter().flat_map(Scope::kinds) {
            if !kinds.contains(kind) {
                kinds.push(*kind);
            }
        }
        kinds
    }

    /// Returns whether the rule checks objects of this kind.
    pub fn is_about(&self, kind: Kind) -> bool {
        self.scopes.iter().any(|scope| scope.kinds().contains(&kind))
    }

    /// Returns the commands that run the rule.
    pub fn runners(&self) -> BTreeSet<Runner> {
        let in_cel = self.cel.map(|_| Runner::Policy);
        self.scopes.iter().flat_map(Scope::runners).copied().chain(in_cel).collect()
    }

    /// Returns when a trap can find its fault during an admission; `None` if the rule is not a trap.
    pub fn phase(&self) -> Option<Phase> {
        self.scopes.iter().find_map(|scope| match scope {
            Scope::Object { phase, .. } => Some(*phase),
            _ => None,
        })
    }

    /// Returns the evidence of a rule about several objects; `None` for other rules.
    pub fn evidence(&self) -> Option<Evidence> {
        self.scopes.iter().find_map(|scope| match scope {
            Scope::Inventory { evidence, .. } => Some(*evidence),
            _ => None,
        })
    }

    /// Returns the kinds and the function of a status rule; `None` for other rules.
    pub fn status(&self) -> Option<(&'static [Kind], StatusCheck)> {
        self.scopes.iter().find_map(|scope| match scope {
            Scope::Status { kinds, check } => Some((*kinds, *check)),
            _ => None,
        })
    }

    fn object(&self) -> Option<(OpenKruise, ObjectCheck)> {
        self.scopes.iter().find_map(|scope| match scope {
            Scope::Object { openkruise, check, .. } => Some((*openkruise, *check)),
            _ => None,
        })
    }

    /// Returns whether a trap applies to at least some of OpenKruise's objects.
    pub fn covers_openkruise(&self) -> bool {
        self.object().is_some_and(|(openkruise, _)| openkruise != OpenKruise::DoesNotApply)
    }

    /// Returns whether the rule applies to an object, given the controller that manages it.
    pub fn applies_to(&self, object: &Object<'_>) -> bool {
        let Some(((openkruise, _), own)) = self.object().zip(object.kruise.as_ref()) else {
            return true;
        };
        match openkruise {
            OpenKruise::Applies => true,
            OpenKruise::AppliesInOrder => !own.has_custom_order(),
            OpenKruise::DoesNotApply => false,
        }
    }

    /// Runs a trap on an object of a kind that it checks.
    pub fn run(&self, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
        let Some((_, check)) = self.object() else { return };
        match (check, &subject.object.workload) {
            (ObjectCheck::DaemonSet(check), Workload::DaemonSet(spec)) => {
                check(spec, subject, cluster, found);
            }
            (ObjectCheck::StatefulSet(check), Workload::StatefulSet(spec)) => {
                check(spec, subject, cluster, found);
            }
            (ObjectCheck::DaemonSet(_) | ObjectCheck::StatefulSet(_), _) => {}
            (ObjectCheck::Both(check), _) => check(subject, cluster, found),
            (ObjectCheck::Pod(check), _) => {
                if let Some(spec) = read::pod_spec(&subject.object) {
                    check(spec, subject, cluster, found);
                }
            }
            (ObjectCheck::Container(check), _) => {
                if let Some(spec) = read::pod_spec(&subject.object) {
                    visit(spec, &POD_SPEC, &mut |container, path| {
                        check(container, spec, path, found);
                    });
                }
            }
        }
    }

    /// Runs a rule about several objects on an object.
    pub fn run_among(&'static self, query: &Query<'_>) -> Findings {
        let mut found = Findings::of(&self.meta);
        for scope in self.scopes {
            if let Scope::Inventory { check, .. } = scope {
                check(query, &mut found);
            }
        }
        found
    }
}

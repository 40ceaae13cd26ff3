//! Evaluates an object: runs the rules and applies modes, exceptions and ratcheting.

mod accepted;
pub mod adjustment;
mod context;
mod cross_object;
pub mod deadline;
mod limits;
mod permit;
mod prelude;
mod scale;
pub mod status;
pub mod verdict;

use std::cell::RefCell;

use self::verdict::Violation;
use crate::engine::prelude::*;
use crate::{
    inject::{Injection, left_over},
    object::{
        Metadata, namespace_or_default,
        size::{self, ObjectSize},
    },
    rules::{
        api_validation::{self, API_VALIDATION},
        rule::Phase,
        too_large_to_check::{self, TOO_LARGE},
        traps,
    },
};

pub use self::cross_object::Neighbors;
pub use self::{
    context::{Context, Identity, Origin},
    cross_object::{evaluate_cross_object, evaluate_stored},
    limits::evaluate_rollout,
    scale::{Scaling, evaluate_scaling},
};

/// Evaluates an object.
pub fn evaluate(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    // A manifest can merely claim that its object is being deleted; in a cluster it is true.
    let trusted = cx.origin != Origin::Manifest || subject.was_being_deleted();
    if subject.is_being_deleted() && trusted {
        return verdict;
    }
    let mut findings = Findings::of(API_VALIDATION);
    let cluster = cx.policy.cluster.for_resource(subject.object.resource);
    let tolerated = api_validation::validate(subject, &cluster, &mut findings);
    let can_see = |trap: &Rule| match (cx.origin, trap.phase()) {
        (Origin::Manifest, _) => true,
        // The API server itself warns about faults in its own kinds.
        (Origin::Admission, Some(Phase::Warned)) => {
            subject.object.resource.is_kruise() || cx.mode(&trap.meta) == Mode::Deny
        }
        (Origin::Admission, phase) => phase == Some(Phase::After),
        (Origin::Cluster, phase) => phase != Some(Phase::Manifest),
    };
    let mut too_late = run_traps(subject, cx, can_see, &mut findings);
    add_all(findings, subject, cx, &mut verdict);
    accepted::soften(subject, cx, &mut verdict);
    limits::add(subject, cx, &mut verdict);
    if let Some(view) = cx.view.filter(|view| view.covers(subject.object.metadata.namespace())) {
        too_late += cross_object::in_cluster(subject, view, cx, &mut verdict);
    }
    add_too_late(too_late, subject, cx, &mut verdict);
    for finding in tolerated {
        let mode = cx.mode(finding.rule).min(Mode::Warn);
        if mode != Mode::Off {
            let adjustments = vec![Why::Ratchet];
            verdict.violations.push(Violation { finding, mode, adjustments });
        }
    }
    verdict
}

/// Evaluates an object before the API server validates it, with the rules that are useful only then. The verdict only
/// warns: the API server refuses invalid objects itself.
pub fn evaluate_before_validation(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    if subject.is_being_deleted() {
        return verdict;
    }
    let mut findings = Findings::of(API_VALIDATION);
    let is_before = |trap: &Rule| matches!(trap.phase(), Some(Phase::Before { .. }));
    let too_late = run_traps(subject, cx, is_before, &mut findings);
    add_all(findings, subject, cx, &mut verdict);
    add_too_late(too_late, subject, cx, &mut verdict);
    verdict.at_most(Mode::Warn);
    verdict
}

/// Evaluates an object that is too large to read, by its name. `old` is the JSON of the object that it
/// replaces.
pub fn evaluate_too_large(
    size: &ObjectSize,
    namespace: &str,
    name: &str,
    old: Option<&str>,
    cx: &Context<'_>,
) -> Verdict {
    let mut verdict = Verdict::default();
    let mut findings = Findings::of(TOO_LARGE);
    too_large_to_check::too_large(size, &mut findings);
    let object = Identity::of(namespace_or_default(Some(namespace)), name);
    let was_too_large =
        |_: &Finding| old.is_some_and(|old| matches!(size::too_large(old), Ok(Some(_))));
    verdict.add_all(findings, &object, was_too_large, cx);
    verdict
}

/// Evaluates the findings of an injection into an object.
pub fn evaluate_injection(
    injection: &Injection,
    object: &Metadata<'_>,
    cx: &Context<'_>,
) -> Verdict {
    let (object, mut verdict) = (object.into(), Verdict::default());
    for finding in &injection.findings {
        verdict.add(finding.clone(), &object, |_| false, cx);
    }
    verdict
}

/// Evaluates whether an update leaves injected tolerations behind; see [`left_over::find`].
pub fn evaluate_left_over(
    subject: &Subject<'_>,
    is_written: Option<bool>,
    cx: &Context<'_>,
) -> Verdict {
    let mut found = Findings::of(API_VALIDATION);
    left_over::find(subject, is_written, &cx.policy.injection, &mut found);
    let injection = Injection { findings: found.into_vec(), ..Injection::default() };
    evaluate_injection(&injection, &subject.object.metadata, cx)
}

/// Returns how many traps did not run because time ran out.
fn run_traps(
    subject: &Subject<'_>,
    cx: &Context<'_>,
    can_see: impl Fn(&Rule) -> bool,
    findings: &mut Findings,
) -> usize {
    let cluster = cx.policy.cluster.for_resource(subject.object.resource);
    let traps = traps().filter(|trap| {
        can_see(trap) && trap.applies_to(&subject.object) && cx.mode(&trap.meta) != Mode::Off
    });
    let mut too_late = 0;
    for trap in traps {
        // Every trap is fast, whatever the object, so it is enough to check the deadline between traps.
        if too_late > 0 || cx.deadline.has_passed() {
            too_late += 1;
        } else {
            findings.set_rule(&trap.meta);
            trap.run(subject, &cluster, findings);
        }
    }
    too_late
}

fn add_too_late(rules: usize, subject: &Subject<'_>, cx: &Context<'_>, verdict: &mut Verdict) {
    if rules > 0 {
        let mut findings = Findings::of(TOO_LARGE);
        too_large_to_check::out_of_time(rules, &mut findings);
        add_all(findings, subject, cx, verdict);
    }
}

fn add_all(findings: Findings, subject: &Subject<'_>, cx: &Context<'_>, verdict: &mut Verdict) {
    let before = Before { subject, cx, traps: RefCell::default() };
    let object = (&subject.object.metadata).into();
    verdict.add_all(findings, &object, |finding| before.had(finding.rule), cx);
}

/// The faults of the old object, determined once per trap, and only when needed.
struct Before<'a, 's> {
    subject: &'a Subject<'s>,
    cx: &'a Context<'a>,
    traps: RefCell<BTreeMap<&'static str, bool>>,
}

impl Before<'_, '_> {
    fn had(&self, rule: &'static Meta) -> bool {
        if let Some(had) = self.traps.borrow().get(rule.id) {
            return *had;
        }
        let trap = traps().find(|trap| trap.meta == *rule);
        let had = trap.is_some_and(|trap| {
            self.subject.old_alone().is_some_and(|old| {
                let mut before = Findings::of(&trap.meta);
                let cluster = self.cx.policy.cluster.for_resource(old.object.resource);
                trap.run(old, &cluster, &mut before);
                !before.is_empty()
            })
        });
        self.traps.borrow_mut().insert(rule.id, had);
        had
    }
}

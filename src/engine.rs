//! Runs the rules over an object and judges what they find. Pure: the day is an input.

pub mod verdict;

use std::{cell::OnceCell, collections::BTreeMap};

use jiff::civil::Date;

use self::verdict::{Eased, Judged, Verdict};
use crate::{
    catalogue,
    finding::{Finding, Findings, Mode},
    inventory::{Inventory, item::Item},
    object::{Object, Subject, marks::IGNORE_ANNOTATION},
    policy::Policy,
    rules::{
        api_validation::{self, metas::POD_TEMPLATE_VALIDATION},
        cross_object::{self, rule::Found},
        trap::{Phase, Trap},
        traps::{self, TRAPS},
    },
};

/// By which door an object comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The command line: nobody has judged the object yet.
    Check,
    /// The webhook: the API server has ruled already, and may know fields newer than ours.
    Serve,
}

/// Everything a verdict depends on beside the object.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// By which door the object comes in.
    pub door: Door,
    /// The day, for exceptions that expire.
    pub today: Date,
}

impl Context<'_> {
    fn mode(&self, rule: &str) -> Mode {
        let mode = self.policy.mode(rule);
        match self.door {
            Door::Serve if rule == POD_TEMPLATE_VALIDATION => mode.min(Mode::Audit),
            Door::Check | Door::Serve => mode,
        }
    }
}

/// Judges an object.
pub fn evaluate(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    // A manifest can say so of itself; in a cluster it is so.
    let goes = subject.is_being_deleted();
    if goes && (cx.door == Door::Serve || subject.was_being_deleted()) {
        return verdict;
    }
    let mut findings = Findings::default();
    let cluster = cx.policy.cluster.as_met_by(subject.object.resource);
    let tolerated = api_validation::validate(subject, &cluster, &mut findings);
    run_traps(subject, cx, |phase| cx.door == Door::Check || phase == Phase::After, &mut findings);
    for finding in findings.into_vec() {
        judge(finding, subject, cx, &mut verdict);
    }
    for finding in tolerated {
        let mode = cx.mode(finding.rule).min(Mode::Warn);
        if mode != Mode::Off {
            verdict.judged.push(Judged { finding, mode, eased: Some(Eased::Ratcheted) });
        }
    }
    verdict
}

/// Says of an object that the API server has not judged yet what nobody can say later. It warns and
/// never denies: what is to be refused, the API server refuses.
pub fn foresee(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    if subject.is_being_deleted() {
        return verdict;
    }
    let mut findings = Findings::default();
    run_traps(subject, cx, |phase| phase == Phase::Before, &mut findings);
    for finding in findings.into_vec() {
        judge(finding, subject, cx, &mut verdict);
    }
    for judged in &mut verdict.judged {
        judged.mode = judged.mode.min(Mode::Warn);
    }
    verdict
}

/// Judges objects as they bear on each other: the objects at these places of the inventory. `before`
/// holds the objects as they were, for ratcheting.
pub fn evaluate_together(
    inventory: &Inventory,
    before: &Inventory,
    cx: &Context<'_>,
) -> BTreeMap<usize, Verdict> {
    let mut verdicts: BTreeMap<usize, Verdict> = BTreeMap::new();
    for rule in cross_object::RULES.iter().filter(|rule| cx.mode(rule.meta.id) != Mode::Off) {
        let run = |inventory| {
            let mut found = Found::of(rule.meta.id);
            (rule.check)(inventory, &mut found);
            found.into_vec()
        };
        let had = OnceCell::new();
        for (place, finding) in run(inventory) {
            let Some(item) = inventory.get(place) else { continue };
            let who = Who::from(item);
            let verdict = verdicts.entry(place).or_default();
            let had_before = |_: &Finding| {
                let had = had.get_or_init(|| run(before));
                had.iter().any(|(old, _)| before.get(*old).is_some_and(|old| old.is_same(item)))
            };
            take(finding, &who, had_before, cx, verdict);
        }
    }
    verdicts
}

fn run_traps(
    subject: &Subject<'_>,
    cx: &Context<'_>,
    speaks: impl Fn(Phase) -> bool,
    findings: &mut Findings,
) {
    let object = &subject.object;
    let cluster = cx.policy.cluster.as_met_by(object.resource);
    for trap in TRAPS {
        if speaks(trap.phase)
            && traps::holds_for(trap, object)
            && cx.mode(trap.meta.id) != Mode::Off
        {
            findings.set_rule(trap.meta.id);
            (trap.check)(subject, &cluster, findings);
        }
    }
}

/// Whom a finding is about, as far as policy and exceptions go by that.
struct Who<'a> {
    namespace: &'a str,
    name: &'a str,
    ignore: Option<&'a str>,
}

impl<'a> From<&'a Object<'_>> for Who<'a> {
    fn from(object: &'a Object<'_>) -> Self {
        Who {
            namespace: object.metadata.namespace.as_deref().unwrap_or("default"),
            name: object.name(),
            ignore: object.metadata.annotation(IGNORE_ANNOTATION),
        }
    }
}

impl<'a> From<&'a Item> for Who<'a> {
    fn from(item: &'a Item) -> Self {
        Who { namespace: item.namespace(), name: item.name(), ignore: item.ignore() }
    }
}

fn judge(finding: Finding, subject: &Subject<'_>, cx: &Context<'_>, verdict: &mut Verdict) {
    let who = Who::from(&subject.object);
    take(finding, &who, |finding| had_before(finding, subject, cx), cx, verdict);
}

/// Takes a finding as policy, exceptions and the old object would have it.
fn take(
    finding: Finding,
    who: &Who<'_>,
    had_before: impl Fn(&Finding) -> bool,
    cx: &Context<'_>,
    verdict: &mut Verdict,
) {
    let mut mode = cx.mode(finding.rule);
    let mut eased = None;
    let adjustable = catalogue::find(finding.rule).is_some_and(|meta| meta.adjustable);
    if adjustable && mode > Mode::Audit {
        if let Some(reason) = exception(&finding, who, cx, &mut verdict.remarks) {
            mode = Mode::Audit;
            eased = Some(Eased::Exception(reason));
        } else if mode == Mode::Warn && ignores(who, finding.rule) {
            mode = Mode::Audit;
            eased = Some(Eased::Annotation);
        } else if mode == Mode::Deny && had_before(&finding) {
            mode = Mode::Warn;
            eased = Some(Eased::Ratcheted);
        }
    }
    if mode != Mode::Off {
        verdict.judged.push(Judged { finding, mode, eased });
    }
}

/// The reason of the exception that covers a finding. One that ran out is remarked upon.
fn exception(
    finding: &Finding,
    who: &Who<'_>,
    cx: &Context<'_>,
    remarks: &mut Vec<String>,
) -> Option<String> {
    let exceptions = cx.policy.exceptions.iter();
    let covering = exceptions.filter(|e| e.covers(finding.rule, who.namespace, who.name));
    for exception in covering {
        match exception.expires {
            Some(last) if last < cx.today => {
                let remark = format!("{}: the exception for it ran out on {last}", finding.rule);
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
            }
            _ => return Some(exception.reason.clone()),
        }
    }
    None
}

fn ignores(who: &Who<'_>, rule: &str) -> bool {
    who.ignore.is_some_and(|ids| ids.split(',').any(|id| id.trim() == rule))
}

/// Whether the old object has this trap's fault too.
fn had_before(finding: &Finding, subject: &Subject<'_>, cx: &Context<'_>) -> bool {
    let trap: Option<&&Trap> = TRAPS.iter().find(|trap| trap.meta.id == finding.rule);
    trap.zip(subject.of_old()).is_some_and(|(trap, old)| {
        let mut before = Findings::of(trap.meta.id);
        let cluster = cx.policy.cluster.as_met_by(old.object.resource);
        (trap.check)(&old, &cluster, &mut before);
        !before.is_empty()
    })
}

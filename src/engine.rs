//! Runs the rules on an object and judges what they find.
//!
//! Imports: policy, inject, rules, inventory, object, finding.
//!
//! Modes, exceptions and ratcheting are applied here and nowhere else. The engine is pure: today's
//! date is an input.

pub mod deadline;
pub mod verdict;

use std::{
    cell::{OnceCell, RefCell},
    collections::BTreeMap,
    fmt::Write as _,
};

use jiff::civil::Date;

use self::{
    deadline::Deadline,
    verdict::{Downgrade, Judged, Verdict},
};
use crate::{
    finding::{Finding, Findings, Meta, Mode},
    inject::{Injection, pod::Pod},
    inventory::{
        Inventory,
        item::Item,
        view::{Freshness, View},
    },
    object::{
        Metadata, Object, Subject,
        marks::IGNORE_ANNOTATION,
        namespace_or_default,
        weight::{self, Weight},
    },
    policy::Policy,
    rules::{
        api_validation::{self, meta::API_VALIDATION, meta::POD_TEMPLATE_VALIDATION},
        bounds::{self, TOO_LARGE_TO_JUDGE},
        cross_object::{
            RULES,
            rule::{Asked, Evidence, Found},
        },
        trap::Phase,
        traps::TRAPS,
    },
};

/// The entry point through which an object arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The command line: nothing has validated the object yet.
    Check,
    /// The webhook: the API server has validated the object, and may know fields that setguard does
    /// not know yet.
    Serve,
}

/// Everything that a verdict depends on besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The entry point through which the object arrives.
    pub door: Door,
    /// Today's date, for exceptions that expire.
    pub today: Date,
    /// When judging has to end.
    pub deadline: Deadline<'a>,
    /// The cluster that the object is meant for, as the webhook sees it.
    pub view: Option<&'a View>,
}

impl Context<'_> {
    fn mode(&self, rule: &Meta) -> Mode {
        let mode = self.policy.mode(rule);
        match self.door {
            Door::Serve if *rule == POD_TEMPLATE_VALIDATION => mode.min(Mode::Audit),
            Door::Check | Door::Serve => mode,
        }
    }
}

/// Judges an object.
pub fn evaluate(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    // A manifest can merely claim that it is being deleted; in a cluster it is true.
    let trusted = cx.door == Door::Serve || subject.was_being_deleted();
    if subject.is_being_deleted() && trusted {
        return verdict;
    }
    let mut findings = Findings::of(&API_VALIDATION);
    let cluster = cx.policy.cluster.for_resource(subject.object.resource);
    let tolerated = api_validation::validate(subject, &cluster, &mut findings);
    run_traps(subject, cx, |phase| cx.door == Door::Check || phase == Phase::After, &mut findings);
    judge_all(findings, subject, cx, &mut verdict);
    if let Some(view) = cx.view {
        among_others(subject, view, cx, &mut verdict);
    }
    for finding in tolerated {
        let mode = cx.mode(finding.rule).min(Mode::Warn);
        if mode != Mode::Off {
            let downgrade = Some(Downgrade::Ratcheted);
            verdict.judged.push(Judged { finding, mode, downgrade });
        }
    }
    verdict
}

/// Judges an object before the API server validates it, by the rules that can only work then. It
/// warns and never denies: the API server itself refuses what must be refused.
pub fn evaluate_before_validation(subject: &Subject<'_>, cx: &Context<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    if subject.is_being_deleted() {
        return verdict;
    }
    let mut findings = Findings::of(&API_VALIDATION);
    run_traps(subject, cx, |phase| phase == Phase::Before, &mut findings);
    judge_all(findings, subject, cx, &mut verdict);
    verdict.at_most(Mode::Warn);
    verdict
}

/// Judges an object that is too heavy to be read, and of which only the name is known. It replaces
/// the old object, if there is one, which is given as JSON.
pub fn evaluate_too_heavy(
    weight: &Weight,
    namespace: &str,
    name: &str,
    old: Option<&str>,
    cx: &Context<'_>,
) -> Verdict {
    let mut verdict = Verdict::default();
    let mut findings = Findings::of(&TOO_LARGE_TO_JUDGE);
    bounds::too_heavy(weight, &mut findings);
    let object = Identity { namespace: namespace_or_default(Some(namespace)), name, ignore: None };
    let was_too_heavy =
        |_: &Finding| old.is_some_and(|old| matches!(weight::too_heavy(old), Ok(Some(_))));
    for finding in findings.into_vec() {
        judge(finding, &object, was_too_heavy, cx, &mut verdict);
    }
    verdict
}

/// Judges the findings of an injection, for the object that it belongs to.
pub fn evaluate_injection<'a>(
    injection: &Injection,
    object: impl Into<Identity<'a>>,
    cx: &Context<'_>,
) -> Verdict {
    let (object, mut verdict) = (object.into(), Verdict::default());
    for finding in &injection.findings {
        judge(finding.clone(), &object, |_| false, cx, &mut verdict);
    }
    verdict
}

/// Judges an object by the cross-object rules, as one of a cluster.
fn among_others(subject: &Subject<'_>, view: &View, cx: &Context<'_>, verdict: &mut Verdict) {
    let own = Item::of(&subject.object);
    let kind = own.kind().as_str();
    let old = OnceCell::new();
    let rules = RULES.iter().filter(|rule| rule.kinds.contains(&kind));
    let mut too_late = 0;
    for rule in rules.filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        if too_late > 0 || cx.deadline.has_passed() {
            too_late += 1;
            continue;
        }
        let run = |item: &Item, object: &Object<'_>| {
            let mut found = Found::of(&rule.meta);
            (rule.check)(&Asked::in_cluster(view, item, object.template()), &mut found);
            found
        };
        for (through, mut finding) in run(&own, &subject.object).into_vec() {
            let mut most = match rule.evidence {
                Evidence::Presence => Mode::Deny,
                Evidence::Absence => Mode::Warn,
            };
            if let Freshness::Stale { as_of } = view.freshness(through) {
                most = most.min(Mode::Warn);
                let _ = write!(finding.message, " (as of {} UTC)", as_of.strftime("%H:%M:%S"));
            }
            let had_before = |_: &Finding| {
                let old = old.get_or_init(|| {
                    let old = subject.old_alone()?.object;
                    Some((Item::of(&old), old))
                });
                old.as_ref().is_some_and(|(item, object)| !run(item, object).is_empty())
            };
            let before = verdict.judged.len();
            judge(finding, &(&own).into(), had_before, cx, verdict);
            for judged in verdict.judged.iter_mut().skip(before) {
                judged.mode = judged.mode.min(most);
            }
        }
    }
    if too_late > 0 {
        let mut findings = Findings::of(&TOO_LARGE_TO_JUDGE);
        bounds::out_of_time(too_late, &mut findings);
        judge_all(findings, subject, cx, verdict);
    }
}

/// Judges objects by the cross-object rules, as those of an input. The key of a verdict is the object's index in the
/// inventory. `before` contains the previous objects, for ratcheting.
pub fn evaluate_cross_object(
    inventory: &Inventory,
    before: &Inventory,
    cx: &Context<'_>,
) -> BTreeMap<usize, Verdict> {
    let mut verdicts: BTreeMap<usize, Verdict> = BTreeMap::new();
    let judged = || inventory.items().filter(|(_, item)| item.is_judged());
    for rule in RULES.iter().filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        let run = |inventory, index| {
            let mut found = Found::of(&rule.meta);
            if let Some(asked) = Asked::in_input(inventory, index) {
                (rule.check)(&asked, &mut found);
            }
            found
        };
        for (index, item) in judged() {
            for (_, finding) in run(inventory, index).into_vec() {
                let had_before =
                    |_: &Finding| before.same_as(item).any(|old| !run(before, old).is_empty());
                judge(finding, &item.into(), had_before, cx, verdicts.entry(index).or_default());
            }
        }
    }
    verdicts
}

fn run_traps(
    subject: &Subject<'_>,
    cx: &Context<'_>,
    can_see: impl Fn(Phase) -> bool,
    findings: &mut Findings,
) {
    let cluster = cx.policy.cluster.for_resource(subject.object.resource);
    let traps = TRAPS.iter().filter(|trap| {
        can_see(trap.phase) && trap.applies_to(&subject.object) && cx.mode(&trap.meta) != Mode::Off
    });
    let mut too_late = 0;
    for trap in traps {
        // No trap takes long, whatever the object: it is enough to look between them.
        if too_late > 0 || cx.deadline.has_passed() {
            too_late += 1;
        } else {
            findings.set_rule(&trap.meta);
            trap.run(subject, &cluster, findings);
        }
    }
    if too_late > 0 {
        findings.set_rule(&TOO_LARGE_TO_JUDGE);
        bounds::out_of_time(too_late, findings);
    }
}

/// What exceptions depend on: the object's namespace, its name and its own ignore annotation.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    namespace: &'a str,
    name: &'a str,
    ignore: Option<&'a str>,
}

impl<'a> From<&'a Metadata<'_>> for Identity<'a> {
    fn from(metadata: &'a Metadata<'_>) -> Self {
        Identity {
            namespace: metadata.namespace(),
            name: metadata.name(),
            ignore: metadata.annotation(IGNORE_ANNOTATION),
        }
    }
}

impl<'a> From<&'a Object<'_>> for Identity<'a> {
    fn from(object: &'a Object<'_>) -> Self {
        Identity::from(&object.metadata)
    }
}

impl<'a> From<&'a Pod<'_>> for Identity<'a> {
    fn from(pod: &'a Pod<'_>) -> Self {
        Identity::from(&pod.metadata)
    }
}

impl<'a> From<&'a Item> for Identity<'a> {
    fn from(item: &'a Item) -> Self {
        Identity { namespace: item.namespace(), name: item.name(), ignore: item.ignore() }
    }
}

fn judge_all(findings: Findings, subject: &Subject<'_>, cx: &Context<'_>, verdict: &mut Verdict) {
    let object = Identity::from(&subject.object);
    let left_out: Vec<_> = findings.left_out().collect();
    let before = Before { subject, cx, old: OnceCell::new(), traps: RefCell::default() };
    for finding in findings.into_vec() {
        judge(finding, &object, |finding| before.had(finding.rule), cx, verdict);
    }
    for (rule, count) in left_out {
        // They are judged like those of the same rule that were kept.
        let kept = verdict.judged.iter().rfind(|judged| judged.finding.rule == rule);
        if let Some(mode) = kept.map(|judged| judged.mode) {
            verdict.left_out.push((rule, mode, count));
            verdict.remarks.push(format!("{}: and {count} more like these", rule.id));
        }
    }
}

/// Adds a finding to a verdict. The policy, its exceptions and the old object determine the mode.
fn judge(
    finding: Finding,
    object: &Identity<'_>,
    had_before: impl Fn(&Finding) -> bool,
    cx: &Context<'_>,
    verdict: &mut Verdict,
) {
    let mut mode = cx.mode(finding.rule);
    let mut downgrade = None;
    if finding.rule.adjustable && mode > Mode::Audit {
        if let Some(reason) = exception(&finding, object, cx, &mut verdict.remarks) {
            mode = Mode::Audit;
            downgrade = Some(Downgrade::Exception(reason));
        } else if mode == Mode::Warn && ignores(object, finding.rule) {
            mode = Mode::Audit;
            downgrade = Some(Downgrade::Annotation);
        } else if mode == Mode::Deny && had_before(&finding) {
            mode = Mode::Warn;
            downgrade = Some(Downgrade::Ratcheted);
        }
    }
    if mode != Mode::Off {
        verdict.judged.push(Judged { finding, mode, downgrade });
    }
}

/// The reason of the exception that covers a finding. An expired exception becomes a remark.
fn exception(
    finding: &Finding,
    object: &Identity<'_>,
    cx: &Context<'_>,
    remarks: &mut Vec<String>,
) -> Option<String> {
    let exceptions = cx.policy.exceptions.iter();
    let covering = exceptions.filter(|e| e.covers(finding.rule, object.namespace, object.name));
    for exception in covering {
        match exception.expires {
            Some(last) if last < cx.today => {
                let rule = finding.rule.id;
                let remark = format!("{rule}: the exception for it expired on {last}");
                if !remarks.contains(&remark) {
                    remarks.push(remark);
                }
            }
            _ => return Some(exception.reason.clone()),
        }
    }
    None
}

fn ignores(object: &Identity<'_>, rule: &Meta) -> bool {
    object.ignore.is_some_and(|ids| ids.split(',').any(|id| id.trim() == rule.id))
}

/// What was wrong with the old object: found out only when needed, and once for each trap.
struct Before<'a, 's> {
    subject: &'a Subject<'s>,
    cx: &'a Context<'a>,
    old: OnceCell<Option<Subject<'s>>>,
    traps: RefCell<BTreeMap<&'static str, bool>>,
}

impl Before<'_, '_> {
    /// Whether the old object has the fault of this trap too.
    fn had(&self, rule: &'static Meta) -> bool {
        if let Some(had) = self.traps.borrow().get(rule.id) {
            return *had;
        }
        let trap = TRAPS.iter().find(|trap| trap.meta == *rule);
        let old = || self.old.get_or_init(|| self.subject.old_alone()).as_ref();
        let had = trap.is_some_and(|trap| {
            old().is_some_and(|old| {
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

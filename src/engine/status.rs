//! Runs the rules about status on a running cluster.

use std::collections::BTreeMap;

use super::{
    judge::{Context, Identity, judge},
    verdict::Verdict,
};
use crate::{
    finding::Mode,
    rules::status::{
        RULES,
        rule::{Asked, Audit, Check, Found, ObjectName, StatusFinding},
    },
};

/// The verdict on the status of one object.
#[derive(Debug, Default)]
pub struct StatusVerdict {
    /// What was found.
    pub verdict: Verdict,
    /// The rules of other families that find the same in this object: what they found need not be
    /// shown.
    pub instead_of: Vec<&'static str>,
}

/// Judges a running cluster by the rules about status. Only objects with findings are in the answer.
pub fn evaluate_status(audit: &Audit<'_>, cx: &Context<'_>) -> BTreeMap<ObjectName, StatusVerdict> {
    let mut verdicts = BTreeMap::new();
    for rule in RULES.iter().filter(|rule| cx.mode(&rule.meta) != Mode::Off) {
        match rule.check {
            Check::Others(check) => {
                let mut found = Found::of(&rule.meta);
                check(audit, &mut found);
                for finding in found.into_vec() {
                    if let Some(about) = finding.about.clone() {
                        add(finding, about, None, cx, &mut verdicts);
                    }
                }
            }
            Check::Set(check) => {
                let sets = audit.observed.sets().filter(|set| set.is_current());
                for set in sets.filter(|set| rule.kinds.contains(&set.kind().as_str())) {
                    let mut found = Found::of(&rule.meta);
                    check(&Asked { set, audit }, &mut found);
                    let left_out = found.left_out();
                    for finding in found.into_vec() {
                        let about = finding.about.clone().unwrap_or_else(|| set.into());
                        add(finding, about, set.ignore(), cx, &mut verdicts);
                    }
                    if left_out > 0 {
                        let own: &mut StatusVerdict = verdicts.entry(set.into()).or_default();
                        let remark = format!("{}: and {left_out} more like these", rule.meta.id);
                        own.verdict.remarks.push(remark);
                    }
                }
            }
        }
    }
    verdicts
}

fn add(
    StatusFinding { finding, is_note, instead_of, .. }: StatusFinding,
    about: ObjectName,
    ignore: Option<&str>,
    cx: &Context<'_>,
    verdicts: &mut BTreeMap<ObjectName, StatusVerdict>,
) {
    let mut verdict = Verdict::default();
    let object = Identity { namespace: &about.namespace, name: &about.name, ignore };
    judge(finding, &object, |_| false, cx, &mut verdict);
    if is_note {
        verdict.at_most(Mode::Audit);
    }
    let is_shown = verdict.judged.iter().any(|judged| judged.downgrade.is_none());
    let own = verdicts.entry(about).or_default();
    own.instead_of.extend(instead_of.filter(|_| is_shown));
    own.verdict.judged.append(&mut verdict.judged);
    own.verdict.remarks.append(&mut verdict.remarks);
}

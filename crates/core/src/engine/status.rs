//! Runs the status rules on a running cluster.

use crate::engine::prelude::*;
use crate::{
    finding::{Command, Effect},
    rules::{
        about_status,
        rule::{
            StatusCheck,
            status::{Audit, ObjectName, StatusFinding, StatusFindings, StatusQuery},
        },
    },
};

/// The verdict on an object's status.
#[derive(Debug, Default)]
pub struct StatusVerdict {
    /// The findings with their modes.
    pub verdict: Verdict,
    /// Rules of other families that report the same fault in this object. Their findings need not be shown.
    pub instead_of: Vec<&'static str>,
}

/// Runs the status rules on a running cluster. Only objects with findings are in the answer.
pub fn evaluate_status(audit: &Audit<'_>, cx: &Context<'_>) -> BTreeMap<ObjectName, StatusVerdict> {
    let mut verdicts = BTreeMap::new();
    let is_last = |rule: &&Rule| matches!(rule.status(), Some((_, StatusCheck::IfSilent(_))));
    let (last, first): (Vec<_>, Vec<_>) = about_status().partition(is_last);
    let on = |rule: &&Rule| cx.mode(&rule.meta) != Mode::Off;
    for rule in first.into_iter().chain(last).filter(on) {
        let Some((kinds, check)) = rule.status() else { continue };
        match check {
            StatusCheck::Others(check) => {
                let mut found = StatusFindings::of(&rule.meta);
                check(audit, &mut found);
                for finding in found.into_vec() {
                    if let Some(about) = finding.about.clone() {
                        add(finding, about, None, cx, &mut verdicts);
                    }
                }
            }
            StatusCheck::Workload(run) | StatusCheck::Aside(run) | StatusCheck::IfSilent(run) => {
                let needs_silence = matches!(check, StatusCheck::IfSilent(_));
                let sets = audit.observed.sets().filter(|set| set.is_current());
                for set in sets.filter(|set| kinds.contains(&set.kind().into())) {
                    if needs_silence && is_explained(&set.into(), &verdicts) {
                        continue;
                    }
                    let mut found = StatusFindings::of(&rule.meta);
                    let query = StatusQuery { set, audit };
                    run(&query, &mut found);
                    let left_out = found.left_out();
                    for mut finding in found.into_vec() {
                        if !matches!(check, StatusCheck::Aside(_)) {
                            name_scale_down(&query, &mut finding.finding);
                        }
                        name_deployer(&query, &mut finding.finding);
                        if let Some(facts) = &mut finding.finding.facts
                            && (finding.is_stuck || query.has_replaced_by_hand(&facts.pods))
                        {
                            facts.changes = query.changes();
                        }
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
    for set in audit.observed.sets().filter(|set| set.is_current() && set.ready().is_outage()) {
        if let Some(own) = verdicts.get_mut(&ObjectName::from(set)) {
            own.verdict.deny_by_default(cx);
        }
    }
    verdicts
}

/// `true` if a finding is exempted, or more than a note.
fn is_explained(name: &ObjectName, verdicts: &BTreeMap<ObjectName, StatusVerdict>) -> bool {
    verdicts.get(name).is_some_and(|own| {
        own.verdict.violations.iter().any(|it| it.mode > Mode::Audit || it.is_lowered())
    })
}

/// A command that ends the fault also lets a scale-down go on that waits behind it.
fn name_scale_down(query: &StatusQuery<'_>, finding: &mut Finding) {
    let (Some(help), Some(more)) = (&mut finding.help, query.scale_down()) else { return };
    let mut changes = false;
    for command in finding.commands.iter_mut().filter(|it| it.effect() != Effect::Looks) {
        let effect = match command.effect() {
            Effect::LosesData => Effect::LosesData,
            _ if more.loses_claims => Effect::LosesData,
            effect => Effect::Restarts(effect.pods().unwrap_or_default() + more.pods),
        };
        let old = command.text();
        *command = command.clone().with(effect);
        *help = help.replacen(&old, &command.text(), 1).into();
        changes = true;
    }
    if changes {
        help.to_mut().push_str(&more.text);
        if let Some(facts) = &mut finding.facts {
            facts.goes_on = Some(more.text);
        }
    }
}

/// If a tool deploys the set, the help must mention it, or the tool undoes the command.
fn name_deployer(query: &StatusQuery<'_>, finding: &mut Finding) {
    let target = query.target();
    let changes = |it: &&Command| {
        it.effect() != Effect::Looks && it.line().split(' ').any(|word| word == target)
    };
    let command = finding.commands.iter().find(changes);
    let (Some(command), Some(deployer)) = (command, &query.set.deployer) else { return };
    let advice = match command.line().starts_with("kubectl rollout undo ") {
        true => deployer.after_undo(),
        false => deployer.after_change(),
    };
    if let Some(help) = &mut finding.help {
        help.to_mut().push_str(&format!("; {advice}"));
    }
}

fn add(
    StatusFinding { finding, is_note, is_stuck, instead_of, .. }: StatusFinding,
    about: ObjectName,
    ignore: Option<&str>,
    cx: &Context<'_>,
    verdicts: &mut BTreeMap<ObjectName, StatusVerdict>,
) {
    let mut verdict = Verdict::default();
    let object = Identity { ignore, ..Identity::of(&about.namespace, &about.name) };
    verdict.add(finding, &object, |_| false, cx);
    if is_note {
        verdict.at_most(Mode::Audit);
    }
    if is_stuck {
        verdict.deny_by_default(cx);
    }
    let is_shown = verdict.violations.iter().any(|it| !it.is_lowered());
    let own = verdicts.entry(about).or_default();
    own.instead_of.extend(instead_of.filter(|_| is_shown));
    own.verdict.violations.append(&mut verdict.violations);
    own.verdict.remarks.append(&mut verdict.remarks);
}

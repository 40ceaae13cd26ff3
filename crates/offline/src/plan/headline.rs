//! The consequences that a reviewer must see first, for all objects.

use std::fmt::Write as _;

use setguard_core::words;

use super::pod_counts::count;
use crate::plan::prelude::*;

/// The reason why the change of an object isn't known.
pub(super) const UNREAD: &str = "because not everything could be read";

const HARMLESS: &str = "No pod is down at any time, and no data is lost.";

/// The consequence of an error.
pub(super) const INCOMPLETE: &str = "the plan is incomplete";

/// The reason why a rollout doesn't change the running software.
pub(super) const VERSION_LABELS: &str =
    "pods are replaced only because the template has labels with the version:";

/// The maximum number of names in a sentence.
const MOST_NAMES: usize = 20;

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) enum FactKind {
        Error => "Error",
        DataLost => "Data lost",
        BeyondLimit => "Beyond a limit",
        Unknown => "Not known",
        NeverEnds => "Never ends",
        Refused => "Refused",
        NotRolledOut => "Not rolled out",
        PodsDown => "Pods down",
        Note => "Note",
    }
}

#[derive(Debug)]
pub(super) struct Fact {
    pub(super) kind: FactKind,
    pub(super) object: String,
    pub(super) text: String,
    pub(super) names: Vec<String>,
}

impl Fact {
    pub(super) fn sentence(&self, name: impl Fn(&str) -> String) -> String {
        let mut sentence = self.text.clone();
        for (i, one) in self.names.iter().take(MOST_NAMES).enumerate() {
            let separator = if i > 0 { ", " } else { [" ", ""][usize::from(sentence.is_empty())] };
            let _ = write!(sentence, "{separator}{}", name(one));
        }
        if self.names.len() > MOST_NAMES {
            let _ = write!(sentence, " and {} more", self.names.len() - MOST_NAMES);
        }
        sentence
    }
}

/// Returns the errors, then the consequences, gravest first.
pub(super) fn facts(Plan { forecasts, unknown, errors, .. }: &Plan) -> Vec<Fact> {
    let mut facts: Vec<_> = forecasts.iter().flat_map(of).collect();
    let fact = |kind, object: &String, text: &str| Fact {
        kind,
        object: object.clone(),
        text: text.to_owned(),
        names: Vec::new(),
    };
    facts.extend(errors.iter().map(|it| fact(FactKind::Error, it, INCOMPLETE)));
    facts.extend(
        unknown
            .iter()
            .map(|it| it.split_once(": ").unwrap_or((it, UNREAD)))
            .map(|(object, why)| fact(FactKind::Unknown, &object.to_owned(), why)),
    );
    facts.sort_by_key(|fact| fact.kind);
    facts
}

pub(super) fn without(forecasts: &[Forecast]) -> &'static str {
    match forecasts.iter().all(Forecast::is_idle) {
        true => "Nothing changes.",
        false => HARMLESS,
    }
}

/// Returns the consequences for one object in a line.
pub(super) fn consequences(forecast: &Forecast) -> String {
    let mut facts = of(forecast);
    facts.sort_by_key(|it| it.kind);
    let all: Vec<_> = facts.iter().map(|it| it.sentence(str::to_owned)).collect();
    if all.is_empty() { HARMLESS.to_owned() } else { all.join("; ") }
}

fn of(forecast: &Forecast) -> Vec<Fact> {
    let object = picture::title(forecast);
    let fact = |kind, text: String, names| Fact { kind, object: object.clone(), text, names };
    // A refused change has the steps of its remedy.
    if forecast.change == ChangeKind::Refused {
        let text = "the API server refuses the change".to_owned();
        return vec![fact(FactKind::Refused, text, Vec::new())];
    }
    let beyond =
        |it: &PlanFinding| fact(FactKind::BeyondLimit, String::new(), vec![it.message.clone()]);
    let mut facts: Vec<_> = forecast.exceeded.iter().map(beyond).collect();
    if let Some(labels) = forecast.version_labels() {
        facts.push(fact(FactKind::Note, VERSION_LABELS.to_owned(), labels));
    }
    let rollout = forecast.rollout.as_ref();
    let lost = rollout.map(lost_claims).unwrap_or_default();
    if !lost.is_empty() {
        let claims = if lost.len() == 1 { "this claim is" } else { "these claims are" };
        facts.push(fact(FactKind::DataLost, format!("{claims} deleted with the data:"), lost));
    }
    if let Some(stop) = rollout.and_then(|it| it.course.stop.as_ref()) {
        let name = vec![forecast.name(&stop.target)];
        let text = "the rollout stops and waits for".to_owned();
        facts.push(fact(FactKind::NeverEnds, text, name));
    }
    if let Some(rollout) = rollout.filter(|it| !it.over_budgets.is_empty()) {
        let names = rollout.over_budgets.iter().map(|it| it.name.to_string()).collect();
        let text = "more at a time than a PodDisruptionBudget allows to evict:".to_owned();
        facts.push(fact(FactKind::PodsDown, text, names));
    }
    let without_pods = forecast.reaches_no_pod();
    let has_notes = !forecast.notes.is_empty();
    let changes = forecast.change != ChangeKind::None;
    if forecast.active().is_none() && (has_notes || changes && without_pods.is_none()) {
        let text = if has_notes { "" } else { "no pod is created or deleted" };
        facts.push(fact(FactKind::Note, text.to_owned(), forecast.notes.clone()));
    }
    facts.extend(without_pods.map(|text| fact(FactKind::NotRolledOut, text, Vec::new())));
    facts.extend(down(forecast).map(|text| fact(FactKind::PodsDown, text, Vec::new())));
    facts
}

/// Returns the claims that the rollout deletes along with their data.
pub(super) fn lost_claims(rollout: &Rollout) -> Vec<String> {
    let deleted = rollout.course.steps.iter().filter(|step| step.action == Action::Delete);
    let claims = deleted.flat_map(|step| &step.claims);
    claims.filter(|it| !rollout.retains(it)).cloned().collect()
}

/// Returns how many existing pods are down at a time, if any.
fn down(forecast: &Forecast) -> Option<String> {
    if forecast.change == ChangeKind::Delete {
        return Some("all pods are deleted".to_owned());
    }
    let rollout = forecast.rollout.as_ref().filter(|_| forecast.change != ChangeKind::Create)?;
    let down = Some(rollout.course.at_most_unavailable).filter(|down| *down > 0)?;
    let (exist, tally) = (existing(rollout), Tally::of(&rollout.course));
    let pods = if down == 1 { "1 pod is" } else { &format!("{down} pods are") };
    // During a scale-up, new pods can be available before the last old one goes.
    Some(match down >= exist && tally.created <= tally.deleted {
        true => format!("{pods} down at a time: all of them"),
        false if rollout.course.takes_all_down => NONE_AVAILABLE.to_owned(),
        false => format!("at most {pods} down at a time, of {exist}"),
    })
}

/// For a scale-down, because `at_most_unavailable` does not count the removed pods.
pub(super) const NONE_AVAILABLE: &str = "no pod is available for a time";

/// Returns the number of pods that exist before the rollout.
pub(super) fn existing(rollout: &Rollout) -> usize {
    let kept: usize = rollout.kept.iter().map(|it| count(&it.target)).sum();
    Tally::of(&rollout.course).deleted + kept
}

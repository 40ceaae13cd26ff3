//! The consequences that a reviewer must see first, for all objects.

use std::fmt::Write as _;

use super::{
    forecast::{Change, Forecast},
    picture::{self, Tally, count},
};
use crate::rollout::Action;

/// The reason that is printed for an object whose change isn't known.
pub(super) const UNREAD: &str = "because not everything could be read";

/// The most names that a sentence lists.
const MOST_NAMES: usize = 20;

/// The kind of a consequence, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    DataLost,
    BeyondLimit,
    Unknown,
    NeverEnds,
    Refused,
    PodsDown,
    Note,
}

impl Kind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Kind::DataLost => "Data lost",
            Kind::BeyondLimit => "Beyond a limit",
            Kind::Unknown => "Not known",
            Kind::NeverEnds => "Never ends",
            Kind::Refused => "Refused",
            Kind::PodsDown => "Pods down",
            Kind::Note => "Note",
        }
    }
}

/// A consequence of a change for an object.
#[derive(Debug)]
pub(super) struct Fact {
    pub(super) kind: Kind,
    /// The object.
    pub(super) object: String,
    pub(super) text: String,
    /// Names that follow the text.
    pub(super) names: Vec<String>,
}

impl Fact {
    /// Returns the text and the names, each name written by `name`.
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

/// Returns the consequences, the gravest first. `unknown` are the objects about which nothing is known.
pub(super) fn facts(forecasts: &[Forecast], unknown: &[String]) -> Vec<Fact> {
    let mut facts: Vec<_> = forecasts.iter().flat_map(of).collect();
    facts.extend(unknown.iter().map(|it| Fact {
        kind: Kind::Unknown,
        object: it.clone(),
        text: UNREAD.to_owned(),
        names: Vec::new(),
    }));
    facts.sort_by_key(|fact| fact.kind);
    facts
}

/// Returns a sentence for a plan without such consequences.
pub(super) fn without(forecasts: &[Forecast]) -> &'static str {
    match forecasts.iter().all(Forecast::is_idle) {
        true => "Nothing changes.",
        false => "No pod is down at any time, and no data is lost.",
    }
}

fn of(forecast: &Forecast) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |kind, text: String, names| {
        facts.push(Fact { kind, object: picture::title(forecast), text, names });
    };
    // The steps of a refused change are those of its remedy.
    if forecast.change == Change::Refused {
        let text = "the API server refuses the change".to_owned();
        add(Kind::Refused, text, Vec::new());
        return facts;
    }
    for it in &forecast.exceeded {
        add(Kind::BeyondLimit, String::new(), vec![it.what.message.clone()]);
    }
    let deleted = forecast.course.steps.iter().filter(|step| step.action == Action::Delete);
    let claims = deleted.flat_map(|step| &step.claims);
    let lost: Vec<_> = claims.filter(|it| !forecast.retained.contains(*it)).cloned().collect();
    if !lost.is_empty() {
        let claims = if lost.len() == 1 { "this claim is" } else { "these claims are" };
        add(Kind::DataLost, format!("{claims} deleted with the data:"), lost);
    }
    if let Some(stop) = &forecast.course.stop {
        let name = vec![forecast.name(&stop.target)];
        add(Kind::NeverEnds, "the rollout stops and waits for".to_owned(), name);
    }
    let down = forecast.course.at_most_unavailable;
    let exist = Tally::of(&forecast.course).deleted
        + forecast.kept.iter().map(|(target, _)| count(target)).sum::<usize>();
    if !forecast.over_budgets.is_empty() {
        let names = forecast.over_budgets.iter().map(|it| it.name.to_string()).collect();
        let text = "more at a time than a PodDisruptionBudget allows to evict:";
        add(Kind::PodsDown, text.to_owned(), names);
    }
    let is_certain = !forecast.course.steps.is_empty() || forecast.change == Change::None;
    if !is_certain {
        let text = if forecast.notes.is_empty() { "no pod is created or deleted" } else { "" };
        add(Kind::Note, text.to_owned(), forecast.notes.clone());
    }
    if forecast.change == Change::Delete {
        add(Kind::PodsDown, "all pods are deleted".to_owned(), Vec::new());
    } else if forecast.change != Change::Create && down > 0 {
        let pods = if down == 1 { "1 pod is" } else { &format!("{down} pods are") };
        let text = match down >= exist {
            true => format!("{pods} down at a time: all that there are"),
            false => format!("at most {pods} down at a time, of {exist}"),
        };
        add(Kind::PodsDown, text, Vec::new());
    }
    facts
}

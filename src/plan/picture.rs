//! A forecast in lines of text.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    forecast::{Change, Forecast},
    line::{Line, Symbols, Tone},
    remedy,
};
use crate::rollout::{
    Action, Course, Revision, Target,
    node::{Placement, WhyNot},
};

/// The most waves that are shown individually.
const MOST_WAVES: usize = 12;
/// The most names that are listed.
const MOST_NAMES: usize = 8;

/// The numbers of pods that are created and deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) created: usize,
    pub(super) deleted: usize,
}

impl Tally {
    pub(super) fn of(course: &Course) -> Self {
        let mut tally = Tally::default();
        for step in &course.steps {
            match step.action {
                Action::Create => tally.created += count(&step.target),
                Action::Delete => tally.deleted += count(&step.target),
            }
        }
        tally
    }
}

/// Returns the number of pods that a target stands for.
pub(super) const fn count(target: &Target) -> usize {
    match target {
        Target::Ordinal(_) | Target::Node(_) => 1,
        Target::SomeNodes { count, .. } => *count,
    }
}

/// Returns the number of pods that are deleted and created again.
pub(super) fn replaced(forecast: &Forecast) -> usize {
    let mut ends: [BTreeSet<String>; 2] = Default::default();
    let mut random = [0, 0];
    for step in &forecast.course.steps {
        let side = usize::from(step.action == Action::Create);
        match &step.target {
            Target::SomeNodes { count, .. } => random[side] += count,
            target => {
                ends[side].insert(forecast.name(target));
            }
        }
    }
    let [gone, back] = &ends;
    gone.intersection(back).count() + random[0].min(random[1])
}

/// Returns the first line: what the object is and how it is rolled out.
pub(super) fn title(forecast: &Forecast) -> String {
    let id = &forecast.id;
    let name = if id.is_generated { format!("{}…", id.name) } else { id.name.clone() };
    format!("{} {}/{name}", id.kind, id.namespace)
}

/// Returns the lines that describe the change and its rollout.
pub(super) fn lines(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = told(forecast, symbols);
    let join = |line: Line, (tone, text)| {
        let line = if line.is_empty() { line } else { line.and(Tone::Plain, "; ") };
        line.and(tone, text)
    };
    let summary = summary(forecast).into_iter().fold(Line::default(), join);
    if !summary.is_empty() {
        lines.push(summary);
    }
    lines.extend(remedy::line(forecast));
    lines
}

/// Returns the lines that describe the change and its rollout, without the summary.
pub(super) fn story(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = told(forecast, symbols);
    lines.extend(remedy::line(forecast));
    lines
}

fn told(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = Vec::new();
    match forecast.change {
        Change::Create => lines.push(Line::new(Tone::Plain, "is new")),
        Change::Delete => lines.push(Line::new(Tone::Bad, "is deleted")),
        Change::None if !forecast.course.steps.is_empty() => {
            lines.push(Line::new(Tone::Plain, "nothing changes, but a rollout is under way"));
        }
        Change::None => lines.push(Line::new(Tone::Plain, "nothing changes")),
        Change::Refused => lines.push(Line::new(Tone::Bad, "is refused by the API server")),
        Change::Update | Change::Scale => {}
    }
    for refusal in &forecast.refusals {
        lines.push(format!("{}: {}", refusal.field, refusal.message).into());
    }
    for it in &forecast.exceeded {
        let tone = if it.is_denied { Tone::Bad } else { Tone::Caution };
        lines.push(Line::new(tone, format!("beyond a limit: {}", it.what.message)));
    }
    for it in &forecast.differences {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        let line = Line::from(format!("changes  {}: ", it.path)).and(Tone::Old, side(&it.old));
        let line = line.and(Tone::Plain, format!(" {} ", symbols.arrow));
        lines.push(line.and(Tone::New, side(&it.new)));
    }
    lines.extend(forecast.notes.iter().cloned().map(Line::from));
    if !forecast.refusals.is_empty() && !forecast.course.steps.is_empty() {
        lines.push("and then:".to_owned().into());
    }
    match forecast.id.kind.as_str() {
        "StatefulSet" => lines.extend(waves(forecast, symbols)),
        _ => lines.extend(nodes(forecast, symbols)),
    }
    lines
}

/// A pod of a StatefulSet that is created, deleted or both.
struct Move {
    ordinal: i64,
    wave: usize,
    /// The wave in which a deleted pod comes back.
    back: Option<usize>,
    is_deleted: bool,
    /// The template of the pod that is created.
    revision: Option<Revision>,
}

fn moves(course: &Course) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    let mut places = BTreeMap::new();
    for step in &course.steps {
        let Target::Ordinal(ordinal) = step.target else { continue };
        let is_deleted = step.action == Action::Delete;
        let revision = (!is_deleted).then_some(step.revision);
        match places.get(&ordinal).and_then(|place: &usize| moves.get_mut(*place)) {
            Some(known) => {
                known.back = (!is_deleted).then_some(step.wave);
                known.revision = revision.or(known.revision);
            }
            None => {
                places.insert(ordinal, moves.len());
                moves.push(Move { ordinal, wave: step.wave, back: None, is_deleted, revision });
            }
        }
    }
    moves
}

fn waves(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let moves = moves(&forecast.course);
    let mut by_wave: BTreeMap<usize, Vec<&Move>> = BTreeMap::new();
    for one in &moves {
        by_wave.entry(one.wave).or_default().push(one);
    }
    let name = |ordinal: i64| format!("{}-{ordinal}", forecast.id.name);
    let mut lines = Vec::new();
    let mut before: Option<String> = None;
    let has_old = moves.iter().any(|it| it.revision == Some(Revision::Old));
    let total = by_wave.len();
    for (i, (wave, moves)) in by_wave.into_iter().enumerate() {
        let is_shown = total <= MOST_WAVES || i < MOST_WAVES / 2 || i + 2 > total;
        if total > MOST_WAVES && i == MOST_WAVES / 2 {
            let more = total - MOST_WAVES / 2 - 1;
            let text = format!("{} {more} more like these, one after the other", symbols.more);
            lines.push(text.into());
        }
        let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for it in &moves {
            let what = match (it.is_deleted, it.back) {
                (false, _) => "created".to_owned(),
                (true, None) => "deleted".to_owned(),
                (true, Some(back)) if back == wave => "replaced".to_owned(),
                (true, Some(back)) => format!("deleted; back in wave {back}"),
            };
            let template = match it.revision.filter(|_| has_old) {
                Some(revision) => format!(" with the {} template", revision.as_str()),
                None => String::new(),
            };
            kinds.entry(what + &template).or_default().push(name(it.ordinal));
        }
        let what: Vec<_> = kinds
            .into_iter()
            .map(|(what, names)| format!("{} {what}", list(&names, symbols)))
            .collect();
        let once = before.map(|before| once(forecast, &before)).unwrap_or_default();
        if is_shown {
            lines.push(Line::moves(symbols, &format!("{wave}. {}{once}", what.join(", "))));
        }
        before = moves.last().map(|it| {
            let is_gone = it.is_deleted && it.back.is_none();
            format!("{} {}", name(it.ordinal), if is_gone { "is gone" } else { "is available" })
        });
    }
    let mut kept: [Vec<String>; 2] = Default::default();
    for (target, is_new) in forecast.kept.iter().rev() {
        kept[usize::from(*is_new)].push(forecast.name(target));
    }
    let [old, same] = kept;
    if !old.is_empty() {
        let why = forecast.why_kept.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let names = list(&old, symbols);
        let keep = if old.len() == 1 { "keeps" } else { "keep" };
        lines.push(Line::stays(symbols, &format!("{names} {keep} the old template{why}")));
    }
    if !same.is_empty() {
        let is = if same.len() == 1 { "is" } else { "are" };
        let names = list(&same, symbols);
        lines.push(Line::stays(symbols, &format!("{names} {is} left alone")));
    }
    lines
}

fn once(forecast: &Forecast, before: &str) -> String {
    match forecast.min_ready_seconds {
        0 => format!(", once {before}"),
        seconds => {
            let ready = format!("has been ready for {seconds} s");
            format!(", once {}", before.replace("is available", &ready))
        }
    }
}

fn list(names: &[String], symbols: Symbols) -> String {
    if names.len() <= MOST_NAMES {
        return names.join(" ");
    }
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return String::new() };
    format!("{first} {} {last} ({} of them)", symbols.more, names.len())
}

fn nodes(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut gets = Vec::new();
    let mut without: BTreeMap<(bool, &WhyNot), Vec<String>> = BTreeMap::new();
    for (i, after) in forecast.after.iter().enumerate() {
        let had = forecast.before.get(i) == Some(&true);
        let name = forecast.node(i).to_owned();
        match after {
            Placement::Runs if !had => gets.push(name),
            Placement::Runs => {}
            Placement::Keeps(why) | Placement::Loses(why) => {
                without.entry((had, why)).or_default().push(name);
            }
        }
    }
    let number = |names: &[String]| match names.len() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    if !gets.is_empty() {
        let (count, names) = (number(&gets), list(&gets, symbols));
        lines.push(Line::moves(symbols, &format!("a new pod on {count}: {names}")));
    }
    let replaced = replaced(forecast);
    if replaced > 0 {
        let waves = match forecast.course.waves {
            1 => "at once".to_owned(),
            waves => format!("in {waves} waves, in an order that the controller chooses"),
        };
        let nodes = if replaced == 1 { "1 node".to_owned() } else { format!("{replaced} nodes") };
        lines.push(Line::moves(symbols, &format!("the pods on {nodes} are replaced, {waves}")));
    }
    let second = second_pods(forecast);
    if !second.is_empty() {
        let (count, names) = (number(&second), list(&second, symbols));
        let text = format!("the second pod on {count} is deleted: {names}");
        lines.push(Line::moves(symbols, &text));
    }
    for ((had, why), names) in &without {
        let what = if *had { "loses its pod" } else { "no pod" };
        let what = if *had && names.len() > 1 { "lose their pods" } else { what };
        let (count, names) = (number(names), list(names, symbols));
        let text = format!("{what}: {count}, {}: {names}", because(why));
        lines.push(Line::stays(symbols, &text));
    }
    for is_new in [false, true] {
        let kept = forecast.kept.iter().filter(|(_, new)| *new == is_new);
        let (some, known): (Vec<_>, Vec<_>) = kept
            .map(|(target, _)| target)
            .partition(|target| matches!(target, Target::SomeNodes { .. }));
        let names: Vec<_> = known.into_iter().map(|target| forecast.name(target)).collect();
        let what = |count: &str| match &forecast.why_kept {
            Some(why) if !is_new => format!("keeps the old template on {count}, {why}"),
            _ => format!("is left alone on {count}"),
        };
        if !names.is_empty() {
            let (what, names) = (what(&number(&names)), list(&names, symbols));
            lines.push(Line::stays(symbols, &format!("the pod {what}: {names}")));
        }
        for target in some {
            let what = what(&forecast.name(target));
            lines.push(Line::stays(symbols, &format!("the pod {what}")));
        }
    }
    lines
}

/// Returns the nodes of which one of several pods is deleted and not replaced.
fn second_pods(forecast: &Forecast) -> Vec<String> {
    let mut balance: BTreeMap<usize, isize> = BTreeMap::new();
    for step in &forecast.course.steps {
        if let Target::Node(index) = step.target {
            let change = if step.action == Action::Delete { 1 } else { -1 };
            *balance.entry(index).or_default() += change;
        }
    }
    let runs = |index: &usize| forecast.after.get(*index) == Some(&Placement::Runs);
    let second = balance.into_iter().filter(|(index, balance)| runs(index) && *balance > 0);
    second.map(|(index, _)| forecast.node(index).to_owned()).collect()
}

fn because(why: &WhyNot) -> String {
    match why {
        WhyNot::NodeName(name) => format!("because nodeName is {name}"),
        WhyNot::NodeSelector(key, value) => format!("without the label {key}={value}"),
        WhyNot::Affinity => "which the node affinity leaves out".to_owned(),
        WhyNot::Taint(taint) => format!("because of the taint {taint}"),
        WhyNot::Gone => "because there is no such node".to_owned(),
    }
}

/// Returns the parts of the summary; none if nothing happens.
pub(super) fn summary(forecast: &Forecast) -> Vec<(Tone, String)> {
    let course = &forecast.course;
    let mut parts = Vec::new();
    if course.steps.is_empty() {
        return parts;
    }
    if forecast.change != Change::Create && forecast.change != Change::Delete {
        let text = match course.at_most_unavailable {
            0 => "no pod is down at any time".to_owned(),
            1 => "at most 1 pod is down at a time".to_owned(),
            count => format!("at most {count} pods are down at a time"),
        };
        parts.push((Tone::Plain, text));
    }
    if course.at_least_seconds > 0 {
        parts.push((Tone::Plain, format!("at least {} s in all", course.at_least_seconds)));
    }
    if let Some((_, estimate)) = &forecast.estimate {
        parts.push((Tone::Plain, estimate.clone()));
    }
    let claims = |action| {
        let steps = course.steps.iter().filter(move |step| step.action == action);
        steps.flat_map(|step| &step.claims).collect::<Vec<_>>()
    };
    let (new, gone) = (claims(Action::Create), claims(Action::Delete));
    if !new.is_empty() {
        parts.push((Tone::Plain, format!("claims created: {}", new.len())));
    }
    let (retained, lost): (Vec<_>, Vec<_>) =
        gone.iter().map(|name| name.as_str()).partition(|name| forecast.retained.contains(*name));
    if !lost.is_empty() {
        parts.push((Tone::Bad, format!("claims DELETED with their data: {}", lost.join(" "))));
    }
    if !retained.is_empty() {
        let names = retained.join(" ");
        let text = format!("claims DELETED, but their volumes are retained: {names}");
        parts.push((Tone::Bad, text));
    }
    if gone.is_empty() && forecast.id.kind == "StatefulSet" {
        parts.push((Tone::Plain, "claims deleted: none".to_owned()));
    }
    parts
}

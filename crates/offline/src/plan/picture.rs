//! A forecast as lines of text.

mod nodes;
mod waves;

use setguard_core::finding::difference::Difference;

use super::headline::{NONE_AVAILABLE, VERSION_LABELS, existing};
use crate::plan::prelude::*;

pub(super) fn title(forecast: &Forecast) -> String {
    let id = &forecast.id;
    let name = if id.is_generated { format!("{}…", id.name) } else { id.name.clone() };
    let file = forecast.file.iter().map(|file| format!(" in {file}"));
    format!("{} {}/{name}{}", id.kind, id.namespace, file.collect::<String>())
}

pub(super) fn lines(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    [change(forecast, symbols), rollout(forecast, symbols), end(forecast)].concat()
}

/// Returns the lines about the change and its rollout, without the summary.
pub(super) fn story(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = [change(forecast, symbols), rollout(forecast, symbols)].concat();
    lines.extend(stop::line(forecast));
    lines.extend(refusals(forecast, true));
    lines
}

/// Returns the summary in one line, where the rollout stops, and the API server's text about an immutable field. The
/// text comes last because it quotes Go's JSON.
pub(super) fn end(forecast: &Forecast) -> Vec<Line> {
    let join = |line: Line, (tone, text)| {
        let line = if line.is_empty() { line } else { line.and(Tone::Plain, "; ") };
        line.and(tone, text)
    };
    let summary = summary(forecast).into_iter().fold(Line::default(), join);
    let summary = [summary].into_iter().filter(|it| !it.is_empty());
    summary.chain(stop::line(forecast)).chain(refusals(forecast, true)).collect()
}

pub(super) fn change(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let mut lines = Vec::new();
    match forecast.change {
        ChangeKind::Create => lines.push(Line::new(Tone::Plain, "is new")),
        ChangeKind::Delete => lines.push(Line::new(Tone::Bad, "is deleted")),
        ChangeKind::None if let Some(rollout) = forecast.active() => {
            let creates = rollout.course.steps.iter().any(|it| it.action == Action::Create);
            let what = if creates { "a rollout is under way" } else { "pods are being deleted" };
            lines.push(Line::new(Tone::Plain, format!("nothing changes, but {what}")));
        }
        ChangeKind::None => lines.push(Line::new(Tone::Plain, "nothing changes")),
        ChangeKind::Refused => lines.push(Line::new(Tone::Bad, "is refused by the API server")),
        ChangeKind::Update | ChangeKind::Scale => {
            lines.extend(forecast.reaches_no_pod().map(|text| Line::new(Tone::Caution, text)));
        }
    }
    lines.extend(refusals(forecast, false));
    for it in &forecast.exceeded {
        let tone = if it.is_denied { Tone::Bad } else { Tone::Caution };
        lines.push(Line::new(tone, format!("beyond a limit: {}", it.message)));
    }
    lines.extend(differences(&forecast.differences, symbols));
    if let Some(labels) = forecast.version_labels() {
        let text = format!("{VERSION_LABELS} {}", labels.join(", "));
        lines.push(Line::new(Tone::Caution, text));
    }
    lines.extend(forecast.notes.iter().map(|note| Line::new(Tone::Plain, note)));
    if !forecast.refusals.is_empty() && forecast.active().is_some() {
        lines.push(Line::new(Tone::Plain, "and then:"));
    }
    lines
}

pub(super) fn rollout(forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let Some(rollout) = &forecast.rollout else { return Vec::new() };
    match &rollout.of_kind {
        OfKind::StatefulSet { min_ready_seconds, .. } => {
            waves::lines(rollout, *min_ready_seconds, forecast, symbols)
        }
        OfKind::DaemonSet { nodes } => nodes::lines(rollout, nodes, forecast, symbols),
    }
}

fn refusals(forecast: &Forecast, of_immutable: bool) -> impl Iterator<Item = Line> {
    let some = forecast.refusals.iter().filter(move |it| it.is_immutable == of_immutable);
    some.map(|it| Line::new(Tone::Plain, format!("{}: {}", it.field, it.message)))
}

/// Returns a line for each changed field. Containers with the same changes share a line.
fn differences(all: &[Difference], symbols: Symbols) -> Vec<Line> {
    let mut groups: Vec<(&Difference, Vec<&str>)> = Vec::new();
    let mut indexes = HashMap::new();
    for it in all {
        let [list, element, rest] = parts(&it.path);
        let next = groups.len();
        let index = *indexes.entry((list, rest, &it.old, &it.new)).or_insert(next);
        match groups.get_mut(index) {
            Some((_, elements)) => elements.push(element),
            None => groups.push((it, vec![element])),
        }
    }
    let line = |(it, elements): (&Difference, Vec<&str>)| {
        let [list, _, rest] = parts(&it.path);
        let path = format!("{list}{}{rest}: ", elements.join(", "));
        let line = |tone, sign, value: &str| {
            Line::new(tone, sign).and(Tone::Plain, path.clone()).and(tone, value)
        };
        match (&it.old, &it.new) {
            (None, new) => line(Tone::New, "+ ", new.as_deref().unwrap_or_default()),
            (Some(old), None) => line(Tone::Old, "- ", old),
            (Some(old), Some(new)) => Line::new(Tone::Moves, "~ ")
                .and(Tone::Plain, path)
                .and(Tone::Old, old)
                .and(Tone::Plain, format!(" {} ", symbols.arrow))
                .and(Tone::New, new),
        }
    };
    groups.into_iter().map(line).collect()
}

/// Splits a path into the part before a container's index or key, that index, and the rest.
fn parts(path: &str) -> [&str; 3] {
    let element = path.find("ontainers[").and_then(|at| {
        let start = at + "ontainers[".len();
        path[start..].find(']').map(|length| (start, start + length))
    });
    match element {
        Some((start, end)) => [&path[..start], &path[start..end], &path[end..]],
        None => [path, "", ""],
    }
}

pub(super) fn summary(forecast: &Forecast) -> Vec<(Tone, String)> {
    let Some(rollout) = forecast.active() else { return Vec::new() };
    let course = &rollout.course;
    let mut parts = Vec::new();
    if forecast.change != ChangeKind::Create && forecast.change != ChangeKind::Delete {
        let text = match course.at_most_unavailable {
            down if course.takes_all_down && down < existing(rollout) => NONE_AVAILABLE.to_owned(),
            0 => "no pod is down at any time".to_owned(),
            1 => "at most 1 pod is down at a time".to_owned(),
            count => format!("at most {count} pods are down at a time"),
        };
        parts.push((Tone::Plain, text));
    }
    if course.at_least_seconds > 0 {
        parts.push((Tone::Plain, format!("at least {} s in all", course.at_least_seconds)));
    }
    if let Some(estimate) = &rollout.estimate {
        parts.push((Tone::Plain, estimate.text.clone()));
    }
    parts.extend(claims(rollout));
    parts
}

fn claims(rollout: &Rollout) -> Vec<(Tone, String)> {
    let mut parts = Vec::new();
    let claims = |action| {
        let steps = rollout.course.steps.iter().filter(move |step| step.action == action);
        steps.flat_map(|step| &step.claims).collect::<Vec<_>>()
    };
    let (new, gone) = (claims(Action::Create), claims(Action::Delete));
    if !new.is_empty() {
        parts.push((Tone::Plain, format!("claims created: {}", new.len())));
    }
    let (retained, lost): (Vec<_>, Vec<_>) =
        gone.iter().map(|name| name.as_str()).partition(|name| rollout.retains(name));
    if !lost.is_empty() {
        parts.push((Tone::Bad, format!("claims DELETED with their data: {}", lost.join(" "))));
    }
    if !retained.is_empty() {
        let names = retained.join(" ");
        let text = format!("claims DELETED, but their volumes are retained: {names}");
        parts.push((Tone::Bad, text));
    }
    if gone.is_empty() && matches!(rollout.of_kind, OfKind::StatefulSet { .. }) {
        parts.push((Tone::Plain, "claims deleted: none".to_owned()));
    }
    parts
}

use crate::plan::prelude::*;
use crate::plan::styled_line::list;

/// The maximum number of waves to print individually.
const MOST_WAVES: usize = 12;

struct Move {
    ordinal: i64,
    wave: usize,
    /// The wave that creates a deleted pod again.
    back: Option<usize>,
    is_deleted: bool,
    revision: Option<Revision>,
}

pub(super) fn lines(
    rollout: &Rollout,
    min_ready_seconds: i64,
    forecast: &Forecast,
    symbols: Symbols,
) -> Vec<Line> {
    let moves = moves(&rollout.course);
    let mut by_wave: BTreeMap<usize, Vec<&Move>> = BTreeMap::new();
    for one in &moves {
        by_wave.entry(one.wave).or_default().push(one);
    }
    let mut lines = Vec::new();
    let mut before: Option<Vec<&Move>> = None;
    let has_old = moves.iter().any(|it| it.revision == Some(Revision::Old));
    let total = by_wave.len();
    for (i, (wave, moves)) in by_wave.into_iter().enumerate() {
        let is_shown = total <= MOST_WAVES || i < MOST_WAVES / 2 || i + 2 > total;
        if total > MOST_WAVES && i == MOST_WAVES / 2 {
            let more = total - MOST_WAVES / 2 - 1;
            let text = format!("{} {more} more like these, one after the other", symbols.more);
            lines.push(Line::new(Tone::Plain, text));
        }
        if is_shown {
            let fates = fates(&moves, has_old, forecast);
            let first = fates.values().next().map_or(Tone::Moves, |(tone, _)| *tone);
            let mut line = Line::moves(symbols, first, &format!("{wave}."));
            for (i, (what, (tone, names))) in fates.iter().enumerate() {
                let comma = if i > 0 { "," } else { "" };
                let names = format!("{comma} {} ", list(names, symbols));
                line = line.and(Tone::Plain, names).and(*tone, what);
            }
            let after = before.map(|it| after(&it, rollout, moves.len() > 1, forecast, symbols));
            let after = after.map(|it| in_time(min_ready_seconds, &it)).unwrap_or_default();
            lines.push(line.and(Tone::Plain, after));
        }
        before = Some(moves);
    }
    lines.extend(kept(rollout, forecast, symbols));
    lines
}

fn moves(course: &Course) -> Vec<Move> {
    let mut moves: Vec<Move> = Vec::new();
    let mut indexes = BTreeMap::new();
    for step in &course.steps {
        let Target::Ordinal(ordinal) = step.target else { continue };
        let is_deleted = step.action == Action::Delete;
        let revision = (!is_deleted).then_some(step.revision);
        // A pod that the rollout made may be deleted again.
        let goes_on = |it: &&mut Move| !is_deleted || it.is_deleted && it.back.is_none();
        let known = indexes.get(&ordinal).and_then(|index: &usize| moves.get_mut(*index));
        match known.filter(goes_on) {
            Some(known) => {
                known.back = (!is_deleted).then_some(step.wave);
                known.revision = revision.or(known.revision);
            }
            None => {
                indexes.insert(ordinal, moves.len());
                moves.push(Move { ordinal, wave: step.wave, back: None, is_deleted, revision });
            }
        }
    }
    moves
}

/// Groups the pods of a wave by what happens to them, and by template if the wave creates pods of both.
fn fates(
    moves: &[&Move],
    has_old: bool,
    forecast: &Forecast,
) -> BTreeMap<String, (Tone, Vec<String>)> {
    let mut kinds = BTreeMap::new();
    for it in moves {
        let (tone, what) = match (it.is_deleted, it.back) {
            (false, _) => (Tone::New, "created".to_owned()),
            (true, None) => (Tone::Bad, "deleted".to_owned()),
            (true, Some(back)) if back == it.wave => (Tone::Moves, "replaced".to_owned()),
            (true, Some(back)) => (Tone::Moves, format!("deleted; back in wave {back}")),
        };
        let template = match it.revision.filter(|_| has_old) {
            Some(revision) => format!(" with the {} template", revision.as_str()),
            None => String::new(),
        };
        let name = forecast.name(&Target::Ordinal(it.ordinal));
        kinds.entry(what + &template).or_insert((tone, Vec::new())).1.push(name);
    }
    kinds
}

/// Returns the event that the next wave waits for. In a parallel set, each pod that becomes available makes room for
/// the next; an ordered set waits for the pod that comes back last.
fn after(
    moves: &[&Move],
    rollout: &Rollout,
    are_several: bool,
    forecast: &Forecast,
    symbols: Symbols,
) -> String {
    let name = |it: &&Move| forecast.name(&Target::Ordinal(it.ordinal));
    let broken = rollout.course.stop.as_ref().map(|stop| forecast.names(stop)).unwrap_or_default();
    if !rollout.is_ordered() && moves.iter().all(|it| it.is_deleted) {
        let replaced = moves.iter().filter(|it| it.back.is_some());
        let names: Vec<_> = replaced.map(name).filter(|it| !broken.contains(it)).collect();
        match &names[..] {
            [] => {}
            [_, _, ..] if are_several => {
                return format!("as {} become available", list(&names, symbols));
            }
            _ => return format!("once {} is available", names.join(" or ")),
        }
    }
    let late = moves.iter().filter(|it| it.back.is_some_and(|back| back > it.wave));
    let last = late.max_by_key(|it| it.back).or(moves.last());
    let is_gone = last.is_some_and(|it| it.is_deleted && it.back.is_none());
    let name = last.map(name).unwrap_or_default();
    format!("once {name} {}", if is_gone { "is gone" } else { "is available" })
}

fn in_time(min_ready_seconds: i64, after: &str) -> String {
    match min_ready_seconds {
        0 => format!(", {after}"),
        seconds => {
            let after = after.replace("is available", &format!("has been ready for {seconds} s"));
            let ready = format!("have been ready for {seconds} s");
            format!(", {}", after.replace("become available", &ready))
        }
    }
}

/// Returns the lines for unchanged pods.
fn kept(rollout: &Rollout, forecast: &Forecast, symbols: Symbols) -> Vec<Line> {
    let names = |revision| -> Vec<String> {
        let kept = rollout.kept.iter().rev().filter(|it| it.revision == revision);
        kept.map(|it| forecast.name(&it.target)).collect()
    };
    let (old, same) = (names(Revision::Old), names(Revision::New));
    let mut lines = Vec::new();
    if !old.is_empty() {
        let why = rollout.why_kept.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let keep = if old.len() == 1 { "keeps" } else { "keep" };
        let names = list(&old, symbols);
        lines.push(Line::stays(symbols, &format!("{names} {keep} the old template{why}")));
    }
    if !same.is_empty() {
        let is = if same.len() == 1 { "is" } else { "are" };
        let names = list(&same, symbols);
        lines.push(Line::stays(symbols, &format!("{names} {is} left alone")));
    }
    lines
}

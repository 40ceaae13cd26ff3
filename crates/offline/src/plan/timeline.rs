//! The steps of a forecast as a table: a row for each pod, a column for each wave.

use super::pod_counts::count;
use crate::plan::prelude::*;

/// The maximum number of rows. A longer table omits rows in the middle.
const MOST_ROWS: usize = 40;
/// The maximum number of columns. A longer table omits columns in the middle.
const MOST_WAVES: usize = 12;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) created: usize,
    pub(super) deleted: usize,
    pub(super) loses_data: bool,
}

impl Cell {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Cell { loses_data: true, .. } => "lost",
            Cell { created: 0, .. } => "deleted",
            Cell { deleted: 0, .. } => "created",
            Cell { .. } => "replaced",
        }
    }

    /// Returns the text of the cell. It carries the same information as the colour.
    pub(super) fn text(self) -> String {
        let both = self.created.max(self.deleted);
        let number = if both > 1 { format!("{both} ") } else { String::new() };
        match self {
            Cell { loses_data: true, .. } => "deleted + data".to_owned(),
            Cell { created: 0, .. } => format!("{number}deleted"),
            Cell { deleted: 0, .. } => format!("{number}created"),
            Cell { created, deleted, .. } if created != deleted => {
                format!("-{deleted} +{created}")
            }
            Cell { .. } => format!("{number}replaced"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) cells: BTreeMap<usize, Cell>,
    pub(super) kept: Option<(usize, Revision)>,
    pub(super) stops: bool,
}

/// A row or a column, or the number of omitted ones.
#[derive(Debug)]
pub(super) enum Shown<T> {
    One(T),
    Gap(usize),
}

#[derive(Debug)]
pub(super) struct Timeline {
    pub(super) rows: Vec<Shown<Row>>,
    pub(super) waves: Vec<Shown<usize>>,
    pub(super) stops: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Ordinal(i64),
    Node(usize),
    Chosen,
}

impl Key {
    const fn of(target: &Target) -> Self {
        match target {
            Target::Ordinal(ordinal) => Key::Ordinal(*ordinal),
            Target::Node(index) => Key::Node(*index),
            Target::SomeNodes { .. } => Key::Chosen,
        }
    }
}

impl Timeline {
    pub(super) fn of(rollout: &Rollout, forecast: &Forecast) -> Self {
        let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
        for step in &rollout.course.steps {
            let row = row(&mut rows, forecast, &step.target);
            let cell = row.cells.entry(step.wave).or_default();
            match step.action {
                Action::Create => cell.created += count(&step.target),
                Action::Delete => {
                    cell.deleted += count(&step.target);
                    cell.loses_data |= step.claims.iter().any(|it| !rollout.retains(it));
                }
            }
        }
        for Kept { target, revision } in &rollout.kept {
            let row = row(&mut rows, forecast, target);
            let before = row.kept.map_or(0, |(before, _)| before);
            row.kept = Some((before + count(target), *revision));
        }
        let stop = rollout.course.stop.as_ref();
        if let Some(stop) = stop {
            row(&mut rows, forecast, &stop.target).stops = true;
        }
        let waves = (1..=rollout.course.waves).collect();
        Timeline {
            rows: shown(rows.into_values().collect(), MOST_ROWS),
            waves: shown(waves, MOST_WAVES),
            stops: stop.is_some(),
        }
    }
}

fn row<'a>(rows: &'a mut BTreeMap<Key, Row>, forecast: &Forecast, target: &Target) -> &'a mut Row {
    rows.entry(Key::of(target)).or_insert_with(|| Row {
        name: match target {
            Target::SomeNodes { .. } => "nodes in any order".to_owned(),
            target => forecast.name(target),
        },
        ..Row::default()
    })
}

/// Omits the middle of a long list.
fn shown<T>(all: Vec<T>, most: usize) -> Vec<Shown<T>> {
    if all.len() <= most {
        return all.into_iter().map(Shown::One).collect();
    }
    let gap = all.len() - most + 1;
    let head = most * 3 / 4;
    let mut shown = Vec::with_capacity(most);
    for (i, one) in all.into_iter().enumerate() {
        if i == head {
            shown.push(Shown::Gap(gap));
        }
        if i < head || i >= head + gap {
            shown.push(Shown::One(one));
        }
    }
    shown
}

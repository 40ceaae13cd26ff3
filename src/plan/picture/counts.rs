//! Numbers of pods, and lists of their names.

use std::collections::BTreeSet;

use crate::{
    plan::line::Symbols,
    rollout::{Action, Course, Target},
};

/// The most names that are listed.
const MOST_NAMES: usize = 8;

/// The numbers of pods that are created and deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::plan) struct Tally {
    pub(in crate::plan) created: usize,
    pub(in crate::plan) deleted: usize,
}

impl Tally {
    pub(in crate::plan) fn of(course: &Course) -> Self {
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
pub(in crate::plan) const fn count(target: &Target) -> usize {
    match target {
        Target::Ordinal(_) | Target::Node(_) => 1,
        Target::SomeNodes { count, .. } => *count,
    }
}

/// Returns the number of pods that are deleted and created again.
pub(in crate::plan) fn replaced(course: &Course) -> usize {
    let mut ends: [BTreeSet<&Target>; 2] = Default::default();
    let mut random = [0, 0];
    for step in &course.steps {
        let side = usize::from(step.action == Action::Create);
        match &step.target {
            Target::SomeNodes { count, .. } => random[side] += count,
            target => {
                ends[side].insert(target);
            }
        }
    }
    let [gone, back] = &ends;
    gone.intersection(back).count() + random[0].min(random[1])
}

/// Lists names, or the first and the last of many.
pub(super) fn list(names: &[String], symbols: Symbols) -> String {
    if names.len() <= MOST_NAMES {
        return names.join(" ");
    }
    let (Some(first), Some(last)) = (names.first(), names.last()) else { return String::new() };
    format!("{first} {} {last} ({} of them)", symbols.more, names.len())
}

use crate::prelude::*;

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

pub(super) const fn count(target: &Target) -> usize {
    match target {
        Target::Ordinal(_) | Target::Node(_) => 1,
        Target::SomeNodes { count, .. } => *count,
    }
}

pub(super) fn replaced(course: &Course) -> usize {
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

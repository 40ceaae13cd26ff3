//! The steps of a course as text, for the tests of both simulations.

use std::fmt::Write as _;

use super::{Action, Course, Revision, Target};

/// Steps such as `1 -4 +4 | 2 -3 +3(data-db-3)`, and steps on some of several nodes as `-2of012`. `*` marks a created
/// pod of the old template.
pub(super) fn text(course: &Course) -> String {
    let mut text = String::new();
    let mut wave = 0;
    for step in &course.steps {
        if step.wave != wave {
            let bar = if wave == 0 { "" } else { " | " };
            write!(text, "{bar}{}", step.wave).unwrap();
            wave = step.wave;
        }
        let sign = if step.action == Action::Create { '+' } else { '-' };
        match &step.target {
            Target::Ordinal(ordinal) => write!(text, " {sign}{ordinal}"),
            Target::Node(node) => write!(text, " {sign}{node}"),
            Target::SomeNodes { count, candidates } => {
                let all: String = candidates.iter().map(ToString::to_string).collect();
                write!(text, " {sign}{count}of{all}")
            }
        }
        .unwrap();
        if step.action == Action::Create && step.revision == Revision::Old {
            text.push('*');
        }
        if !step.claims.is_empty() {
            write!(text, "({})", step.claims.join(" ")).unwrap();
        }
    }
    text
}

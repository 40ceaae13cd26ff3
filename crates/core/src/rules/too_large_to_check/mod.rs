//! An object that was not evaluated, or not by all rules.

use crate::object::size::{self, ObjectSize};
use crate::rules::prelude::*;

/// The rule for objects that are too large to evaluate.
pub static RULE: Rule = rule! {
    id: "too-large-to-check", group: Guard, cel: "cel.yaml";
    title: "the object is too large to check",
    summary: "an object with so many items or so much text that setguard skips it",
    scopes: [Scope::Engine {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet, Kind::Pod],
        by: &[Runner::Check, Runner::Validate],
    }],
};

/// The description of this rule.
pub static TOO_LARGE: &Meta = &RULE.meta;

/// Reports an object that was not read.
pub fn too_large(size: &ObjectSize, found: &mut Findings) {
    let mib = |bytes: usize| bytes.div_ceil(1 << 20);
    let largest = &size.largest;
    let message = format!(
        "setguard does not evaluate this object: it would take up to {} MiB of memory, \
         {} MiB for the {} items here",
        mib(size.bytes),
        mib(largest.bytes),
        largest.items
    );
    let help = format!("make it smaller, to at most {} MiB", mib(size::MAX));
    found.report(largest.field.clone(), Reason::TooMany, message, help);
}

/// Reports an object that some rules did not check because time ran out.
pub fn out_of_time(rules: usize, found: &mut Findings) {
    let message = format!(
        "the evaluation took too long and was stopped: {rules} rules have not looked at this object"
    );
    let help = "make the object smaller, or give setguard more processor time";
    found.report(&SPEC, Reason::TooMany, message, help);
}

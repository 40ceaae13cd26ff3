//! Objects that bear on each other, and the rules about them.
//!
//! An [`Item`] is what these rules need to know of an object, in a few hundred bytes: the objects
//! themselves can be let go. A rule looks at all items at once, so no rule may compare every item
//! with every other.

mod host_port_conflict;
pub mod rule;
mod selector_overlap;
mod service_missing;
mod service_not_headless;
mod service_selects_nothing;
mod services;

use crate::rules::cross_object::rule::Rule;

/// Every rule about several objects, in alphabetical order.
pub static RULES: &[&Rule] = &[
    &host_port_conflict::RULE,
    &selector_overlap::RULE,
    &service_missing::RULE,
    &service_not_headless::RULE,
    &service_selects_nothing::RULE,
];

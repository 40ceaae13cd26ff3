//! What the rules about several objects have in common.
//!
//! Such a rule checks one object against the other items of an inventory. There may be many, so no rule iterates over all of
//! them: the inventory has indexes.

pub(super) mod budgets;
pub(super) mod missing;
pub(super) mod nodes;
pub(super) mod services;

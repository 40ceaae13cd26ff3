//! Code that cross-object rules share.
//!
//! Such a rule compares one object with the others in an inventory. There may be many, so no rule
//! iterates over all of them: the inventory has indexes.

pub(super) mod budgets;
pub(super) mod missing;
pub(super) mod nodes;
pub(super) mod services;

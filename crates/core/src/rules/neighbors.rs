//! Code that rules about several objects share.
//!
//! There may be many objects, so these rules use the indexes of an inventory and never iterate over all objects.

pub(super) mod budgets;
pub(super) mod missing;
pub(super) mod nodes;
pub(super) mod services;

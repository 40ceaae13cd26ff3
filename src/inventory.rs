//! Many objects in little memory.

pub mod item;
pub(crate) mod labels;
pub(crate) mod nodes;
pub(crate) mod read;

//! What a rule found, in which field, and what the rule says of itself.
//!
//! Imports nothing.

mod field;
mod findings;
pub mod paths;
mod rule;
mod suggest;
mod value;

#[cfg(test)]
pub(crate) use self::rule::TEST_RULE;
pub(crate) use self::suggest::nearest_of;
pub use self::{
    field::{Field, Path, Step},
    findings::{Finding, Findings, Reason},
    rule::{Meta, Mode},
    value::Value,
};

//! What a rule found, where, and what the rule says of itself.

mod field;
mod findings;
mod rule;
mod suggest;
mod value;

pub(crate) use self::suggest::nearest_of;
pub use self::{
    field::{Field, Path, Step},
    findings::{Finding, Findings, Reason},
    rule::{Meta, Mode},
    value::Value,
};

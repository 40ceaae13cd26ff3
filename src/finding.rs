//! Findings, the fields that they are about, and the descriptions of rules.

mod facts;
mod fault;
mod field;
mod findings;
mod fix;
mod help;
pub mod paths;
mod reason;
mod rule;
mod shorten;
mod suggest;
mod value;

#[cfg(test)]
pub(crate) use self::rule::SOME_RULE as TEST_RULE;
pub use self::{
    facts::Facts,
    fault::{ClusterAssumption, Finding, Reported},
    field::{Field, Path, Step},
    findings::Findings,
    fix::{Change, Fix},
    help::{Command, Effect, Help},
    reason::Reason,
    rule::{Meta, Mode},
    value::Value,
};
pub(crate) use self::{rule::SOME_RULE, shorten::shorten, suggest::nearest_of};

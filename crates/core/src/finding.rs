//! Findings, the fields that they point to, and the descriptions of rules.

mod at;
pub mod difference;
mod facts;
mod fault;
mod findings;
mod fix;
mod help;
pub mod paths;
mod reason;
mod rule;
mod shorten;
mod value;

pub(crate) use self::findings::MAX_MESSAGE;
#[cfg(test)]
pub(crate) use self::rule::SOME_RULE as TEST_RULE;
pub use self::{
    at::At,
    facts::{Facts, Hold, Outlook, at, count},
    fault::{ClusterAssumption, Finding, Related, Reported},
    findings::Findings,
    fix::{Change, Fix},
    help::{Command, Effect, Help},
    reason::Reason,
    rule::{Group, Meta, Mode},
    value::Value,
};
pub use self::{rule::SOME_RULE, shorten::shorten};
pub use kube_yaml::{Field, Path, Step, nearest_of};

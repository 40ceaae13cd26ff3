//! What most files of this module import.

pub(in crate::report) use std::{
    fmt,
    io::{self, Write},
};

pub(in crate::report) use kube_yaml::Mark;
pub(in crate::report) use serde::Serialize;
pub(in crate::report) use setguard_core::{observed::Ready, policy::Policy, printable::Printable};

pub(in crate::report) use crate::report::{
    collected::{Collected, Entry},
    diagnostic::Severity,
    policy_use::PolicyUse,
};

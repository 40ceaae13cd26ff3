//! What most files of this module import.

pub(in crate::report) use std::{
    borrow::Cow,
    cmp::Reverse,
    env, fmt,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

pub(in crate::report) use kube_yaml::Mark;
pub(in crate::report) use schemars::JsonSchema;
pub(in crate::report) use serde::Serialize;
pub(in crate::report) use setguard_core::{
    catalogue,
    finding::{Command, Facts, Meta, Mode, count, shorten},
    observed::Ready,
    policy::Policy,
    printable::{Printable, one_line},
};

pub(in crate::report) use crate::report::{
    Report,
    changes::{Change, Changes},
    collected::{Collected, Entry},
    diagnostic::{Counts, Healthy, Severity},
    policy_use::PolicyUse,
};

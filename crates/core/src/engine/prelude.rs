//! What most files of this module import.

pub(in crate::engine) use std::collections::BTreeMap;

pub(in crate::engine) use crate::{
    engine::{
        adjustment::Why,
        context::{Context, Identity},
        verdict::Verdict,
    },
    finding::{Finding, Findings, Meta, Mode},
    inventory::{
        object_summary::ObjectSummary,
        view::{Freshness, View},
    },
    object::Subject,
    rules::rule::Rule,
};

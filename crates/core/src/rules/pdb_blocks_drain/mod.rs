mod neighbors;
mod status;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pdb-blocks-drain",
    title: "the budget never allows an eviction",
    summary: "a StatefulSet whose PodDisruptionBudget never allows an eviction",
    group: Upgrade,
    scopes: [neighbors::SCOPE, status::SCOPE],
};

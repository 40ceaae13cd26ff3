mod neighbors;
mod status;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pdb-blocks-drain", group: Upgrade;
    title: "the budget never allows an eviction",
    summary: "a StatefulSet whose PodDisruptionBudget never allows an eviction",
    scopes: [neighbors::SCOPE, status::SCOPE],
};

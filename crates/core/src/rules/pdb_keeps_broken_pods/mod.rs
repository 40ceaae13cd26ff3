mod neighbors;
mod status;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pdb-keeps-broken-pods", group: Upgrade, mode: Mode::Audit;
    title: "the budget keeps broken pods",
    summary: "a PodDisruptionBudget that lets no pod be evicted while several are broken",
    scopes: [neighbors::SCOPE, status::SCOPE],
};

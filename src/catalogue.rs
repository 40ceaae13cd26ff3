//! Every rule, by id.

pub mod markdown;

use std::sync::LazyLock;

use crate::{
    finding::{Meta, nearest_of},
    inject,
    rules::{api_validation, cross_object, traps::TRAPS},
};

/// What every rule says of itself, in alphabetical order of the ids.
pub fn all() -> &'static [&'static Meta] {
    static ALL: LazyLock<Vec<&'static Meta>> = LazyLock::new(|| {
        let traps = TRAPS.iter().map(|trap| &trap.meta);
        let together = cross_object::RULES.iter().map(|rule| &rule.meta);
        let all = api_validation::metas::METAS.iter().chain(inject::rules::METAS.iter());
        let mut all: Vec<_> = all.chain(traps).chain(together).collect();
        all.sort_by_key(|meta| meta.id);
        all
    });
    &ALL
}

/// A rule by its id.
pub fn find(id: &str) -> Option<&'static Meta> {
    let all = all();
    all.binary_search_by_key(&id, |meta| meta.id).ok().map(|i| all[i])
}

/// The rule whose id is nearest to a misspelt one, if any is near.
pub fn nearest(id: &str) -> Option<&'static str> {
    nearest_of(id, all().iter().map(|meta| meta.id))
}

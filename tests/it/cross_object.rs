//! The findings of `check` that need several objects of its input.

use crate::support;

#[test]
fn the_examples_are_found_whichever_object_comes_first() {
    for rule in setguard::rules::cross_object() {
        let (mut objects, before) = support::changes(support::to_json(rule.meta.bad));
        objects.reverse();
        let policy = setguard::policy::Policy::default();
        let found = support::evaluate_change(&objects, &before, &policy);
        let found: Vec<_> = found.into_iter().map(|found| found.rule).collect();
        assert_eq!(found, [rule.meta.id]);
    }
}

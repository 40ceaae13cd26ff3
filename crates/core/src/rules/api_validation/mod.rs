//! The API server's own validation, with its own error messages.
//!
//! `api-validation` reports the metadata and the fields of the DaemonSet or StatefulSet itself,
//! `pod-template-validation` the rest of `spec.template.spec`. Validation runs on an object with its defaults
//! ([`crate::object::defaults`]).

mod advice;
mod daemon_set;
mod kruise;
mod stateful_set;
mod template;
pub(super) mod wording;

use std::cell::OnceCell;

use self::advice::Advisor;
pub use self::advice::{KEEP, title};
use crate::rules::prelude::*;
use crate::{
    rules::{pod_template_validation::POD_TEMPLATE_VALIDATION, schema::SCHEMA},
    validation::object_meta,
};

/// The rule for metadata and the workload's own fields.
pub static RULE: Rule = rule! {
    id: "api-validation", group: Refused, mode: Mode::Deny, adjustable: false;
    title: "the API server refuses this",
    summary: "what the API server refuses in metadata and the workload's own fields",
    scopes: [Scope::Engine { kinds: SETS, by: &[Runner::Check, Runner::Validate, Runner::Audit] }],
};

/// The description of this rule.
pub static API_VALIDATION: &Meta = &RULE.meta;

/// The rules for faults that the API server itself rejects.
pub static METAS: [&Meta; 3] = [API_VALIDATION, POD_TEMPLATE_VALIDATION, SCHEMA];

/// Returns whether a rule's messages are the API server's, so that a program may compare them with its errors.
pub fn quotes_api_server(rule: &Meta) -> bool {
    [API_VALIDATION, POD_TEMPLATE_VALIDATION].contains(&rule)
}

/// Finds the errors that make the API server reject the object. Returns the findings that it tolerates because
/// the old object is invalid: it accepts any pod template for a StatefulSet whose stored spec has errors.
///
/// Kubernetes: `BeforeCreate` and `BeforeUpdate`, apiserver `pkg/registry/rest`, call the strategies in
/// `pkg/registry/apps`. On UPDATE, upstream reports errors in the metadata twice; setguard reports them once.
pub fn validate(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) -> Vec<Finding> {
    let mut tolerated = Vec::new();
    let rule = |found: &mut Findings| tolerated = validate_in_newest_words(subject, cluster, found);
    let advisor = Advisor { subject, template: OnceCell::new() };
    found.edit(rule, |finding| {
        advisor.advise(finding);
        wording::of_release(finding, cluster);
    });
    tolerated
}

fn validate_in_newest_words(
    subject: &Subject<'_>,
    cluster: &Cluster,
    found: &mut Findings,
) -> Vec<Finding> {
    found.set_rule(API_VALIDATION);
    let object = &subject.object;
    let update = subject.is_update;
    let old = if update { subject.old() } else { None };
    // Read lazily, because most verdicts do not depend on it.
    let stored = OnceCell::new();
    let old_template = &|| {
        let as_stored = || subject.old_template().map(|old| subject.as_stored(old, cluster));
        if update { stored.get_or_init(as_stored).as_deref() } else { None }
    };
    if update {
        object_meta::validate_update(
            object.kind(),
            &object.metadata,
            old.map(|old| &old.metadata),
            cluster,
            found,
        );
    } else {
        object_meta::validate_create(object.kind(), &object.metadata, cluster, found);
    }
    if let Some(own) = &object.kruise {
        kruise::validate(object, own, found);
    }
    match &object.workload {
        Workload::DaemonSet(spec) => {
            let old = old.and_then(Object::daemon_set);
            daemon_set::validate(spec, old, old_template, cluster, found);
            Vec::new()
        }
        Workload::StatefulSet(spec) => {
            let old = old.and_then(|old| {
                let (metadata, spec) = (&old.metadata, old.stateful_set()?);
                Some(stateful_set::Old { metadata, spec, template: old_template })
            });
            stateful_set::validate(subject, spec, old, cluster, found)
        }
    }
}

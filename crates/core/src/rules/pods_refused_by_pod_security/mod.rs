//! Pods that their namespace's Pod Security level rejects.

use crate::{
    finding::{Mode, Reason, paths::POD_SPEC},
    kubernetes::kind::Kind,
    kubernetes::pod_security::{FailedCheck, Standard},
    rules::rule::inventory::{Evidence, InventoryFindings, Query, Rule, SETS, Scope},
};

pub(super) static RULE: Rule = rule! {
    id: "pods-refused-by-pod-security",
    title: "Pod Security refuses the pods",
    summary: "a template whose pods the Pod Security level of the namespace refuses",
    group: NeverStarts,
    mode: Mode::Warn,
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let namespace = query.item.namespace();
    let mut namespaces = query.inventory().named(Kind::Namespace, "", namespace);
    let Some(labels) = namespaces.find(|item| query.counts(item)).and_then(|it| it.pod_security())
    else {
        return;
    };
    let (level, version) = (labels.level.as_deref(), labels.version.as_deref());
    let minor = query.cluster.version.minor();
    let Some(standard) = Standard::of(level, version, minor) else { return };
    let refusals = match (query.template, query.item.details()) {
        (Some(template), _) => FailedCheck::by(standard, template),
        (None, Some(details)) => {
            details.refusals.iter().filter(|refusal| refusal.is_by(standard)).cloned().collect()
        }
        (None, None) => Vec::new(),
    };
    if refusals.is_empty() {
        return;
    }
    let list: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    found.report(
        Kind::Namespace,
        &POD_SPEC,
        Reason::Forbidden,
        format!(
            "namespace {namespace} enforces the Pod Security level {}, which refuses all pods: {}",
            standard.level,
            list.join(", ")
        ),
        "do without these, or use a namespace whose level allows them",
    );
}

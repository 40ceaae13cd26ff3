use crate::kubernetes::pod_security::{FailedCheck, Standard};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "pods-refused-by-pod-security", group: NeverStarts;
    title: "Pod Security refuses the pods",
    summary: "a template whose pods the Pod Security level of the namespace refuses",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let (namespace, defaults) = (query.item.namespace(), &query.cluster.pod_security);
    let mut namespaces = query.inventory().named(Kind::Namespace, "", namespace);
    let labels = namespaces.find(|item| query.counts(item)).and_then(|it| it.pod_security());
    let is_exempt = defaults.exempt_namespaces.iter().any(|it| it == namespace);
    let is_unknown =
        query.freshness(Kind::Namespace) == Freshness::Unknown || query.knows_all(Kind::Namespace);
    if is_exempt || labels.is_none() && is_unknown {
        return;
    }
    let own = labels.and_then(|it| it.level.as_deref());
    let level = own.or(defaults.may_refuse().then(|| defaults.enforce.as_str()));
    let version = labels.and_then(|it| it.version.as_deref());
    let minor = query.cluster.version.minor();
    let enforced = Standard::of(level, version, minor);
    let warned = labels
        .and_then(|it| Standard::of(it.warned.as_deref(), it.warned_version.as_deref(), minor));
    if let Some(standard) = warned.filter(|it| Some(*it) != enforced)
        && let Some(list) = refusals(query, standard)
    {
        let version = labels.and_then(|it| it.warned_version.as_deref()).unwrap_or("latest");
        let level = standard.level.as_str();
        let message = format!("would violate PodSecurity \"{level}:{version}\": {list}");
        let help = "the API server only warns: do without these, or change the namespace's label pod-security.kubernetes.io/warn";
        found.via(Kind::Namespace, &POD_SPEC, Reason::Forbidden, message, help).noted_if(true);
    }
    let Some(standard) = enforced else { return };
    let Some(list) = refusals(query, standard) else { return };
    let why = match (own, labels) {
        (Some(_), _) => "",
        (None, Some(_)) => " by the cluster's default",
        (None, None) => " by the cluster's default, unless it has a label",
    };
    let message = format!(
        "namespace {namespace} enforces the Pod Security level {}{why}, which refuses all pods: {list}",
        standard.level.as_str()
    );
    let help = match own {
        Some(_) => "do without these, or use a namespace whose level allows them",
        None => {
            "do without these, or label the namespace pod-security.kubernetes.io/enforce: privileged"
        }
    };
    // The label may be in a different input.
    found
        .via(Kind::Namespace, &POD_SPEC, Reason::Forbidden, message, help)
        .noted_if(labels.is_none());
}

/// Returns the part that a level refuses; `None` if it refuses nothing.
fn refusals(query: &Query<'_>, standard: Standard) -> Option<String> {
    let refusals = match query.template {
        Some(template) => FailedCheck::by(standard, template),
        None => query.details.refusals.iter().filter(|it| it.is_by(standard)).cloned().collect(),
    };
    let list: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    (!list.is_empty()).then(|| list.join(", "))
}

use crate::inventory::access::Access;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "role-not-granted",
    title: "the account does not get the role's rights",
    summary: "a role binding that gives the ServiceAccount of the pods no rights",
    group: NeverStarts,
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

/// The maximum number of bindings that are read for a set.
const MOST_BINDINGS: usize = 1_000;

/// The API groups where people look for resources of other groups.
const WRONG_GROUPS: [&str; 4] = ["", "apps", "batch", "extensions"];

/// Resources, and the API group of each.
const GROUPS: [(&str, &[&str]); 9] = [
    (
        "",
        &[
            "configmaps", "endpoints", "namespaces", "nodes", "persistentvolumeclaims",
            "persistentvolumes", "pods", "secrets", "serviceaccounts", "services",
        ],
    ),
    ("apiextensions.k8s.io", &["customresourcedefinitions"]),
    ("apps", &["controllerrevisions", "daemonsets", "deployments", "replicasets", "statefulsets"]),
    ("batch", &["cronjobs", "jobs"]),
    ("coordination.k8s.io", &["leases"]),
    ("discovery.k8s.io", &["endpointslices"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("policy", &["poddisruptionbudgets"]),
    ("storage.k8s.io", &["csidrivers", "csinodes", "storageclasses", "volumeattachments"]),
];

/// Resources that are in no namespace.
const OF_CLUSTER: [&str; 8] = [
    "csidrivers", "csinodes", "customresourcedefinitions", "namespaces", "nodes",
    "persistentvolumes", "storageclasses", "volumeattachments",
];

/// A fault of a binding: the message after its name, the remedy, and the kind of object that it is about.
type Fault = (String, String, Kind);

/// Kubernetes: `VisitRulesFor`, pkg/registry/rbac/validation/rule.go; `ValidateRoleBindingSubject`,
/// pkg/apis/rbac/validation/validation.go.
fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let named = query.item.details().and_then(|details| details.service_account.as_deref());
    let Some(account) = named.filter(|name| *name != "default") else { return };
    for binding in bindings(query) {
        if let Some((message, help, through)) = fault(query, binding, account) {
            let field = POD_SPEC.child("serviceAccountName");
            let message = format!("the {binding} {message}");
            found.report(through, &field, Reason::Forbidden, message, help);
        }
    }
}

fn bindings<'a>(query: &Query<'a>) -> impl Iterator<Item = &'a ObjectSummary> {
    let of_kind = |kind, namespace| query.inventory().in_namespace(kind, namespace);
    let own = of_kind(Kind::RoleBinding, query.item.namespace());
    own.chain(of_kind(Kind::ClusterRoleBinding, "")).take(MOST_BINDINGS)
}

fn fault(query: &Query<'_>, binding: &ObjectSummary, account: &str) -> Option<Fault> {
    let Access::Binding(kind, role, accounts) = binding.access()? else { return None };
    let namespace = query.item.namespace();
    if !names_account(accounts, namespace, account) {
        let (elsewhere, _) = accounts.iter().find(|(_, name)| **name == *account)?;
        return elsewhere_only(query, account, elsewhere.as_deref()?)
            .filter(|_| !is_granted(query, role, account))
            .map(|(message, help)| (message, help, binding.kind));
    }
    let is_bare = |(of, name): &(Option<Box<str>>, Box<str>)| of.is_none() && **name == *account;
    if binding.kind == Kind::ClusterRoleBinding && accounts.iter().any(is_bare) {
        let message = format!("names {account} without a namespace, so the API server refuses it");
        return Some((message, format!("add namespace: {namespace} to its subject"), binding.kind));
    }
    let of_role = if *kind == Kind::Role { namespace } else { "" };
    let mut roles = query.inventory().named(*kind, of_role, role);
    let (Some(role), None) = (roles.next(), roles.next()) else { return None };
    let Access::Role(Some(rules)) = role.access()? else { return None };
    let is_of_cluster = |(_, it): &(_, Box<str>)| OF_CLUSTER.contains(&&**it);
    if binding.kind == Kind::RoleBinding && !rules.is_empty() && rules.iter().all(is_of_cluster) {
        let all: BTreeSet<_> = rules.iter().map(|(_, resource)| &**resource).collect();
        let message = format!(
            "grants nothing: {role} is only about {}, and a RoleBinding gives rights in its namespace alone",
            names(all.into_iter())
        );
        return Some((
            message,
            "use a ClusterRole and a ClusterRoleBinding".to_owned(),
            binding.kind,
        ));
    }
    let mut wrong = rules.iter().filter_map(|rule| Some((rule, right_group(rule)?)));
    let ((wrong, resource), right) = wrong.find(|((_, resource), right)| {
        let is_right = |(group, it): &(Box<str>, Box<str>)| {
            [right, "*"].contains(&&**group) && [resource, "*"].contains(&&**it)
        };
        !granted(query, account).any(is_right)
    })?;
    let group = |it: &str| if it.is_empty() { "the core group".to_owned() } else { it.to_owned() };
    let message = format!(
        "grants no {resource}: {role} has them in {}, but they are in {}",
        group(wrong),
        group(right)
    );
    Some((message, format!("write apiGroups: [{right:?}]"), role.kind))
}

/// Returns the fault of a binding that names the account in another namespace only, if the input shows which is meant.
fn elsewhere_only(query: &Query<'_>, account: &str, elsewhere: &str) -> Option<(String, String)> {
    let namespace = query.item.namespace();
    let is_there = |namespace: &str| {
        let mut all = query.inventory().named(Kind::ServiceAccount, namespace, account);
        all.any(|it| it.sets_namespace)
    };
    let is_certain = query.item.sets_namespace && is_there(namespace) && !is_there(elsewhere);
    is_certain.then(|| {
        let message =
            format!("names {elsewhere}/{account}, but the pods run as {namespace}/{account}");
        (message, format!("write namespace: {namespace} in its subject"))
    })
}

/// Returns the API group of a resource that a rule has in a wrong one.
fn right_group((group, resource): &(Box<str>, Box<str>)) -> Option<&'static str> {
    let (right, _) = GROUPS.iter().find(|(_, all)| all.contains(&&**resource))?;
    (**group != **right && WRONG_GROUPS.contains(&&**group)).then_some(right)
}

/// Returns whether another binding gives the account a role of this name.
fn is_granted(query: &Query<'_>, role: &str, account: &str) -> bool {
    let namespace = query.item.namespace();
    bindings(query).any(|it| {
        matches!(it.access(), Some(Access::Binding(_, name, accounts))
            if **name == *role && names_account(accounts, namespace, account))
    })
}

fn names_account(all: &[(Option<Box<str>>, Box<str>)], namespace: &str, account: &str) -> bool {
    all.iter()
        .any(|(of, name)| **name == *account && of.as_deref().is_none_or(|of| of == namespace))
}

/// Returns the rules of all roles that the input gives an account.
fn granted<'a>(query: &Query<'a>, account: &str) -> impl Iterator<Item = &'a (Box<str>, Box<str>)> {
    let (inventory, namespace) = (query.inventory(), query.item.namespace());
    let roles = bindings(query).filter_map(move |it| match it.access()? {
        Access::Binding(kind, role, all) if names_account(all, namespace, account) => {
            let of = if *kind == Kind::Role { namespace } else { "" };
            inventory.named(*kind, of, role).next()?.access()
        }
        _ => None,
    });
    roles.flat_map(|it| match it {
        Access::Role(Some(rules)) => &rules[..],
        _ => &[],
    })
}

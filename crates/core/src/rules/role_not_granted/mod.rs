use crate::inventory::access::{Access, Account, Need, Resource};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "role-not-granted", group: NeverStarts;
    title: "the account does not get the role's rights",
    summary: "a role binding that gives the ServiceAccount of the pods no rights",
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

/// Cluster-scoped resources.
const OF_CLUSTER: [&str; 8] = [
    "csidrivers", "csinodes", "customresourcedefinitions", "namespaces", "nodes",
    "persistentvolumes", "storageclasses", "volumeattachments",
];

/// Resources that no program asks for: the API server compares pods with them.
const OF_ADMISSION: [&str; 2] = ["podsecuritypolicies", "securitycontextconstraints"];

/// A fault of a binding: the message after its name, the remedy, and the kind of object that it is about.
type Fault = (String, String, Kind);

/// A binding that names a ServiceAccount with the name of the set's.
struct Binding<'a> {
    item: &'a ObjectSummary,
    kind: Kind,
    role: &'a str,
    accounts: &'a [Account],
}

/// The rights that the input grants the ServiceAccount.
#[derive(Default)]
struct Granted<'a> {
    roles: HashSet<&'a str>,
    /// API groups and resources.
    rights: HashSet<(&'a str, &'a str)>,
}

/// Kubernetes: `VisitRulesFor`, pkg/registry/rbac/validation/rule.go; `ValidateRoleBindingSubject`,
/// pkg/apis/rbac/validation/validation.go.
fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(account) = query.details.service_account.as_deref().filter(|name| *name != "default")
    else {
        return;
    };
    let bindings = bindings(query, account);
    let granted = Granted::by(&bindings, query, account);
    if let Some((field, help)) = no_token(query, account)
        && let Some(right) = granted.rights.iter().filter(|it| !OF_ADMISSION.contains(&it.1)).min()
        && !is_shared(query, account)
    {
        let message =
            format!("the account has rights, such as {}, but no container gets its token", right.1);
        let (kind, field) = (Kind::ServiceAccount, POD_SPEC.child(field));
        let finding = found.via(kind, &field, Reason::Forbidden, message, help);
        // The rights can be left over, for example in a chart for several programs.
        finding.noted_if(true);
    }
    lacking(query, &bindings, &granted, account, found);
    for binding in &bindings {
        if let Some((message, help, through)) = fault(query, binding, account, &granted) {
            let field = POD_SPEC.child("serviceAccountName");
            let message = format!("the {} {message}", binding.item);
            found.via(through, &field, Reason::Forbidden, message, help);
        }
    }
}

/// Reports rights that the images need and no role has, if the input has all roles of the account.
fn lacking<'a>(
    query: &Query<'a>,
    bindings: &[Binding<'a>],
    granted: &Granted<'_>,
    account: &str,
    found: &mut Findings,
) {
    let namespace = query.item.namespace();
    let own: Vec<_> = bindings.iter().filter(|it| it.names(namespace, account)).collect();
    let is_known = |it: &ObjectSummary| matches!(it.access(), Some(Access::Role(Some(_))));
    let knows =
        |it: &&Binding<'a>| it.roles(query).next().is_some() && it.roles(query).all(is_known);
    if own.is_empty() || !own.iter().all(knows) {
        return;
    }
    for Need { image, group, resource, effect, .. } in &query.details.needs {
        if !granted.has(group, resource) {
            let message = format!(
                "{image} also needs {resource}, which no role of the account has, so {effect}"
            );
            let help = format!("add verbs: [patch] for {resource} in apiGroups: [{group:?}]");
            let field = POD_SPEC.child("serviceAccountName");
            found.via(Kind::ClusterRole, &field, Reason::Forbidden, message, help);
        }
    }
}

/// Returns the field that keeps the token of the account from the containers, and the remedy.
///
/// Kubernetes: `shouldAutomount`, plugin/pkg/admission/serviceaccount/admission.go.
fn no_token(query: &Query<'_>, account: &str) -> Option<(&'static str, &'static str)> {
    const TEMPLATE: &str =
        "remove automountServiceAccountToken: false, or the bindings of the account";
    const ACCOUNT: &str = "set automountServiceAccountToken: true in the template, or remove the bindings of the account";
    match query.details.mounts_token {
        Some(true) => None,
        Some(false) => Some(("automountServiceAccountToken", TEMPLATE)),
        None => {
            let namespace = query.item.namespace();
            let mut accounts = query.inventory().named(Kind::ServiceAccount, namespace, account);
            let keeps = |it: &ObjectSummary| matches!(it.access(), Some(Access::NoToken));
            accounts.next().filter(|it| keeps(it)).map(|_| ("serviceAccountName", ACCOUNT))
        }
    }
}

/// Returns whether other pods of the input may have the account.
fn is_shared(query: &Query<'_>, account: &str) -> bool {
    let namespace = query.item.namespace();
    let has_account = |it: &ObjectSummary| {
        it.details().is_some_and(|it| it.service_account.as_deref() == Some(account))
    };
    query.has_other_pods()
        || SETS
            .iter()
            .flat_map(|kind| query.inventory().in_namespace(*kind, namespace))
            .any(|it| !it.is_same(query.item) && has_account(it))
}

fn bindings<'a>(query: &Query<'a>, account: &str) -> Vec<Binding<'a>> {
    let of_kind = |kind, namespace| query.inventory().in_namespace(kind, namespace);
    let own = of_kind(Kind::RoleBinding, query.item.namespace());
    let all = own.chain(of_kind(Kind::ClusterRoleBinding, "")).take(MOST_BINDINGS);
    let all = all.filter_map(|item| match item.access()? {
        Access::Binding(kind, role, accounts) => {
            Some(Binding { item, kind: *kind, role, accounts })
        }
        Access::Role(_) | Access::NoToken => None,
    });
    all.filter(|it| it.accounts.iter().any(|(_, name)| **name == *account)).collect()
}

impl<'a> Binding<'a> {
    fn names(&self, namespace: &str, account: &str) -> bool {
        self.accounts
            .iter()
            .any(|(of, name)| **name == *account && of.as_deref().is_none_or(|of| of == namespace))
    }

    /// Returns the roles of this name in the input. There is one, unless the input has several states.
    fn roles(&self, query: &Query<'a>) -> impl Iterator<Item = &'a ObjectSummary> {
        let namespace = if self.kind == Kind::Role { query.item.namespace() } else { "" };
        query.inventory().named(self.kind, namespace, self.role)
    }
}

impl<'a> Granted<'a> {
    fn by(bindings: &[Binding<'a>], query: &Query<'a>, account: &str) -> Self {
        let mut granted = Granted::default();
        let namespace = query.item.namespace();
        for binding in bindings.iter().filter(|it| it.names(namespace, account)) {
            granted.roles.insert(binding.role);
            for role in binding.roles(query) {
                if let Some(Access::Role(Some(rules))) = role.access() {
                    let rights = rules.iter().map(|(group, resource)| (&**group, &**resource));
                    granted.rights.extend(rights);
                }
            }
        }
        granted
    }

    fn has(&self, group: &str, resource: &str) -> bool {
        let groups = [group, "*"].into_iter();
        groups
            .flat_map(|group| [(group, resource), (group, "*")])
            .any(|it| self.rights.contains(&it))
    }
}

fn fault<'a>(
    query: &Query<'a>,
    binding: &Binding<'a>,
    account: &str,
    granted: &Granted<'_>,
) -> Option<Fault> {
    let Binding { item, role, accounts, .. } = binding;
    let namespace = query.item.namespace();
    if !binding.names(namespace, account) {
        let (elsewhere, _) = accounts.iter().find(|(_, name)| **name == *account)?;
        return elsewhere_only(query, account, elsewhere.as_deref()?)
            .filter(|_| !granted.roles.contains(role))
            .map(|(message, help)| (message, help, item.kind));
    }
    let is_bare = |(of, name): &Account| of.is_none() && **name == *account;
    if item.kind == Kind::ClusterRoleBinding && accounts.iter().any(is_bare) {
        let message = format!("names {account} without a namespace, so the API server refuses it");
        return Some((message, format!("add namespace: {namespace} to its subject"), item.kind));
    }
    if let Some(other) = role_elsewhere(query, binding) {
        let message = format!(
            "names the {other} of namespace {}, and a RoleBinding grants only a Role of its own namespace",
            other.namespace()
        );
        let help = format!("add the Role to namespace {namespace}, or use a ClusterRole");
        return Some((message, help, item.kind));
    }
    let mut roles = binding.roles(query);
    let (Some(role), None) = (roles.next(), roles.next()) else { return None };
    let Access::Role(Some(rules)) = role.access()? else { return None };
    let is_of_cluster = |(_, it): &Resource| OF_CLUSTER.contains(&&**it);
    if item.kind == Kind::RoleBinding && !rules.is_empty() && rules.iter().all(is_of_cluster) {
        let all: BTreeSet<_> = rules.iter().map(|(_, resource)| &**resource).collect();
        let message = format!(
            "grants nothing: {role} is only about {}, and a RoleBinding gives rights in its namespace alone",
            names(all.into_iter())
        );
        let help = "use a ClusterRole and a ClusterRoleBinding".to_owned();
        return Some((message, help, item.kind));
    }
    let mut wrong = rules.iter().filter_map(|rule| Some((rule, right_group(rule)?)));
    let ((wrong, resource), right) =
        wrong.find(|((_, resource), right)| !granted.has(right, resource))?;
    let group = |it: &str| if it.is_empty() { "the core group".to_owned() } else { it.to_owned() };
    let message = format!(
        "grants no {resource}: {role} has them in {}, but they are in {}",
        group(wrong),
        group(right)
    );
    Some((message, format!("write apiGroups: [{right:?}]"), role.kind))
}

/// Returns the Role of a RoleBinding if the input has it only in a different namespace.
fn role_elsewhere<'a>(query: &Query<'a>, binding: &Binding<'a>) -> Option<&'a ObjectSummary> {
    let mut all = query.inventory().named_anywhere(Kind::Role, binding.role);
    let (Some(role), None) = (all.next(), all.next()) else { return None };
    let is_there = binding.kind == Kind::Role && role.namespace() != binding.item.namespace();
    (is_there && role.sets_namespace && binding.item.sets_namespace).then_some(role)
}

/// Returns the fault of a binding that names the account only in a different namespace, if the input shows which is
/// meant.
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

/// Returns the right API group of a resource that a rule has in a wrong one.
fn right_group((group, resource): &Resource) -> Option<&'static str> {
    let (right, _) = GROUPS.iter().find(|(_, all)| all.contains(&&**resource))?;
    (**group != **right && WRONG_GROUPS.contains(&&**group)).then_some(right)
}

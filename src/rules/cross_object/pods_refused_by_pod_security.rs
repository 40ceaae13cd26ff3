//! Pods that their namespace refuses.

use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::kind::Kind,
    kubernetes::pod_security::{FailedCheck, Standard},
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "pods-refused-by-pod-security",
        summary: "a template whose pods the Pod Security level of the namespace refuses",
        why: "\
A namespace can enforce a level of the Pod Security Standards, by the label
`pod-security.kubernetes.io/enforce`. It is enforced on pods only. The API server accepts a DaemonSet or
StatefulSet that breaks it, at most with a warning, and then refuses every pod that the controller tries to
create. The DaemonSet stays at 0 pods. Node daemons are what this happens to, because they need the host.

Seen on a 1.36 control plane: namespace with `enforce: baseline`, DaemonSet with `hostNetwork: true`. It is
accepted with a warning, and without one if the namespace also has `warn: privileged`; then there are no pods
and FailedCreate events, \"violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)\".

The checks are those of the cluster's release, or of an older one that the namespace names in
`enforce-version`. `setguard check` reports this if the Namespace is applied too. Not known are the level of
namespaces without the label and the exemptions: both are in a file of the API server.

Kubernetes: `ValidatePodController`, k8s.io/pod-security-admission admission/admission.go; policy/check_*.go.",
        bad: include_str!("examples/pods-refused-by-pod-security.bad.yaml"),
        good: include_str!("examples/pods-refused-by-pod-security.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet, Kind::StatefulSet], evidence: Evidence::Presence, check },
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

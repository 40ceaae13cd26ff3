use crate::inventory::details::replaces_all;
use crate::inventory::object_summary::Called;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "max-unavailable-everything", group: Rollout;
    title: "an update takes all pods down at once",
    summary: "maxUnavailable so high that an update takes all pods down at once",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check)),
        Scope::Inventory { kinds: &[Kind::DaemonSet], evidence: Evidence::Presence, check: webhook },
    ],
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let all = match &subject.object.workload {
        Workload::DaemonSet(spec) => daemon_set(subject, spec, cluster),
        Workload::StatefulSet(spec) if cluster.enabled(MAX_UNAVAILABLE_STATEFUL_SET) => {
            let replicas = spec.replicas.unwrap_or(1);
            let at_once = read::max_unavailable(spec).unwrap_or(1);
            let updates_all = read::partition(spec) == Some(0) && replicas > 1;
            (updates_all && at_once >= replicas.into()).then(|| format!("all {replicas} pods"))
        }
        Workload::StatefulSet(_) => None,
    };
    let Some(all) = all else { return };
    let message =
        format!("an update takes {all} down at once, and a bad template breaks all of them");
    let help = "use a lower value, such as 1 or 10%";
    found
        .report(&ROLLING_UPDATE.child("maxUnavailable"), Reason::Invalid, message, help)
        .removable(false);
}

/// The pods that an update takes down at once, if these are all. A value other than 100% needs the number of nodes in
/// the old object's status.
fn daemon_set(subject: &Subject<'_>, spec: &DaemonSetSpec, cluster: &Cluster) -> Option<String> {
    let value = max_unavailable(spec)?;
    if replaces_all(spec) {
        let is_needed =
            spec.template.spec.as_ref().is_some_and(|it| read::plugin_folder(it).is_some());
        return is_needed.then(|| "the pods on all nodes".to_owned());
    }
    // One pod is all pods only on a single node, and that isn't reported. No status is needed.
    if matches!(value, IntOrString::Int(..=1)) {
        return None;
    }
    let old = subject.old()?;
    let old_spec = old.daemon_set()?;
    let nodes = read::daemon_set_status(old)?.desired_number_scheduled;
    let at_once = read::scaled(value, nodes, true)?;
    let changes = || max_unavailable(old_spec) != Some(value) || subject.template_changes(cluster);
    (nodes > 1 && at_once >= nodes.into() && changes())
        .then(|| format!("the pods on all {nodes} nodes"))
}

fn max_unavailable<T>(spec: &DaemonSetSpec<T>) -> Option<&IntOrString> {
    let strategy = spec.update_strategy.as_ref()?;
    let rolls = strategy.type_.as_deref() == Some("RollingUpdate");
    strategy.rolling_update.as_ref().filter(|_| rolls)?.max_unavailable.as_ref()
}

/// Kubernetes: `Dispatch`, apiserver pkg/admission/plugin/webhook/validating/dispatcher.go.
fn webhook(query: &Query<'_>, found: &mut Findings) {
    if !query.details.replaces_all {
        return;
    }
    let namespace = query.item.namespace();
    let serves = |(place, name, _): &Called| {
        (**place == *namespace || !query.item.sets_namespace)
            && query.inventory().named(Kind::Service, namespace, name).any(|it| {
                let selector = it.service().map(|it| &it.selector);
                selector.is_some_and(|it| {
                    it.iter().next().is_some()
                        && it
                            .iter()
                            .all(|(key, value)| query.controller.labels.get(key) == Some(value))
                })
            })
    };
    let kinds = [Kind::MutatingWebhookConfiguration, Kind::ValidatingWebhookConfiguration];
    let mut all = kinds.into_iter().flat_map(|kind| query.inventory().all(kind));
    let is_served = |it: &&ObjectSummary| query.counts(it) && it.webhooks().iter().any(serves);
    let Some(served) = all.find(is_served) else { return };
    found.via(
        served.kind(),
        &ROLLING_UPDATE.child("maxUnavailable"),
        Reason::Invalid,
        format!(
            "an update takes the pods on all nodes down at once, and until one of them is ready, the \
             API server refuses each write that {served} is called for"
        ),
        "use a lower value, such as 1 or 10%",
    );
}

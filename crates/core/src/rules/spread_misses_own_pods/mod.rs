use crate::kubernetes::managed_labels;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "spread-misses-own-pods", group: Nodes;
    title: "the constraint selects none of its pods",
    summary: "a spread constraint or anti-affinity that misses the pods of its own set",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

type Labels = BTreeMap<String, String>;

/// Kubernetes: `filterTopologySpreadConstraints`, pkg/scheduler/framework/plugins/podtopologyspread/common.go, counts
/// the pods that the selector matches.
fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let template = subject.object.template();
    let labels = template.metadata.as_ref().and_then(|it| it.labels.as_ref());
    let (Some(spec), Some(labels)) = (read::pod_spec(&subject.object), labels) else { return };
    let of_controller = managed_labels::of(subject.object.resource.kind);
    let misses = |selector: &LabelSelector| {
        let mut keys = requirements(selector).map(|(key, _)| key);
        !selector::is_empty(selector)
            && selector::parses(selector)
            && !selector::matches_labels(selector, Some(labels))
            && !keys.any(|key| of_controller.contains(&key))
    };
    for (i, constraint) in spec.topology_spread_constraints.iter().flatten().enumerate() {
        let Some(selector) = constraint.label_selector.as_ref().filter(|it| misses(it)) else {
            continue;
        };
        let message = format!(
            "{}, so it counts other pods, and does not spread those of the set",
            difference(selector, labels)
        );
        found
            .report(
                &POD_SPEC.item("topologySpreadConstraints", i).child("labelSelector"),
                Reason::Invalid,
                message,
                help(subject),
            )
            .planned_if(true);
    }
    let affinity = spec.affinity.as_ref().and_then(|it| it.pod_anti_affinity.as_ref());
    let terms =
        affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
    let path =
        POD_SPEC.below("affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in terms.into_iter().flatten().enumerate() {
        let elsewhere = term.namespaces.is_some() || term.namespace_selector.is_some();
        let selector = term.label_selector.as_ref().filter(|it| !elsewhere && misses(it));
        // Most of these terms are for other pods.
        let Some(selector) = selector.filter(|it| is_meant(it, labels)) else { continue };
        let message = format!(
            "{}, so several pods of the set can share a {}",
            difference(selector, labels),
            term.topology_key
        );
        found
            .report(&path.index(i).child("labelSelector"), Reason::Invalid, message, help(subject))
            .planned_if(true);
    }
}

/// With the value, if the key allows only one.
fn requirements(selector: &LabelSelector) -> impl Iterator<Item = (&str, Option<&str>)> {
    let labels = selector.match_labels.iter().flatten();
    let labels = labels.map(|(key, value)| (key.as_str(), Some(value.as_str())));
    let expressions = selector.match_expressions.iter().flatten().map(|it| {
        let value = match it.values.as_deref() {
            Some([value]) if it.operator == "In" => Some(value.as_str()),
            _ => None,
        };
        (it.key.as_str(), value)
    });
    labels.chain(expressions)
}

/// The selector nearly matches the labels: a value has a typo, or the value of one label is under the key of a
/// different one.
fn is_meant(selector: &LabelSelector, labels: &Labels) -> bool {
    requirements(selector).all(|(key, wanted)| match (labels.get(key), wanted) {
        (Some(own), Some(wanted)) => {
            own == wanted || nearest_of(wanted, std::iter::once(own.as_str())).is_some()
        }
        (None, Some(wanted)) => wanted.len() > 1 && labels.values().any(|own| own == wanted),
        (_, None) => false,
    })
}

fn difference(selector: &LabelSelector, labels: &Labels) -> String {
    let mut missed = requirements(selector).filter(|(key, wanted)| {
        wanted.is_none_or(|it| labels.get(*key).is_none_or(|own| own != it))
    });
    match missed.next() {
        Some((key, Some(wanted))) => match labels.get(key) {
            Some(own) => format!("it selects {key}={wanted}, and the pods have {key}={own}"),
            None => format!("it selects {key}={wanted}, and the pods have no label {key}"),
        },
        Some((key, None)) => format!("its expressions about {key} do not match the pods"),
        None => "it does not match the pods".to_owned(),
    }
}

fn help(subject: &Subject<'_>) -> String {
    let own = read::selector(&subject.object).and_then(|it| it.match_labels.as_ref());
    match own.and_then(|labels| labels.first_key_value()) {
        Some((key, value)) => format!("select labels of the pods, such as {key}: {value}"),
        None => "select labels of the pods".to_owned(),
    }
}

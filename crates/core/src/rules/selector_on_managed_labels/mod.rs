use crate::kubernetes::managed_labels;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "selector-on-managed-labels", group: NeverStarts, mode: Mode::Deny, cel: "cel.yaml";
    title: "the selector uses a label of the controller",
    summary: "a selector on a label that the controller itself sets on its pods",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(selector) = read::selector(&subject.object) else { return };
    let managed = managed_labels::of(subject.object.kind());
    let outcome = match subject.object.kind() {
        WorkloadKind::DaemonSet => "creates others in their place, without end",
        WorkloadKind::StatefulSet => "can neither adopt nor replace them",
    };
    let mut check = |path: &Path<'_>, key: &str, operator: &str, values: &[String]| {
        if !managed.contains(&key) || is_met(&subject.object, key, operator, values) {
            return;
        }
        let message = format!(
            "the controller sets its own {key} on each pod, so its pods stop matching: it \
             releases them and {outcome}"
        );
        let help = format!("leave {key} out of the selector");
        found.report(path, Reason::Invalid, message, help);
    };
    let labels = SELECTOR.child("matchLabels");
    for (key, value) in selector.match_labels.iter().flatten() {
        check(&labels.key(key), key, "In", std::slice::from_ref(value));
    }
    for (i, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let values = expression.values.as_deref().unwrap_or_default();
        check(&SELECTOR.item("matchExpressions", i), &expression.key, &expression.operator, values);
    }
}

/// Returns whether the expression holds for every value that the controller sets.
fn is_met(object: &Object<'_>, key: &str, operator: &str, values: &[String]) -> bool {
    // Without the name of the set, the names of the pods are unknown.
    let name = object.metadata.name.as_deref().filter(|name| !name.is_empty());
    match (operator, name) {
        ("Exists", _) => true,
        ("In", Some(name)) => object.stateful_set().is_some_and(|set| {
            let ordinals = read::ordinals(set);
            let listed =
                values.iter().filter_map(|value| managed_labels::ordinal(name, key, value));
            let listed: BTreeSet<i64> = listed.filter(|it| ordinals.contains(it)).collect();
            !ordinals.is_empty() && listed.into_iter().eq(ordinals)
        }),
        ("NotIn", Some(name)) => {
            let possible = |value: &String| {
                let ordinal = managed_labels::ordinal(name, key, value);
                let ordinals = object.stateful_set().map(read::ordinals);
                managed_labels::is_possible(object.kind(), name, key, value)
                    && ordinal.zip(ordinals).is_none_or(|(it, ordinals)| ordinals.contains(&it))
            };
            !values.iter().any(possible)
        }
        _ => false,
    }
}

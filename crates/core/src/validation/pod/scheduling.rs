use crate::validation::prelude::*;

/// Follows `validateSchedulingGroup`.
pub(crate) fn group(spec: &PodSpec, path: &At<'_>) {
    let Some(group) = &spec.scheduling_group else { return };
    let path = path.child("schedulingGroup");
    if !list(&spec.eviction_responders).is_empty() {
        path.forbidden("may not be set when evictionResponders is set");
    }
    let path = path.child("podGroupName");
    match &group.pod_group_name {
        Some(name) => subdomain(name, &path),
        None => {
            let value = Value::Json("null".to_owned());
            path.invalid(value, "must specify one of: `podGroupName`");
        }
    }
}

/// Follows `validateReadinessGates` and `validateSchedulingGates`.
pub(crate) fn gates(spec: &PodSpec, path: &At<'_>) {
    for (i, gate) in list(&spec.readiness_gates).iter().enumerate() {
        label_key(&gate.condition_type, &path.item("readinessGates", i).child("conditionType"));
    }
    let at = path.child("schedulingGates");
    let mut seen = Seen::new();
    for (gate, at) in at.items(list(&spec.scheduling_gates)) {
        label_key(&gate.name, &at);
        if !seen.insert(gate.name.as_str()) {
            at.duplicate(&gate.name);
        }
    }
}

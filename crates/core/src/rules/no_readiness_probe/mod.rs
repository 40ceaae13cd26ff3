use crate::finding::paths::CONTAINERS;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "no-readiness-probe", group: Rollout, mode: Mode::Audit, cel: "cel.yaml";
    title: "the rollout waits for nothing",
    summary: "a server without a readiness probe, whose rollout waits for nothing",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let is_asked = running(spec).any(|(.., it)| it.readiness_probe.is_some());
    let has_gates = spec.readiness_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    let serves = |container: &Container| {
        let ports = container.ports.as_deref().unwrap_or_default();
        ports.iter().any(|port| matches!(port.protocol.as_deref(), None | Some("" | "TCP")))
    };
    let Some(i) = spec.containers.iter().position(serves) else { return };
    if is_asked || has_gates {
        return;
    }
    let message = format!(
        "container {:?} counts as ready as soon as it has started, so a version that does \
         not work is rolled out to all pods",
        spec.containers[i].name
    );
    let help = "give it a readinessProbe";
    found.report(&CONTAINERS.index(i), Reason::Required, message, help);
}

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "service-name-empty", group: Names, cel: "cel.yaml";
    title: "pods get no DNS names without serviceName",
    summary: "a StatefulSet without serviceName: its pods get no DNS names",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

fn check(spec: &StatefulSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    // A single pod can be reached through any Service that selects it.
    if subject.is_update || spec.replicas.unwrap_or(1) < 2 || !has_ports(spec) {
        return;
    }
    let written = SPEC.child("serviceName");
    let field = match spec.service_name.as_deref() {
        None => &SPEC,
        Some("") => &written,
        Some(_) => return,
    };
    let name = subject.object.name();
    let first = read::ordinals(spec).start;
    let message = format!(
        "without serviceName no pod gets its own DNS name, such as {name}-{first}.{name}, and \
         it cannot be set later"
    );
    let help = "set it to the name of the headless Service of these pods";
    found.report(field, Reason::Required, message, help);
}

fn has_ports(spec: &StatefulSetSpec) -> bool {
    let pod = spec.template.spec.as_ref();
    let mut containers = pod.into_iter().flat_map(|pod| &pod.containers);
    containers.any(|it| it.ports.as_ref().is_some_and(|ports| !ports.is_empty()))
}

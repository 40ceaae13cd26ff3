//! Pods without DNS names.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::cluster::Cluster,
    object::{StatefulSetSpec, Subject},
    rules::rule::{Cel, ObjectCheck, OpenKruise, Operation, Phase, Rule, Scope},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "service-name-empty",
        summary: "a StatefulSet without serviceName: its pods get no DNS names",
        why: "\
Each pod gets `serviceName` as its subdomain, and with it its own DNS name, such as web-0.web. Without
it the pods have only a hostname, members cannot find each other by name, and a headless Service that
selects the pods does not help. serviceName is optional since 1.33, and it cannot be set later: the
StatefulSet has to be deleted and created again. So the rule looks at a StatefulSet only when it is
created, and only if it has several replicas and a port: a single pod can be reached through any Service
that selects it, and a pod without ports is not reached at all.

Seen on a 1.36 control plane: accepted; the pod has a hostname and no subdomain.

Kubernetes: `initIdentity`, pkg/controller/statefulset/stateful_set_utils.go;
`ValidateStatefulSetUpdate`, pkg/apis/apps/validation/validation.go.",
        bad: include_str!("examples/service-name-empty.bad.yaml"),
        good: include_str!("examples/service-name-empty.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::StatefulSet(check),
    },
};

pub(super) static CEL: Cel = Cel {
    fault: "@replicas >= 2 && @.spec.?serviceName.orValue('') == '' && \
        @pod.containers.exists(c, c.?ports.orValue([]).size() > 0)",
    message: "'without serviceName no pod gets its own DNS name, and it cannot be set later'",
    help: "set it to the name of the headless Service of these pods",
    only: Some(Operation::Create),
    ..Cel::EMPTY
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
    found.report(
        field,
        Reason::Required,
        format!(
            "without serviceName no pod gets its own DNS name, such as {name}-{first}.{name}, and \
             it cannot be set later"
        ),
        "set it to the name of the headless Service of these pods",
    );
}

fn has_ports(spec: &StatefulSetSpec) -> bool {
    let pod = spec.template.spec.as_ref();
    let mut containers = pod.into_iter().flat_map(|pod| &pod.containers);
    containers.any(|it| it.ports.as_ref().is_some_and(|ports| !ports.is_empty()))
}

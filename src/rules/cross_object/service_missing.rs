//! A StatefulSet whose Service does not exist.

use super::services::Governed;
use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "service-missing",
        summary: "a StatefulSet whose serviceName names a Service that does not exist",
        why: "\
A StatefulSet does not create its Service. Without the Service the pods cannot be reached by name: there is no
DNS record for `web-0.web`, although each pod believes that this is its name. Members of a cluster that look
for each other do not find each other. Neither the API server nor the controller looks at Services, and
`serviceName` cannot be changed later.

This is reported if there are at least two replicas and the template shows that they use the names: a command,
an argument or a variable of a container has the name of the Service or of a pod. One pod has no others to
find, and software that never looks for the others needs no names.

The webhook warns of this when the object is changed, and never denies. It says nothing when the object is
created, because the Service is often applied with it, and may follow. `setguard check` reports it if the
StatefulSet is applied together with at least one Service of its namespace. If the StatefulSet or a Service
with the right name sets no namespace, the two may meet in the namespace of the command that applies them, and
nothing is reported.

Kubernetes: `initIdentity`, pkg/controller/statefulset/stateful_set_utils.go; `ShouldSetHostname`,
endpointslice util/controller_utils.go.",
        bad: include_str!("examples/service-missing.bad.yaml"),
        good: include_str!("examples/service-missing.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(it) = Governed::of(query) else { return };
    let uses_names = it.set.details().is_some_and(|details| details.uses_names);
    if uses_names && it.services.is_empty() && !it.may_be_another {
        let message = format!(
            "{} Services of namespace {}, but no {}, so the pods get no DNS names",
            query.who_has(),
            it.set.namespace(),
            it.name
        );
        found.report(
            Kind::Service,
            &SPEC.child("serviceName"),
            Reason::NotFound,
            message,
            "add this Service with clusterIP: None, or set serviceName to one that exists",
        );
    }
}

//! A StatefulSet whose Service has a cluster IP.

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
        id: "service-not-headless",
        summary: "a StatefulSet whose Service is not headless",
        why: "\
The Service that a StatefulSet names gives its pods their DNS names. Kubernetes specifies such names for
headless Services only (`clusterIP: None`); with any other, whether `web-0.web` resolves depends on the DNS
server of the cluster. And the name of the Service itself resolves to one virtual address instead of all pods,
so software that looks up its members there finds a single one. It is hard to fix: neither `serviceName` nor
`clusterIP` can be changed later.

Seen on a 1.36 control plane: setting `clusterIP: None` on a Service that has an address is refused with \"may
not change once set\".

`setguard check` reports this if both are applied together, and the webhook if the Service is in the cluster.
A Service with an address can exist next to the headless one, for clients that can use any pod. A single pod
has no other to find, so a set with one replica isn't reported.

Kubernetes: DNS specification, \"Records for a Headless Service\"; `ValidateServiceClusterIPsRelatedFields`,
pkg/apis/core/validation/validation.go.",
        bad: include_str!("examples/service-not-headless.bad.yaml"),
        good: include_str!("examples/service-not-headless.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some(it) = Governed::of(query) else { return };
    if it.set.details().is_none_or(|details| details.replicas < 2) {
        return;
    }
    if let Some((first, _)) = it.first_unless_any(|service| service.is_headless) {
        found.report(
            Kind::Service,
            &SPEC.child("serviceName"),
            Reason::Invalid,
            format!("its {first} is not headless, so the pods may get no DNS names"),
            "set serviceName to a Service with clusterIP: None; neither can be changed later",
        );
    }
}

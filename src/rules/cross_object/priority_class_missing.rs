//! A template that names a PriorityClass that does not exist.

use super::missing::is_missing;
use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "priority-class-missing",
        summary: "a template whose PriorityClass does not exist",
        why: "\
The API server accepts the object and then refuses every pod that the controller tries to create.

Seen on a 1.36 control plane: no pod, and FailedCreate events, \"no PriorityClass with name nope was found\".

The webhook warns of this when the object is changed, and never denies. It says nothing when the object is
created, because the PriorityClass is often applied with it, and may follow. `setguard
check` reports it if it gets the PriorityClasses of the cluster with `--inventory`. `system-cluster-critical`
and `system-node-critical` are in every cluster.

Kubernetes: `admitPod`, plugin/pkg/admission/priority/admission.go; `SystemPriorityClasses`,
pkg/apis/scheduling/v1/helpers.go.",
        bad: include_str!("examples/priority-class-missing.bad.yaml"),
        good: include_str!("examples/priority-class-missing.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet, Kind::StatefulSet], evidence: Evidence::AbsentNeighbor, check },
};

const BUILT_IN: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let named = query.item.details().and_then(|details| details.priority_class.as_deref());
    let Some(name) = named.filter(|name| !BUILT_IN.contains(name)) else { return };
    if is_missing(query, Kind::PriorityClass, name) {
        found.report(
            Kind::PriorityClass,
            &POD_SPEC.child("priorityClassName"),
            Reason::NotFound,
            format!("{} no PriorityClass {name}: no pod is created without it", query.who_has()),
            "add this PriorityClass, or name one that exists",
        );
    }
}

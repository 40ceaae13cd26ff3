//! Two controllers whose selectors match the same pods.

mod index;
mod overlap;

use super::rule::{Found, Rule};
use crate::{
    finding::{Meta, Mode, Reason, paths::SELECTOR},
    inventory::Inventory,
    rules::cross_object::selector_overlap::overlap::Overlap,
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "selector-overlap",
        summary: "a selector that also matches the pods of another controller",
        why: "\
A controller ignores pods that another controller owns, but it adopts every pod of its namespace that its
selector matches and that has no owner. Pods lose their owner through `kubectl delete --cascade=orphan`,
which is the usual way to change an immutable field of a StatefulSet. A DaemonSet then deletes the pods that
it adopted, if the node has one of its own pods or should have none. Everything else that uses the selector
counts the pods of both all the time: autoscalers, `kubectl logs` and `kubectl get pods -l`.

Seen on a 1.36 control plane: DaemonSet with the selector `app: shop`, StatefulSet `shop-db` with pods
`app: shop, component: db`; after `kubectl delete statefulset shop-db --cascade=orphan` the DaemonSet
deletes `shop-db-0` and `shop-db-1` at once.

`setguard check` reports this if one run gets both objects. It reports a selector that matches the template
labels of the other controller. It also reports two selectors that can match the same pod, if one of them
only has keys that the other has too. It ignores objects that another controller owns, and Jobs whose
selector Kubernetes generates.

Kubernetes: `ClaimObject`, pkg/controller/controller_ref_manager.go; `podsShouldBeOnNode`,
pkg/controller/daemon/daemon_controller.go; `GetResourceReplicas`,
pkg/controller/podautoscaler/replica_calculator.go.",
        bad: include_str!("examples/selector-overlap.bad.yaml"),
        good: include_str!("examples/selector-overlap.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    kinds: &["DaemonSet", "StatefulSet"],
    check,
};

fn check(inventory: &Inventory, found: &mut Found) {
    for (owner, other) in index::overlaps(inventory) {
        let Some((one, its)) = inventory.get(owner).zip(inventory.get(other)) else { continue };
        let Some((own, theirs)) = one.controller().zip(its.controller()) else { continue };
        let Some(overlap) = Overlap::of(own, theirs) else { continue };
        found.report(
            owner,
            &SELECTOR,
            Reason::Invalid,
            overlap.message(its),
            "give each controller's pods a label of their own and add it to the selector; a \
             selector cannot be changed later",
        );
    }
}

//! Two controllers that take the same pods for their own.

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
        summary: "a selector that takes the pods of another controller for its own",
        why: "\
A controller leaves pods alone that another one owns, but it adopts every pod of its namespace that its
selector matches and that nobody owns. Pods lose their owner by `kubectl delete --cascade=orphan`, which
is the usual way to change what cannot be changed in a StatefulSet. A DaemonSet then deletes what it
adopted, if the node has one of its own pods or should have none. Everything else that goes by the
selector counts the pods of both all the time: autoscalers, `kubectl logs` and `kubectl get pods -l`.

Seen on a 1.36 control plane: DaemonSet with the selector `app: shop`, StatefulSet `shop-db` with pods
`app: shop, component: db`; `kubectl delete statefulset shop-db --cascade=orphan`, and the DaemonSet
deletes `shop-db-0` and `shop-db-1` at once.

Found by `setguard check` where one run is given both objects. Reported is a selector that matches the
template labels of the other controller, and one that asks for nothing but keys that the other asks for
too and can be met together with it. What another controller owns is left out, and Jobs whose selector
Kubernetes makes.

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
            "give the pods of each a label of their own and put it into its selector; a selector \
             cannot be changed later",
        );
    }
}

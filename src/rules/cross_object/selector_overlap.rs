//! Two controllers whose selectors match the same pods.

mod overlap;
#[cfg(test)]
mod tests;

use self::overlap::Overlap;
use crate::{
    finding::{Meta, Mode, Reason, paths::SELECTOR},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "selector-overlap",
        summary: "a selector that also matches the pods of another controller",
        why: "\
A controller ignores pods that another controller owns, but it adopts every pod of its namespace that its
selector matches and that has no owner. Pods lose their owner through `kubectl delete --cascade=orphan`, which
is the usual way to change an immutable field of a StatefulSet. A DaemonSet then deletes the pods that it
adopted, if the node has one of its own pods or should have none. Everything else that uses the selector
counts the pods of both all the time: autoscalers, `kubectl logs` and `kubectl get pods -l`.

Seen on a 1.36 control plane: DaemonSet with the selector `app: shop`, StatefulSet `shop-db` with pods `app:
shop, component: db`; after `kubectl delete statefulset shop-db --cascade=orphan` the DaemonSet deletes
`shop-db-0` and `shop-db-1` at once.

`setguard check` reports this if both are applied together, and the webhook if one of them is in the cluster.
The rule reports a selector that matches the template labels of the other controller. It also reports two
selectors that can match the same pod, if one of them only has keys that the other has too. It ignores objects
that another controller owns, and Jobs whose selector Kubernetes generates.

Kubernetes: `ClaimObject`, pkg/controller/controller_ref_manager.go; `podsShouldBeOnNode`,
pkg/controller/daemon/daemon_controller.go; `GetResourceReplicas`,
pkg/controller/podautoscaler/replica_calculator.go.",
        bad: include_str!("examples/selector-overlap.bad.yaml"),
        good: include_str!("examples/selector-overlap.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::DaemonSet, Kind::StatefulSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let Some((other, overlap)) = first_overlap(query) else { return };
    let Some(other) = query.other(other) else { return };
    found.report(
        other.kind(),
        &SELECTOR,
        Reason::Invalid,
        overlap.message(other),
        "give each controller's pods a label of their own and add it to the selector; a selector \
         cannot be changed later",
    );
}

/// Returns the first other controller that shares pods with this one, if this is the controller to
/// report.
fn first_overlap<'a>(query: &Query<'a>) -> Option<(u32, Overlap<'a>)> {
    let own = query.item.controller()?;
    let mut first: Option<(u32, Overlap<'a>)> = None;
    for list in query.inventory().near(query.item, own) {
        for id in list.iter().copied() {
            if first.as_ref().is_some_and(|(known, _)| *known <= id) {
                break;
            }
            let overlap = || {
                let other = query.other(id).filter(|other| query.answers_for(id, other))?;
                // Objects in different namespaces can have the same key.
                let theirs =
                    other.controller().filter(|_| other.namespace() == query.item.namespace())?;
                Overlap::of(own, theirs)
            };
            if let Some(overlap) = overlap() {
                first = Some((id, overlap));
                break;
            }
        }
    }
    first
}

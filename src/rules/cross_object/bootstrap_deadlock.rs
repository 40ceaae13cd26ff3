//! A StatefulSet whose first pod waits for pods that come after it.

use super::services::Governed;
use crate::{
    finding::{Meta, Mode, Reason},
    inventory::{object_summary::Service, waits::On},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "bootstrap-deadlock",
        summary: "ordered pods of which the first is ready only once later ones are there",
        why: "\
With podManagementPolicy OrderedReady the second pod is created when the first is ready. If the readiness
probe or an init container of every pod needs the second pod, the first never becomes ready, and there is
never a second. It is the same with the name of a headless Service: it has the addresses of ready pods only,
so before the first is ready, the name does not exist, unless the Service has `publishNotReadyAddresses`. A
set that once ran can deadlock too, when all of its pods are lost together.

Seen on a 1.37 control plane: 3 replicas, the first not ready; there is no second pod, and the EndpointSlice
of the headless Service has the address of the first with `ready: false`. With `publishNotReadyAddresses:
true` it has `ready: true`. The older annotation `service.alpha.kubernetes.io/tolerate-unready-endpoints` has
no effect there.

This is reported where the manifests show it: an exec, HTTP or TCP probe with the DNS name of a later pod or
of the Service, or an init container that waits for one in a loop. A script that looks at its own host name,
or that passes if the name is missing, is left out.

Kubernetes: `processReplica`, pkg/controller/statefulset/stateful_set_control.go; `podToEndpoint`,
endpointslice/utils.go.",
        bad: include_str!("examples/bootstrap-deadlock.bad.yaml"),
        good: include_str!("examples/bootstrap-deadlock.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    // The status of a stored set shows whether its pods came up.
    let waits = query.item.details().and_then(|details| details.waits.as_deref());
    let Some(wait) = waits.filter(|_| !query.is_stored()) else { return };
    let (through, message) = match &wait.on {
        On::Peer(pod) => (
            Kind::StatefulSet,
            format!(
                "it needs {pod}, which is created only once the pods before it are ready, so the \
                 first pod never becomes ready"
            ),
        ),
        On::Service => {
            let Some(service) = hides_pods(query) else { return };
            (
                Kind::Service,
                format!(
                    "it needs the name of {service}, which has no address before a pod is ready, so \
                     the first pod never becomes ready"
                ),
            )
        }
    };
    wait.at(|path| {
        let help = "set publishNotReadyAddresses: true in the headless Service and podManagementPolicy: \
                    Parallel here, or let the probe ask only its own pod";
        found.report(through, path, Reason::Invalid, message, help);
    });
}

/// Returns the Service of the set, if it is headless and has only addresses of ready pods.
fn hides_pods(query: &Query<'_>) -> Option<String> {
    let governed = Governed::of(query)?;
    let is_right = |service: &Service| {
        !service.is_headless || service.publishes_unready || service.is_external
    };
    governed.first_unless_any(is_right).map(|(item, _)| item.to_string())
}

use crate::inventory::{object_summary::Service, waits::On};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "bootstrap-deadlock",
    title: "the first pod waits for later ones",
    summary: "ordered pods whose first one becomes ready only after later ones exist",
    group: NeverStarts,
    scopes: [Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check }],
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

/// The set's Service must be headless and publish only ready pods.
fn hides_pods(query: &Query<'_>) -> Option<String> {
    let governed = Governed::of(query)?;
    let is_right = |service: &Service| {
        !service.is_headless || service.publishes_unready || service.is_external
    };
    governed.first_unless_any(is_right).map(|(item, _)| item.to_string())
}

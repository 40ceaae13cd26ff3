use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "surge-host-port", group: Rollout, mode: Mode::Deny, cel: "cel.yaml";
    title: "the new pod cannot get the host port",
    summary: "a DaemonSet with maxSurge whose pods use a host port",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    if !read::surges(spec) {
        return;
    }
    let first = spec.template.spec.as_ref().and_then(HostPort::first);
    let Some((port, container)) = first else { return };
    let message = format!(
        "container {container:?} claims port {} of the node, which the old pod still holds, so the \
         surge pod stays Pending and the rollout never ends",
        port.port
    );
    let help = "use maxSurge 0 and maxUnavailable 1 or more";
    found
        .report(&ROLLING_UPDATE.child("maxSurge"), Reason::Invalid, message, help)
        .fixed_by(Fix::use_default(&ROLLING_UPDATE));
}

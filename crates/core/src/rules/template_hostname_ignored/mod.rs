use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "template-hostname-ignored", group: Names, cel: "cel.yaml";
    title: "hostname has no effect",
    summary: "a template with a hostname: it is ignored, or the same for all pods",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// While this gate is off, the API server drops `hostnameOverride`.
const OVERRIDE_GATE: &str = "HostnameOverride";

fn check(spec: &PodSpec, subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let hostname = spec.hostname.as_deref().filter(|it| !it.is_empty());
    let subdomain = spec.subdomain.as_deref().filter(|it| !it.is_empty());
    let overridden = spec.hostname_override.as_deref().filter(|_| cluster.enabled(OVERRIDE_GATE));
    if let Some(hostname) = overridden.filter(|it| !it.is_empty()) {
        let message = format!("all pods have the same hostname, {hostname:?}");
        let help = "leave hostnameOverride out: each pod then has its own name";
        found.report(&POD_SPEC.child("hostnameOverride"), Reason::Forbidden, message, help);
        return;
    }
    match &subject.object.workload {
        Workload::StatefulSet(set) => {
            if let Some(hostname) = hostname {
                let message =
                    format!("hostname {hostname:?} is ignored: each pod gets its own name instead");
                let help = "leave hostname out";
                found
                    .report(&POD_SPEC.child("hostname"), Reason::Forbidden, message, help)
                    .removable(true);
            }
            let service = set.service_name.as_deref().unwrap_or_default();
            if let Some(subdomain) = subdomain.filter(|it| *it != service) {
                let message = format!(
                    "subdomain {subdomain:?} is ignored: each pod gets serviceName instead"
                );
                let help = "leave subdomain out, and name the Service in spec.serviceName";
                found
                    .report(&POD_SPEC.child("subdomain"), Reason::Forbidden, message, help)
                    .removable(true);
            }
        }
        // With hostNetwork a pod has the node's hostname, whatever its spec says.
        Workload::DaemonSet(_) if spec.host_network != Some(true) => {
            if let Some(hostname) = hostname {
                let message = format!("the pods on all nodes have the same hostname, {hostname:?}");
                let help = "leave hostname out: each pod then has its own name";
                found.report(&POD_SPEC.child("hostname"), Reason::Forbidden, message, help);
            }
        }
        Workload::DaemonSet(_) => {}
    }
}

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "fqdn-too-long", group: NeverStarts;
    title: "the host name is too long for Linux",
    summary: "setHostnameAsFQDN with a name of more than 64 characters, so that no pod starts",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

const LONGEST: usize = 64;
/// Without the domain.
const LONGEST_HOST: usize = 63;
/// In a cluster with the default domain.
const DOMAIN: &str = "svc.cluster.local";

/// Kubernetes: `GetNodenameForKernel`, pkg/kubelet/util/util.go; `GeneratePodHostNameAndDomain`,
/// pkg/kubelet/kubelet_pods.go.
fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let object = &subject.object;
    let Some(spec) = read::pod_spec(object) else { return };
    if spec.set_hostname_as_fqdn != Some(true) || spec.host_network == Some(true) {
        return;
    }
    let (host, service) = match object.stateful_set() {
        Some(set) => {
            let last = read::ordinals(set).last().unwrap_or_default();
            (format!("{}-{last}", object.name()), text(&set.service_name))
        }
        None => (format!("{}-xxxxx", object.name()), text(&spec.subdomain)),
    };
    let host =
        spec.hostname.as_deref().filter(|_| object.stateful_set().is_none()).unwrap_or(&host);
    let host = host.get(..LONGEST_HOST).unwrap_or(host);
    if service.is_empty() {
        return;
    }
    let name = format!("{host}.{service}.{}.{DOMAIN}", object.metadata.namespace());
    if name.len() > LONGEST {
        let message = format!(
            "{name} has {} characters, and Linux allows {LONGEST}: the kubelet creates no pod",
            name.len()
        );
        let help = "leave it out, or shorten the names of the set, its Service and its namespace";
        let path = POD_SPEC.child("setHostnameAsFQDN");
        found.report(&path, Reason::TooLong, message, help).planned_if(true);
    }
}

use k8s_openapi::api::core::v1::Probe;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "surge-shared-node-resource", group: Rollout, cel: "cel.yaml";
    title: "old and new pod need the same port",
    summary: "a DaemonSet with maxSurge whose pods listen on undeclared ports of the node",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

fn check(spec: &DaemonSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = spec.template.spec.as_ref().filter(|_| read::surges(spec)) else { return };
    let Some(shared) = listener(pod) else { return };
    let help = "use maxSurge 0 and maxUnavailable 1 or more";
    found
        .report(&ROLLING_UPDATE.child("maxSurge"), Reason::Invalid, shared, help)
        .fixed_by(Fix::use_default(&ROLLING_UPDATE));
}

fn listener(pod: &PodSpec) -> Option<String> {
    if pod.host_network != Some(true) || HostPort::first(pod).is_some() {
        return None;
    }
    running(pod).find_map(|(.., container)| {
        let probes =
            [&container.readiness_probe, &container.liveness_probe, &container.startup_probe];
        let probed = probes.into_iter().flatten().find_map(own_port);
        let (port, or) = match probed {
            Some(port) => (port, ", or the old one answers its probes"),
            None => (argument(container)?, ""),
        };
        Some(format!(
            "container {:?} listens on port {port} of the node, which the old pod still holds: the \
             surge pod cannot listen there{or}",
            container.name
        ))
    })
}

/// `None` if the probe connects elsewhere.
fn own_port(probe: &Probe) -> Option<i32> {
    let http = probe.http_get.as_ref().map(|get| (get.host.as_deref(), &get.port));
    let tcp = probe.tcp_socket.as_ref().map(|socket| (socket.host.as_deref(), &socket.port));
    let grpc = probe.grpc.as_ref().map(|grpc| grpc.port);
    match http.or(tcp) {
        None => grpc,
        Some((None | Some("" | "localhost" | "127.0.0.1" | "::1"), IntOrString::Int(port))) => {
            Some(*port)
        }
        _ => None,
    }
}

fn argument(container: &Container) -> Option<i32> {
    const REMOTE: [&str; 4] = ["connect", "remote", "target", "upstream"];
    const LISTENERS: [&str; 9] = [
        "port", "health-port", "healthz-port", "http-port", "https-port", "listen-port",
        "metrics-port", "prometheus-port", "secure-port",
    ];
    let named = |flag: &str, words: &[&str]| words.iter().any(|word| flag.contains(word));
    let is_any = |host: &str| matches!(host, "" | "0.0.0.0" | "[::]" | "::" | "*");
    let is_client =
        arguments(container).any(|(flag, host)| named(flag, &["host", "server"]) && !is_any(host));
    arguments(container).find_map(|(flag, value)| {
        let flag = flag.trim_start_matches('-').to_ascii_lowercase().replace(['_', '.'], "-");
        let port = match value.rsplit_once(':') {
            Some((host, port)) => {
                let listens = named(&flag, &["listen", "bind"])
                    || is_any(host) && !flag.is_empty() && !named(&flag, &REMOTE);
                port.parse::<u16>().ok().filter(|_| listens)?
            }
            None if !is_client && LISTENERS.contains(&&*flag) => value.parse().ok()?,
            None => return None,
        };
        Some(port.into()).filter(|port| *port != 0)
    })
}

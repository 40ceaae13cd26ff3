use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "probe-without-tls", group: NeverStarts;
    title: "the probe speaks HTTP to an HTTPS port",
    summary: "a probe without scheme HTTPS at a port that is named https",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Kubernetes: `DoHTTPProbe`, pkg/probe/http/http.go: each status from 400 on is a failure.
fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    read::actions(container, path, &mut |it| {
        let port = it.asked.filter(|(host, _)| it.is_plain && host.is_empty());
        let Some(name) = port.and_then(|(_, port)| name(container, port)) else { return };
        if name.split('-').any(|it| it == "https") {
            let message = format!(
                "the port {name:?} answers a request without TLS with an error, so {}",
                if it.is_probe { it.effect } else { "the hook does nothing" }
            );
            let help = "set scheme: HTTPS: the kubelet does not check the certificate";
            found.report(it.path, Reason::Invalid, message, help).noted_if(!serves_tls(container));
        }
    });
}

/// The name of a port of the container, given by name or number.
fn name<'a>(container: &'a Container, port: &IntOrString) -> Option<&'a str> {
    let mut ports = list(&container.ports).iter();
    let named = ports.find(|it| match port {
        IntOrString::Int(number) => it.container_port == *number,
        IntOrString::String(name) => it.name.as_ref() == Some(name),
    });
    named.map(|it| text(&it.name))
}

/// Otherwise the name of the port may be mere habit.
fn serves_tls(container: &Container) -> bool {
    arguments(container).any(|(flag, value)| {
        let is_key = flag.contains("tls") || flag.contains("cert") || flag.contains("ssl");
        let is_off = ["disable", "insecure", "no-", "skip"].iter().any(|it| flag.contains(it));
        is_key && !is_off && !matches!(value, "false" | "0" | "off")
    })
}

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "listens-on-loopback",
    title: "the probe asks where nothing listens",
    summary: "a program that listens on 127.0.0.1, and a probe that asks the pod's address",
    group: NeverStarts,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Parts of the flags that say where a program listens.
const FLAGS: [&str; 4] = ["addr", "bind", "host", "listen"];

/// Kubernetes: `runProbe`, pkg/kubelet/prober/prober.go.
fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let words: Vec<&str> = arguments(container).map(|(_, value)| value).collect();
    let lists = [("command", list(&container.command)), ("args", list(&container.args))];
    let places = lists.iter().flat_map(|(list, words)| (0..words.len()).map(move |i| (*list, i)));
    for ((flag, value), (list, i)) in arguments(container).zip(places) {
        let Some((host @ ("127.0.0.1" | "localhost" | "[::1]"), port)) = value.rsplit_once(':')
        else {
            continue;
        };
        let flag = flag.to_ascii_lowercase();
        let is_meant = flag.starts_with('-') && FLAGS.iter().any(|it| flag.contains(it));
        // Or it listens there too.
        let ends = format!(":{port}");
        let is_elsewhere = words.iter().any(|it| it.ends_with(&ends) && *it != value);
        if port.parse::<u16>().is_err() || !is_meant || is_elsewhere {
            continue;
        }
        let mut effect = None;
        read::actions(container, path, &mut |it| {
            let asks = it.is_probe
                && it.asked.is_some_and(|(host, asked)| {
                    host.is_empty() && is_port(container, asked, port)
                });
            effect = effect.or(asks.then_some(it.effect));
        });
        if let Some(effect) = effect {
            let message = format!(
                "the program listens on {host}:{port}, and the kubelet asks for port {port} at the address of the pod, so \
                 {effect}"
            );
            let help = format!("write :{port} or 0.0.0.0:{port}, if the program takes it");
            found.report(&path.item(list, i), Reason::Invalid, message, help);
        }
    }
}

fn is_port(container: &Container, asked: &IntOrString, port: &str) -> bool {
    match asked {
        IntOrString::Int(number) => number.to_string() == port,
        IntOrString::String(name) => list(&container.ports)
            .iter()
            .any(|it| it.name.as_ref() == Some(name) && it.container_port.to_string() == port),
    }
}

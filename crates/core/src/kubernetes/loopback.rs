//! Programs that listen only inside their pod.

use k8s_openapi::{api::core::v1::Container, apimachinery::pkg::util::intstr::IntOrString};

use super::{absent::list, containers::arguments, exec::actions};
use crate::finding::Path;

/// Parts of the flags that say where a program listens.
const FLAGS: [&str; 4] = ["addr", "bind", "host", "listen"];

/// Takes the address, the port, the effect on a probe, and the word.
type Visitor<'v> = dyn FnMut(&str, i32, Option<&'static str>, &Path<'_>) + 'v;

/// Calls the visitor with each address such as `127.0.0.1` at which a container listens, its port, what happens because
/// a probe asks for the port at the address of the pod, and the word.
pub(crate) fn on_loopback(container: &Container, path: &Path<'_>, visitor: &mut Visitor<'_>) {
    let values = || arguments(container).map(|(_, value)| value);
    let lists = [("command", list(&container.command)), ("args", list(&container.args))];
    let places = lists.iter().flat_map(|(list, words)| (0..words.len()).map(move |i| (*list, i)));
    for ((flag, value), (list, i)) in arguments(container).zip(places) {
        let Some((host @ ("127.0.0.1" | "localhost" | "[::1]"), digits)) = value.rsplit_once(':')
        else {
            continue;
        };
        let flag = flag.to_ascii_lowercase();
        let is_meant = flag.starts_with('-') && FLAGS.iter().any(|it| flag.contains(it));
        // Or it listens there too.
        let ends = format!(":{digits}");
        let is_elsewhere = values().any(|it| it.ends_with(&ends) && it != value);
        let Some(port) = digits.parse().ok().filter(|_| is_meant && !is_elsewhere) else {
            continue;
        };
        let mut effect = None;
        actions(container, path, &mut |it| {
            let asks = it.asked.is_some_and(|(at, asked)| {
                at.is_empty() && it.is_probe && is_port(container, asked, port)
            });
            effect = effect.or(asks.then_some(it.effect));
        });
        visitor(host, port, effect, &path.item(list, i));
    }
}

fn is_port(container: &Container, asked: &IntOrString, port: i32) -> bool {
    match asked {
        IntOrString::Int(number) => *number == port,
        IntOrString::String(name) => list(&container.ports)
            .iter()
            .any(|it| it.name.as_ref() == Some(name) && it.container_port == port),
    }
}

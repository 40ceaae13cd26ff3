//! Programs that listen only inside their pod.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::Container, apimachinery::pkg::util::intstr::IntOrString};

use super::{absent::list, containers::arguments, exec::actions};
use crate::finding::Path;

/// Parts of flags for the address where a program listens.
const FLAGS: [&str; 4] = ["addr", "bind", "host", "listen"];

/// Takes the address, the port, the effect on a probe, and the word.
type Visitor<'v> = dyn FnMut(&str, i32, Option<&'static str>, &Path<'_>) + 'v;

/// Calls the visitor with each address such as `127.0.0.1` where a container listens, its port, the effect on a probe
/// of that port at the pod's address, and the word.
pub(crate) fn on_loopback(container: &Container, path: &Path<'_>, visitor: &mut Visitor<'_>) {
    if !arguments(container).any(|(_, value)| loopback(value).is_some()) {
        return;
    }
    // For each port the first address, and whether there is a different one: the program listens there too.
    let mut addresses = BTreeMap::<&str, (&str, bool)>::new();
    for (_, value) in arguments(container) {
        if let Some((_, port)) = value.rsplit_once(':') {
            let (first, differs) = addresses.entry(port).or_insert((value, false));
            *differs |= *first != value;
        }
    }
    let asked = asked(container, path);
    let lists = [("command", list(&container.command)), ("args", list(&container.args))];
    let places = lists.iter().flat_map(|(list, words)| (0..words.len()).map(move |i| (*list, i)));
    for ((flag, value), (list, i)) in arguments(container).zip(places) {
        let Some((host, digits)) = loopback(value) else { continue };
        let flag = flag.to_ascii_lowercase();
        let is_meant = flag.starts_with('-') && FLAGS.iter().any(|it| flag.contains(it));
        let is_elsewhere = addresses.get(digits).is_some_and(|(_, differs)| *differs);
        let Some(port) = digits.parse().ok().filter(|_| is_meant && !is_elsewhere) else {
            continue;
        };
        visitor(host, port, asked.get(&port).copied(), &path.item(list, i));
    }
}

fn loopback(value: &str) -> Option<(&str, &str)> {
    value.rsplit_once(':').filter(|(host, _)| ["127.0.0.1", "localhost", "[::1]"].contains(host))
}

/// The ports that probes call at the pod's address, each with what happens if nobody answers.
pub(crate) fn asked(container: &Container, path: &Path<'_>) -> BTreeMap<i32, &'static str> {
    let mut asked = BTreeMap::new();
    actions(container, path, &mut |it| {
        let Some((_, port)) = it.asked.filter(|(host, _)| host.is_empty() && it.is_probe) else {
            return;
        };
        let named = list(&container.ports).iter().filter(|own| match port {
            IntOrString::Int(_) => false,
            IntOrString::String(name) => own.name.as_ref() == Some(name),
        });
        let number = match port {
            IntOrString::Int(number) => Some(*number),
            IntOrString::String(_) => None,
        };
        for port in named.map(|it| it.container_port).chain(number) {
            asked.entry(port).or_insert(it.effect);
        }
    });
    asked
}

use crate::inventory::{host_port::HostPorts, object_summary::Ports};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "host-port-conflict", group: Nodes;
    title: "another controller uses the same host port",
    summary: "a DaemonSet that claims the same port of a node as another controller",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let Some(ports) = ports(query.item) else { return };
    let Some(its) = first_conflict(query, ports).and_then(|id| query.other(id)) else { return };
    let theirs = HostPorts::of(its.controller().map(Controller::host_ports).unwrap_or_default());
    let shared: Vec<_> = ports.host_ports.iter().filter(|port| theirs.collides(port)).collect();
    let Some(first) = shared.first() else { return };
    let mut numbers: Vec<_> =
        shared.iter().map(|it| format!("{}/{}", it.port, it.protocol)).collect();
    numbers.dedup();
    let (noun, verb) = if numbers.len() == 1 { ("port", "is") } else { ("ports", "are") };
    let elsewhere = if query.item.namespace() == its.namespace() {
        String::new()
    } else {
        format!(" in namespace {}", its.namespace())
    };
    let message = format!(
        "{noun} {} of the node {verb} also claimed by {its}{elsewhere}, and both can select the \
         same node: one of the two pods stays Pending there",
        numbers.join(", "),
    );
    let help = "use another port, or a nodeSelector that keeps the two apart";
    found.via(its.kind(), first.field(), Reason::Invalid, message, help);
}

fn ports(item: &ObjectSummary) -> Option<&Ports> {
    item.controller()?.ports.as_deref()
}

/// One of the two controllers is a DaemonSet. Only one of them reports.
fn first_conflict(query: &Query<'_>, own: &Ports) -> Option<u32> {
    let ports_of_own = HostPorts::of(&own.host_ports);
    let mut first: Option<u32> = None;
    let is_daemon = |item: &ObjectSummary| item.kind() == Kind::DaemonSet;
    // A controller is found once for each port that both claim.
    let mut known: HashMap<u32, bool> = HashMap::new();
    for port in ports_of_own.first_of_each() {
        for list in query.inventory().users_of_port(port, &own.nodes) {
            let mut earlier = list.take_while(|id| first.is_none_or(|known| *id < known));
            let hit = earlier.find(|id| {
                *known.entry(*id).or_insert_with(|| {
                    let other = query.other(*id).filter(|other| {
                        (is_daemon(query.item) || is_daemon(other)) && query.answers_for(*id, other)
                    });
                    other.and_then(ports).is_some_and(|theirs| {
                        theirs.host_ports.iter().any(|it| ports_of_own.collides(it))
                            && own.nodes.can_share(&theirs.nodes)
                    })
                })
            });
            first = hit.or(first);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::inventory::{Inventory, host_port::HostPort, read::tests};
    use crate::rules::rule::inventory::Coverage;

    fn object() -> impl Strategy<Value = Value> {
        let label = || prop::option::of(prop::sample::select(vec!["x", "y"]));
        let ip = prop::sample::select(vec!["", "0.0.0.0", "10.0.0.1", "10.0.0.2"]);
        let ports = prop::collection::vec((80..82, ip), 0..3);
        let affinity = prop::option::of(prop::sample::select(vec!["x", "y"]));
        (0_u8..9, label(), label(), ports, affinity).prop_map(|(name, a, b, ports, affinity)| {
            let ports: Vec<_> = ports
                .into_iter()
                .map(|(port, ip)| json!({"containerPort": port, "hostPort": port, "hostIP": ip}))
                .collect();
            let mut selector = serde_json::Map::new();
            for (key, value) in [("a", a), ("b", b)] {
                selector.extend(value.map(|value| (key.to_owned(), json!(value))));
            }
            let affinity = affinity.map(|value| {
                let one = json!({"key": "a", "operator": "In", "values": [value]});
                let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [one]}]});
                json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})
            });
            json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": name.to_string()},
                "spec": {"template": {"spec": {
                    "nodeSelector": selector, "affinity": affinity,
                    "containers": [{"name": "main", "ports": ports}],
                }}},
            })
        })
    }

    fn brute_force(inventory: &Inventory) -> BTreeMap<usize, usize> {
        let items: Vec<_> = inventory.items().collect();
        let first = |(place, item): &(usize, &ObjectSummary)| {
            let own = ports(item)?;
            let mut earlier = items.iter().take(*place);
            let (other, _) = earlier.find(|(_, other)| {
                let Some(theirs) = ports(other) else { return false };
                let collides =
                    |port: &HostPort| theirs.host_ports.iter().any(|it| it.collides(port));
                !item.is_same(other)
                    && own.host_ports.iter().any(collides)
                    && own.nodes.can_share(&theirs.nodes)
            })?;
            Some((*place, *other))
        };
        items.iter().filter_map(first).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn nothing_is_missed_by_comparing_less(
            objects in prop::collection::vec(object(), 0..10),
        ) {
            let mut inventory = Inventory::default();
            for object in objects {
                inventory.add(tests::item(&object));
            }
            let cluster = crate::kubernetes::cluster::Cluster::default();
            let found = inventory.items().filter_map(|(index, item)| {
                let coverage = Coverage::default();
                let query = Query::in_input(&inventory, index, &coverage, &cluster)?;
                Some((index, first_conflict(&query, ports(item)?)? as usize))
            });
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), brute_force(&inventory));
        }
    }
}

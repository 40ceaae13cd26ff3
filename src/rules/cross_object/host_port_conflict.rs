//! Two DaemonSets that claim the same port of the same nodes.

use std::collections::{BTreeMap, HashMap};

use super::rule::{Found, Rule};
use crate::{
    finding::{Meta, Mode, Reason},
    inventory::{
        Inventory,
        item::{Controller, Item},
        nodes::Claim,
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "host-port-conflict",
        summary: "a DaemonSet that claims the same port of a node as another one",
        why: "\
Only one pod can hold a port of a node. If two DaemonSets claim the same port, the pod that is scheduled first
gets it. The other stays Pending on that node, and a rollout of its DaemonSet waits for it forever. Which of
the two gets the port may differ from node to node and after each restart. With `hostNetwork` every declared
port is a port of the node, even one that is declared only as documentation.

Seen on a 1.36 control plane: one DaemonSet with `hostPort: 9100`, one in another namespace with
`hostNetwork` and `containerPort: 9100`; on every node the second stays Pending with \"1 node(s) didn't
have free ports for the requested pod ports\".

`setguard check` reports this if one run gets both objects, in any namespaces. Different addresses in `hostIP`
do not collide. Nor do DaemonSets that cannot share a node, because no node meets the `nodeSelector`, the
`nodeName` and the required node affinity of both.

Kubernetes: `Fits`, pkg/scheduler/framework/plugins/nodeports/node_ports.go; `CheckConflict`,
kube-scheduler framework/types.go; `defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.",
        bad: include_str!("examples/host-port-conflict.bad.yaml"),
        good: include_str!("examples/host-port-conflict.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    kinds: &["DaemonSet"],
    check,
};

fn check(inventory: &Inventory, found: &mut Found) {
    for (owner, other) in conflicts(inventory) {
        let Some((one, its)) = inventory.get(owner).zip(inventory.get(other)) else { continue };
        let Some((own, theirs)) = one.controller().zip(its.controller()) else { continue };
        let claims = own.claims.iter();
        let shared: Vec<_> =
            claims.filter(|claim| theirs.claims.iter().any(|it| it.collides(claim))).collect();
        let Some(first) = shared.first() else { continue };
        let mut ports: Vec<_> =
            shared.iter().map(|it| format!("{}/{}", it.port, it.protocol)).collect();
        ports.dedup();
        let (noun, verb) = if ports.len() == 1 { ("port", "is") } else { ("ports", "are") };
        let elsewhere = if one.namespace() == its.namespace() {
            String::new()
        } else {
            format!(" in namespace {}", its.namespace())
        };
        let message = format!(
            "{noun} {} of the node {verb} also claimed by {its}{elsewhere}, and both can select \
             the same node: one of the two pods stays Pending there",
            ports.join(", "),
        );
        first.at(|path| {
            let help = "use another port, or a nodeSelector that keeps the two apart";
            found.report(owner, path, Reason::Invalid, message, help);
        });
    }
}

/// A DaemonSet that claims a port, with that claim.
struct Claimant<'a> {
    place: usize,
    item: &'a Item,
    controller: &'a Controller,
    claim: &'a Claim,
}

/// The DaemonSets that claim the same port as an earlier one, each with the first of those.
fn conflicts(inventory: &Inventory) -> BTreeMap<usize, usize> {
    let mut ports: HashMap<(i32, &str), Vec<Claimant<'_>>> = HashMap::new();
    for (place, item) in inventory.items() {
        let Some(controller) = item.controller() else { continue };
        for claim in &controller.claims {
            let claimant = Claimant { place, item, controller, claim };
            ports.entry((claim.port, &claim.protocol)).or_default().push(claimant);
        }
    }
    let mut first = BTreeMap::new();
    for claimants in ports.values() {
        compare(claimants, &mut first);
    }
    first
}

/// The label key whose values best divide the claimants into pools of nodes, so that the fewest of
/// them have to be compared.
fn divider<'a>(claimants: &[Claimant<'a>]) -> Option<&'a str> {
    let mut labels: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for label in claimants.iter().flat_map(|it| it.controller.nodes.pins()) {
        *labels.entry(label).or_default() += 1;
    }
    let mut keys: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for ((key, _), count) in labels {
        let (all, squares) = keys.entry(key).or_default();
        *all += count;
        *squares += count * count;
    }
    // The claimants of a pool are compared with each other, those without a pool with all.
    let cost = |all: usize, squares: usize| squares + (claimants.len() - all) * claimants.len();
    keys.into_iter().min_by_key(|(_, (all, squares))| cost(*all, *squares)).map(|(key, _)| key)
}

/// Compares the claimants of one port, except those whose nodes differ in the dividing label.
fn compare(claimants: &[Claimant<'_>], first: &mut BTreeMap<usize, usize>) {
    let key = divider(claimants);
    let mut pools: HashMap<Option<&str>, Vec<&Claimant<'_>>> = HashMap::new();
    for (i, one) in claimants.iter().enumerate() {
        let pool = key.and_then(|key| one.controller.nodes.pin(key));
        let hit = match pool {
            Some(_) => {
                let pools = [pool, None].map(|pool| pools.get(&pool).into_iter().flatten());
                pools.into_iter().filter_map(|pool| one.first_conflict(pool.copied())).min()
            }
            None => one.first_conflict(claimants.iter().take(i)),
        };
        if let Some(place) = hit {
            let known = first.entry(one.place).or_insert(place);
            *known = place.min(*known);
        }
        pools.entry(pool).or_default().push(one);
    }
}

impl Claimant<'_> {
    /// The place of the first of `others`, in the order of the input, that conflicts with this one.
    fn first_conflict<'c>(
        &self,
        mut others: impl Iterator<Item = &'c Claimant<'c>>,
    ) -> Option<usize> {
        let conflict = others.find(|other| {
            !self.item.is_same(other.item)
                && self.claim.collides(other.claim)
                && self.controller.nodes.can_share(&other.controller.nodes)
        });
        conflict.map(|other| other.place)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::inventory::read::tests;

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

    /// All pairs, one by one, without pools.
    fn brute_force(inventory: &Inventory) -> BTreeMap<usize, usize> {
        let items: Vec<_> = inventory.items().collect();
        let first = |(place, item): &(usize, &Item)| {
            let own = item.controller()?;
            let mut earlier = items.iter().take(*place);
            let (other, _) = earlier.find(|(_, other)| {
                let theirs = other.controller().unwrap();
                let collides = |claim: &Claim| theirs.claims.iter().any(|it| it.collides(claim));
                !item.is_same(other)
                    && own.claims.iter().any(collides)
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
            prop_assert_eq!(conflicts(&inventory), brute_force(&inventory));
        }
    }
}

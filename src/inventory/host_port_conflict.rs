//! Two DaemonSets that want the same port of the same nodes.

use std::collections::{BTreeMap, HashMap};

use super::{
    Found, Inventory, Rule,
    item::{Controller, Item},
    nodes::Claim,
};
use crate::{
    finding::Reason,
    rule::{Meta, Mode},
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "host-port-conflict",
        summary: "a DaemonSet that claims a port of the node that another one claims too",
        why: "\
A port of a node can be held by one pod only. Where two DaemonSets want the same one, the pod that is
scheduled first gets it; the other stays Pending on that node, and a rollout of its DaemonSet waits for it
for ever. Which of the two it is may differ from node to node and after each restart. With `hostNetwork` every
declared port is a port of the node, also one that is declared for documentation alone.

Found by `setguard check` where one run is given both objects, in any namespaces. Different addresses in
`hostIP` do not collide. Nor do DaemonSets that no node can have both of: `nodeSelector` and required node
affinity of both are taken together.

Kubernetes: `Fits`, pkg/scheduler/framework/plugins/nodeports/node_ports.go; `CheckConflict`, kube-scheduler
framework/types.go; `defaultHostNetworkPorts`, pkg/apis/core/v1/defaults.go.",
        bad: include_str!("examples/host_port_conflict.bad.yaml"),
        good: include_str!("examples/host_port_conflict.good.yaml"),
        mode: Mode::Warn,
        kinds: &["DaemonSet"],
        since: "0.1.0",
        adjustable: true,
    },
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
            format!(" of namespace {}", its.namespace())
        };
        let message = format!(
            "{noun} {} of the node {verb} also claimed by {its}{elsewhere}, and a node can be \
             selected by both: there one of the two pods stays Pending",
            ports.join(", "),
        );
        first.at(|path| {
            let help = "use another port, or a nodeSelector that keeps the two apart";
            found.report(owner, path, Reason::Invalid, message, help);
        });
    }
}

/// A DaemonSet that claims a port, and with which claim.
struct Claimant<'a> {
    place: usize,
    item: &'a Item,
    controller: &'a Controller,
    claim: &'a Claim,
}

/// The DaemonSets that claim a port of an earlier one, each with the first such one.
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

/// Compares the claimants of one port. Pools of nodes that one label tells apart are not compared.
fn compare(claimants: &[Claimant<'_>], first: &mut BTreeMap<usize, usize>) {
    let mut keys: HashMap<&str, usize> = HashMap::new();
    for (key, _) in claimants.iter().flat_map(|it| it.controller.nodes.pins()) {
        *keys.entry(key).or_default() += 1;
    }
    let key = keys.into_iter().max_by_key(|(key, count)| (*count, *key)).map(|(key, _)| key);
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
    /// The first of others, in the order of the input, that it conflicts with.
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

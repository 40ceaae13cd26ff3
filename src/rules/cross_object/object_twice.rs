//! An object that is applied together with another version of itself.

use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "object-twice",
        summary: "a DaemonSet or StatefulSet that is applied twice: the last one counts",
        why: "\
If two documents that are applied together have the same kind, namespace and name, `kubectl apply` writes both,
one after the other. The last one counts, and what the first one says is lost, without a word: fewer replicas,
another template, or claims that are deleted. Each time the manifests are applied, the object changes twice, and
pods may be replaced twice.

Seen on a 1.37 control plane: `kubectl apply -f deploy/` with replicas 5 in `deploy/db.yaml` and 1 in
`deploy/zz.yaml` prints `configured` for both, and the set has one replica.

`setguard check` reports this for files of one folder that is named, for the resources of one kustomization, for
files that are named together, and for the files of one cluster of the policy.",
        bad: include_str!("examples/object-twice.bad.yaml"),
        good: include_str!("examples/object-twice.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        evidence: Evidence::Manifest,
        check,
    },
};

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let item = query.item;
    let mut same = query.inventory().named(item.kind(), item.namespace(), item.name());
    // The objects come in the order in which they are applied.
    let earlier = same.next().filter(|first| !std::ptr::eq(*first, item) && first.is_same(item));
    let Some(earlier) = earlier else { return };
    found.report(
        item.kind(),
        &SPEC,
        Reason::Invalid,
        format!("{earlier} is the same object: both are applied, and the last one counts"),
        "keep one of them; if they are for different clusters, assign them in `clusters` of the policy",
    );
}

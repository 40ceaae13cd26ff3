use crate::inventory::configs::Order;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "applied-too-late", group: NeverStarts;
    title: "pods need this before it is applied",
    summary: "a ConfigMap or Secret that Helm or Argo CD applies after the pods that need it",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check }],
};

fn check(query: &Query<'_>, found: &mut Findings) {
    let (mut seen, none) = (HashSet::new(), Order::default());
    let own = query.details.order.as_deref().unwrap_or(&none);
    for it in query.details.configs.iter().filter(|it| seen.insert((it.kind, &it.name))) {
        let objects: Vec<_> =
            query.inventory().named(it.kind, query.item.namespace(), &it.name).collect();
        let late = |it: &&ObjectSummary| why_late(&it.rare()?.order, own);
        // A different object of this name may exist in time.
        if let Some((why, help)) = objects.first().and_then(late)
            && objects.iter().all(|it| late(it).is_some())
        {
            let message = format!("its {} {why}", objects.first().map_or(query.item, |it| it));
            found.via(it.kind, it.field.clone(), Reason::Invalid, message, help);
        }
    }
}

/// Helm: `performInstall`, pkg/action/install.go, and `execHook`, pkg/action/hooks.go. Argo CD: `Sync`,
/// pkg/sync/sync_context.go, and `Types`, pkg/sync/hook/hook.go, of gitops-engine.
fn why_late(order: &Order, own: &Order) -> Option<(String, &'static str)> {
    let words = |text: &Option<Box<str>>| -> Vec<String> {
        text.iter().flat_map(|it| it.split(',')).map(|it| it.trim().to_owned()).collect()
    };
    let (helm, argo) = (words(&order.helm), words(&order.argo));
    let all = |list: &[String], late: [&str; 2]| {
        !list.is_empty() && list.iter().all(|it| late.contains(&it.as_str()))
    };
    if own.is_hook() {
        None
    } else if all(&helm, ["post-install", "post-upgrade"]) || all(&argo, ["PostSync", "SyncFail"]) {
        let hook = [helm, argo].concat().join(",");
        let why = format!(
            "is a hook of {hook}, so Argo CD, and Helm with --wait, wait for the pods before they create it, and no pod \
             starts without it"
        );
        Some((why, "make it a hook of pre-install and pre-upgrade, or of PreSync, or no hook"))
    } else if !helm.is_empty() && words(&order.deleted).iter().any(|it| it == "hook-succeeded") {
        let why = "is a hook that Helm deletes as soon as it has run, so pods that start later don't find it";
        Some((why.to_owned(), "leave hook-succeeded out of helm.sh/hook-delete-policy"))
    } else if !order.is_hook() && order.wave() > own.wave() {
        let (its, own) = (order.wave(), own.wave());
        let why = format!(
            "comes in wave {its}, and Argo CD waits for the pods of wave {own} before it creates it, so no pod starts"
        );
        Some((why, "give it the sync wave of the set, or an earlier one"))
    } else {
        None
    }
}

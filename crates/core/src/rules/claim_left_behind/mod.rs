use super::status::claims::of_set;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-left-behind", group: Cluster, mode: Mode::Audit;
    title: "new pods get claims of earlier ones",
    summary: "claims of an earlier StatefulSet that the next scale-up gives to new pods",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Aside(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let WorkloadState::StatefulSet(set) = &query.set.state else { return };
    let retention = set.spec.persistent_volume_claim_retention_policy.as_ref();
    if retention.and_then(|it| it.when_scaled.as_deref()) == Some("Delete") {
        return;
    }
    let created = query.set.created;
    let is_left = |claim: &crate::observed::PersistentVolumeClaim| {
        &*claim.phase == "Bound" && claim.deleted.is_none() && (1..created).contains(&claim.created)
    };
    let left: Vec<&str> =
        of_set(query).filter(|it| !it.is_wanted && is_left(it.claim)).map(|it| it.name).collect();
    if left.is_empty() {
        return;
    }
    let (noun, them) = if left.len() == 1 { ("claim", "it is") } else { ("claims", "they are") };
    let title = format!(
        "{noun} {} left from before this set was created ({})",
        names(left.iter().copied()),
        at(created)
    );
    let effect = format!("{them} taken over, with the data, when the set is scaled up");
    let (list, more) = words(&left);
    let look = query.kubectl().looks("get pvc", list);
    let delete = query.kubectl().does(Effect::LosesData, "delete pvc", list);
    let help = Help::say("").run(look).and(" shows their age; if the data is not wanted, run ");
    let facts = Facts::title(title).effect(effect);
    found.add(StatusFinding::new(&CLAIM_TEMPLATES, facts, help.run(delete).and(more)));
}

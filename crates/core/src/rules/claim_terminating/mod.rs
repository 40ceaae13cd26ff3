use super::status::claims::of_set;
use crate::observed::PersistentVolumeClaim;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "claim-terminating", group: Cluster;
    title: "a claim in use was deleted",
    summary: "a claim of a StatefulSet that was deleted while its pod uses it",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Aside(check) }],
};

const MOST_COMMANDS: usize = 5;

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    // The pods of a healthy set all exist.
    let pods = match query.set.is_healthy() {
        true => None,
        false => match Replicas::of(query) {
            Some(replicas) => Some(replicas.pods),
            None => return,
        },
    };
    let uses = |ordinal: i64| match &pods {
        Some(pods) => pods.get(&ordinal).is_some_and(|pod| pod.deleted.is_none() && !pod.has_ended),
        None => true,
    };
    let ending = of_set(query).filter(|it| it.is_wanted && uses(it.ordinal));
    let ending = ending.filter_map(|it| {
        let deleted = it.claim.deleted.filter(|at| query.audit.is_long_ago(*at))?;
        Some((it.name, (deleted, it.claim)))
    });
    let ending: BTreeMap<&str, (i64, &PersistentVolumeClaim)> = ending.collect();
    let Some(first) = ending.values().map(|(deleted, _)| *deleted).min() else { return };
    let list = names(ending.keys().copied());
    let (who, it) = match ending.len() {
        1 => (format!("claim {list} is"), "it stays"),
        _ => (format!("claims {list} are"), "each stays"),
    };
    let effect = format!(
        "{it} until its pod ends, and the next pod of that name starts with a new, empty volume"
    );
    let facts = Facts::title(format!("{who} being deleted")).effect(effect).since(first);
    let is_lost = |name: &&str| query.audit.observed.volume(name).is_some_and(|it| !it.is_retained);
    let volumes = ending.values().filter_map(|(_, claim)| claim.volume.as_deref());
    let volumes = volumes.filter(is_lost);
    found.add(StatusFinding::new(&CLAIM_TEMPLATES, facts, advice(query, volumes)));
}

fn advice<'v>(query: &StatusQuery<'_>, volumes: impl Iterator<Item = &'v str>) -> Help {
    let retain = r#"{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}"#;
    let keep = |volume: &str| query.audit.kubectl_anywhere().patches("pv", volume, retain);
    let mut volumes = volumes.peekable();
    let keep = volumes.by_ref().take(MOST_COMMANDS).map(keep);
    let help = Help::say("a deletion cannot be taken back: save the data before such a pod ends");
    let Some(keep) = keep.reduce(|all, next| all.then(&next)) else { return help };
    let more = if volumes.peek().is_some() { ", and likewise for the others" } else { "" };
    help.and("; ").run(keep).and(" keeps the volume when the claim goes").and(more)
}

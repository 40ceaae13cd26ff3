use super::status::claims::of_set;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "class-of-claims-missing", group: Cluster;
    title: "the StorageClass of claims does not exist",
    summary: "a missing StorageClass that claims of several sets wait for",
    scopes: [Scope::Status { kinds: &[Kind::StorageClass], check: StatusCheck::Others(check) }],
};

/// The fewest sets to report a class for.
const SEVERAL: usize = 2;

pub(super) fn is_reported(audit: &Audit<'_>, class: &str) -> bool {
    let sets = audit.observed.sets().filter(|set| set.is_current() && !set.is_healthy());
    let waits =
        |set: &&WorkloadStatus| waiting_claims(audit, set).iter().any(|(name, _)| *name == class);
    sets.filter(waits).take(SEVERAL).count() == SEVERAL
}

pub(super) fn create(audit: &Audit<'_>) -> Help {
    Help::say("create it as the driver of its volumes documents; ")
        .run(audit.kubectl_anywhere().looks("get storageclasses", &[]))
        .and(" lists the existing ones")
}

/// With the time since when claims have waited.
fn waiting_claims<'a>(audit: &'a Audit<'a>, set: &'a WorkloadStatus) -> Vec<(&'a str, i64)> {
    let (observed, query) = (audit.observed, StatusQuery { set, audit });
    let waiting = of_set(&query).filter(|it| it.is_wanted).filter_map(|it| {
        let is_pending = &*it.claim.phase == "Pending" && audit.is_long_ago(it.claim.created);
        let class = it.claim.class.as_deref().filter(|name| !name.is_empty() && is_pending);
        let class = class.filter(|name| observed.class(name).is_none())?;
        Some((class, it.claim.created))
    });
    waiting.collect()
}

#[derive(Default)]
struct Waiting<'a> {
    sets: Vec<&'a WorkloadStatus>,
    claims: usize,
    first: Option<i64>,
}

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let observed = audit.observed;
    if !observed.knows(Kind::StorageClass, "") {
        return;
    }
    let mut classes: BTreeMap<&str, Waiting<'_>> = BTreeMap::new();
    for set in observed.sets().filter(|set| set.is_current() && !set.is_healthy()) {
        for (class, created) in waiting_claims(audit, set) {
            let waiting = classes.entry(class).or_default();
            if waiting.sets.last().is_none_or(|last| !std::ptr::eq(*last, set)) {
                waiting.sets.push(set);
            }
            waiting.claims += 1;
            let first = waiting.first.unwrap_or(i64::MAX);
            waiting.first = Some(first.min(created));
        }
    }
    for (class, waiting) in classes.into_iter().filter(|(_, it)| it.sets.len() >= SEVERAL) {
        let first = waiting.first.unwrap_or_default();
        let (claims, sets) = (count(waiting.claims, "claim"), sets_of(&waiting.sets));
        let facts = Facts::title(format!("{claims} of {sets} wait"));
        let facts = facts.cause("the StorageClass does not exist").since(first);
        let help = create(audit);
        let about = ObjectName::new(Kind::StorageClass, "", class, "");
        found.add(StatusFinding::new(&NAME, facts, help).about(about));
    }
}

static NAME: Path<'static> = METADATA.child("name");

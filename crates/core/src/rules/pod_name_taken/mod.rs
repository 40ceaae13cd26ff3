use super::status::refusal;
use crate::rules::prelude::*;
use crate::{observed::Member, rollout::stateful_set::Settings};

pub(super) static RULE: Rule = rule! {
    id: "pod-name-taken", group: Cluster;
    title: "another pod has the name",
    summary: "a pod of a StatefulSet that cannot be created: another pod has its name",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Workload(check) }],
};

/// How many pods are looked up.
const MOST_PODS: usize = 1_000;

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(replicas) = Replicas::of(query) else { return };
    let observed = query.audit.observed;
    let exists = |ordinal: i64| replicas.pods.contains_key(&ordinal);
    let taken = names_taken(observed, query.set, &replicas.settings, exists).filter(|(_, pod)| {
        let Pod { created, deleted, .. } = pod.pod;
        let begun = created.max(query.set.created).max(deleted.unwrap_or(0));
        query.audit.is_long_ago(begun)
    });
    let taken: Vec<_> = taken.collect();
    let Some((name, other)) = taken.first() else { return };
    let whose = match &other.controller {
        Some(controller) => format!("belongs to {controller}"),
        None => "belongs to no controller".to_owned(),
    };
    let ends = match other.pod.deleted {
        Some(deleted) => format!(", and should be gone {}", since(deleted)),
        None => String::new(),
    };
    let mut effects = Vec::from_iter(replicas.holds_up());
    if replicas.settings.is_ordered && effects.is_empty() {
        effects.push(
            "with podManagementPolicy OrderedReady no pod after it is created either".to_owned(),
        );
    }
    if let Some(rest) = taken.get(1..).filter(|rest| !rest.is_empty()) {
        let list = names(rest.iter().map(|(name, _)| name.as_str()));
        effects.push(format!("the same holds for {list}"));
    }
    let effect = (!effects.is_empty()).then(|| effects.join("; "));
    let facts = Facts::title(format!("{name} cannot be created"))
        .cause(format!("another pod has this name, which {whose}{ends}"))
        .effect(effect)
        .since(other.pod.created)
        .pods(taken.iter().map(|(name, _)| name.as_str()));
    let (path, help) = (STATUS.child("replicas"), advice(query, name, other));
    found.add(StatusFinding::new(&path, facts, help).stuck(true));
}

/// Returns the names of missing pods that pods outside the set have, and those pods.
pub fn names_taken<'a>(
    observed: &'a Observed,
    set: &'a WorkloadStatus,
    settings: &Settings,
    exists: impl Fn(i64) -> bool,
) -> impl Iterator<Item = (String, &'a Member)> {
    let ordinals = settings.ordinals.clone().take(MOST_PODS);
    ordinals.filter(move |ordinal| !exists(*ordinal)).filter_map(|ordinal| {
        let name = format!("{}-{ordinal}", set.name());
        let pod = observed.foreign_pod(set.namespace(), &name)?;
        Some((name, pod))
    })
}

fn advice(query: &StatusQuery<'_>, name: &str, other: &Member) -> Help {
    let look = query.kubectl().looks("get pod", &[name, "-o", "yaml"]);
    let help = match &other.controller {
        Some(controller) => {
            Help::say(format!("remove or rename {controller}, or rename the set; "))
                .run(look)
                .and(" shows the pod")
        }
        None => {
            let delete = query.kubectl().does(Effect::LosesData, "delete pod", &[name]);
            Help::say("")
                .run(look)
                .and(" shows the other pod, which no controller creates again; if it is not needed, run ")
                .run(delete)
        }
    };
    // The controller records no event about a name that is taken, so the time of its next attempt is unknown.
    help.and("; the controller then tries again within 17 minutes, or at once after ")
        .run(refusal::annotate(query))
}

use crate::rollout::{daemon_set::Settings as DaemonSettings, stateful_set::Strategy};
use crate::rules::prelude::*;

/// In seconds.
const DAYS: i64 = 7 * 24 * 3_600;

pub(super) static RULE: Rule = rule! {
    id: "revision-left-behind", group: Cluster, mode: Mode::Audit;
    title: "pods have an old template",
    summary: "pods that have had an older template for more than a week",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::Aside(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let is_old = |made: i64| made > 0 && made + DAYS <= query.audit.now.as_second();
    let (old, partition): (Vec<&Pod>, _) = match &query.set.state {
        WorkloadState::StatefulSet(_) => {
            let Some(replicas) = Replicas::of(query) else { return };
            let (update, first) = (replicas.update_revision(), replicas.settings.ordinals.start);
            let partition = match replicas.settings.strategy {
                Strategy::OnDelete => None,
                Strategy::RollingUpdate { partition, .. } if partition > 0 => Some(partition),
                _ => return,
            };
            let stays = |ordinal: i64| partition.is_none_or(|it| ordinal - first < it);
            let pods = replicas.pods.iter().filter(|(ordinal, _)| stays(**ordinal));
            let old = pods.map(|(_, pod)| *pod).filter(|pod| !pod.is_of(update)).collect();
            (old, partition)
        }
        WorkloadState::DaemonSet(_) => {
            let Some(daemons) = Daemons::of(query) else { return };
            let settings = DaemonSettings::of(&daemons.set.spec);
            if query.set.is_healthy() || !settings.is_on_delete() {
                return;
            }
            let pods = daemons.nodes.iter().flat_map(|(.., pods)| pods.iter().copied());
            let old = pods.filter(|pod| !daemons.is_updated(pod)).collect();
            (old, None)
        }
    };
    // Later, the template can only have gone back to an earlier one.
    let made = query.audit.observed.revisions(query.set).map(|it| it.created).max();
    let Some(made) = made.filter(|made| is_old(*made) && !old.is_empty()) else { return };
    let list: Vec<&str> = old.iter().map(|pod| &*pod.name).collect();
    let why = match partition {
        Some(partition) => format!("below the partition, {partition}, it is not updated"),
        None => "with updateStrategy OnDelete nothing replaces it".to_owned(),
    };
    let title = format!(
        "{} ({}) of an older template, though there has been another",
        count(list.len(), "pod"),
        names(list.iter().copied())
    );
    let facts = Facts::title(title).cause(why).since(made).pods(list.iter().copied());
    let help = match partition {
        Some(_) => {
            let patch = serde_json::json!({"spec": {"updateStrategy": {"rollingUpdate": {
                "partition": 0}}}});
            let patch = query.patch(Effect::Restarts(list.len()), &patch.to_string());
            Help::say("to update them, run ").run(patch)
        }
        None => {
            let (first, more) = words(&list);
            let delete = query.kubectl().does(Effect::Restarts(first.len()), "delete pod", first);
            Help::say("delete them one after the other, or all with ").run(delete).and(more)
        }
    };
    found.add(StatusFinding::new(&UPDATE_STRATEGY, facts, help));
}

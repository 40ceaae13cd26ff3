use super::{
    pod_stuck_terminating,
    status::{phrases::lacking, stateful_set::ORDERED, waiting_pod::Halt},
};
use crate::rules::prelude::*;
use crate::{rollout::stateful_set::COMPLETE, rules::rollout_waits};

pub(super) static RULE: Rule = rule! {
    id: "rollout-stuck-at-ordinal", group: Cluster;
    title: "the StatefulSet waits for a pod",
    summary: "a StatefulSet that waits for a pod that does not become ready",
    scopes: [Scope::Status { kinds: &[Kind::StatefulSet], check: StatusCheck::Workload(check) }],
};

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(replicas) = Replicas::of(query) else { return };
    let Some(halt) = Halt::of(query, &replicas) else { return };
    let pod = halt.pod;
    let is_ordered = replicas.settings.is_ordered;
    let is_old = !pod.is_of(replicas.update_revision());
    // After a rollback the status shows no rollout, but the broken pod still blocks.
    let is_in_the_way = is_ordered && is_old && replicas.replaces(halt.ordinal);
    let effect = match (is_ordered, is_old) {
        (true, true) if query.set.is_on_delete() => None,
        (true, true) => Some(rollout_waits::ORDERED.to_owned()),
        (true, false) => held_up(query, &replicas, &halt),
        (false, _) => replicas.holds_up(),
    };
    let has_old = || replicas.pods.values().any(|it| !it.is_of(replicas.update_revision()));
    let keeps = || "with updateStrategy OnDelete the other pods keep their template".to_owned();
    let effect = effect.or_else(|| (query.set.is_on_delete() && has_old()).then(keeps));
    let either = match &*halt.others {
        [] => None,
        [other] => Some(format!("{other} is not ready either")),
        others => Some(format!("{} are not ready either", names(others.iter().copied()))),
    };
    let effects: Vec<_> = effect.into_iter().chain(either).collect();
    let effect = (!effects.is_empty()).then(|| effects.join("; "));
    let facts = Facts::title(format!("{} {}", pod.name, query.is_how(pod))).cause(query.why(pod));
    let facts = facts.effect(effect).since(query.unready_since(pod)).outlook(query.outlook(pod));
    let named = [&*pod.name].into_iter().chain(halt.others.iter().copied());
    let mut facts = facts.pods(named).nodes(pod.node.as_deref());
    let is_of_node = facts.outlook.state == "node";
    // Even the fix does not replace it.
    let waits_for_old = is_in_the_way || is_ordered && is_old && replicas.is_replacing();
    if waits_for_old && facts.outlook.hold == Hold::Slow {
        facts.outlook.hold = Hold::Passing;
    }
    let comes_back_old = replicas.comes_back_old(halt.ordinal);
    facts.in_the_way =
        (is_in_the_way && !is_of_node && !comes_back_old).then(|| pod.name.to_string());
    let help = match is_old {
        // A deletion would leave the pod terminating.
        _ if is_of_node => pod_stuck_terminating::explain(query, pod, &[&pod.name]).1,
        true => release(query, &replicas, &halt),
        false => repair(query, &replicas, pod),
    };
    // A new pod that has never worked is a creation that does not go on.
    let is_stuck = (replicas.is_updating() || is_in_the_way) && !query.set.is_on_delete()
        || !is_of_node && !pod.has_worked();
    let path = STATUS.child("readyReplicas");
    found.add(StatusFinding::new(&path, facts, help).stuck(is_stuck));
}

fn held_up(query: &StatusQuery<'_>, replicas: &Replicas<'_>, halt: &Halt<'_>) -> Option<String> {
    let after = halt.ordinal + 1..replicas.settings.ordinals.end;
    let exist = i64::try_from(replicas.pods.range(after.clone()).count()).unwrap_or(i64::MAX);
    let missing = (after.end - after.start).saturating_sub(exist);
    let surplus = replicas.outside().count();
    if let Some(effect) = replicas.holds_up() {
        return Some(effect);
    }
    let waits = if missing > 0 {
        format!("{} after it {} not created before it is ready", the(missing), are(missing))
    } else if surplus > 0 {
        let surplus = i64::try_from(surplus).unwrap_or(i64::MAX);
        format!("{} too many {} not deleted before it is ready", the(surplus), are(surplus))
    } else if query.set.is_on_delete() {
        return None;
    } else {
        "no new template is rolled out before it is ready".to_owned()
    };
    Some(format!("{ORDERED} {waits}"))
}

/// `the pod` or `the 2 pods`
fn the(count: i64) -> String {
    if count == 1 { "the pod".to_owned() } else { format!("the {count} pods") }
}

const fn are(count: i64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// For a broken pod with an older template.
fn release(query: &StatusQuery<'_>, replicas: &Replicas<'_>, halt: &Halt<'_>) -> Help {
    let kubectl = query.kubectl();
    let delete = kubectl.does(Effect::Restarts(1), "delete pod", &[&halt.pod.name]);
    let (index, partition) =
        (halt.ordinal - replicas.settings.ordinals.start, replicas.partition());
    let patch = serde_json::json!({"spec": {"updateStrategy": {"rollingUpdate": {
        "partition": index}}}});
    let patch = query.patch(Effect::Restarts(replicas.pods.len()), &patch.to_string());
    if replicas.settings.is_bare && replicas.comes_back_old(halt.ordinal) {
        let complete = query.patch(Effect::Restarts(replicas.pods.len()), COMPLETE);
        return Help::say("run ").run(complete.then(&delete)).and(rollout_waits::BARE);
    }
    if query.keeps_image_of(halt.pod) {
        return match query.undo() {
            Some(undo) => Help::say(
                "the new template has the same image; to go back to the previous template, run ",
            )
            .run(undo.then(&delete)),
            None => {
                Help::say("the new template has the same image: correct it, apply it and then run ")
                    .run(delete)
            }
        };
    }
    let lower = Help::say("lower the partition: ").run(patch.then(&delete));
    match rollout_waits::below_partition(index, partition, lower) {
        Some(below) => below,
        None => Help::say("run ").run(delete).and(": it comes back with the new template"),
    }
}

/// For a broken pod with the current template.
fn repair(query: &StatusQuery<'_>, replicas: &Replicas<'_>, pod: &Pod) -> Help {
    let delete = query.kubectl().does(Effect::Restarts(1), "delete pod", &[&pod.name]);
    let undo = query.undo().filter(|_| replicas.is_updating());
    if query.lacks_something(pod) {
        return lacking(query.look(pod), undo);
    }
    if let Some(help) = query.not_of_template(pod) {
        return help;
    }
    if let Some(uncordon) = query.uncordon(pod).filter(|_| pod.is_unschedulable()) {
        // Pods of the previous template would wait for the same nodes, unless the change is about nodes.
        let help = match undo.filter(|_| query.changes_placing()) {
            Some(undo) => {
                Help::say("to go back to the previous template, run ").run(undo).and("; ")
            }
            None => Help::default(),
        };
        let help = help.and("if the nodes may have pods again, run ").run(uncordon).and("; ");
        return help.run(query.look(pod)).and(" shows more");
    }
    let look = query.look(pod);
    if let Some(undo) = undo {
        let is_ready = |other: &&Pod| other.ready.0 && other.is_of(replicas.update_revision());
        let help = match replicas.pods.values().any(is_ready) && !replicas.has_old() {
            // The template works elsewhere, and to go back replaces all pods.
            true => Help::say("")
                .run(look)
                .and(" shows more: other pods of this template are ready; to go back to the previous template, run "),
            false => Help::say("to go back to the previous template, run "),
        };
        return help.run(undo);
    }
    match pod.is_unschedulable() {
        true => {
            let help = Help::say("make room for it, or change what the scheduler names; ");
            let help = match query.label() {
                Some(label) => help.and("if the node is meant for it, run ").run(label).and("; "),
                None => help,
            };
            help.run(look).and(" shows more")
        }
        false => Help::say("")
            .run(look)
            .and(" shows more; if the template is at fault, correct it, apply it and then run ")
            .run(delete),
    }
}

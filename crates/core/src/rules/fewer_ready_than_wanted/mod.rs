use super::{
    no_container_restarts,
    status::{
        outlook::{CRASH, IDLE, LOOP},
        refusal::annotate,
        template_churn,
        webhooks::down_for,
    },
};
use crate::rules::prelude::*;
use crate::{
    observed::{Phase, Ready, RolloutStatus, SLACK},
    rollout::stateful_set::COMPLETE,
};

pub(super) static RULE: Rule = rule! {
    id: "fewer-ready-than-wanted", group: Cluster;
    title: "fewer pods are ready than wanted",
    summary: "too few ready pods, pods that don't stay ready, or a rollout that stands still",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::IfSilent(check) }],
};

/// How young a pod is that has been replaced a moment ago, in seconds.
const MOMENT: i64 = 120;

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let report = template_churn::report(query).or_else(|| stale(query));
    let report = report.or_else(|| in_future(query));
    if let Some(report) = report.or_else(|| misfits(query)) {
        found.add(report);
        return;
    }
    let Ready { ready, wanted } = query.set.ready();
    if ready >= wanted
        && let Some(report) = stands_still(query).or_else(|| recurs(query))
    {
        found.add(report);
        return;
    }
    if ready >= wanted || is_on_a_node_that_is_down(query) || waits_for_availability(query) {
        return;
    }
    let written = query.set.status_written.filter(|it| query.audit.is_long_ago(*it));
    let down = down_for(query, Call::NewPod).filter(|_| query.set.lacks_pods());
    let help = match &down {
        Some(_) => Help::say("the set needs no change; "),
        None if query.set.ends => Help::say(no_container_restarts::HELP).and("; "),
        None => Help::say(""),
    };
    let ended = query.pod_loop();
    let restarts = ended.as_ref().filter(|_| query.set.ends);
    let (is_stuck, of_spec) =
        (ended.is_some(), restarts.map(|_| no_container_restarts::RULE.meta.id));
    let idle = Outlook::new(IDLE, Hold::Passing);
    let ending = ending(query);
    let is_lost = down.is_none() && ended.is_none() && ending.is_none() && query.set.lacks_pods();
    let (when, why, outlook) = match (ended, written) {
        (_, Some(written)) if down.is_some() => (written, down.unwrap_or_default(), idle),
        (Some((first, why)), _) => {
            let why = format!("its pods end and are replaced again and again: {why}");
            (first, why, Outlook::new(LOOP, Hold::Since(first)))
        }
        (None, Some(written)) => (written, ending.unwrap_or_else(|| unknown(query)), idle),
        (None, None) => return,
    };
    let facts = Facts::title(format!("{ready} of {wanted} pods are ready")).cause(why).since(when);
    let facts = facts.outlook(outlook);
    let help = match is_stuck && query.is_made_old() {
        true => Help::say("run ")
            .run(
                query.patch(Effect::Restarts(query.audit.observed.pods(query.set).len()), COMPLETE),
            )
            .and("; "),
        false => help,
    };
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = help.run(describe).and(" shows its pods and events");
    let help = match is_lost {
        true => help.and("; the controller tries again at once after ").run(annotate(query)),
        false => help,
    };
    found.add(StatusFinding::new(&STATUS, facts, help).stuck(is_stuck).instead_of(of_spec));
}

/// Pods of an older template that count as updated; see [`Observed::stale_pods`].
fn stale(query: &StatusQuery<'_>) -> Option<StatusFinding> {
    let set = query.set;
    let pods: Vec<&str> = query.audit.observed.stale_pods(set).map(|pod| &*pod.name).collect();
    if pods.is_empty() || set.is_on_delete() {
        return None;
    }
    let have = if pods.len() == 1 { "has" } else { "have" };
    let cause = format!(
        "{} {have} an older template, and the controller never replaces such pods: by their label \
         pod-template-generation they count as updated, because the set was deleted without its pods and created \
         again",
        names(pods.iter().copied())
    );
    let restart =
        query.kubectl().does(Effect::Restarts(pods.len()), "rollout restart", &[&query.target()]);
    let help = Help::say("to replace them within maxUnavailable, run ").run(restart);
    let facts = Facts::title("the rollout does not go on").cause(cause).since(set.created);
    let facts = facts.pods(pods).outlook(Outlook::new("stale", Hold::Lasting));
    Some(StatusFinding::new(&STATUS, facts, help).stuck(true))
}

/// Pods without the volume of a claim template; see [`Observed::misfits`].
fn misfits(query: &StatusQuery<'_>) -> Option<StatusFinding> {
    let set = query.set;
    let mut pods: Vec<&Pod> = query.audit.observed.misfits(set).collect();
    pods.sort_by_key(|pod| pod.ordinal(set.name()));
    let list: Vec<&str> = pods.iter().map(|pod| &*pod.name).collect();
    let (first, rest) = list.split_first()?;
    let (who, lack) = (names(list.iter().copied()), if rest.is_empty() { "lacks" } else { "lack" });
    let help = Help::say("run ")
        .run(query.kubectl().does(Effect::Restarts(1), "delete pod", &[*first]))
        .and(if rest.is_empty() {
            ", and it comes back with the volume"
        } else {
            ", and it comes back with the volume; once it is available, delete the next one, from the lowest ordinal up"
        });
    let facts = Facts::title(format!("{who} {lack} the volume of a claim template"))
        .cause("a pod gets its volumes when it is created, and the controller fails at the first pod without one")
        .effect("the set can neither be scaled nor updated".to_owned())
        .since(set.created)
        .pods(list)
        .outlook(Outlook::new("volumes", Hold::Lasting));
    Some(StatusFinding::new(&CLAIM_TEMPLATES, facts, help).stuck(!set.is_healthy()))
}

/// A fault that recurs, and that the status doesn't show because all pods are ready at this moment.
fn recurs(query: &StatusQuery<'_>) -> Option<StatusFinding> {
    let (now, pods) = (query.audit.now.as_second(), query.audit.observed.pods(query.set));
    let crash_of = |pod: &Pod| pod.crash.clone().filter(|it| it.until > now);
    let facts = Facts::title("the pods are ready only for a moment");
    if let Some((pod, crash)) = pods.iter().find_map(|pod| Some((pod, crash_of(pod)?))) {
        let words = [&*pod.name, "-c", &crash.ended.container, "--previous"];
        let help = Help::say("").run(query.kubectl().looks("logs", &words));
        let facts = facts.cause(format!("{}: {}", pod.name, crash.account)).pods([&*pod.name]);
        let facts = facts.outlook(Outlook::new(CRASH, Hold::Passing));
        let report = StatusFinding::new(&STATUS, facts, help.and(" shows why"));
        return Some(report.stuck(pods.iter().all(|it| crash_of(it).is_some())));
    }
    let (first, why) = query.pod_loop()?;
    pods.iter().any(|it| it.created + MOMENT > now).then_some(())?;
    let facts = facts.cause(format!("they are replaced again and again: {why}")).since(first);
    let facts = facts.outlook(Outlook::new(LOOP, Hold::Passing));
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = Help::say("find out who deletes them; ").run(describe).and(" shows its events");
    Some(StatusFinding::new(&STATUS, facts, help).stuck(true))
}

/// Returns why the controller could not change a pod, if it says so.
fn cannot_change(query: &StatusQuery<'_>) -> Option<String> {
    let now = query.audit.now.as_second();
    let event = query.audit.observed.events_of_set(query.set, "FailedUpdate", now).next()?;
    Some(format!("the controller cannot change a pod: {}", one_line(&event.message)))
}

/// A rollout that does not go on although all pods are ready, if nothing has moved for longer than the patience.
fn stands_still(query: &StatusQuery<'_>) -> Option<StatusFinding> {
    let (audit, set) = (query.audit, query.set);
    let pods = audit.observed.pods(set);
    let progress = RolloutStatus::of(audit.observed, set, audit.cluster, true);
    let rests = |pod: &Pod| {
        pod.deleted.is_none() && pod.ready.0 && audit.is_long_ago(pod.ready.1.max(pod.created))
    };
    let is_known = audit.observed.knows(Kind::Pod, set.namespace());
    if progress.phase != Phase::Going || !is_known || !pods.iter().all(rests) {
        return None;
    }
    // The controller goes on once the newest pod is available.
    let available = pods.iter().map(|it| it.ready.1 + set.min_ready_seconds()).max();
    let begun = set.status_written?.max(set.spec_written.unwrap_or_default());
    let begun = begun.max(available.unwrap_or_default());
    if !audit.is_long_ago(begun) || waits_for_availability(query) {
        return None;
    }
    let why = cannot_change(query);
    let help = match why {
        Some(_) => Help::say(""),
        None => Help::say("see whether kube-controller-manager runs; "),
    };
    let cause = format!(
        "all pods are ready, {}, and the controller replaces none; {}",
        progress.text(),
        why.as_deref().unwrap_or("the cause is unknown")
    );
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = help.run(describe);
    let help = help.and(" shows the events of the last hour");
    let facts = Facts::title("the rollout does not go on").cause(cause).since(begun);
    let facts = facts.outlook(Outlook::new(IDLE, Hold::Passing));
    Some(StatusFinding::new(&STATUS, facts, help).stuck(true))
}

fn unknown(query: &StatusQuery<'_>) -> String {
    if let Some(pod) = waits_for_claim(query) {
        return format!(
            "{pod} is missing, and no event says why: with whenScaled: Delete the controller creates no pod while the claim of its \
             predecessor is being deleted, and does not notice the end of that"
        );
    }
    let progress = RolloutStatus::of(query.audit.observed, query.set, query.audit.cluster, true);
    let why = cannot_change(query).unwrap_or_else(|| "the cause is unknown".to_owned());
    match usize::try_from(progress.wanted - progress.exist) {
        Ok(1) => format!("1 pod is missing, and {why}"),
        Ok(missing @ 2..) => format!("{missing} pods are missing, and {why}"),
        _ => why,
    }
}

/// Returns the first missing pod of a StatefulSet that deletes claims when it is scaled down, if the pod has no claims.
///
/// Kubernetes: `PodClaimIsStale`, pkg/controller/statefulset/stateful_pod_control.go.
fn waits_for_claim(query: &StatusQuery<'_>) -> Option<String> {
    let (observed, namespace) = (query.audit.observed, query.set.namespace());
    let replicas = Replicas::of(query).filter(|it| it.settings.deletes_claims)?;
    let ordinal = replicas.first_missing()?;
    let is_gone = |name: String| observed.claim(namespace, &name).is_none();
    let mut claims = replicas.settings.claims_of(ordinal).peekable();
    claims.peek()?;
    let is_known = observed.knows(Kind::PersistentVolumeClaim, namespace);
    (is_known && claims.all(is_gone)).then(|| replicas.pod_name(ordinal))
}

fn ending(query: &StatusQuery<'_>) -> Option<String> {
    let (observed, set, now) = (query.audit.observed, query.set, query.audit.now.as_second());
    let (pod, end) = observed.pods(set).iter().find_map(|pod| {
        let end = pod.deleted.filter(|end| *end > now)?;
        Some((pod, end))
    })?;
    let name = &pod.name;
    let text = format!("{name} is being deleted, and its containers have until {}", at(end));
    let mut events = observed.events(set.namespace(), Kind::Pod, name).iter();
    let failed = events.find(|it| ["FailedKillPod", "FailedPreStopHook"].contains(&&*it.reason));
    Some(match failed {
        Some(event) => format!("{text}; {}: {}", event.reason, one_line(&event.message)),
        None => text,
    })
}

/// The controller counts from the time that the kubelet wrote.
fn in_future(query: &StatusQuery<'_>) -> Option<StatusFinding> {
    let now = query.audit.now.as_second();
    let mut pods = query.audit.observed.pods(query.set).iter().filter(|pod| pod.ready.0);
    let pod = pods.find(|pod| query.set.min_ready_seconds() > 0 && pod.ready.1 > now + SLACK)?;
    let node = pod.node.as_deref().unwrap_or_default();
    let cause = format!(
        "{} is ready since a time that is {} s from now, so the controller counts it as available only after that",
        pod.name,
        pod.ready.1 - now
    );
    let facts = Facts::title(format!("the clock of node {node} is ahead")).cause(cause);
    let facts = facts.since(query.set.created).pods([&*pod.name]).nodes(Some(node));
    let facts = facts.outlook(Outlook::new("clock", Hold::Passing));
    let help = Help::say("correct the clock of the node; ").run(query.look(pod));
    Some(StatusFinding::new(&STATUS, facts, help.and(" shows the pod")))
}

/// A pod is ready and must stay ready for `minReadySeconds` before the controller goes on.
fn waits_for_availability(query: &StatusQuery<'_>) -> bool {
    let seconds = query.set.min_ready_seconds();
    let pods = query.audit.observed.pods(query.set);
    pods.iter().any(|pod| pod.ready.0 && !pod.is_available(seconds, query.audit.now))
}

fn is_on_a_node_that_is_down(query: &StatusQuery<'_>) -> bool {
    let observed = query.audit.observed;
    let mut nodes = observed.pods(query.set).iter().filter_map(|pod| pod.node.as_deref());
    nodes.any(|name| observed.node(name).is_some_and(|node| node.not_ready.is_some()))
}

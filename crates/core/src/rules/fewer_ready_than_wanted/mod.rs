//! Sets with too few ready pods, for a reason that no other rule has found.

use super::{
    no_container_restarts,
    status::{
        outlook::IDLE,
        phrases::{at, one_line},
        template_churn,
        webhooks::down_for,
    },
};
use crate::{
    finding::{Facts, Help, Hold, Mode, Outlook, paths::STATUS},
    kubernetes::kind::Kind,
    observed::{Call, Event, LONGEST_GAP, Phase, Pod, Ready, RolloutStatus, is_of_ended},
    rules::rule::status::{Report, Rule, SETS, Scope, StatusCheck, StatusFindings, StatusQuery},
};

pub(super) static RULE: Rule = rule! {
    id: "fewer-ready-than-wanted",
    title: "fewer pods are ready than wanted",
    summary: "too few ready pods, or a rollout that stands still, for an unknown reason",
    group: Cluster,
    mode: Mode::Warn,
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::IfSilent(check) }],
};

/// A rollout creates one pod less often than this.
const MANY_TIMES: i32 = 10;

const NO_RESTART: &str =
    "no container is restarted after exit code 0, so each pod ends once its containers have exited";

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    if let Some(report) = template_churn::report(query) {
        found.add(report);
        return;
    }
    let Ready { ready, wanted } = query.set.ready();
    if ready >= wanted
        && let Some(report) = stands_still(query)
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
    let ended =
        if query.set.ends { recreated(query) } else { replaced(query).or_else(|| looping(query)) };
    let restarts = ended.as_ref().filter(|_| query.set.ends);
    let (is_stuck, of_spec) =
        (ended.is_some(), restarts.map(|_| no_container_restarts::RULE.meta.id));
    let (when, why) = match (ended, written) {
        (_, Some(written)) if down.is_some() => (written, down.unwrap_or_default()),
        (Some((first, why)), _) => {
            (first, format!("its pods end and are replaced again and again: {why}"))
        }
        (None, Some(written)) => (written, ending(query).unwrap_or_else(|| unknown(query))),
        (None, None) => return,
    };
    let facts = Facts::title(format!("{ready} of {wanted} pods are ready")).cause(why).since(when);
    let facts = facts.outlook(Outlook::new(IDLE, Hold::Passing));
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = help.run(describe).and(" shows its pods and events");
    found.add(Report::new(&STATUS, facts, help).stuck(is_stuck).instead_of(of_spec));
}

/// A rollout that does not go on although all pods are ready, if nothing has moved for longer than the patience.
fn stands_still(query: &StatusQuery<'_>) -> Option<Report<'static>> {
    let (audit, set) = (query.audit, query.set);
    let pods = audit.observed.pods(set);
    let progress = RolloutStatus::of(set, audit.cluster, true);
    let rests = |pod: &Pod| {
        pod.deleted.is_none() && pod.ready.0 && audit.is_long_ago(pod.ready.1.max(pod.created))
    };
    let is_known = audit.observed.knows(Kind::Pod, set.namespace());
    if progress.phase != Phase::Going || !is_known || !pods.iter().all(rests) {
        return None;
    }
    let begun = set.status_written?.max(set.spec_written.unwrap_or_default());
    if !audit.is_long_ago(begun) || waits_for_availability(query) {
        return None;
    }
    let cause = format!(
        "all pods are ready, {}, and the controller replaces none; the cause is not known",
        progress.text()
    );
    let describe = query.kubectl().looks("describe", &[&query.target()]);
    let help = Help::say("see whether kube-controller-manager runs; ").run(describe);
    let help = help.and(" shows the events of the last hour");
    let facts = Facts::title("the rollout does not go on").cause(cause).since(begun);
    let facts = facts.outlook(Outlook::new(IDLE, Hold::Passing));
    Some(Report::new(&STATUS, facts, help).stuck(true))
}

/// The time since which nodes have ended pods of the set again and again, and the reason, if that still goes on.
fn replaced(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let (observed, set) = (query.audit.observed, query.set);
    let of_set = observed.events(set.namespace(), set.kind().into(), set.name()).iter();
    let of_set =
        of_set.filter(|it| ["FailedDaemonPod", "RecreatingFailedPod"].contains(&&*it.reason));
    let of_pods = observed.pods(set).iter().flat_map(|pod| {
        let events = observed.events(set.namespace(), Kind::Pod, &pod.name).iter();
        events.filter(|it| is_of_ended(&it.reason))
    });
    let events: Vec<_> = of_set.chain(of_pods).collect();
    let first = events.iter().map(|it| it.first).min().filter(|it| query.audit.is_long_ago(*it))?;
    let latest = events.iter().max_by_key(|it| it.last)?;
    let ended = observed.pods(set).iter().find(|pod| pod.has_ended && pod.trouble.is_some());
    let why = match ended {
        Some(pod) => query.why(pod),
        None => format!("{}: {}", latest.reason, one_line(&latest.message)),
    };
    // Of many events about an object, only some are recorded.
    let goes_on = query.audit.now.as_second() - latest.last;
    (goes_on < query.audit.patience.as_secs().max(LONGEST_GAP)).then_some((first, why))
}

/// Like [`replaced`], for a StatefulSet that has created a pod of one name again and again.
fn looping(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let now = query.audit.now.as_second();
    let goes_on = |it: &&Event| {
        it.count >= MANY_TIMES
            && it.last + 2 * LONGEST_GAP > now
            && query.audit.is_long_ago(it.first)
            && (it.last - it.first) / i64::from(it.count) < LONGEST_GAP
    };
    let worst =
        query.audit.observed.creations(query.set).filter(goes_on).max_by_key(|it| it.count)?;
    // `create Pod db-0 in StatefulSet db successful`
    let pod = worst.message.split(' ').nth(2).unwrap_or_default();
    Some((worst.first, format!("{pod} has been created at least {} times", worst.count)))
}

/// Like [`replaced`], for a set whose pods end by themselves: they are young and the set is not. A StatefulSet's
/// controller records no event about it, and the recorder drops all but the first of a DaemonSet's.
fn recreated(query: &StatusQuery<'_>) -> Option<(i64, String)> {
    let begun = query.set.spec_written.unwrap_or(0).max(query.set.created);
    let pods = query.audit.observed.pods(query.set);
    let is_young = |pod: &Pod| !query.audit.is_long_ago(pod.created);
    let goes_on = query.set.ends && query.audit.is_long_ago(begun) && pods.iter().any(is_young);
    goes_on.then(|| (begun, NO_RESTART.to_owned()))
}

fn unknown(query: &StatusQuery<'_>) -> String {
    let progress = RolloutStatus::of(query.set, query.audit.cluster, true);
    match usize::try_from(progress.wanted - progress.exist) {
        Ok(1) => "1 pod is missing, and the cause is not known".to_owned(),
        Ok(missing @ 2..) => format!("{missing} pods are missing, and the cause is not known"),
        _ => "the cause is not known".to_owned(),
    }
}

fn ending(query: &StatusQuery<'_>) -> Option<String> {
    let (observed, set, now) = (query.audit.observed, query.set, query.audit.now.as_second());
    let (pod, end) = observed.pods(set).iter().find_map(|pod| {
        let end = pod.deleted.filter(|end| *end > now)?;
        Some((pod, end))
    })?;
    let name = &pod.name;
    let text = format!("{name} is being deleted, for which its containers have until {}", at(end));
    let mut events = observed.events(set.namespace(), Kind::Pod, name).iter();
    let failed = events.find(|it| ["FailedKillPod", "FailedPreStopHook"].contains(&&*it.reason));
    Some(match failed {
        Some(event) => format!("{text}; {}: {}", event.reason, one_line(&event.message)),
        None => text,
    })
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

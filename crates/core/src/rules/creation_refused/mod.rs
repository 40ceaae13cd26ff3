use super::status::{
    quota,
    refusal::{annotate, by_admission, quoted_after},
    webhooks,
};
use crate::observed::{Counts, LONGEST_WAIT, SLACK};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "creation-refused", group: Cluster;
    title: "the API server refuses to create pods",
    summary: "pods that the API server refuses to create",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::Workload(check) }],
};

/// Only a set that is created again can have a new name.
const OF_NAMES: [&str; 2] = ["claim-metadata-invalid", "name-too-long"];

/// Parts of the refusals by LimitRanges and ResourceQuotas.
const OF_LIMITS: [&str; 5] = [
    " usage per ", " limit to request ratio per ", "must be less than or equal to",
    "failed quota: ", "exceeded quota: ",
];

/// The refusal of a claim begins with this.
const OF_CLAIMS: &str = "persistentvolumeclaims \"";

/// In characters. A longer name leaves no room for the hash of the template in a label.
const LONGEST_NAME: usize = 52;

fn check(query: &StatusQuery<'_>, found: &mut StatusFindings) {
    let Some(refusal) = Refusal::of_creation(query) else { return };
    let Refusal { message, since: first, last, .. } = &refusal;
    let (said, (help, instead_of)) = (refusal.text(), advice(query, message));
    let outlook = Outlook::new("refused", Hold::Tried(*last));
    if let Some(gone) = gone(query, message) {
        let title = who(query, ["was", "were"]) + " refused";
        let facts = Facts::title(title).cause(message).since(*first).outlook(outlook);
        let last_attempt = at(*last);
        let effect = format!(
            "the last attempt was {last_attempt}; since then, the cause has been fixed: {gone}"
        );
        let facts = facts.effect(effect);
        found.add(StatusFinding::new(&POD_SPEC, facts, wait(query, *last)).instead_of(instead_of));
        return;
    }
    let pods = query.audit.observed.pods(query.set);
    let attempt =
        query.audit.is_long_ago(*last).then(|| format!("the last attempt was {}", at(*last)));
    // The controller tries a set that is created again at once.
    let is_of_surroundings =
        || quota::exceeded(message).is_some() || by_admission(query, message).is_some();
    let is_created_again = message.starts_with(OF_CLAIMS) && !is_of_surroundings()
        || instead_of.is_some_and(|it| OF_NAMES.contains(&it));
    let help = if is_created_again { help } else { refusal.try_again(query, help) };
    // Pods of the previous template were admitted.
    let is_of_template = !is_created_again
        && quota::exceeded(message).is_none()
        && webhooks::failing(message).is_none()
        && !query.changes().is_empty()
        && !pods.iter().any(|pod| query.audit.observed.is_updated(query.set, pod));
    let help = match query.undo().filter(|_| is_of_template) {
        Some(undo) => help.and("; to go back to the previous template, run ").run(undo),
        None => help,
    };
    let cause = webhooks::fault_of_named(query, message).unwrap_or(said);
    let facts = Facts::title(who(query, ["is", "are"]) + " refused").cause(cause);
    let facts = facts.effect(attempt).since(*first).outlook(outlook);
    let report = StatusFinding::new(&POD_SPEC, facts, help);
    found.add(report.instead_of(instead_of).stuck(query.audit.is_long_ago(*first)));
}

/// `None` if the cause may still exist.
fn gone(query: &StatusQuery<'_>, message: &str) -> Option<String> {
    let (observed, namespace) = (query.audit.observed, query.set.namespace());
    if message.contains("violates PodSecurity") {
        let refused_by = quoted_after(message, "PodSecurity \"")?.split(':').next()?;
        let level = observed.pod_security(namespace)?;
        let allows = level == "privileged" || level == query.set.least_pod_security();
        return (allows && level != refused_by).then(|| {
            format!("namespace {namespace} enforces the level {level}, which allows them")
        });
    }
    if let Some(name) = quoted_after(message, "serviceaccount \"") {
        let exists = observed.exists(Kind::ServiceAccount, namespace, name);
        return exists.then(|| format!("ServiceAccount {name} exists"));
    }
    if let Some(name) = quota::exceeded(message) {
        return room(query, name, message);
    }
    if let Some(name) = webhooks::failing(message) {
        return no_webhook(query, name);
    }
    let name = quoted_after(message, "no PriorityClass with name ")?;
    observed.exists(Kind::PriorityClass, "", name).then(|| format!("PriorityClass {name} exists"))
}

fn room(query: &StatusQuery<'_>, name: &str, message: &str) -> Option<String> {
    let (observed, namespace) = (query.audit.observed, query.set.namespace());
    if !observed.knows(Kind::ResourceQuota, namespace) {
        return None;
    }
    let Some(quota) = observed.quota(namespace, name) else {
        return Some(format!("ResourceQuota {name} does not exist"));
    };
    let has_room = quota::has_room(quota, message);
    has_room.then(|| format!("ResourceQuota {name} has room for another pod"))
}

/// A webhook that does not exist refuses no pod.
fn no_webhook(query: &StatusQuery<'_>, name: &str) -> Option<String> {
    let observed = query.audit.observed;
    let kinds = [Kind::MutatingWebhookConfiguration, Kind::ValidatingWebhookConfiguration];
    let is_known = kinds.into_iter().all(|kind| observed.knows(kind, ""));
    let exists = observed.webhooks.iter().any(|it| *it.name == *name);
    (is_known && !exists && !name.ends_with(".setguard.io"))
        .then(|| format!("no webhook {name} with failurePolicy Fail exists"))
}

/// The cause does not exist any more, but the controller has not tried again.
fn wait(query: &StatusQuery<'_>, last: i64) -> Help {
    let next = last.saturating_add(LONGEST_WAIT);
    if next.saturating_add(SLACK) < query.audit.now.as_second() {
        return Help::say("the controller should have tried again since, so see whether it runs; ")
            .run(annotate(query))
            .and(" makes it try now");
    }
    Help::say(format!("no change is needed: the controller tries again before {}, ", at(next)))
        .and("or at once after ")
        .run(annotate(query))
}

fn who(query: &StatusQuery<'_>, [is, are]: [&str; 2]) -> String {
    let nodes: Vec<&str> = match Daemons::of(query) {
        Some(daemons) => {
            let lacking = daemons.wanted(query).filter(|(_, pods)| pods.is_empty());
            lacking.map(|(node, _)| node.place.name.as_str()).collect()
        }
        None => Vec::new(),
    };
    match (&query.set.state, nodes.len()) {
        (WorkloadState::StatefulSet(_), _) => {
            let replicas = Replicas::of(query);
            match replicas.and_then(|it| Some(it.pod_name(it.first_missing()?))) {
                Some(pod) => format!("pod {pod} {is}"),
                None => format!("pods {are}"),
            }
        }
        (WorkloadState::DaemonSet(_), 0) => format!("pods {are}"),
        (WorkloadState::DaemonSet(_), 1) => format!("the pod for node {} {is}", names(nodes)),
        (WorkloadState::DaemonSet(_), count) => {
            format!("the pods for {count} nodes ({}) {are}", names(nodes))
        }
    }
}

/// Also returns a rule of a different family that reports the same cause.
fn advice(query: &StatusQuery<'_>, message: &str) -> (Help, Option<&'static str>) {
    match of_template(query, message) {
        Some((help, rule)) => (help, Some(rule)),
        None => {
            let of_limits = OF_LIMITS.iter().any(|text| message.contains(text));
            (of_surroundings(query, message), of_limits.then_some("pods-refused-by-limits"))
        }
    }
}

fn of_template(query: &StatusQuery<'_>, message: &str) -> Option<(Help, &'static str)> {
    let kubectl = query.kubectl();
    let after = |before: &str| quoted_after(message, before);
    if message.contains("violates PodSecurity") {
        let level = query.set.least_pod_security();
        let words = [query.set.namespace(), "--show-labels"];
        let show = query.audit.kubectl_anywhere().looks("get namespace", &words);
        let help = format!(
            "do without these, or move the set to a namespace of the level {level}, which would allow \
             them to every pod there; "
        );
        let help = Help::say(help).run(show).and(" shows the level of this one");
        return Some((help, "pods-refused-by-pod-security"));
    }
    if let Some(name) = after("serviceaccount \"") {
        let run = kubectl.does(Effect::Changes, "create serviceaccount", &[name]);
        let help = Help::say("create it with its roles, or without any: ").run(run);
        return Some((help, "service-account-missing"));
    }
    if let Some(name) = after("no PriorityClass with name ") {
        let classes = query.audit.kubectl_anywhere().looks("get priorityclasses", &[]);
        let help = Help::say(format!("name one that exists instead of {name}: "));
        let help = help.run(classes).and(" lists them");
        return Some((help, "priority-class-missing"));
    }
    if message.contains("must be no more than 63") && query.set.name().len() > LONGEST_NAME {
        let help = format!(
            "create the set under a name of at most {LONGEST_NAME} characters: the controller appends the \
             hash of the template to it for a label"
        );
        return Some((Help::say(help), "name-too-long"));
    }
    if message.starts_with("PersistentVolumeClaim \"") && message.contains(" is invalid: metadata.")
    {
        return Some((query.create_again("valid metadata"), "claim-metadata-invalid"));
    }
    None
}

fn of_surroundings(query: &StatusQuery<'_>, message: &str) -> Help {
    let kubectl = query.kubectl();
    let after = |before: &str| quoted_after(message, before);
    if let Some(name) = after("pvc ").filter(|_| message.ends_with(" is being deleted")) {
        let look = kubectl.looks("get pvc", &[name, "-o", "yaml"]);
        let help = Help::say("find out which client should remove the finalizers of this claim; ");
        return help.run(look).and(" shows them, and what uses the claim");
    }
    if let Some(name) = quota::exceeded(message) {
        return more_room(query, name, message);
    }
    if let Some(help) = by_admission(query, message) {
        return help;
    }
    if message.contains("RuntimeClass \"") && message.ends_with(" not found") {
        let classes = query.audit.kubectl_anywhere().looks("get runtimeclasses", &[]);
        let text = "name one that exists, or create it once the nodes have its runtime; ";
        return Help::say(text).run(classes).and(" lists them");
    }
    if message.starts_with(OF_CLAIMS) {
        return query.create_again("claims that are allowed");
    }
    let run = kubectl.looks("describe", &[&query.target()]);
    Help::say("change what is refused; ").run(run).and(" shows the latest attempts")
}

fn more_room(query: &StatusQuery<'_>, quota: &str, message: &str) -> Help {
    let Counts { wanted, exist, .. } = query.set.counts();
    let kubectl = query.kubectl();
    let raised = quota::raised(message, usize::try_from(wanted - exist).unwrap_or_default());
    let Some(hard) = raised else {
        let run = kubectl.looks("describe resourcequota", &[quota]);
        let others = if message.starts_with(OF_CLAIMS) { "claims" } else { "pods" };
        return Help::say(format!("raise the quota or remove other {others}; "))
            .run(run)
            .and(" shows what is used");
    };
    let patch = serde_json::json!({"spec": {"hard": hard}}).to_string();
    let run = kubectl.patches("resourcequota", quota, &patch);
    let text = match message.starts_with(OF_CLAIMS) {
        true => "remove other claims, or raise the quota for all claims that are missing: ",
        false => "remove other pods, or raise the quota for all pods that are missing: ",
    };
    Help::say(text).run(run)
}

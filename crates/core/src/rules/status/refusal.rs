use super::webhooks;
use crate::observed::{LONGEST_WAIT, SLACK, TRY_AGAIN};
use crate::rules::prelude::*;

/// How long after a refusal a new pod shows that the cause is fixed, in seconds. One sync creates all missing pods. For
/// an object with many events, the recorder emits only one in five minutes.
///
/// Kubernetes: `defaultSpamQPS`, client-go tools/record/events_cache.go.
const REFILL: i64 = 300;

pub(in crate::rules) struct Refusal {
    pub(in crate::rules) message: String,
    /// In seconds since 1970.
    pub(in crate::rules) since: i64,
    /// In seconds since 1970.
    pub(in crate::rules) last: i64,
    /// The number of refusals with different messages.
    others: usize,
}

impl Refusal {
    /// Returns the latest refusal for a set that still lacks pods, or the new pods of a surge.
    pub(in crate::rules) fn of_creation(query: &StatusQuery<'_>) -> Option<Self> {
        let set = query.set;
        let is_of_spec = |event: &Event| set.spec_written.is_none_or(|at| event.last >= at);
        let now = query.audit.now.as_second();
        let mut refusals = query.audit.observed.events_of_set(set, "FailedCreate", now);
        let latest = refusals.next()?;
        let is_missing = set.lacks_pods() || set.lacks_surge() && is_of_spec(latest);
        let is_over = |pod: &Pod| latest.last + REFILL < pod.created;
        if !is_missing || query.audit.observed.pods(set).iter().any(is_over) {
            return None;
        }
        Some(Refusal::of(latest, refusals))
    }

    /// Returns the latest refusal to delete pods, as long as the controller retries.
    pub(in crate::rules) fn of_deletion(query: &StatusQuery<'_>) -> Option<Self> {
        let now = query.audit.now.as_second();
        let observed = query.audit.observed;
        let mut refusals = observed.events_of_set(query.set, "FailedDelete", now);
        let latest = refusals.next().filter(|it| it.last + LONGEST_WAIT + SLACK > now)?;
        let refusals: Vec<&Event> = refusals.collect();
        let pods = observed.pods(query.set);
        let goes_on = |pod: &Pod| pod.deleted.is_some() || latest.last + REFILL < pod.created;
        // The event of a StatefulSet names the pod.
        let is_replaced = |event: &&Event| {
            let name = quoted_after(&event.message, "delete Pod ");
            let is_old = |name: &str, pod: &Pod| *pod.name == *name && pod.created <= event.last;
            name.is_some_and(|name| !pods.iter().any(|pod| is_old(name, pod)))
        };
        let are_replaced = observed.knows(Kind::Pod, query.set.namespace())
            && [latest].iter().chain(&refusals).all(is_replaced);
        if are_replaced || pods.iter().any(goes_on) {
            return None;
        }
        Some(Refusal::of(latest, refusals.into_iter()))
    }

    fn of<'a>(latest: &'a Event, earlier: impl Iterator<Item = &'a Event>) -> Self {
        let message = latest.refusal();
        // The usage of a quota differs in each attempt.
        let apart = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
        let first = apart(message);
        let (same, others): (Vec<_>, Vec<_>) = earlier.partition(|it| apart(it.refusal()) == first);
        let mut words: Vec<_> = others.iter().map(|it| apart(it.refusal())).collect();
        words.sort_unstable();
        words.dedup();
        Refusal {
            message: one_line(message),
            since: same.iter().map(|it| it.first).fold(latest.first, i64::min),
            last: latest.last,
            others: words.len(),
        }
    }

    pub(in crate::rules) fn text(&self) -> String {
        let more = match self.others {
            0 => String::new(),
            1 => "; another refusal has other words".to_owned(),
            count => format!("; {count} other refusals have other words"),
        };
        format!("{}{more}", self.message)
    }

    /// Adds advice on how to make the controller retry: otherwise, it waits for up to 17 minutes.
    pub(in crate::rules) fn try_again(&self, query: &StatusQuery<'_>, help: Help) -> Help {
        let annotate = annotate(query);
        let next = self.last.saturating_add(LONGEST_WAIT);
        if next.saturating_add(SLACK) < query.audit.now.as_second() {
            let text = "; the controller should have tried again since, so see whether it runs; ";
            return help.and(text).run(annotate).and(" makes it try now");
        }
        let text = format!("; if that is done, the controller tries again before {}, ", at(next));
        help.and(&text).and("or at once after ").run(annotate)
    }
}

/// Returns a command that makes the controller retry immediately, as any change of the set does.
pub(in crate::rules) fn annotate(query: &StatusQuery<'_>) -> Command {
    let words = [&*query.target(), "--overwrite"];
    let command = query.kubectl().does(Effect::Changes, "annotate", &words);
    Command::new(format!("{} {TRY_AGAIN}", command.line()), command.effect())
}

pub(in crate::rules) fn by_admission(query: &StatusQuery<'_>, message: &str) -> Option<Help> {
    if let Some(cause) = webhooks::fault_of_named(query, message) {
        return Some(Help::say(format!("repair the webhook; the set needs no change: {cause}")));
    }
    let after = |before: &str| quoted_after(message, before);
    let webhook = after("admission webhook \"").or_else(|| after("failed calling webhook \""));
    let policy = after("ValidatingAdmissionPolicy '");
    let (what, name, kinds) = match (webhook, policy) {
        (Some(name), _) => {
            ("webhook", name, "validatingwebhookconfigurations,mutatingwebhookconfigurations")
        }
        (None, Some(name)) => ("policy", name, "validatingadmissionpolicies"),
        (None, None) => return None,
    };
    let run = query.audit.kubectl_anywhere().looks(&format!("get {kinds}"), &[]);
    let help = Help::say(format!("ask the owner of the {what} {name}; "));
    Some(help.run(run).and(" lists them all"))
}

/// Returns the word after `before`, up to a quotation mark, a comma or a space.
pub(in crate::rules) fn quoted_after<'m>(message: &'m str, before: &str) -> Option<&'m str> {
    let (_, rest) = message.split_once(before)?;
    rest.split(['"', '\'', ',', ' ']).next().filter(|word| !word.is_empty())
}

//! Phrases and commands that the status rules share.

use super::{
    nearest_nodes::{self, is_kept_by_cordon},
    pod_events, scheduler,
};
use crate::rules::prelude::*;
use crate::{
    observed::{Ended, NotReadyReason},
    rules::command::Kubectl,
};

pub(in crate::rules) use crate::finding::{at, count};
/// The scheduler's message for unbound claims that don't wait for a pod.
const UNBOUND: &str = "unbound immediate PersistentVolumeClaims";

const MOST_WORDS: usize = 20;
const MOST_NAMES: usize = 5;

impl<'a> Audit<'a> {
    pub(in crate::rules) const fn kubectl(&self, namespace: &'a str) -> Kubectl<'a> {
        Kubectl { context: self.context, namespace: Some(namespace) }
    }

    /// For cluster-scoped objects.
    pub(in crate::rules) const fn kubectl_anywhere(&self) -> Kubectl<'a> {
        Kubectl { context: self.context, namespace: None }
    }

    /// Returns whether a state has lasted longer than the user's patience.
    pub(in crate::rules) fn is_long_ago(&self, since: i64) -> bool {
        since + self.patience.as_secs() <= self.now.as_second()
    }
}

impl<'a> StatusQuery<'a> {
    pub(in crate::rules) fn kubectl(&self) -> Kubectl<'a> {
        self.audit.kubectl(self.set.namespace())
    }

    /// Returns the set as kubectl names it, such as `daemonset/agent`.
    pub(crate) fn target(&self) -> String {
        format!("{}/{}", self.set.kind().as_str().to_ascii_lowercase(), self.set.name())
    }

    pub(in crate::rules) fn patch(&self, effect: Effect, patch: &str) -> Command {
        self.kubectl().does(effect, "patch", &[&self.target(), "--type", "merge", "-p", patch])
    }

    /// Advises to recreate a StatefulSet because its claim templates are immutable. Does not print the deletion as a
    /// command: alone, it would leave the pods without a controller.
    pub(in crate::rules) fn create_again(&self, with: &str) -> Help {
        let show = self.kubectl().looks("get statefulset", &[self.set.name(), "-o", "yaml"]);
        Help::say(format!(
            "claim templates are immutable: delete the set with --cascade=orphan, which keeps its pods, and \
             at once apply its manifest with {with}; "
        ))
        .run(show)
        .and(" shows the set as it is stored")
    }

    /// Returns the command that uncordons the nodes that a pod of a StatefulSet may otherwise run on. The scheduler
    /// looks at the cordon first, so that it counts each cordoned node as such.
    ///
    /// Kubernetes: `getDefaultPlugins`, pkg/scheduler/apis/config/v1/default_plugins.go.
    pub(in crate::rules) fn uncordon(&self, pod: &Pod) -> Option<Command> {
        let WorkloadState::StatefulSet(set) = &self.set.state else { return None };
        let message = &pod.trouble.as_deref()?.message;
        let placing = &set.spec.template.placing;
        let nodes = self.audit.observed.nodes();
        let nodes = nodes.filter(|it| it.is_cordoned && is_kept_by_cordon(placing, &it.place));
        let nodes: Vec<&str> = nodes.map(|it| it.place.name.as_str()).take(MOST_WORDS).collect();
        let is_reason = message.contains("were unschedulable") && !nodes.is_empty();
        is_reason.then(|| self.audit.kubectl_anywhere().does(Effect::Changes, "uncordon", &nodes))
    }

    pub(in crate::rules) fn look(&self, pod: &Pod) -> Command {
        match pod.trouble.as_deref() {
            Some(NotReadyReason { ended: Some(Ended { container, is_previous }), .. }) => {
                let words = [&*pod.name, "-c", container, "--previous"];
                let words = if *is_previous { &words[..] } else { &words[..3] };
                self.kubectl().looks("logs", words)
            }
            _ => self.kubectl().looks("describe pod", &[&pod.name]),
        }
    }

    /// Returns whether a pod starts by itself once a missing object, such as a ConfigMap, exists.
    pub(in crate::rules) fn lacks_something(&self, pod: &Pod) -> bool {
        let waits_for_it = ["CreateContainerConfigError", "ErrImagePull", "ImagePullBackOff"];
        let is_starting = |it: &NotReadyReason| {
            it.kind == NotReadyKind::Waiting || waits_for_it.contains(&&*it.reason)
        };
        pod.trouble.as_deref().is_some_and(is_starting) && pod_events::names_absent(&self.why(pod))
    }

    pub(in crate::rules) fn look_or_undo(&self, is_updated: bool, pod: &Pod) -> Help {
        let look = self.look(pod);
        let undo = self.undo().filter(|_| is_updated && !self.is_at_rest());
        if self.lacks_something(pod) {
            return lacking(look, undo);
        }
        if let Some(help) = self.not_of_template(pod) {
            return help;
        }
        let has_old = !is_updated && self.set.is_on_delete();
        let delete = self.kubectl().does(Effect::Restarts(1), "delete pod", &[&pod.name]);
        if has_old && self.audit.observed.revisions(self.set).nth(1).is_some() {
            return Help::say(
                "with updateStrategy OnDelete it keeps its old template; to give it the \
                              current one, run ",
            )
            .run(delete)
            .and("; ")
            .run(look)
            .and(" shows more");
        }
        match undo {
            Some(undo) => Help::say("to go back to the previous template, run ")
                .run(undo)
                .and("; ")
                .run(look)
                .and(" shows more"),
            None => Help::say("")
                .run(look)
                .and(" shows more; if the template is at fault, correct it and apply it"),
        }
    }

    pub(in crate::rules) fn why(&self, pod: &Pod) -> String {
        let observed = self.audit.observed;
        let node = pod.node.as_deref().filter(|_| pod.is_bound);
        if let Some(name) = node {
            match observed.node(name).map(|node| node.not_ready) {
                Some(Some(since)) => {
                    return format!("its node {name} is not ready {}", self::since(since));
                }
                None if observed.knows(Kind::Node, "") => {
                    return format!("its node {name} does not exist");
                }
                _ => {}
            }
        }
        if let Some(why) = self.why_it_flaps(pod) {
            return why;
        }
        let Some(trouble) = pod.trouble.as_deref() else {
            return "its status does not say why".to_owned();
        };
        if trouble.kind == NotReadyKind::Unschedulable {
            let is_daemon = self.set.kind() == WorkloadKind::DaemonSet;
            let pinned = pod.node.as_deref().filter(|_| is_daemon);
            if trouble.message.contains(UNBOUND)
                && let Some((claim, event)) =
                    observed.event_of_ephemeral_claim(self.set.namespace(), &pod.name)
            {
                return format!("its claim {claim} is not bound: {}", one_line(&event.message));
            }
            if let Some(claim) = scheduler::missing_claim(&trouble.message) {
                return format!("its claim {claim} does not exist");
            }
            let apart = scheduler::apart(&one_line(&trouble.message), pinned);
            let nearest = apart.as_ref().and_then(|_| nearest_nodes::nearest(self));
            let why = apart.unwrap_or_else(|| pod_events::with_events(self, pod, trouble));
            let all = [Some(why), nearest, self.scaled(pod), self.preempted(pod)];
            return all.into_iter().flatten().collect::<Vec<_>>().join("; ");
        }
        pod_events::with_events(self, pod, trouble)
    }
}

pub(in crate::rules) fn lacking(look: Command, undo: Option<Command>) -> Help {
    let help =
        Help::say("create what it names, and the pod starts by itself: it need not be deleted; ");
    let help = help.run(look).and(" shows more");
    match undo {
        Some(undo) => help.and("; to go back to the previous template instead, run ").run(undo),
        None => help,
    }
}

/// Joins the lines of a different program's message, and removes the final full stop.
pub(in crate::rules) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// `a, b and 3 more`
pub(in crate::rules) fn names<'n>(list: impl IntoIterator<Item = &'n str>) -> String {
    let mut list = list.into_iter();
    let mut text = list.by_ref().take(MOST_NAMES).collect::<Vec<_>>().join(", ");
    match list.count() {
        0 => {}
        more => text.push_str(&format!(" and {more} more")),
    }
    text
}

pub(in crate::rules) fn positive(count: i32) -> usize {
    usize::try_from(count).unwrap_or_default()
}

/// `since 2026-11-22 06:10 UTC`
pub(in crate::rules) fn since(seconds: i64) -> String {
    format!("since {}", at(seconds))
}

/// `2 StatefulSets (shop/db, shop/queue)`, and likewise for DaemonSets.
pub(in crate::rules) fn sets_of(sets: &[&WorkloadStatus]) -> String {
    let of_kind = |kind: WorkloadKind| {
        let sets = sets.iter().filter(|set| set.kind() == kind);
        let all: Vec<_> = sets.map(|it| format!("{}/{}", it.namespace(), it.name())).collect();
        let list = names(all.iter().map(String::as_str));
        (!all.is_empty()).then(|| format!("{} ({list})", count(all.len(), kind.as_str())))
    };
    let kinds = [WorkloadKind::DaemonSet, WorkloadKind::StatefulSet].map(of_kind);
    kinds.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// Returns the names for a command, and a remark if some are missing.
pub(in crate::rules) fn words<'n, 'l>(list: &'l [&'n str]) -> (&'l [&'n str], &'static str) {
    match list.get(..MOST_WORDS) {
        Some(first) if list.len() > MOST_WORDS => (first, " and likewise for the others"),
        _ => (list, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_become_one_line() {
        assert_eq!(one_line("a\n  b\u{85}c.\n"), "a b c");
        assert_eq!(names(["a", "b"]), "a, b");
        assert_eq!(names(["1", "2", "3", "4", "5", "6", "7"]), "1, 2, 3, 4, 5 and 2 more");
        assert_eq!(since(1_795_327_800), "since 2026-11-22 06:10 UTC");
    }
}

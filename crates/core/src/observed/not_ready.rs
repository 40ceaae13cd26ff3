//! Why a pod is not ready, according to its status.

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStateWaiting, PodCondition,
};

use crate::finding::shorten;
use crate::observed::prelude::*;

/// The states of containers that do not start without intervention.
const BROKEN: [&str; 13] = [
    "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull",
    "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "ImageInspectError",
    "RegistryUnavailable", "SignatureValidationFailed", "PostStartHookError", "PreStartHookError",
    "RunContainerError",
];
/// After this many restarts, a container that ended will probably end again.
const RESTARTS: i32 = 2;
/// The first and the longest back-off of a container, in seconds.
const FIRST_BACK_OFF: i64 = 10;
const LONGEST_BACK_OFF: i64 = 300;
/// The fewest restarts of a container that runs at the moment and counts as a crash loop.
const MANY_RESTARTS: i32 = 5;
/// The kubelet starts over with the back-off after a longer run, in seconds.
const LONGEST_CRASHING_RUN: i64 = 600;
/// How long a container must run at least to count as recovered, in seconds.
const SHORTEST_RECOVERY: i64 = 60;
/// The longest termination message of a container, in bytes.
const LONGEST_LAST_WORDS: usize = 200;
pub(super) const LONGEST: usize = 400;

/// Why a pod is not ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReadyReason {
    /// The kind of problem.
    pub kind: NotReadyKind,
    /// The reason in one word, such as `ImagePullBackOff`.
    pub reason: Box<str>,
    /// The message of the kubelet or the scheduler, at most a few hundred bytes; may be empty.
    pub message: Box<str>,
    /// The container whose log is useful: it has ended, or blocks the others.
    pub ended: Option<Ended>,
    /// For how long at least a container has been in a crash loop, in seconds, derived from its back-off.
    pub(crate) looped: i64,
}

impl NotReadyReason {
    /// Adds the resource claims of a pod that no scheduler has processed. No scheduler does before the claims exist.
    ///
    /// Kubernetes: `PreEnqueue`, pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
    pub(super) fn with_claims(mut self, claims: &str) -> Self {
        if self.kind == NotReadyKind::Waiting && &*self.reason == "Pending" && !claims.is_empty() {
            let said = &self.message;
            let text = format!(
                "{said}; it names {claims}: no pod is scheduled before its resource claims exist"
            );
            self.message = shorten(&text, LONGEST).into_owned().into();
        }
        self
    }
}

/// A container that runs at the moment, and has ended so often and so soon after its starts that it will end again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// How it ended last and how often it restarted.
    pub account: Box<str>,
    /// The container.
    pub ended: Ended,
    /// Once it has run until this second, much longer than before, it has recovered.
    pub until: i64,
}

/// A container with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub container: Box<str>,
    /// Whether the container was restarted afterwards, or is about to be.
    pub is_previous: bool,
}

/// The kind of problem of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReadyKind {
    /// No node fits, or the node that the pod must run on doesn't.
    Unschedulable,
    /// A container does not start or continue without intervention.
    Broken,
    /// A container is about to start or to become ready.
    Waiting,
    /// The kubelet has not started with the pod, or no longer reports its state.
    NoKubelet,
    /// The pod has ended.
    Ended,
}

#[derive(Clone, Copy)]
pub(super) enum Placed<'a> {
    On(&'a str),
    By(&'a str),
}

/// A part of `PodStatus`: all of it would make the page much larger.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Status {
    pub(super) phase: Option<String>,
    start_time: Option<Time>,
    reason: Option<String>,
    message: Option<String>,
    conditions: Option<Vec<PodCondition>>,
    init_container_statuses: Option<Vec<ContainerStatus>>,
    container_statuses: Option<Vec<ContainerStatus>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus {
    name: String,
    ready: bool,
    restart_count: i32,
    state: Option<ContainerState>,
    last_state: Option<ContainerState>,
}

impl Status {
    pub(super) fn condition(&self, name: &str) -> Option<&PodCondition> {
        self.conditions.iter().flatten().find(|it| it.type_ == name)
    }

    /// Returns the seconds from the assignment to a node, by the scheduler's clock, to the start, by the node's clock.
    pub(super) fn ahead(&self) -> i64 {
        let times = self.start_time.as_ref().zip(self.scheduled());
        times.map_or(0, |(start, then)| start.0.as_second() - then).max(0)
    }

    pub(super) fn scheduled(&self) -> Option<i64> {
        let scheduled = self.condition("PodScheduled").filter(|it| it.status == "True")?;
        scheduled.last_transition_time.as_ref().map(|it| it.0.as_second())
    }

    pub(super) fn restarts(&self) -> i32 {
        let init = self.init_container_statuses.iter().flatten();
        let all = self.container_statuses.iter().flatten().chain(init);
        all.map(|it| it.restart_count).max().unwrap_or_default()
    }

    /// Returns since when all containers and sidecars have run; `None` if a container does not run.
    pub(super) fn started(&self) -> Option<i64> {
        let start = |it: &ContainerStatus| {
            let running = it.state.as_ref()?.running.as_ref()?;
            running.started_at.as_ref().map(|time| time.0.as_second())
        };
        let all = self.container_statuses.iter().flatten().map(start);
        let last = all.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        let sidecars = self.init_container_statuses.iter().flatten().filter_map(start);
        Some(sidecars.fold(last, i64::max))
    }

    /// Returns the container that has restarted most, if it runs again after short runs; see [`Crash`].
    pub(super) fn crash(&self) -> Option<Crash> {
        let init = self.init_container_statuses.iter().flatten();
        let all = self.container_statuses.iter().flatten().chain(init);
        let container = all.max_by_key(|it| it.restart_count)?;
        let begun = container.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0;
        let (end, ended) = end(container).filter(|_| container.restart_count >= MANY_RESTARTS)?;
        let finished = end.finished_at.as_ref()?.0;
        let last_run = end.started_at.as_ref().map_or(0, |it| (finished - it.0).get_seconds());
        (last_run < LONGEST_CRASHING_RUN).then(|| Crash {
            account: account(container, end).into(),
            ended,
            until: begun.as_second() + (2 * last_run).max(SHORTEST_RECOVERY),
        })
    }

    pub(super) fn trouble(&self, placed: Placed<'_>) -> Option<NotReadyReason> {
        if let Some(phase @ ("Failed" | "Succeeded")) = self.phase.as_deref() {
            let reason = self.reason.as_deref().unwrap_or(phase);
            return Some(trouble(NotReadyKind::Ended, reason, text(&self.message)));
        }
        let scheduled = self.condition("PodScheduled").filter(|it| it.status == "False");
        // The condition of a pod that has a node is out of date.
        if let (Placed::By(_), Some(scheduled)) = (placed, scheduled) {
            let reason = scheduled.reason.as_deref().unwrap_or("Unschedulable");
            return Some(trouble(NotReadyKind::Unschedulable, reason, text(&scheduled.message)));
        }
        self.of_containers().or_else(|| self.not_started(placed)).or_else(|| self.not_ready())
    }

    /// A container does not start, has ended, or is about to start.
    fn of_containers(&self) -> Option<NotReadyReason> {
        let init = self.init_container_statuses.iter().flatten();
        let containers = self.container_statuses.iter().flatten().chain(init);
        let waiting = containers.clone().filter_map(waiting);
        let broken = waiting.clone().find(|(.., reason)| BROKEN.contains(reason));
        if let Some((container, why, reason)) = broken {
            let end = end(container).filter(|_| reason == "CrashLoopBackOff");
            let message = match (&end, &why.message) {
                (Some((end, _)), _) => account(container, end),
                (None, Some(said)) => format!("container {}: {said}", container.name),
                (None, None) => format!("container {}", container.name),
            };
            let looped = why.message.as_deref().filter(|_| end.is_some()).map_or(0, looped);
            let ended = end.map(|(_, ended)| ended);
            let trouble = trouble(NotReadyKind::Broken, reason, &message);
            return Some(NotReadyReason { ended, looped, ..trouble });
        }
        // Between two back-offs, the container has ended, or runs for a moment.
        let unready = containers.filter(|it| !it.ready);
        let mut ends = unready.filter_map(|it| end(it).map(|(end, ended)| (it, end, ended)));
        // An init container that ended with 0 is ready. Any other container that ended is restarted.
        let is_why =
            |(container, _, ended): &(&ContainerStatus, &ContainerStateTerminated, Ended)| {
                !ended.is_previous || self.has_restarted(container)
            };
        if let Some((container, end, ended)) = ends.find(is_why) {
            let kind = match container.restart_count {
                RESTARTS.. => NotReadyKind::Broken,
                _ => NotReadyKind::Waiting,
            };
            let reason = if ended.is_previous { "Restarted" } else { "Ended" };
            let ended = Some(ended);
            return Some(NotReadyReason {
                ended,
                ..trouble(kind, reason, &account(container, end))
            });
        }
        let (_, why, reason) = waiting.clone().next_back()?;
        Some(match self.initializing().filter(|_| reason == INITIALIZING) {
            Some(container) => {
                let message = format!(
                    "init container {} runs, and the containers after it wait for it",
                    container.name
                );
                let ended =
                    Some(Ended { container: container.name.as_str().into(), is_previous: false });
                NotReadyReason { ended, ..trouble(NotReadyKind::Waiting, reason, &message) }
            }
            None => trouble(NotReadyKind::Waiting, reason, text(&why.message)),
        })
    }

    /// Returns the init container that the others wait for: the last running one, because sidecars before it keep
    /// running.
    fn initializing(&self) -> Option<&ContainerStatus> {
        let init = self.init_container_statuses.iter().flatten();
        let runs = |it: &&ContainerStatus| it.state.as_ref().is_some_and(|it| it.running.is_some());
        init.rev().find(runs)
    }

    /// Returns whether a container restarted since the pod became unready, or in the same second, as a first restart
    /// does. A container that started earlier is unready for a different reason.
    fn has_restarted(&self, container: &ContainerStatus) -> bool {
        let started =
            container.state.as_ref().and_then(|it| it.running.as_ref()?.started_at.as_ref());
        let unready = self.condition("Ready").and_then(|it| it.last_transition_time.as_ref());
        container.restart_count > 0
            && started.zip(unready).is_none_or(|(started, unready)| started.0 >= unready.0)
    }

    /// No scheduler, or not the kubelet of the pod's node, has processed the pod.
    fn not_started(&self, placed: Placed<'_>) -> Option<NotReadyReason> {
        let message = match (placed, self.phase.as_deref()) {
            (Placed::By(scheduler), _) => {
                format!("it has no node, and the scheduler {scheduler} has said nothing about it")
            }
            (Placed::On(node), Some("Unknown")) => {
                format!("the kubelet of {node} has not told how it is; {}", text(&self.message))
            }
            (Placed::On(node), Some("Pending") | None) => {
                if self.container_statuses.is_some() || self.condition("Ready").is_some() {
                    return None;
                }
                format!("it is bound to {node}, whose kubelet has not begun with it")
            }
            _ => return None,
        };
        let message = message.trim_end_matches("; ");
        let kind = match placed {
            Placed::On(_) => NotReadyKind::NoKubelet,
            Placed::By(_) => NotReadyKind::Waiting,
        };
        Some(trouble(kind, self.phase.as_deref().unwrap_or("Pending"), message))
    }

    /// Names the unready containers of a pod whose containers run. Otherwise, uses the message of the `Ready`
    /// condition.
    fn not_ready(&self) -> Option<NotReadyReason> {
        let unready = self.container_statuses.iter().flatten().filter(|it| !it.ready);
        let names: Vec<_> = unready.map(|it| it.name.as_str()).collect();
        let ready = self.condition("Ready");
        let said = ready.and_then(|it| it.message.as_deref());
        let reason = ready.and_then(|it| it.reason.as_deref());
        match (&*names, reason, said) {
            ([], Some(reason), Some(said)) => Some(trouble(NotReadyKind::Waiting, reason, said)),
            ([], ..) => None,
            ([one], ..) => {
                let message = format!("container {one} runs but is not ready");
                Some(trouble(NotReadyKind::Waiting, NOT_READY, &message))
            }
            (some, ..) => {
                let message = format!("containers {} run but are not ready", some.join(", "));
                Some(trouble(NotReadyKind::Waiting, NOT_READY, &message))
            }
        }
    }
}

/// The reason of a pod whose containers run.
pub const NOT_READY: &str = "ContainersNotReady";
/// The reason of a container that waits for init containers.
pub const INITIALIZING: &str = "PodInitializing";

fn trouble(kind: NotReadyKind, reason: &str, message: &str) -> NotReadyReason {
    let message = shorten(message.trim(), LONGEST).into_owned().into();
    NotReadyReason { kind, reason: reason.into(), message, ended: None, looped: 0 }
}

/// Returns the sum of all back-offs before the current one, in seconds, from a message such as `back-off 2m40s
/// restarting failed container=…`. The kubelet starts with ten seconds, doubles the back-off up to five minutes, and
/// starts over after a container has run for ten minutes.
///
/// Kubernetes: `doBackOff`, pkg/kubelet/kuberuntime/kuberuntime_manager.go; `MaxCrashLoopBackOff`,
/// pkg/kubelet/kubelet.go.
fn looped(message: &str) -> i64 {
    let wait = message.strip_prefix("back-off ").and_then(|rest| rest.split(' ').next());
    let wait = wait.and_then(|it| it.parse::<SignedDuration>().ok());
    match wait.map_or(0, |it| it.as_secs()) {
        LONGEST_BACK_OFF.. => 10 + 20 + 40 + 80 + 160,
        wait => wait.saturating_sub(FIRST_BACK_OFF).max(0),
    }
}

fn text(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or_default()
}

fn waiting(
    container: &ContainerStatus,
) -> Option<(&ContainerStatus, &ContainerStateWaiting, &str)> {
    let why = container.state.as_ref()?.waiting.as_ref()?;
    Some((container, why, why.reason.as_deref()?))
}

/// Returns how the container ended: now, or before its last restart.
fn end(container: &ContainerStatus) -> Option<(&ContainerStateTerminated, Ended)> {
    let now = container.state.as_ref().and_then(|it| it.terminated.as_ref());
    let before = || container.last_state.as_ref().and_then(|it| it.terminated.as_ref());
    let end = now.or_else(before)?;
    let container = container.name.as_str().into();
    Some((end, Ended { container, is_previous: now.is_none() }))
}

/// `container app ended with exit code 137 (OOMKilled), restarted 14 times`
fn account(container: &ContainerStatus, end: &ContainerStateTerminated) -> String {
    let (name, code) = (&container.name, end.exit_code);
    let mut text = format!("container {name} ended with exit code {code}");
    if let Some(reason) = end.reason.as_deref().filter(|it| *it != "Error") {
        text.push_str(&format!(" ({reason})"));
    }
    match container.restart_count {
        ..=0 => {}
        1 => text.push_str(", restarted once"),
        count => text.push_str(&format!(", restarted {count} times")),
    }
    if let Some(said) = end.message.as_deref().map(str::trim).filter(|it| !it.is_empty()) {
        text.push_str(&format!(": {}", shorten(said, LONGEST_LAST_WORDS)));
    }
    text
}

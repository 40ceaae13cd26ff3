//! Warnings about objects, and the few other events that rules need.

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{EventSeries, ObjectReference},
    apimachinery::pkg::apis::meta::v1::MicroTime,
};
use serde::Serialize;
use serde_json::json;

use crate::finding::shorten;
use crate::observed::prelude::*;

/// The reasons that rules need, in addition to [`is_of_ended`].
const REASONS: [&str; 21] = [
    "BackOff", "Failed", "FailedAttachVolume", "FailedBinding", "FailedCreate",
    "FailedCreatePodSandBox", "FailedDaemonPod", "FailedDelete", "FailedKillPod",
    "FailedMapVolume", "FailedMount", "FailedPreStopHook", "FailedPrepareDynamicResources",
    "FailedResourceClaimCreation", "FailedScheduling", "FailedToRetrieveImagePullSecret",
    "FailedUpdate", "NetworkNotReady", "ProvisioningFailed", "RecreatingFailedPod", "Unhealthy",
];
const NOTES: [&str; 5] = [CREATED, NOMINATED, NOT_SCALED_UP, PREEMPTED, SCALED_UP];
/// A set created a pod. The event recorder merges the events about pods of one name, and those of a DaemonSet once they
/// are more than ten.
pub(super) const CREATED: &str = "SuccessfulCreate";
pub(super) const NOMINATED: &str = "Nominated";
pub(super) const NOT_SCALED_UP: &str = "NotTriggerScaleUp";
pub(super) const PREEMPTED: &str = "Preempted";
pub(super) const SCALED_UP: &str = "TriggeredScaleUp";
/// The reasons why a node evicts or rejects pods, in addition to reasons that begin with `OutOf`.
///
/// Kubernetes: pkg/kubelet/lifecycle/predicate.go.
const ENDED: [&str; 17] = [
    "AppArmor", "DeadlineExceeded", "Evicted", "InvalidNodeInfo", "NodeAffinity", "NodeName",
    "NodePorts", "NodeShutdown", "PodLevelResourcesNotSupported", "PodOSNotSupported",
    "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported",
    "SysctlForbidden", "TaintToleration", "TopologyAffinityError", "UnexpectedAdmissionError",
    "VolumeAttachmentLimitExceeded",
];

/// Returns whether a node evicts or rejects pods for this reason.
pub fn is_of_ended(reason: &str) -> bool {
    reason.starts_with("OutOf") || ENDED.contains(&reason)
}

/// The longest pause before a controller retries a refused request, in seconds.
///
/// Kubernetes: `DefaultTypedControllerRateLimiter`, client-go util/workqueue/default_rate_limiters.go.
pub const LONGEST_WAIT: i64 = 1_000;
/// An annotation that differs each time, for a shell. A controller retries at once when its set changes.
pub const TRY_AGAIN: &str = "try-again=$(date +%s)";
/// The tolerated delay, in seconds.
pub const SLACK: i64 = 60;
/// The longest message that is kept, in bytes.
const LONGEST: usize = 1_000;

/// The longest gap between warnings that count as one, in seconds. For an object with many events, the recorder emits
/// only one in five minutes.
///
/// Kubernetes: `defaultSpamQPS`, client-go tools/record/events_cache.go.
pub const LONGEST_GAP: i64 = 300;

/// An event about an object, usually a warning.
#[derive(Clone, Debug)]
pub struct Event {
    /// The reason, in one word.
    pub reason: Box<str>,
    /// The message, at most a thousand bytes.
    pub message: Box<str>,
    /// When it first occurred, in seconds since 1970.
    pub first: i64,
    /// When it last occurred, in seconds since 1970.
    pub last: i64,
    /// How often it occurred, as far as counted.
    pub count: i32,
}

/// The namespace, kind and name of an object.
pub(super) type About = (Box<str>, Kind, Box<str>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent {
    metadata: Metadata,
    involved_object: ObjectReference,
    #[serde(rename = "type")]
    type_: Option<Box<str>>,
    reason: Option<Box<str>>,
    message: Option<Box<str>>,
    first_timestamp: Option<Time>,
    last_timestamp: Option<Time>,
    event_time: Option<MicroTime>,
    series: Option<EventSeries>,
    count: Option<i32>,
}

#[derive(Deserialize)]
struct Named {
    metadata: Name,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Name {
    namespace: String,
    name: String,
    creation_timestamp: Option<String>,
}

impl Event {
    /// Returns why the API server refused to create or delete a pod, without the name of the pod: it differs in each
    /// attempt of a DaemonSet. A refused claim has an event of its own and one of its pod.
    pub fn refusal(&self) -> &str {
        let starts = ["Error creating: ", "Error deleting: "];
        let message: &str = &self.message;
        let message = starts.iter().find_map(|it| message.strip_prefix(it)).unwrap_or(message);
        let message = message.split_once(" failed error: ").map_or(message, |(_, rest)| rest);
        let of_claim =
            message.strip_prefix("failed to create PVC ").and_then(|it| it.split_once(": "));
        let message = of_claim.map_or(message, |(_, rest)| rest);
        match message.strip_prefix("pods \"").and_then(|rest| rest.split_once("\" is forbidden: "))
        {
            Some((_, reason)) => reason,
            None => message,
        }
    }

    /// Returns an event from its JSON, after the namespace, kind and name of its object. `None` if no rule needs it.
    /// Fails if it is not an event.
    pub fn read(json: &str) -> serde_json::Result<Option<(About, Self)>> {
        let raw: RawEvent = serde_json::from_str(json)?;
        let is_warning = raw.type_.as_deref().is_none_or(|it| it == "Warning");
        let is_needed = |it: &&str| match is_warning {
            true => REASONS.contains(it) || is_of_ended(it),
            false => NOTES.contains(it),
        };
        let Some(reason) = raw.reason.as_deref().filter(is_needed) else {
            return Ok(None);
        };
        let ObjectReference { kind, namespace, name, .. } = raw.involved_object;
        let Some(kind) = kind.and_then(|kind| Kind::named(&kind)) else { return Ok(None) };
        if reason == CREATED && !matches!(kind, Kind::DaemonSet | Kind::StatefulSet) {
            return Ok(None);
        }
        let created = raw.metadata.created();
        let at = raw.event_time.as_ref().map_or(created, |it| it.0.as_second());
        let count = raw.series.as_ref().and_then(|it| it.count).or(raw.count).unwrap_or(1);
        let series = raw.series.and_then(|it| it.last_observed_time).map(|it| it.0.as_second());
        let last = raw.last_timestamp.as_ref().map(|it| it.0.as_second());
        let message = raw.message.as_deref().unwrap_or_default();
        // The recorder puts this prefix before a message that stands for several.
        let message = message.strip_prefix("(combined from similar events): ").unwrap_or(message);
        let event = Event {
            reason: reason.into(),
            message: shorten(message.trim(), LONGEST).into_owned().into(),
            first: raw.first_timestamp.map_or(at, |it| it.0.as_second()),
            last: series.or(last).unwrap_or(at),
            count,
        };
        let [namespace, name] = [namespace, name].map(|it| it.unwrap_or_default().into());
        Ok(Some(((namespace, kind, name), event)))
    }

    /// Returns an event without the parts that no rule needs; `None` if no rule needs it. Anybody who may create events
    /// can write a message of any length. Fails if the JSON is not an event.
    pub fn reduced(json: &str) -> serde_json::Result<Option<String>> {
        let Some(((namespace, kind, name), event)) = Event::read(json)? else { return Ok(None) };
        let at = |seconds| Timestamp::from_second(seconds).ok().map(|it| it.to_string());
        let reduced = json!({
            "metadata": serde_json::from_str::<Named>(json)?.metadata,
            "involvedObject": {"kind": kind.as_str(), "namespace": namespace, "name": name},
            "type": if event.is_note() { "Normal" } else { "Warning" },
            "reason": event.reason, "message": event.message, "count": event.count,
            "firstTimestamp": at(event.first), "lastTimestamp": at(event.last),
        });
        Ok(Some(reduced.to_string()))
    }

    pub(super) fn is_note(&self) -> bool {
        NOTES.contains(&&*self.reason)
    }

    /// Returns whether both are the same event, without a long gap between them.
    pub(super) fn continues(&self, other: &Event) -> bool {
        self.reason == other.reason
            && self.message == other.message
            && self.first <= other.last.saturating_add(LONGEST_GAP)
            && other.first <= self.last.saturating_add(LONGEST_GAP)
    }

    pub(super) fn absorb(&mut self, other: &Event) {
        self.first = self.first.min(other.first);
        self.last = self.last.max(other.last);
        self.count = self.count.saturating_add(other.count);
    }
}

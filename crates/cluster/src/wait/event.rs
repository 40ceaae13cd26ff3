use serde::Serialize;
use setguard_core::observed::RolloutStatus;
use setguard_files::report::json::{CommandV1, DifferenceV1};

use super::{
    decision::{Decision, Obstacle},
    flapping::FLAPS,
};
use crate::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventType {
    #[default]
    Progress,
    Done,
    Stuck,
    Unfinished,
    Repair,
    Note,
    End,
}

/// As JSON, each event is one line.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    api_version: &'static str,
    kind: &'static str,
    pub(crate) time: String,
    #[serde(rename = "type")]
    pub(crate) type_: EventType,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<ObjectV1>,
    pub(crate) message: String,
    /// The message without the text of the findings.
    #[serde(skip)]
    pub(crate) headline: String,
    /// Identifies the progress and the obstacle. The log gets no further line while both stay the same.
    #[serde(skip)]
    pub(crate) key: [String; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(flatten)]
    counts: Option<CountsV1>,
    /// The pod that the rollout waits for, and since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingV1<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectV1 {
    api_version: &'static str,
    kind: &'static str,
    namespace: String,
    name: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CountsV1 {
    updated: i32,
    to_update: i32,
    ready: i32,
    wanted: i32,
}

#[derive(Debug, Serialize)]
struct FindingV1<'a> {
    rule: &'static str,
    field: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandV1<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<DifferenceV1<'a>>,
}

impl<'a> Event<'a> {
    pub(crate) fn new(type_: EventType, message: impl Into<String>, now: Timestamp) -> Self {
        Event {
            api_version: "setguard.io/v1",
            kind: "WaitEvent",
            time: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            type_,
            message: message.into(),
            ..Event::default()
        }
    }

    pub(crate) fn about(mut self, target: &Target) -> Self {
        self.object = Some(ObjectV1 {
            api_version: "apps/v1",
            kind: target.kind.as_str(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        });
        self
    }

    pub(crate) fn of(
        type_: EventType,
        target: &Target,
        decision: &Decision,
        now: Timestamp,
    ) -> Self {
        let standing = decision.standing.as_ref();
        let obstacle = match type_ {
            EventType::Stuck => decision.stuck.first(),
            _ => decision.obstacles.first(),
        };
        let standing_text = standing.map(RolloutStatus::text).unwrap_or_default();
        let mut headline = standing_text.clone();
        if type_ == EventType::Stuck {
            headline = match &*headline {
                "" => "cannot succeed".to_owned(),
                text => format!("cannot succeed: {text}"),
            };
        }
        let mut message = headline.clone();
        if let Some(obstacle) = obstacle.filter(|it| it.facts.heading() != standing_text) {
            let Facts { title, cause, since, .. } = &obstacle.facts;
            let between = if message.is_empty() { "" } else { "; " };
            // The headline counts the ready pods already.
            let text = match cause {
                Some(cause) if title.ends_with(" pods are ready") => cause.clone(),
                _ => obstacle.facts.heading(),
            };
            let since = since.filter(|_| !text.contains(" since "));
            let since = since.map(|it| format!(" (since {})", clock(it)));
            message.push_str(&format!("{between}{text}{}", since.unwrap_or_default()));
        }
        // The findings that follow a headline do not name the cause of a flapping pod.
        let is_flapping = obstacle.is_some_and(|it| it.facts.outlook.state == FLAPS);
        let headline = if is_flapping { message.clone() } else { headline };
        let mut event = Event::new(type_, message, now).about(target);
        event.headline = headline;
        event.outcome = standing.and_then(RolloutStatus::outcome).map(|it| it.as_str());
        event.counts = standing.map(|it| CountsV1 {
            updated: it.updated,
            to_update: it.to_update,
            ready: it.ready,
            wanted: it.wanted,
        });
        event.key = key(standing, obstacle);
        event.pod = obstacle.and_then(|it| it.facts.pods.first().cloned());
        let since = obstacle.and_then(|it| it.facts.since);
        let since = since.and_then(|it| Timestamp::from_second(it).ok());
        event.since = since.map(|it| it.to_string());
        event
    }

    pub(crate) fn with(mut self, found: &[&'a Diagnostic]) -> Self {
        self.findings = found.iter().map(|it| FindingV1::of(it)).collect();
        self
    }
}

impl<'a> FindingV1<'a> {
    fn of(found: &'a Diagnostic) -> Self {
        let changes = found.facts.iter().flat_map(|it| &it.changes);
        FindingV1 {
            rule: found.rule.id,
            field: &found.field,
            message: &found.message,
            help: found.help.as_deref(),
            commands: found.commands.iter().map(CommandV1::from).collect(),
            changes: changes.map(DifferenceV1::from).collect(),
        }
    }
}

/// Returns what a person would act on: each tenth of the progress, and the obstacle.
fn key(standing: Option<&RolloutStatus>, obstacle: Option<&Obstacle>) -> [String; 2] {
    let obstacle = obstacle.map(|it| (&it.key, it.facts.pods.first()));
    let obstacle = obstacle.map_or(String::new(), |it| format!("{it:?}"));
    let way = standing.map(|it| {
        let tenth = |count: i32| i64::from(count) * 10 / i64::from(it.wanted.max(10));
        (it.phase, tenth(it.updated), tenth(it.ready), tenth(it.exist))
    });
    [format!("{way:?}"), obstacle]
}

/// Formats the time of day as `12:03:41Z`.
fn clock(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) => time.strftime("%H:%M:%SZ").to_string(),
        Err(_) => "an unknown time".to_owned(),
    }
}

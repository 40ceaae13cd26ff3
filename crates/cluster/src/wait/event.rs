//! The messages during a rollout: one event for each change of a set.

use jiff::Timestamp;
use serde::Serialize;
use setguard_core::observed::RolloutStatus;
use setguard_files::report::diagnostic::Diagnostic;

use super::{decision::Decision, target::Target};

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EventType {
    /// A set is on its way.
    Progress,
    /// The rollout of a set has ended well.
    Done,
    /// The rollout of a set cannot succeed.
    Stuck,
    /// The wait has ended before the rollout of a set.
    Unfinished,
    /// `--repair` has made a repair, or failed to.
    Repair,
    /// A fact that the user should know, such as that the API server does not answer.
    Note,
    /// The last event: the result of the wait.
    End,
}

/// An event. As JSON, each event is one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
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
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(flatten)]
    counts: Option<CountsV1>,
    /// The pod that the rollout waits for, and the time since which it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingV1>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectV1 {
    api_version: &'static str,
    kind: &'static str,
    namespace: String,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct CountsV1 {
    updated: i32,
    to_update: i32,
    ready: i32,
    wanted: i32,
}

/// A finding of the audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct FindingV1 {
    rule: &'static str,
    field: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandV1>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct CommandV1 {
    run: String,
    effect: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pods: Option<usize>,
}

impl Event {
    /// Creates an event that is not about a set.
    pub(crate) fn new(type_: EventType, message: impl Into<String>, now: Timestamp) -> Self {
        Event {
            api_version: "setguard.io/v1",
            kind: "WaitEvent",
            time: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            type_,
            object: None,
            message: message.into(),
            headline: String::new(),
            outcome: None,
            counts: None,
            pod: None,
            since: None,
            findings: Vec::new(),
        }
    }

    /// Sets the set that the event is about.
    pub(crate) fn about(mut self, target: &Target) -> Self {
        self.object = Some(ObjectV1 {
            api_version: "apps/v1",
            kind: target.kind.as_str(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
        });
        self
    }

    /// Creates an event with the progress of a set and the obstacle that it waits for.
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
        let mut headline = standing.map(RolloutStatus::text).unwrap_or_default();
        if type_ == EventType::Stuck {
            headline = match &*headline {
                "" => "cannot succeed".to_owned(),
                text => format!("cannot succeed: {text}"),
            };
        }
        let mut message = headline.clone();
        if let Some(obstacle) = obstacle {
            let since = obstacle.since.map(|it| format!(" (since {})", clock(it)));
            let between = if message.is_empty() { "" } else { "; " };
            message.push_str(&format!("{between}{}{}", obstacle.text, since.unwrap_or_default()));
        }
        let mut event = Event::new(type_, message, now).about(target);
        event.headline = headline;
        event.outcome = standing.and_then(RolloutStatus::outcome).map(|it| it.as_str());
        event.counts = standing.map(|it| CountsV1 {
            updated: it.updated,
            to_update: it.to_update,
            ready: it.ready,
            wanted: it.wanted,
        });
        event.pod = obstacle.and_then(|it| it.pod.clone());
        let since = obstacle.and_then(|it| it.since).and_then(|it| Timestamp::from_second(it).ok());
        event.since = since.map(|it| it.to_string());
        event
    }

    /// Adds the findings of the audit.
    pub(crate) fn with(mut self, found: &[Diagnostic]) -> Self {
        self.findings = found.iter().map(FindingV1::from).collect();
        self
    }
}

impl From<&Diagnostic> for FindingV1 {
    fn from(found: &Diagnostic) -> Self {
        let commands = found.commands.iter().map(|command| CommandV1 {
            run: command.line().to_owned(),
            effect: command.effect().as_str(),
            pods: command.effect().pods(),
        });
        FindingV1 {
            rule: found.rule.id,
            field: found.field.clone(),
            message: found.message.clone(),
            help: found.help.clone(),
            commands: commands.collect(),
        }
    }
}

/// Returns the time of day as `12:03:41Z`.
fn clock(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) => time.strftime("%H:%M:%SZ").to_string(),
        Err(_) => "an unknown time".to_owned(),
    }
}

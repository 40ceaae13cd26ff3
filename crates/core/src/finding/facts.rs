//! The parts of a message about a running cluster.

use jiff::Timestamp;

use super::difference::Difference;

const MOST_NAMES: usize = 100;

/// The parts of the message of a finding. Absent parts are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The fault in one short sentence.
    pub title: String,
    pub cause: Option<String>,
    pub effect: Option<String>,
    /// When the fault began, in seconds since 1970.
    pub since: Option<i64>,
    /// The names of the pods, at most a hundred.
    pub pods: Vec<String>,
    /// The names of the nodes, at most a hundred.
    pub nodes: Vec<String>,
    /// The fields that the new template changes, if a rollout does not go on.
    pub changes: Vec<Difference>,
    /// Whether the fault goes away by itself.
    pub outlook: Outlook,
    /// The pod that holds up the rollout: deleting it is enough.
    pub in_the_way: Option<String>,
    /// What else continues if a command of the help ends the fault, in the words of the help.
    pub goes_on: Option<String>,
}

/// Whether a fault goes away by itself, for a program that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outlook {
    /// The state in one word. As long as it changes, the object makes progress.
    pub state: &'static str,
    /// How long to wait.
    pub hold: Hold,
}

/// How long to wait for a fault to go away, the shortest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hold {
    /// The fault does not go away by itself.
    Lasting,
    /// The fault seldom goes away by itself, for example because a client creates the missing object.
    Seldom,
    /// The fault often goes away by itself.
    #[default]
    Passing,
    /// The fault often goes away by itself, and has existed since this second.
    Since(i64),
    /// A container has ended this many times.
    Crash(i32),
    /// The controller last tried at this second. Only the next attempt shows whether the cause remains.
    Tried(i64),
    /// The fault may last until this second.
    Until(i64),
    /// The object is slow, not faulty.
    Slow,
}

impl Outlook {
    /// Creates an outlook.
    pub const fn new(state: &'static str, hold: Hold) -> Self {
        Outlook { state, hold }
    }
}

impl Facts {
    /// Creates facts with only a title.
    pub fn title(title: impl Into<String>) -> Self {
        Facts { title: title.into(), ..Facts::default() }
    }

    /// Sets the cause.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Sets the consequences.
    #[must_use]
    pub fn effect(mut self, effect: impl Into<Option<String>>) -> Self {
        self.effect = effect.into();
        self
    }

    /// Sets when the fault began, if known.
    #[must_use]
    pub fn since(mut self, seconds: i64) -> Self {
        self.since = Some(seconds).filter(|it| *it > 0);
        self
    }

    /// Adds pods.
    #[must_use]
    pub fn pods<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.pods.extend(names.into_iter().take(MOST_NAMES).map(Into::into));
        self
    }

    /// Adds nodes.
    #[must_use]
    pub fn nodes<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.nodes.extend(names.into_iter().take(MOST_NAMES).map(Into::into));
        self
    }

    /// Sets whether the fault goes away by itself.
    #[must_use]
    pub const fn outlook(mut self, outlook: Outlook) -> Self {
        self.outlook = outlook;
        self
    }

    /// `db-2 is not ready: ImagePullBackOff: …`
    pub fn heading(&self) -> String {
        let cause = self.cause.as_ref().map(|it| format!(": {it}"));
        self.title.clone() + &cause.unwrap_or_default()
    }

    /// Returns the message: `db-2 is not ready since 2026-11-22 06:10 UTC: ImagePullBackOff: …; the other pods …`.
    pub fn message(&self) -> String {
        let since = self.since.map(|it| format!(" since {}", at(it)));
        let cause = self.cause.as_ref().map(|it| format!(": {it}"));
        let effect = self.effect.as_ref().map(|it| format!("; {it}"));
        let rest = [since, cause, effect].into_iter().flatten();
        rest.fold(self.title.clone(), |text, part| text + &part)
    }
}

/// `1 node` or `3 nodes`.
pub fn count(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// `2026-11-22 06:10 UTC`. A point in time, not an age, so that the same finding has the same words each time.
pub fn at(seconds: i64) -> String {
    match Timestamp::from_second(seconds) {
        Ok(time) if seconds > 0 => format!("{} UTC", time.strftime("%Y-%m-%d %H:%M")),
        _ => "an unknown time".to_owned(),
    }
}

//! The parts of a message about a running cluster, for programs and for people in a hurry.

/// The number of pods and of nodes that are named.
const MOST_NAMES: usize = 100;

/// The parts of the message of a finding. What is absent isn't known, or isn't in the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The fault in one short sentence.
    pub title: String,
    /// The cause.
    pub cause: Option<String>,
    /// The consequences.
    pub effect: Option<String>,
    /// When the fault began, in seconds since 1970.
    pub since: Option<i64>,
    /// The names of the pods, at most a hundred.
    pub pods: Vec<String>,
    /// The names of the nodes, at most a hundred.
    pub nodes: Vec<String>,
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
}

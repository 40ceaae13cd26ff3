//! A finding, and the data that its rule adds.

use std::borrow::Cow;

use kube_yaml::Field;

use super::{
    facts::Facts,
    fix::{Change, Fix},
    help::Command,
    reason::Reason,
    rule::Meta,
};

/// A condition on the cluster or the applied object. Without it, a fault does no damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterAssumption {
    /// Nodes become full and run pods that need this one.
    FullNodes,
    /// Control plane nodes can run pods.
    ControlPlaneNodes,
    /// The pods' labels are the ones in the manifest.
    TemplateLabels,
}

/// A second field that belongs to a fault, such as the first of two equal names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The field. If the manifest does not have it, its place is not shown.
    pub field: Field,
    /// The field's part in the fault: a few words in lower case, no full stop.
    pub label: Cow<'static, str>,
}

/// A fault in a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: &'static Meta,
    pub field: Field,
    /// The field in the manifest, if the API server counts elements that the manifest has elsewhere.
    pub written: Option<Field>,
    /// The kind of fault, in the API server's vocabulary.
    pub reason: Reason,
    /// The description: lower case, no full stop (or the API server's own text).
    pub message: String,
    /// The remedy, unless the message contains it.
    pub help: Option<Cow<'static, str>>,
    /// Other fields that belong to the fault.
    pub related: Vec<Related>,
    /// The commands in the help, in its order.
    pub commands: Vec<Command>,
    /// The parts of the message, if the fault is in a running cluster.
    pub facts: Option<Box<Facts>>,
    /// The change that removes the fault, if a program can make it.
    pub fix: Option<Fix>,
    /// The first minor release where this is a fault, unless it always was.
    pub since: Option<u32>,
    /// Whether the finding is only a note, although its rule warns.
    pub is_note: bool,
    /// Whether pods behave differently from the plan of a rollout. The plan then shows the finding.
    pub is_in_plan: bool,
    /// Whether it is only advice about a change that the API server refuses.
    pub is_remedy: bool,
    /// The assumption without which this does no damage.
    pub assumption: Option<ClusterAssumption>,
    /// The kind of other objects that the finding is based on.
    pub through: Option<&'static str>,
}

impl Finding {
    /// Returns a finding without help or a fix.
    pub const fn new(rule: &'static Meta, field: Field, reason: Reason, message: String) -> Self {
        Finding {
            rule,
            field,
            written: None,
            reason,
            message,
            help: None,
            related: Vec::new(),
            commands: Vec::new(),
            facts: None,
            fix: None,
            since: None,
            is_note: false,
            is_in_plan: false,
            is_remedy: false,
            assumption: None,
            through: None,
        }
    }

    /// Returns the field in the manifest.
    pub fn place(&self) -> &Field {
        self.written.as_ref().unwrap_or(&self.field)
    }

    /// Returns message and help in one line, for causes, warnings and `check --format json`.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message).into(),
            None => self.message.as_str().into(),
        }
    }
}

/// The finding that was just reported, unless there was no room for it.
pub struct Reported<'f>(pub(super) Option<&'f mut Finding>);

impl Reported<'_> {
    fn set(mut self, change: impl FnOnce(&mut Finding)) -> Self {
        self.0.as_deref_mut().map(change);
        self
    }

    /// Sets the kind of other objects that the finding is based on.
    pub(crate) fn through(self, kind: &'static str) -> Self {
        self.set(|it| it.through = Some(kind))
    }

    /// Sets the change that removes the fault.
    pub fn fixed_by(self, fix: Fix) {
        self.set(|it| it.fix = Some(fix));
    }

    /// Lets a program remove the field. That is safe only if the field has no effect.
    pub fn removable(self, is_safe: bool) {
        self.set(|it| it.fix = Some(Fix { change: Change::Remove(it.field.clone()), is_safe }));
    }

    /// Makes the finding a note if its fault is uncertain or does little harm.
    pub fn noted_if(self, is_note: bool) -> Self {
        self.set(|it| it.is_note = is_note)
    }

    /// Sets whether a plan shows the finding too, because the pods would not run as the plan assumes.
    pub fn planned_if(self, is_in_plan: bool) -> Self {
        self.set(|it| it.is_in_plan = is_in_plan)
    }

    /// Marks the finding as advice about a change that the API server refuses.
    pub fn instead(self) {
        self.set(|it| it.is_remedy = true);
    }

    /// Sets the first minor release where this is a fault. For an older release the finding is only a note.
    pub fn since(self, minor: u32) -> Self {
        self.set(|it| it.since = Some(minor))
    }

    /// Sets the assumption without which this does no damage. In `check` the finding is a note if the file is for a
    /// cluster that doesn't meet it.
    pub fn only_with(self, assumption: ClusterAssumption) -> Self {
        self.set(|it| it.assumption = Some(assumption))
    }
}

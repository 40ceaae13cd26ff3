//! One finding, and what is added to it after it was reported.

use std::borrow::Cow;

use kube_yaml::Field;

use super::{facts::Facts, fix::Fix, help::Command, reason::Reason, rule::Meta};

/// A property of a cluster, or of what is applied, without which a fault does no damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterAssumption {
    /// Nodes that become full, and pods on them that need this one.
    FullNodes,
    /// Control plane nodes that can run pods.
    ControlPlaneNodes,
    /// Labels of the pods that are as the manifest has them.
    TemplateLabels,
}

/// Another field that belongs to a fault, such as the first of two equal names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// The field. If the manifest does not have it, the place is not shown.
    pub field: Field,
    /// The part that it plays: a few words in lower case, no full stop.
    pub label: Cow<'static, str>,
}

/// One fault in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found the fault.
    pub rule: &'static Meta,
    /// The field.
    pub field: Field,
    /// The kind of fault, in one word of the API server's vocabulary.
    pub reason: Reason,
    /// The description of the fault: lower case, no full stop (or the API server's own text).
    pub message: String,
    /// The value to write instead, if the message does not contain it.
    pub help: Option<Cow<'static, str>>,
    /// Other fields that belong to the fault.
    pub related: Vec<Related>,
    /// The commands that the help contains, in its order.
    pub commands: Vec<Command>,
    /// The parts of the message, of a fault in a running cluster.
    pub facts: Option<Box<Facts>>,
    /// The change that removes the fault, if a program can make it.
    pub fix: Option<Fix>,
    /// The minor release since which this is a fault, if it has not always been one.
    pub since: Option<u32>,
    /// Whether the finding is only a note, although its rule warns.
    pub is_note: bool,
    /// Whether pods do something else than the plan of a rollout assumes, so that the plan has to say so.
    pub is_in_plan: bool,
    /// The property of a cluster without which this does no damage.
    pub assumption: Option<ClusterAssumption>,
}

impl Finding {
    /// Returns a finding without help, which nothing fixes.
    pub const fn new(rule: &'static Meta, field: Field, reason: Reason, message: String) -> Self {
        Finding {
            rule,
            field,
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
            assumption: None,
        }
    }

    /// Returns message and help in one line, as in a cause, a warning and `check --format json`.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message).into(),
            None => self.message.as_str().into(),
        }
    }
}

/// A finding that was added, unless there was no room for it.
pub struct Reported<'f>(pub(super) Option<&'f mut Finding>);

impl Reported<'_> {
    /// Returns whether there was room for the finding.
    pub const fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Sets the change that removes the fault.
    pub fn fixed_by(self, fix: Fix) {
        if let Some(finding) = self.0 {
            finding.fix = Some(fix);
        }
    }

    /// Sets whether the finding is only a note, because it depends on what is not known or does little harm.
    pub fn noted_if(mut self, is_note: bool) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.is_note = is_note;
        }
        self
    }

    /// Sets whether a plan says it too, because its pods would not run as the plan assumes.
    pub fn planned_if(mut self, is_in_plan: bool) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.is_in_plan = is_in_plan;
        }
        self
    }

    /// Sets the minor release since which this is a fault. In a file for an older one it is only a note.
    pub fn since(mut self, minor: u32) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.since = Some(minor);
        }
        self
    }

    /// Sets the property of a cluster without which this does no damage. `check` only notes it where a file is for
    /// a cluster that lacks the property.
    pub fn only_with(mut self, assumption: ClusterAssumption) -> Self {
        if let Some(finding) = &mut self.0 {
            finding.assumption = Some(assumption);
        }
        self
    }
}

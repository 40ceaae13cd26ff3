//! The set that a rule about status checks, and the findings of the rule.

use jiff::{SignedDuration, Timestamp};

pub(in crate::rules) use super::StatusCheck;
use crate::finding::{MAX_MESSAGE, SOME_RULE, shorten};
use crate::rules::prelude::*;

/// A running cluster, and the time when it was read.
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    /// The objects of the cluster.
    pub observed: &'a Observed,
    /// The release and feature gates.
    pub cluster: &'a Cluster,
    /// The time when the cluster was read.
    pub now: Timestamp,
    /// How long a pod may be missing or not ready before a rule reports it.
    pub patience: SignedDuration,
    /// The context that kubectl needs to reach the cluster, if it is not the current one.
    pub context: Option<&'a str>,
}

impl Audit<'_> {
    /// The usual patience.
    pub const PATIENCE: SignedDuration = SignedDuration::from_mins(5);
}

/// The set that a rule checks, and the cluster around it.
#[derive(Clone, Copy, Debug)]
pub struct StatusQuery<'a> {
    pub set: &'a WorkloadStatus,
    /// The cluster around it.
    pub audit: &'a Audit<'a>,
}

impl StatusQuery<'_> {
    /// Returns whether the set is unhealthy and its pods were read. The pods of a healthy set are not always read. The
    /// status of a DaemonSet counts pods that are being deleted.
    pub fn has_pods_to_look_at(&self) -> bool {
        let observed = self.audit.observed;
        let is_deleted = || observed.pods(self.set).iter().any(|pod| pod.deleted.is_some());
        (!self.set.is_healthy() || is_deleted()) && observed.knows(Kind::Pod, self.set.namespace())
    }
}

/// The name of an object in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// The namespace; empty for a cluster-scoped object.
    pub namespace: Box<str>,
    pub kind: Kind,
    pub name: Box<str>,
    /// The apiVersion.
    pub api_version: &'static str,
    pub uid: Box<str>,
}

impl ObjectName {
    pub(in crate::rules) fn new(kind: Kind, namespace: &str, name: &str, uid: &str) -> Self {
        let (namespace, name, uid) = (namespace.into(), name.into(), uid.into());
        ObjectName { namespace, kind, name, api_version: kind.api_version(), uid }
    }
}

impl From<&WorkloadStatus> for ObjectName {
    fn from(set: &WorkloadStatus) -> Self {
        ObjectName::new(set.kind().into(), set.namespace(), set.name(), set.uid())
    }
}

/// A finding of a rule about status.
#[derive(Debug)]
pub struct StatusFinding {
    /// The object that the finding is about; `None` for the set that the rule checked.
    pub about: Option<ObjectName>,
    pub finding: Finding,
    /// Whether the finding only informs: it is then a note, whatever the mode of the rule.
    pub is_note: bool,
    /// Whether a rollout does not go on: the finding is then an error, unless the policy sets the mode of the rule.
    pub is_stuck: bool,
    /// A rule of a different family with the same cause in the same object. Its finding need not be shown.
    pub instead_of: Option<&'static str>,
}

impl StatusFinding {
    /// See [`Findings::report`]. The commands in the help, in this order, repair the set.
    pub(in crate::rules) fn new(path: &Path<'_>, facts: Facts, help: impl Into<Help>) -> Self {
        let Help { text, commands } = help.into();
        let message = shorten(&facts.message(), MAX_MESSAGE).into_owned();
        let finding = Finding::new(&SOME_RULE, path.to_field(), Reason::Invalid, message);
        let facts = Some(Box::new(facts));
        let finding = Finding { help: Some(text), commands, facts, ..finding };
        StatusFinding { about: None, finding, is_note: false, is_stuck: false, instead_of: None }
    }

    pub(in crate::rules) const fn note(mut self) -> Self {
        self.is_note = true;
        self
    }

    pub(in crate::rules) const fn stuck(mut self, is_stuck: bool) -> Self {
        self.is_stuck = is_stuck;
        self
    }

    pub(in crate::rules) fn about(mut self, about: ObjectName) -> Self {
        self.about = Some(about);
        self
    }

    pub(in crate::rules) const fn instead_of(mut self, rule: Option<&'static str>) -> Self {
        self.instead_of = rule;
        self
    }
}

/// The findings of a rule about status.
#[derive(Debug)]
pub struct StatusFindings {
    rule: &'static Meta,
    list: Vec<StatusFinding>,
    left_out: usize,
}

/// How many findings of one rule are kept for one object.
const MOST: usize = 10;

impl StatusFindings {
    /// Creates an empty list for findings of this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        StatusFindings { rule, list: Vec::new(), left_out: 0 }
    }

    pub(in crate::rules) fn add(&mut self, mut found: StatusFinding) {
        // Only one finding is added for each of the other objects.
        if found.about.is_none() && self.list.len() >= MOST {
            self.left_out += 1;
            return;
        }
        found.finding.rule = self.rule;
        self.list.push(found);
    }

    /// Returns the number of findings that there was no room for.
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns all findings.
    pub fn into_vec(self) -> Vec<StatusFinding> {
        self.list
    }
}

//! The set that a rule about status looks at, and what the rule finds.

use jiff::{SignedDuration, Timestamp};

use crate::{
    finding::{Finding, Findings, Help, Meta, Path, Reason},
    kubernetes::cluster::Cluster,
    observed::{Observed, Set},
};

/// A running cluster, and the moment at which it was seen.
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    /// What it has.
    pub observed: &'a Observed,
    /// Its release and feature gates.
    pub cluster: &'a Cluster,
    /// When it was seen.
    pub now: Timestamp,
    /// For how long a pod may be missing or not ready before that is reported.
    pub patience: SignedDuration,
    /// The context that kubectl needs to reach it, if it is not the current one.
    pub context: Option<&'a str>,
}

impl Audit<'_> {
    /// The usual patience.
    pub const PATIENCE: SignedDuration = SignedDuration::from_mins(5);
}

/// The set that a rule is asked about, and the cluster around it.
#[derive(Clone, Copy, Debug)]
pub struct StatusQuery<'a> {
    /// The set.
    pub set: &'a Set,
    /// The cluster around it.
    pub audit: &'a Audit<'a>,
}

impl StatusQuery<'_> {
    /// Whether the set is not healthy, and its pods, which may be why, are known. Pods of healthy sets
    /// are not read.
    pub fn has_pods_to_look_at(&self) -> bool {
        !self.set.is_healthy() && self.audit.observed.knows("Pod", self.set.namespace())
    }
}

/// The name of an object in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Empty for one that is in no namespace.
    pub namespace: Box<str>,
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: Box<str>,
    /// Its apiVersion.
    pub api_version: &'static str,
    /// Its uid.
    pub uid: Box<str>,
}

impl From<&Set> for ObjectName {
    fn from(set: &Set) -> Self {
        ObjectName {
            namespace: set.namespace().into(),
            kind: set.kind().as_str(),
            name: set.name().into(),
            api_version: "apps/v1",
            uid: set.uid().into(),
        }
    }
}

/// What a rule about status found.
#[derive(Debug)]
pub struct StatusFinding {
    /// The object that it is about; `None` if it is about the set that the rule was asked about.
    pub about: Option<ObjectName>,
    /// The finding.
    pub finding: Finding,
    /// Whether it only informs: it is then a note, whatever the mode of the rule.
    pub is_note: bool,
    /// A rule of another family that finds the same cause in the same object. What that one found need
    /// not be shown.
    pub instead_of: Option<&'static str>,
}

/// What a rule reports.
#[derive(Debug)]
pub(in crate::rules) struct Report<'p> {
    path: &'p Path<'p>,
    message: String,
    help: Help,
    about: Option<ObjectName>,
    is_note: bool,
    instead_of: Option<&'static str>,
}

impl<'p> Report<'p> {
    /// Something is wrong with this field of the set; see [`Findings::report`]. The help names in
    /// backticks what to run next: in this order, the commands repair it.
    pub(in crate::rules) fn new(
        path: &'p Path<'p>,
        message: String,
        help: impl Into<Help>,
    ) -> Self {
        Report { path, message, help: help.into(), about: None, is_note: false, instead_of: None }
    }

    /// It only informs.
    pub(in crate::rules) const fn note(mut self) -> Self {
        self.is_note = true;
        self
    }

    /// It is about another object than the set.
    pub(in crate::rules) fn about(mut self, about: ObjectName) -> Self {
        self.about = Some(about);
        self
    }

    /// A rule of another family finds the same.
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

/// The number of findings of one rule that are kept for one object.
const MOST: usize = 10;

impl StatusFindings {
    /// An empty list of findings of this rule.
    pub const fn of(rule: &'static Meta) -> Self {
        StatusFindings { rule, list: Vec::new(), left_out: 0 }
    }

    /// Adds a finding.
    pub(in crate::rules) fn add(&mut self, report: Report<'_>) {
        let Report { path, message, help, about, is_note, instead_of } = report;
        // Those about other objects are one for each of these.
        if about.is_none() && self.list.len() >= MOST {
            self.left_out += 1;
            return;
        }
        let mut found = Findings::of(self.rule);
        found.report(path, Reason::Invalid, message, help);
        let finding = found.into_vec().pop();
        self.list.extend(finding.map(|finding| StatusFinding {
            about,
            finding,
            is_note,
            instead_of,
        }));
    }

    /// How many findings there was no room for.
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// All findings.
    pub fn into_vec(self) -> Vec<StatusFinding> {
        self.list
    }
}

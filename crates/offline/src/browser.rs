//! The commands for a program without files, such as a web page: texts in, JSON out.

use serde_json::{json, value::RawValue};

use crate::explain;
use crate::prelude::*;
use crate::{
    check::{
        editor::Edit,
        in_memory::{Texts, VerifiedFix},
    },
    plan,
};
pub use setguard_files::{manifests::source::Source, policy_file::args::PolicyArgs};

/// The inputs of a command besides the manifests. An empty text counts as absent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Inputs {
    /// The name of the manifests in messages.
    pub file: String,
    /// The target Kubernetes release, as in `--kube-version`.
    pub release: String,
    pub policy: String,
    /// The previous manifests, as in `--against`.
    pub before: String,
    /// The objects in the cluster, as in `--inventory` and `--nodes`.
    pub cluster: String,
    /// The pods that never become ready, as in `--never-ready`.
    pub never_ready: Vec<String>,
}

#[derive(Serialize)]
struct CheckV1 {
    report: Box<RawValue>,
    fixes: Vec<Value>,
    failures: Vec<String>,
}

#[derive(Serialize)]
struct PlanV1 {
    plan: Box<RawValue>,
    words: Vec<plan::Words>,
    failures: Vec<String>,
}

impl Inputs {
    /// Parses the JSON of the inputs. Fails if the JSON is invalid.
    pub fn parse(json: &str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| format!("the inputs: {error}"))
    }

    /// Checks manifests. Returns the report of `setguard check --format json`, the available fixes, and messages about
    /// unreadable input. Fails if the release or the policy is invalid.
    pub fn check(self, manifests: &str) -> Result<String, String> {
        let policy = self.policy()?;
        let checked = self.texts(manifests, &policy).check();
        let (report, fixes, failures) = checked.map_err(|error| error.to_string())?;
        let fixes = fixes.into_iter().map(|(finding, fix)| fix_v1(finding, fix, manifests));
        to_json(&CheckV1 { report: raw(report)?, fixes: fixes.collect(), failures })
    }

    /// Returns the manifests after all safe fixes, or an error if the release or the policy is invalid.
    pub fn fix(self, manifests: &str) -> Result<String, String> {
        let policy = self.policy()?;
        let fixed = self.texts(manifests, &policy).fix();
        Ok(fixed.unwrap_or_else(|| manifests.to_owned()))
    }

    /// Returns the plan of `setguard plan --format json`, the words of its text for each object, and messages about
    /// unreadable input, or an error if the release or the policy is invalid.
    pub fn plan(self, manifests: &str) -> Result<String, String> {
        let policy = self.policy()?;
        let planned = self.planned(manifests, &policy).plan();
        let (plan, words, failures) = planned.map_err(|error| error.to_string())?;
        to_json(&PlanV1 { plan: raw(plan)?, words, failures })
    }

    /// Returns the plan of `setguard plan --format markdown`, for the fuzzer, or an error if the release or the policy
    /// is invalid.
    #[cfg(fuzzing)]
    pub fn markdown(self, manifests: &str) -> Result<String, String> {
        let policy = self.policy()?;
        let plan =
            self.planned(manifests, &policy).markdown().map_err(|error| error.to_string())?;
        String::from_utf8(plan).map_err(|error| error.to_string())
    }

    fn planned<'a>(self, manifests: &str, policy: &'a Policy) -> plan::Texts<'a> {
        let new = self.manifests(manifests);
        let sources = [new, named("before", self.before), named("cluster", self.cluster)];
        plan::Texts { sources, policy, never_ready: self.never_ready }
    }

    fn texts<'a>(self, manifests: &str, policy: &'a Policy) -> Texts<'a> {
        let new = self.manifests(manifests);
        let (old, cluster) = (named("before", self.before), named("cluster", self.cluster));
        Texts { new, old, cluster, policy }
    }

    fn manifests(&self, text: &str) -> Source {
        let name = if self.file.is_empty() { "manifest.yaml" } else { &self.file };
        named(name, text.to_owned())
    }

    fn policy(&self) -> Result<Policy, String> {
        let release = Some(&*self.release).filter(|text| !text.is_empty());
        let kube_version = release.map(str::parse::<Version>).transpose()?;
        let flags = PolicyArgs { kube_version, ..PolicyArgs::default() };
        let text = Some(&*self.policy).filter(|text| !text.trim().is_empty());
        flags.parse(text).map_err(|error| error.to_string())
    }
}

/// `finding` is the index of the finding in the report. Positions are UTF-16 code units, as in JavaScript.
fn fix_v1(finding: usize, fix: VerifiedFix, text: &str) -> Value {
    let units = |byte: usize| text.get(..byte).map_or(0, |before| before.encode_utf16().count());
    let edits = fix.edits.into_iter().map(|Edit { bytes, with }| {
        json!({"from": units(bytes.start), "to": units(bytes.end), "insert": with})
    });
    let edits: Vec<_> = edits.collect();
    json!({"finding": finding, "title": fix.title, "isSafe": fix.is_safe, "edits": edits})
}

/// Returns a rule as `setguard rules --format json` prints it, with its reasons and examples.
pub fn explain(rule: &str) -> Option<String> {
    let rule = catalogue::find(rule)?;
    let mut json = explain::to_json(rule);
    let meta = &rule.meta;
    for (key, text) in [("why", meta.why), ("bad", meta.bad), ("good", meta.good)] {
        json[key] = text.trim_end().into();
    }
    Some(json.to_string())
}

/// Returns the supported Kubernetes releases, newest first.
pub fn releases() -> Vec<String> {
    let minors = Version::OLDEST.minor()..=Version::NEWEST.minor();
    minors.rev().map(|minor| Version::of_minor(minor).to_string()).collect()
}

fn named(name: &str, text: String) -> Source {
    Source::named(name.to_owned(), text)
}

fn raw(json: Vec<u8>) -> Result<Box<RawValue>, String> {
    let json = String::from_utf8(json).map_err(|error| error.to_string())?;
    RawValue::from_string(json).map_err(|error| error.to_string())
}

fn to_json(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

//! Rules: their ids, descriptions and modes.

use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de};

words! {
    all
    /// How strictly a rule is enforced.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "lowercase")]
    #[schemars(transform = bare_off)]
    pub enum Mode {
        /// The rule does not run.
        Off => "off",
        /// Findings are counted but not shown to the user; `check` shows them as notes.
        Audit => "audit",
        /// Findings are shown as warnings, and the object is allowed.
        Warn => "warn",
        /// Findings deny the object.
        Deny => "deny",
    }
}

/// Kubernetes and Helm read YAML 1.1, where a bare `off` is the boolean false.
fn bare_off(schema: &mut schemars::Schema) {
    if let Some(serde_json::Value::Array(modes)) = schema.get_mut("oneOf") {
        modes.push(serde_json::json!({ "const": false, "description": "`off` without quotes." }));
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mode = Mode::ALL.into_iter().find(|mode| mode.as_str() == text);
        mode.ok_or_else(|| format!("{text:?} is not a mode: use deny, warn, audit or off"))
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Mode;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("deny, warn, audit or off")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Mode, E> {
                text.parse().map_err(E::custom)
            }
            // See `bare_off`.
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Mode, E> {
                if on {
                    Err(E::invalid_value(de::Unexpected::Bool(on), &self))
                } else {
                    Ok(Mode::Off)
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// What a fault hurts: the section of its rule in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The object: the API server refuses it, drops a part of it, or warns of it.
    Refused,
    /// The pods never start or never stay.
    NeverStarts,
    /// Volumes and their content.
    Data,
    /// Changes that are not rolled out, or not as intended.
    Rollout,
    /// The choice of nodes.
    Nodes,
    /// Upgrades of the cluster, and drains of its nodes.
    Upgrade,
    /// Names in the network, and the pods that a selector finds.
    Names,
    /// The objects of a running cluster.
    Cluster,
    /// The policy and the injections of setguard.
    Guard,
}

impl Group {
    /// Every group, in the order of the index.
    pub const ALL: [Group; 9] = [
        Group::NeverStarts,
        Group::Data,
        Group::Rollout,
        Group::Nodes,
        Group::Names,
        Group::Upgrade,
        Group::Refused,
        Group::Cluster,
        Group::Guard,
    ];

    /// Returns the heading of the section.
    pub const fn title(self) -> &'static str {
        match self {
            Group::Refused => "The API server refuses, drops or warns of something",
            Group::NeverStarts => "Pods never start",
            Group::Data => "Data is at risk",
            Group::Rollout => "A change is not rolled out as intended",
            Group::Nodes => "Pods don't fit their nodes",
            Group::Upgrade => "Upgrades and drains of nodes",
            Group::Names => "Services and selectors find the wrong pods",
            Group::Cluster => "In a running cluster",
            Group::Guard => "setguard's policy and injections",
        }
    }
}

/// The description of a rule. Two descriptions are equal if they have the same id.
#[derive(Debug)]
pub struct Meta {
    /// The id in kebab-case. It never changes: it is the rule's folder, docs page, policy key and metric label, and
    /// appears in messages.
    pub id: &'static str,
    /// The headline of a finding: what is wrong, in at most eight words.
    pub title: &'static str,
    /// The summary, one line of at most 80 characters.
    pub summary: &'static str,
    /// The section of the index of rules.
    pub group: Group,
    /// The behaviour of Kubernetes, the harm, and the upstream source to read.
    pub why: &'static str,
    /// A manifest with the fault, checked by a test.
    pub bad: &'static str,
    /// The corrected manifest, checked by a test.
    pub good: &'static str,
    /// The mode, unless the policy sets a different one.
    pub mode: Mode,
    /// Whether a policy may change the mode and make exceptions. No policy can allow an object that the API server
    /// refuses.
    pub adjustable: bool,
}

impl PartialEq for Meta {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
impl Eq for Meta {}

impl PartialOrd for Meta {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Meta {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(other.id)
    }
}

/// A rule for findings that are counted but never shown, and for tests that need any rule.
pub static SOME_RULE: Meta = Meta {
    id: "some-rule",
    title: "some fault",
    summary: "",
    group: Group::Refused,
    why: "",
    bad: "",
    good: "",
    mode: Mode::Deny,
    adjustable: true,
};

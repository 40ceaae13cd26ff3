//! Rules: what they are called, what they say of themselves, and how strictly they are taken.

use std::{fmt, str::FromStr, sync::LazyLock};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::Findings;
use crate::{
    inject,
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::{api_validation, cross_object, traps::TRAPS},
};

/// How strictly a rule is taken.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Not run.
    Off,
    /// Counted, not shown to the user; a note in `check`.
    Audit,
    /// Shown, not refused.
    Warn,
    /// Refused.
    Deny,
}

impl Mode {
    /// `deny`, `warn`, `audit` or `off`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Audit => "audit",
            Mode::Deny => "deny",
            Mode::Off => "off",
            Mode::Warn => "warn",
        }
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
        match text {
            "audit" => Ok(Mode::Audit),
            "deny" => Ok(Mode::Deny),
            "off" => Ok(Mode::Off),
            "warn" => Ok(Mode::Warn),
            _ => Err(format!("{text:?} is not a mode: use deny, warn, audit or off")),
        }
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
            // Kubernetes' YAML is YAML 1.1, in which a bare `off` is the boolean false.
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

/// What a rule says of itself.
#[derive(Debug)]
pub struct Meta {
    /// Kebab-case and never changed: file, fixture folder, docs anchor, policy key, metric label
    /// and mark in messages.
    pub id: &'static str,
    /// One line of at most 80 characters.
    pub summary: &'static str,
    /// What Kubernetes does, why that hurts, and where that can be read.
    pub why: &'static str,
    /// A manifest that has the fault. A test runs it.
    pub bad: &'static str,
    /// The same manifest without it. A test runs it.
    pub good: &'static str,
    /// How strictly it is taken unless the policy says otherwise.
    pub mode: Mode,
    /// Which kinds of object it looks at.
    pub kinds: &'static [&'static str],
    /// The release of setguard that brought it.
    pub since: &'static str,
    /// Whether a policy may change its mode and make exceptions from it. What the API server
    /// refuses stays refused.
    pub adjustable: bool,
}

/// When a trap can see what it looks for.
///
/// The API server runs mutating webhooks, drops the fields of disabled features, judges the object
/// itself, and then runs validating webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Only before the API server dropped or refused it: `/mutate`, as a warning, and `check`.
    Before,
    /// Once the API server has accepted the object: `/validate`, and `check`.
    After,
}

/// Something that the API server accepts and that then does not work, or not as meant.
#[derive(Debug)]
pub struct Trap {
    /// What it says of itself.
    pub meta: Meta,
    /// When it speaks.
    pub phase: Phase,
    /// Looks at an object. Pure: no IO, no clock, no policy.
    pub check: fn(&Subject<'_>, &Cluster, &mut Findings),
}

/// What every rule says of itself, in alphabetical order of the ids.
pub fn catalogue() -> &'static [&'static Meta] {
    static ALL: LazyLock<Vec<&'static Meta>> = LazyLock::new(|| {
        let traps = TRAPS.iter().map(|trap| &trap.meta);
        let together = cross_object::RULES.iter().map(|rule| &rule.meta);
        let all = api_validation::METAS.iter().chain(inject::METAS.iter());
        let mut all: Vec<_> = all.chain(traps).chain(together).collect();
        all.sort_by_key(|meta| meta.id);
        all
    });
    &ALL
}

/// A rule by its id.
pub fn find(id: &str) -> Option<&'static Meta> {
    let all = catalogue();
    all.binary_search_by_key(&id, |meta| meta.id).ok().map(|i| all[i])
}

/// The rule whose id is nearest to a misspelt one, if any is near.
pub fn nearest(id: &str) -> Option<&'static str> {
    nearest_of(id, catalogue().iter().map(|meta| meta.id))
}

/// The word nearest to a misspelt one, if any is near enough to be meant.
pub(crate) fn nearest_of<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(word.len()) / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

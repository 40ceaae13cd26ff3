//! The limits of a policy on the effects of changes.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pattern::{any, include};
use crate::{finding::Mode, kubernetes::int_or_percent, rules::limit_exceeded::Limits};

/// Limits on the effects of changes of certain objects.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Limit", extend("anyOf" = consequences()))]
pub struct LimitEntry {
    /// Namespaces; `*` stands for any text. If empty: every namespace.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Names of objects; `*` stands for any text. If empty: every name.
    #[serde(default)]
    pub names: Vec<String>,
    /// How many pods a rollout may take down at once: a number, or a percentage of the existing
    /// pods, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "number_or_percentage")]
    pub at_most_unavailable: Option<IntOrString>,
    /// `false`: a change must not delete claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletes_claims: Option<bool>,
    /// `false`: a change must not begin a rollout that waits for a broken pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_ends: Option<bool>,
    /// `false`: a change must not replace all pods at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces_all: Option<bool>,
    /// Who may exceed the limit with the annotation `setguard.io/exceed`. If absent: nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_exceed: Option<MayExceed>,
    /// How setguard reacts to a change beyond the limit: `deny` (the default) or `warn`.
    #[serde(default = "deny")]
    #[schemars(extend("enum" = ["deny", "warn"]))]
    pub mode: Mode,
    /// The reason for the limit. Messages contain it.
    #[schemars(extend("pattern" = r"\S"))]
    pub reason: String,
}

/// Who may exceed a limit with an annotation.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MayExceed {
    /// User names, exactly as the API server knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<String>,
    /// Group names, exactly as the API server knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = json!({ "type": "string", "not": { "enum": EVERYONE } })))]
    pub groups: Vec<String>,
    /// Whether `setguard check` and `setguard plan` honor the annotation in a manifest, although
    /// they do not know the user.
    #[serde(default)]
    pub in_manifests: bool,
}

/// Nearly every client belongs to these groups.
const EVERYONE: [&str; 3] =
    ["system:authenticated", "system:unauthenticated", "system:serviceaccounts"];

impl MayExceed {
    /// Everyone in `other` is also listed here.
    fn includes(&self, other: &MayExceed) -> bool {
        other.users.iter().all(|it| self.users.contains(it))
            && other.groups.iter().all(|it| self.groups.contains(it))
            && self.in_manifests >= other.in_manifests
    }

    fn problems(&self) -> impl Iterator<Item = (&'static str, String)> {
        let is_empty = self.users.is_empty() && self.groups.is_empty() && !self.in_manifests;
        let empty = is_empty.then(|| "lists neither users nor groups".to_owned());
        let all = self.groups.iter().find(|it| EVERYONE.contains(&it.as_str()));
        let all = all
            .map(|it| format!("every client belongs to {it}, or nearly; name a group of people"));
        empty.into_iter().chain(all).map(|message| ("mayExceed", message))
    }
}

const fn deny() -> Mode {
    Mode::Deny
}

fn consequences() -> Value {
    let forbids =
        |name: &str| json!({ "properties": { name: { "const": false } }, "required": [name] });
    let most = "atMostUnavailable";
    let number =
        json!({ "properties": { most: { "type": ["integer", "string"] } }, "required": [most] });
    json!([number, forbids("deletesClaims"), forbids("neverEnds"), forbids("replacesAll")])
}

fn number_or_percentage(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": i32::MAX },
        { "type": "string", "pattern": "^(100|[0-9]{1,2})%$" },
        { "type": "null" },
    ] })
}

/// A validated limit.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The patterns of namespaces. Empty: every namespace.
    pub namespaces: Vec<String>,
    /// The patterns of names. Empty: every name.
    pub names: Vec<String>,
    /// The forbidden effects.
    pub limits: Limits,
    /// How setguard reacts to a change beyond the limit.
    pub mode: Mode,
    /// Who may exceed the limit.
    pub may_exceed: Option<MayExceed>,
}

impl Limit {
    /// Returns whether the limit applies to this object.
    pub fn covers(&self, namespace: &str, name: &str) -> bool {
        any(&self.namespaces, namespace) && any(&self.names, name)
    }

    /// This limit forbids everything that `other` forbids, for at least the same objects and as strictly.
    pub(super) fn includes(&self, other: &Limit) -> bool {
        let (ours, theirs) = (&self.limits, &other.limits);
        let most = match (&ours.at_most_unavailable, &theirs.at_most_unavailable) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(IntOrString::Int(a)), Some(IntOrString::Int(b))) => a <= b,
            (Some(IntOrString::String(_)), Some(IntOrString::String(_))) => {
                let number =
                    |it: &Limits| it.at_most_unavailable.as_ref().map(int_or_percent::number);
                number(ours) <= number(theirs)
            }
            // Which of the two is stricter depends on the number of pods.
            _ => false,
        };
        let none = MayExceed::default();
        let [our_users, their_users] =
            [self, other].map(|it| it.may_exceed.as_ref().unwrap_or(&none));
        include(&self.namespaces, &other.namespaces)
            && include(&self.names, &other.names)
            && their_users.includes(our_users)
            && self.mode >= other.mode
            && most
            && ours.deletes_claims <= theirs.deletes_claims
            && ours.never_ends <= theirs.never_ends
            && ours.replaces_all <= theirs.replaces_all
    }
}

impl LimitEntry {
    pub(super) fn validate(self) -> (Limit, Vec<(&'static str, String)>) {
        let mut problems = Vec::new();
        if self.reason.trim().is_empty() {
            problems.push(("reason", "a limit needs a reason".to_owned()));
        }
        if !matches!(self.mode, Mode::Deny | Mode::Warn) {
            problems.push(("mode", format!("{} is neither deny nor warn", self.mode)));
        }
        if let Some(value) = &self.at_most_unavailable {
            let is_share = |text: &str| {
                let number =
                    text.strip_suffix('%').filter(|it| it.bytes().all(|c| c.is_ascii_digit()));
                number.and_then(|it| it.parse::<u32>().ok()).is_some_and(|it| it <= 100)
            };
            let is_valid = match value {
                IntOrString::Int(number) => *number >= 0,
                IntOrString::String(text) => is_share(text),
            };
            if !is_valid {
                let message = "write a number of pods, such as 2, or a percentage, such as 25%";
                problems.push(("atMostUnavailable", message.to_owned()));
            }
        }
        problems.extend(self.may_exceed.iter().flat_map(MayExceed::problems));
        let forbids = [self.deletes_claims, self.never_ends, self.replaces_all];
        if self.at_most_unavailable.is_none() && !forbids.contains(&Some(false)) {
            let message = "limits nothing; write atMostUnavailable, or `false` for deletesClaims, neverEnds \
                           or replacesAll";
            problems.push(("", message.to_owned()));
        }
        let limits = Limits {
            at_most_unavailable: self.at_most_unavailable,
            deletes_claims: self.deletes_claims.unwrap_or(true),
            never_ends: self.never_ends.unwrap_or(true),
            replaces_all: self.replaces_all.unwrap_or(true),
            reason: self.reason,
        };
        let Self { namespaces, names, mode, may_exceed, .. } = self;
        (Limit { namespaces, names, limits, mode, may_exceed }, problems)
    }
}

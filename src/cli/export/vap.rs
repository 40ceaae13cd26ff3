//! The rules as ValidatingAdmissionPolicies.
//!
//! Kubernetes: `pkg/apis/admissionregistration/validation/validation.go` in the API server's own
//! source, and `staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating` for the order:
//! policies are evaluated after the object has been validated.

use std::{collections::BTreeSet, fmt::Write as _};

use jiff::civil::Date;
use serde_json::{Value, json};
use textwrap::{Options, WordSplitter};

use super::objects::{SUFFIX, append, condition, not_in_deletion, quote, validating};
use crate::{
    catalogue::{self, HOME},
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
    object::marks::IGNORE_ANNOTATION,
    policy::{Exception, Policy},
    rules::{
        cross_object,
        rule::{Cel, Operation, Phase, Rule, cel::MACROS},
        status,
        traps::{IN_CEL, TRAPS, limits::LIMIT_EXCEEDED},
    },
};

/// Returns the policies as YAML, with comments about what is not exported. `only` has the ids of the
/// rules to export; if it is empty, all.
///
/// # Errors
/// Returns an error if an object cannot be written as YAML.
pub(super) fn yaml(policy: &Policy, only: &[String], today: Date) -> anyhow::Result<String> {
    let (mut objects, mut left_out) = (Vec::new(), Vec::new());
    let mut remarks = Vec::new();
    let mut count = 0;
    for rule in catalogue::all() {
        let id = rule.meta.id;
        if !only.is_empty() && !only.iter().any(|it| it == id) {
            continue;
        }
        match exported(rule.meta, policy) {
            Ok((rule, cel)) => {
                count += 1;
                if let Some(misses) = cel.misses {
                    remarks.push(format!("{id} does not find {misses}."));
                }
                let exceptions = Exceptions::of(policy, &rule.meta, today);
                remarks.extend(exceptions.ends.map(|day| {
                    format!("An exception from {id} ends on {day}: export again after that day.")
                }));
                objects.extend(policies(rule, cel, policy.mode(&rule.meta), &exceptions));
            }
            Err(why) => left_out.push((id, why)),
        }
    }
    let mut text = header(policy, count, &remarks, &left_out);
    append(&mut text, &objects)?;
    Ok(text)
}

fn header(
    policy: &Policy,
    count: usize,
    remarks: &[String],
    left_out: &[(&str, String)],
) -> String {
    let (version, release) = (env!("CARGO_PKG_VERSION"), policy.cluster.version);
    let file = policy.file.as_ref().map(|file| format!(", with the policy {file}"));
    let mut text = format!(
        "# {count} rules of setguard {version} as ValidatingAdmissionPolicies, for Kubernetes {release}{}.\n",
        file.unwrap_or_default(),
    );
    for remark in remarks {
        let _ = writeln!(text, "# {remark}");
    }
    if !left_out.is_empty() {
        text.push_str("#\n# Not exported:\n");
    }
    let reasons: BTreeSet<_> = left_out.iter().map(|(_, why)| why.as_str()).collect();
    for reason in reasons {
        let ids = left_out.iter().filter(|(_, why)| why == reason).map(|(id, _)| *id);
        let ids = ids.collect::<Vec<_>>().join(", ");
        let options = Options::new(100).initial_indent("# - ").subsequent_indent("#   ");
        let options = options.word_splitter(WordSplitter::NoHyphenation);
        let _ = writeln!(text, "{}", textwrap::fill(&format!("{reason}: {ids}"), options));
    }
    text
}

/// Returns a rule with its expression, or the reason why it isn't exported.
fn exported(meta: &Meta, policy: &Policy) -> Result<(&'static Rule, &'static Cel), String> {
    if let Some((rule, cel)) = IN_CEL.iter().find(|(rule, _)| rule.meta == *meta) {
        return match cel.gate.filter(|gate| !policy.cluster.enabled(gate)) {
            Some(gate) => Err(format!("the feature gate {gate} is off in this release")),
            None if policy.mode(meta) == Mode::Off => Err("the policy turns it off".to_owned()),
            None => Ok((rule, cel)),
        };
    }
    let is_of = |rules: &[&Rule]| rules.iter().any(|rule| rule.meta == *meta);
    let trap = TRAPS.iter().find(|rule| rule.meta == *meta);
    let why = match trap.map(|rule| rule.phase()) {
        Some(Some(Phase::Before { .. })) => {
            "the API server drops or refuses the setting before it evaluates policies"
        }
        Some(Some(Phase::Manifest)) => "only a manifest shows it",
        Some(_) => "it is not written in CEL; the webhook and `setguard check` have it",
        None if *meta == LIMIT_EXCEEDED => "limits of a policy are not written in CEL",
        None if is_of(cross_object::RULES) => "it compares several objects",
        None if is_of(status::RULES) => {
            "it is about the state of a cluster; `setguard audit` has it"
        }
        None if !meta.adjustable && meta.mode == Mode::Deny => {
            "the API server refuses it itself, before it evaluates policies"
        }
        None => "it is not about a DaemonSet or a StatefulSet alone",
    };
    Err(why.to_owned())
}

/// Returns the policies of a rule with their bindings. A rule that denies has two: if the old object had
/// the fault too, it only warns.
fn policies(rule: &Rule, cel: &Cel, mode: Mode, exceptions: &Exceptions) -> Vec<Value> {
    let id = rule.meta.id;
    let (new, old) = (expand(cel.fault, "object"), expand(cel.fault, "oldObject"));
    let base = Base { rule, cel, mode, exceptions };
    let name = format!("{id}.{SUFFIX}");
    let ratchets = mode == Mode::Deny && cel.only.is_none();
    if !ratchets {
        return base.pair(&name, mode, &format!("!({new})"), cel.only);
    }
    let had = format!("oldObject != null && ({old})");
    let mut objects = base.pair(&name, mode, &format!("!({new}) || ({had})"), None);
    let name = format!("{id}.had-before.{SUFFIX}");
    let only = Some(Operation::Update);
    objects.extend(base.pair(&name, Mode::Warn, &format!("!({new}) || !({had})"), only));
    objects
}

/// The parts that the policies of a rule have in common.
struct Base<'a> {
    rule: &'a Rule,
    cel: &'a Cel,
    /// The mode that the policy sets.
    mode: Mode,
    exceptions: &'a Exceptions,
}

impl Base<'_> {
    /// Returns a policy and its binding.
    fn pair(&self, name: &str, mode: Mode, holds: &str, only: Option<Operation>) -> Vec<Value> {
        let Base { rule, cel, .. } = self;
        let meta = &rule.meta;
        let operations = match only {
            Some(operation) => vec![operation.as_str()],
            None => vec![Operation::Create.as_str(), Operation::Update.as_str()],
        };
        let resources: Vec<_> = rule.kinds().iter().filter_map(|kind| resource(*kind)).collect();
        let end = format!("; {} (setguard: {}, {HOME}/rules/{}.html)", cel.help, meta.id, meta.id);
        let spec = json!({
            // An expression that fails is a mistake of setguard, and must not block a write.
            "failurePolicy": "Ignore",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"],
                "operations": operations, "resources": resources,
            }] },
            "matchConditions": self.conditions(),
            "validations": [{
                "expression": holds,
                "messageExpression":
                    format!("{} + {}", expand(cel.message, "object"), quote(&end)),
                "message": format!("{}{end}", meta.summary),
                "reason": "Invalid",
            }],
        });
        validating(name, mode, &spec).to_vec()
    }

    /// Returns the conditions under which a policy is evaluated.
    fn conditions(&self) -> Vec<Value> {
        let mut conditions = vec![not_in_deletion()];
        let id = self.rule.meta.id;
        // An object can silence a rule that warns, and no rule that denies.
        if self.mode == Mode::Warn {
            let ignores = format!(
                "!object.metadata.?annotations[?{}].orValue('').split(',')\
                 .exists(id, id.trim() == {})",
                quote(IGNORE_ANNOTATION),
                quote(id),
            );
            conditions.push(condition("not-ignored", ignores));
        }
        if let Some(covered) = &self.exceptions.covered {
            conditions.push(condition("no-exception", format!("!({covered})")));
        }
        conditions
    }
}

/// The exceptions from a rule.
struct Exceptions {
    /// An expression that is true for the objects that are exempt.
    covered: Option<String>,
    /// The first day on which an exception ends.
    ends: Option<Date>,
}

impl Exceptions {
    /// Returns the exceptions from a rule that have not expired.
    fn of(policy: &Policy, meta: &Meta, today: Date) -> Self {
        let all: Vec<_> = policy
            .exceptions
            .iter()
            .filter(|it| it.is_about(meta) && it.expires.is_none_or(|last| last >= today))
            .collect();
        let covered: Vec<_> = all.iter().map(|it| format!("({})", covers(it))).collect();
        Exceptions {
            covered: (!covered.is_empty()).then(|| covered.join(" || ")),
            ends: all.iter().filter_map(|it| it.expires).min(),
        }
    }
}

/// Returns an expression that is true for the objects that an exception covers.
fn covers(exception: &Exception) -> String {
    let any = |value: &str, patterns: &[String]| {
        let pattern: Vec<_> = patterns.iter().map(|it| regex(it)).collect();
        format!("{value}.matches({})", quote(&format!("^({})$", pattern.join("|"))))
    };
    let parts = [
        ("request.namespace", exception.namespaces()),
        ("object.metadata.name", exception.names()),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(_, patterns)| !patterns.is_empty())
        .map(|(value, patterns)| any(value, patterns))
        .collect();
    if parts.is_empty() { "true".to_owned() } else { parts.join(" && ") }
}

/// Returns a pattern in which `*` stands for any text as a regular expression.
fn regex(pattern: &str) -> String {
    let mut regex = String::new();
    for c in pattern.chars() {
        match c {
            '*' => regex.push_str(".*"),
            c if c.is_alphanumeric() || c == '-' => regex.push(c),
            c if c.is_ascii() => regex.extend(['\\', c]),
            c => regex.push(c),
        }
    }
    regex
}

/// Returns an expression about an object, with its macros replaced.
fn expand(expression: &str, object: &str) -> String {
    let mut text = expression.to_owned();
    for (name, meaning) in MACROS {
        text = text.replace(name, meaning);
    }
    text.replace('@', object)
}

const fn resource(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::DaemonSet => Some("daemonsets"),
        Kind::StatefulSet => Some("statefulsets"),
        _ => None,
    }
}

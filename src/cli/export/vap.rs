//! The rules as ValidatingAdmissionPolicies.
//!
//! Kubernetes: `pkg/apis/admissionregistration/validation/validation.go` in the API server's own
//! source, and `staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating` for the order:
//! policies are evaluated after the object has been validated.

use std::fmt::Write as _;

use jiff::civil::Date;
use setguard_core::{
    object::annotations::IGNORE_ANNOTATION,
    rules::{
        in_cel,
        limit_exceeded::LIMIT_EXCEEDED,
        rule::{
            Cel, Operation, Phase, Rule,
            cel::{FEW, MANY},
        },
        too_large_to_check::TOO_LARGE,
    },
};
use textwrap::{Options, WordSplitter};

use super::{
    conditions::{Exceptions, expand, resource},
    limits, map,
    objects::{self, Export, IN_DELETION, Message, SUFFIX, matched, quote, validating, validation},
};
use crate::cli::prelude::*;

/// `only` has the ids of the rules to export, or is empty to export all.
pub(super) fn export(policy: &Policy, only: &[String], today: Date) -> Export {
    let (mut objects, mut left_out) = (Vec::new(), Vec::new());
    let mut remarks = Vec::new();
    let (mut bounded, mut has_lists) = (Vec::new(), false);
    let mut count = 0;
    for rule in catalogue::all() {
        let id = rule.meta.id;
        if !only.is_empty() && !only.iter().any(|it| it == id) {
            continue;
        }
        let of_injection =
            if only.is_empty() { Vec::new() } else { map::of_rule(policy, &rule.meta) };
        if !of_injection.is_empty() {
            count += 1;
            objects.extend(of_injection);
            continue;
        }
        if rule.meta == *LIMIT_EXCEEDED && !policy.limits.is_empty() {
            let exceptions = Exceptions::of(policy, &rule.meta, today);
            let of_limits = limits::policies(policy, &exceptions);
            count += usize::from(!of_limits.is_empty());
            objects.extend(of_limits);
            remarks.push(limits::MISSED.to_owned());
            remarks.extend(exceptions.remark(id));
            continue;
        }
        match exported(&rule.meta, policy) {
            Ok((rule, cel)) => {
                count += 1;
                if let Some(misses) = cel.misses {
                    remarks.push(format!("{id} does not find {misses}."));
                }
                if cel.is_bounded() {
                    bounded.push(id);
                }
                has_lists |= cel.bounded_fault() != cel.fault;
                let exceptions = Exceptions::of(policy, &rule.meta, today);
                remarks.extend(exceptions.remark(id));
                let mode = policy.mode(&rule.meta);
                let base = Base { rule, cel, mode, exceptions: &exceptions };
                objects.extend(base.policies());
            }
            Err(why) => left_out.push((id, why)),
        }
    }
    if !bounded.is_empty() {
        let ids = bounded.join(", ");
        remarks.push(format!("These pass over lists of more than {FEW} entries: {ids}."));
    }
    if has_lists {
        let says = only.is_empty() || only.iter().any(|it| it == TOO_LARGE.id);
        let says = says && policy.mode(TOO_LARGE) != Mode::Off;
        remarks.push(format!(
            "All pass over objects with more than {MANY} entries in a list that they read{}.",
            if says { "; too-large-to-check reports them" } else { "" }
        ));
    }
    Export { header: header(policy, count, &remarks, &left_out), objects }
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
        "# {count} {} of setguard {version} as ValidatingAdmissionPolicies, for Kubernetes {release}{}.\n",
        if count == 1 { "rule" } else { "rules" },
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

/// The error says why the rule isn't exported.
fn exported(meta: &Meta, policy: &Policy) -> Result<(&'static Rule, &'static Cel), String> {
    if let Some((rule, cel)) = in_cel().find(|(rule, _)| rule.meta == *meta) {
        return match cel.gate.filter(|gate| !policy.cluster.enabled(gate)) {
            Some(gate) => Err(format!("the feature gate {gate} is off in this release")),
            None if policy.mode(meta) == Mode::Off => Err("the policy turns it off".to_owned()),
            None => Ok((rule, cel)),
        };
    }
    let rule = catalogue::find(meta.id);
    let why = match rule.and_then(Rule::phase) {
        Some(Phase::Before { .. }) => {
            "the API server drops or refuses the setting before it evaluates policies"
        }
        Some(Phase::Manifest) => "only a manifest shows it",
        Some(Phase::Warned) => "the API server itself warns of it",
        Some(_) => "it is not written in CEL; the webhook and `setguard check` have it",
        None if !map::of_rule(policy, meta).is_empty() => {
            "it is about injection; `setguard export map` has it"
        }
        None if meta == LIMIT_EXCEEDED => "the policy has no limits",
        None if rule.is_some_and(|it| it.evidence().is_some()) => "it compares several objects",
        None if rule.is_some_and(|it| it.status().is_some()) => {
            "it is about the state of a cluster; `setguard audit` has it"
        }
        None if !meta.adjustable && meta.mode == Mode::Deny => {
            "the API server refuses it itself, before it evaluates policies"
        }
        None => "it is not about a DaemonSet or a StatefulSet alone",
    };
    Err(why.to_owned())
}

/// The part of a policy that differs between the policies of a rule.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) mode: Mode,
    /// CEL that is true for objects without the fault.
    pub(super) holds: String,
    only: Option<Operation>,
}

impl Part {
    pub(super) fn operations(&self) -> Vec<&'static str> {
        match self.only {
            Some(operation) => vec![operation.as_str()],
            None => vec![Operation::Create.as_str(), Operation::Update.as_str()],
        }
    }
}

/// A rule that denies has two policies, because it only warns if the old object had the fault too.
pub(super) fn parts(rule: &Rule, cel: &Cel, mode: Mode) -> Vec<Part> {
    let id = rule.meta.id;
    let fault = cel.bounded_fault();
    let (new, old) = (expand(&fault, "object"), expand(&fault, "oldObject"));
    let name = format!("{id}.{SUFFIX}");
    let ratchets = mode == Mode::Deny && cel.only.is_none();
    if !ratchets {
        return vec![Part { name, mode, holds: format!("!({new})"), only: cel.only }];
    }
    let had = format!("oldObject != null && ({old})");
    let denies = Part { name, mode, holds: format!("!({new}) || ({had})"), only: None };
    let warns = Part {
        name: format!("{id}.had-before.{SUFFIX}"),
        mode: Mode::Warn,
        holds: format!("!({new}) || !({had})"),
        only: Some(Operation::Update),
    };
    vec![denies, warns]
}

pub(super) fn message(rule: &Rule, cel: &Cel) -> Message {
    objects::message(&rule.meta, &expand(cel.message, "object"), cel.help)
}

pub(super) fn resources(rule: &Rule) -> Vec<&'static str> {
    rule.kinds().iter().filter_map(|kind| resource(*kind)).collect()
}

/// CEL that is true for an object that silences the rule. A regular expression is one step for CEL; a list of its parts
/// kept kube-apiserver 1.37.2 busy for 14 seconds with 31 KiB of commas.
pub(super) fn ignored(id: &str) -> String {
    any_part(IGNORE_ANNOTATION, &format!("{id}{SPACE}(,|$)"))
}

/// CEL that is true if the list in an annotation has a part with this beginning. `text` is a regular expression.
pub(super) fn any_part(annotation: &str, text: &str) -> String {
    let pattern = format!("(^|,){SPACE}{text}");
    let (annotation, pattern) = (quote(annotation), quote(&pattern));
    format!("object.metadata.?annotations[?{annotation}].orValue('').matches({pattern})")
}

/// The white space of Unicode that `trim` removes.
const SPACE: &str = r"[\s\x0b\x{85}\p{Z}]*";

struct Base<'a> {
    rule: &'a Rule,
    cel: &'a Cel,
    mode: Mode,
    exceptions: &'a Exceptions,
}

impl Base<'_> {
    fn policies(&self) -> Vec<Value> {
        let parts = parts(self.rule, self.cel, self.mode);
        parts.iter().flat_map(|part| validating(&part.name, part.mode, &self.spec(part))).collect()
    }

    fn spec(&self, part: &Part) -> Value {
        json!({
            // A failing expression is a bug in setguard and must not block writes.
            "failurePolicy": "Ignore",
            "matchConstraints": matched("apps", &resources(self.rule), &part.operations()),
            "validations": [validation(&self.holds(part), &message(self.rule, self.cel), "Invalid")],
        })
    }

    /// The fault comes first, so that the API server skips the rest for most objects. The rest is not in match
    /// conditions: the API server evaluates those first, and converts the object once more for them.
    fn holds(&self, part: &Part) -> String {
        let mut any = vec![part.holds.clone(), IN_DELETION.to_owned()];
        // An object can silence a rule that warns, but not one that denies or reports what the others miss.
        if self.mode == Mode::Warn && !self.cel.is_about_length() {
            any.push(ignored(self.rule.meta.id));
        }
        any.extend(self.exceptions.covered().map(str::to_owned));
        any.join(" || ")
    }
}

//! The injections as MutatingAdmissionPolicies.
//!
//! Kubernetes: `staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating` for the order:
//! the mutations of a policy apply one after the other, each to the result of the one before.

mod tolerations;

use std::fmt::Write as _;

use anyhow::bail;
use setguard_core::rules::{
    node_pin_conflict::NODE_PIN_CONFLICT, unpaired_node_annotation::UNPAIRED_NODE_ANNOTATION,
};
use setguard_core::{
    inject::settings::PairedControllers,
    kubernetes::cluster::since,
    object::annotations::{CONTROL_PLANE_LABEL, NODE_ANNOTATION},
};

use self::tolerations::{of_pod, of_template};
use super::{
    conditions::listed,
    objects::{
        self, Export, SUFFIX, condition, matched, not_in_deletion, pair, quote, validating,
        validation,
    },
};
use crate::cli::prelude::*;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

pub(super) const ALONE: &str = "\
# Into the folder of the plugin ValidatingAdmissionPolicy belong two more, since a folder has the policies of one plugin:
# setguard export vap --static --rules node-pin-conflict,unpaired-node-annotation
";

/// The rules that are exported with the injections.
pub(super) const RULES: [&Meta; 2] = [NODE_PIN_CONFLICT, UNPAIRED_NODE_ANNOTATION];

pub(super) fn export(policy: &Policy) -> anyhow::Result<Export> {
    let release = policy.cluster.version;
    if !policy.cluster.has(since::MUTATING_ADMISSION_POLICY_BETA) {
        bail!("MutatingAdmissionPolicies are an alpha feature before 1.34, and this is {release}");
    }
    let is_stable = policy.cluster.has(since::MUTATING_ADMISSION_POLICY);
    let version = if is_stable { "v1" } else { "v1beta1" };
    let mut header = format!(
        "# The injections of setguard {} as MutatingAdmissionPolicies, for Kubernetes {release}.\n",
        env!("CARGO_PKG_VERSION"),
    );
    if !is_stable {
        let _ = writeln!(
            header,
            "# kube-apiserver needs --feature-gates=MutatingAdmissionPolicy=true and\n\
             # --runtime-config=admissionregistration.k8s.io/{version}=true."
        );
    }
    Ok(Export { header, objects: objects(policy, version) })
}

pub(super) fn objects(policy: &Policy, version: &str) -> Vec<Value> {
    let settings = &policy.injection;
    let mutating = |name: &str, spec: &Value| {
        pair((version, "MutatingAdmissionPolicy"), &format!("{name}.{SUFFIX}"), spec, None)
    };
    let paired = paired(&settings.paired_controllers);
    let of_pods = [
        condition("daemon", daemon()),
        condition("paired-controller", &*paired),
        few_tolerations("object.spec"),
    ];
    let mut objects = Vec::new();
    let tolerations = of_pod(settings);
    if !tolerations.is_empty() {
        objects.extend(mutating("daemon-tolerations", &spec(&pods(), &of_pods, tolerations)));
    }
    if settings.node_pin {
        let conditions = [
            condition("annotated", annotated()),
            condition("paired-controller", &*paired),
            unbound(),
        ];
        objects.extend(mutating("node-pin", &spec(&pods(), &conditions, vec![node_pin()])));
        objects.extend(of_rule(policy, NODE_PIN_CONFLICT));
    }
    objects.extend(of_rule(policy, UNPAIRED_NODE_ANNOTATION));
    if !settings.tolerations.is_empty() {
        let asks = format!(
            "object.metadata.?labels[?{}].orValue('') == 'true'",
            quote(CONTROL_PLANE_LABEL)
        );
        let few = few_tolerations("object.spec.template.spec");
        let conditions = [not_in_deletion(), condition("requested", asks), few.clone()];
        let template = of_template(settings);
        let by_label = spec(&daemon_sets(), &conditions, template.clone());
        objects.extend(mutating("control-plane-tolerations", &by_label));
        let mut matched = daemon_sets();
        matched["namespaceSelector"] = json!({ "matchLabels": { CONTROL_PLANE_LABEL: "true" } });
        let by_namespace = spec(&matched, &[not_in_deletion(), few], template);
        objects.extend(mutating("control-plane-tolerations.namespace", &by_namespace));
    }
    objects
}

/// Returns no policies for a rule that is not about injection.
pub(super) fn of_rule(policy: &Policy, meta: &Meta) -> Vec<Value> {
    let paired = paired(&policy.injection.paired_controllers);
    let annotated = condition("annotated", annotated());
    if meta == NODE_PIN_CONFLICT && policy.injection.node_pin {
        let conditions = [annotated, condition("paired-controller", paired)];
        return warning(policy, meta, &conditions, conflict());
    }
    if meta != UNPAIRED_NODE_ANNOTATION {
        return Vec::new();
    }
    let unpaired = (
        paired,
        "request.userInfo.username + ' is not a paired controller: nothing is injected'".to_owned(),
        "remove the annotation, or list the user in the policy's pairedControllers",
    );
    warning(policy, meta, &[annotated], unpaired)
}

fn spec(matched: &Value, conditions: &[Value], expressions: Vec<String>) -> Value {
    let mutation = |it| json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": it } });
    json!({
        // As with the webhook, a bug in setguard must not block writes.
        "failurePolicy": "Ignore",
        // Other plugins may add terms to the affinity of a pod; a second run adds only what is missing.
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": matched,
        "matchConditions": conditions,
        "mutations": expressions.into_iter().map(mutation).collect::<Vec<_>>(),
    })
}

fn warning(
    policy: &Policy,
    meta: &Meta,
    conditions: &[Value],
    (holds, message, help): (String, String, &str),
) -> Vec<Value> {
    let mode = policy.mode(meta);
    if mode == Mode::Off {
        return Vec::new();
    }
    let message = objects::message(meta, &message, help);
    let spec = json!({
        "failurePolicy": "Ignore",
        "matchConstraints": pods(),
        "matchConditions": conditions,
        "validations": [validation(&holds, &message, "Invalid")],
    });
    validating(&format!("{}.{SUFFIX}", meta.id), mode, &spec).to_vec()
}

fn pods() -> Value {
    matched("", &["pods"], &["CREATE"])
}

fn daemon_sets() -> Value {
    matched("apps", &["daemonsets"], &["CREATE", "UPDATE"])
}

fn paired(paired: &PairedControllers) -> String {
    listed(&paired.users, &paired.groups).unwrap_or_else(|| "false".to_owned())
}

fn annotated() -> String {
    format!("object.metadata.?annotations[?{}].hasValue()", quote(NODE_ANNOTATION))
}

fn node() -> String {
    format!("object.metadata.annotations[{}]", quote(NODE_ANNOTATION))
}

/// CEL for a node daemon: a DaemonSet controls the pod, or the pod has the annotation with its node.
fn daemon() -> String {
    format!(
        "object.metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false) \
         && owner.kind == 'DaemonSet' && owner.apiVersion.split('/')[0] in ['apps', 'apps.kruise.io']) \
         || {}",
        annotated()
    )
}

fn names_a_node() -> String {
    let name = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
    let pattern = quote(&format!(r"^{name}(\.{name})*$"));
    let node = node();
    format!("size({node}) <= 253 && {node}.matches({pattern})")
}

fn unbound() -> Value {
    let expression = format!("object.spec.?nodeName.orValue('') == '' && {}", names_a_node());
    condition("without-node", expression)
}

/// Node selector terms are ORed, so each term gets the pin.
fn node_pin() -> String {
    let node = node();
    let terms = format!("object.spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms");
    let path = "/spec/affinity/nodeAffinity";
    let pin = format!(
        "dyn({{'key': dyn('metadata.name'), 'operator': dyn('In'), 'values': dyn([{node}])}})"
    );
    let add =
        |path: &str, value: &str| format!("JSONPatch{{op: 'add', path: '{path}', value: {value}}}");
    let empty_affinity = add("/spec/affinity", "{}");
    let empty_node_affinity = add(path, "{}");
    let all = add(
        &format!("{path}/{REQUIRED}"),
        &format!("{{'nodeSelectorTerms': [{{'matchFields': [{pin}]}}]}}"),
    );
    let needs = format!("!{EMPTY} && !{}", pinned());
    // A term for each index: kube-apiserver 1.37.2 cannot copy a list of the object into a patch.
    let indexes: Vec<_> = (0..MAX_TERMS).map(|i| i.to_string()).collect();
    let fields = format!("'{path}/{REQUIRED}/nodeSelectorTerms/' + string(i) + '/matchFields'");
    format!(
        "!object.spec.?affinity.?nodeAffinity.?{REQUIRED}.hasValue() ? \
         (has(object.spec.affinity) ? [] : [{empty_affinity}]) + \
         (object.spec.?affinity.?nodeAffinity.hasValue() ? [] : [{empty_node_affinity}]) + [{all}] : \
         [{}].filter(i, i < size({terms}) && [{terms}[i]].exists(term, {needs}))\
         .map(i, size({terms}[i].?matchFields.orValue([])) > 0 ? \
         JSONPatch{{op: 'add', path: {fields} + '/-', value: {pin}}} : \
         JSONPatch{{op: 'add', path: {fields}, value: [{pin}]}})",
        indexes.join(", "),
    )
}

/// Each mutation reads all tolerations: 8,000 of them kept kube-apiserver 1.37.2 busy for 6.7 seconds for each pod.
const MAX_TOLERATIONS: usize = 64;

fn few_tolerations(pod: &str) -> Value {
    let few = format!("{pod}.?tolerations.orValue([]).size() <= {MAX_TOLERATIONS}");
    condition("few-tolerations", few)
}

/// A pod with more terms is refused, because some would stay unpinned.
const MAX_TERMS: usize = 64;

/// Returns the expressions of the validation and its message, and the remedy. The API server evaluates both after the
/// mutation, so they also find a pod that was not pinned.
fn conflict() -> (String, String, &'static str) {
    let (node, pinned) = (node(), pinned());
    let terms =
        format!("object.spec.?affinity.?nodeAffinity.?{REQUIRED}.?nodeSelectorTerms.orValue([])");
    let other = format!(
        "{terms}.all(term, {EMPTY} || term.?matchFields.orValue([]).exists(field, \
         field.key == 'metadata.name' && (field.operator == 'In') != ({node} in field.values)))"
    );
    let (bound, valid) = ("object.spec.?nodeName.orValue('')", names_a_node());
    let is_pinned = format!(
        "{terms}.exists(term, {pinned}) && {terms}.all(term, {EMPTY} || {pinned}) && !{other}"
    );
    (
        format!("{valid} && ({bound} == {node} || ({bound} == '' && {is_pinned}))"),
        format!(
            "({valid} ? 'the pod is not tied to the node that it was created for, or to another one too: ' : \
             'this cannot be the name of a node: ') + {node}"
        ),
        "leave nodeName out, and remove terms for other nodes: the annotation names the node",
    )
}

/// CEL for a `term` that selects nothing. A pin would make it select the node.
const EMPTY: &str = "(size(term.?matchFields.orValue([])) == 0 \
     && size(term.?matchExpressions.orValue([])) == 0)";

fn pinned() -> String {
    format!(
        "term.?matchFields.orValue([]).exists(field, field.key == 'metadata.name' \
         && field.operator == 'In' && field.values == [{}])",
        node()
    )
}

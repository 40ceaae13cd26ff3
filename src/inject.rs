//! What is put into pods, and into the templates that ask for it.
//!
//! Reads are typed and minimal; patches are explicit operations on the JSON that came in, never
//! the difference of a typed round trip. A second pass patches nothing.

mod node_pin;
mod tolerations;

use std::collections::BTreeMap;

use json_patch::{AddOperation, Patch, PatchOperation, jsonptr::PointerBuf};
use k8s_openapi::api::core::v1::{Affinity, Toleration};
use serde::Deserialize;

pub(crate) use self::tolerations::{covers, tolerates};
use crate::{
    admission::review::{Rejection, User},
    engine::verdict::{Judged, Verdict},
    finding::{Finding, Findings, Meta, Mode, Path, Reason},
    object::{Kind, Metadata, Object, Str},
    policy::{Injection as Settings, Policy, UnpairedAnnotation},
};

/// The annotation by which a paired controller names the node that a pod is made for.
pub const NODE_ANNOTATION: &str = "setguard.io/node";
/// The label by which a DaemonSet, or its namespace, asks for the control-plane tolerations.
pub const CONTROL_PLANE_LABEL: &str = "setguard.io/control-plane";

/// Id of the rule that tells of tolerations put into the template of a DaemonSet.
pub const CONTROL_PLANE_INJECTION: &str = "control-plane-injection";
/// Id of the rule against a pin that cannot be.
pub const NODE_PIN_CONFLICT: &str = "node-pin-conflict";
/// Id of the rule against tolerations that would have the pod evicted. A trap by the same name
/// looks for them in the template of a DaemonSet.
pub const TOLERATION_SECONDS_LOOP: &str = "toleration-seconds-loop";
/// Id of the rule against the annotation of somebody who is not paired.
pub const UNPAIRED_NODE_ANNOTATION: &str = "unpaired-node-annotation";

/// What the rules of injection say of themselves.
pub static METAS: [Meta; 3] = [
    Meta {
        id: CONTROL_PLANE_INJECTION,
        summary: "a DaemonSet that setguard brings to the control plane, as it asks for",
        why: include_str!("inject/control_plane_injection.why.md"),
        bad: include_str!("inject/control_plane_injection.bad.yaml"),
        good: include_str!("inject/control_plane_injection.good.yaml"),
        mode: Mode::Audit,
        kinds: &["DaemonSet"],
        since: "0.1.0",
        adjustable: true,
    },
    Meta {
        id: NODE_PIN_CONFLICT,
        summary: "a pod made for one node whose own affinity ties it to another",
        why: include_str!("inject/node_pin_conflict.why.md"),
        bad: include_str!("inject/node_pin_conflict.bad.yaml"),
        good: include_str!("inject/node_pin_conflict.good.yaml"),
        mode: Mode::Deny,
        kinds: &["Pod"],
        since: "0.1.0",
        adjustable: false,
    },
    Meta {
        id: UNPAIRED_NODE_ANNOTATION,
        summary: "setguard.io/node on a pod of somebody who is not a paired controller",
        why: include_str!("inject/unpaired_node_annotation.why.md"),
        bad: include_str!("inject/unpaired_node_annotation.bad.yaml"),
        good: include_str!("inject/unpaired_node_annotation.good.yaml"),
        mode: Mode::Warn,
        kinds: &["Pod"],
        since: "0.1.0",
        adjustable: true,
    },
];

/// A pod, as far as injection looks at it.
#[derive(Debug, Deserialize)]
pub struct Pod<'a> {
    #[serde(borrow, default)]
    kind: Option<Str<'a>>,
    #[serde(borrow, default)]
    metadata: Option<Metadata<'a>>,
    #[serde(default)]
    spec: Option<PodSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodSpec {
    affinity: Option<Affinity>,
    host_network: Option<bool>,
    node_name: Option<String>,
    node_selector: Option<BTreeMap<String, String>>,
    tolerations: Option<Vec<Toleration>>,
}

impl<'a> Pod<'a> {
    /// Reads a pod.
    ///
    /// # Errors
    /// When the JSON is not a Pod.
    pub fn parse(json: &'a str) -> Result<Self, Rejection> {
        let pod: Pod<'a> = serde_json::from_str(json)?;
        match pod.kind.as_deref() {
            Some("Pod") => Ok(pod),
            kind => Err(Rejection::NotAPod(kind.unwrap_or_default().to_owned())),
        }
    }

    /// Its name, or the prefix of the name that it will get.
    pub fn name(&self) -> &str {
        let metadata = self.metadata.as_ref();
        let name = metadata.and_then(|m| m.name.as_deref()).filter(|name| !name.is_empty());
        name.or(metadata.and_then(|m| m.generate_name.as_deref())).unwrap_or_default()
    }

    fn annotated_node(&self) -> Option<&str> {
        self.metadata.as_ref()?.annotation(NODE_ANNOTATION)
    }

    fn is_owned_by_daemon_set(&self) -> bool {
        let owners = self.metadata.as_ref().and_then(|m| m.owner_references.as_deref());
        owners.unwrap_or_default().iter().any(|owner| {
            owner.controller == Some(true)
                && owner.kind == "DaemonSet"
                && matches!(owner.api_version.split('/').next(), Some("apps" | "apps.kruise.io"))
        })
    }
}

/// What is to be injected, what is wrong, and why nothing was done where nothing was.
#[derive(Clone, Debug, Default)]
pub struct Injection {
    /// The patch; empty when the object has all of it.
    pub patch: Vec<PatchOperation>,
    /// What the patch brings: `control-plane-tolerations`, `daemon-tolerations`, `node-pin`.
    pub injected: Vec<&'static str>,
    /// Why nothing was injected, if that is worth a word.
    pub why_not: Option<&'static str>,
    findings: Vec<Finding>,
}

impl Injection {
    const fn none(why_not: &'static str) -> Self {
        Injection {
            patch: Vec::new(),
            injected: Vec::new(),
            why_not: Some(why_not),
            findings: Vec::new(),
        }
    }

    /// The object with the patch applied to it; `None` when there is nothing to apply.
    pub fn applied(&self, json: &str) -> Option<String> {
        if self.patch.is_empty() {
            return None;
        }
        let mut object = serde_json::from_str(json).ok()?;
        json_patch::patch(&mut object, &Patch(self.patch.clone())).ok()?;
        Some(object.to_string())
    }

    /// The findings as the policy takes them.
    pub fn verdict(&self, policy: &Policy) -> Verdict {
        let judged = self.findings.iter().map(|finding| {
            let mode = match policy.mode(finding.rule) {
                Mode::Warn
                    if finding.rule == UNPAIRED_NODE_ANNOTATION
                        && policy.injection.unpaired_annotation == UnpairedAnnotation::Deny =>
                {
                    Mode::Deny
                }
                mode => mode,
            };
            Judged { finding: finding.clone(), mode, eased: None }
        });
        Verdict { judged: judged.filter(|j| j.mode != Mode::Off).collect(), remarks: Vec::new() }
    }
}

/// What is injected into a pod that is created by this user.
pub fn pod(pod: &Pod<'_>, user: &User<'_>, settings: &Settings) -> Injection {
    let node = pod.annotated_node();
    if node.is_none() && !pod.is_owned_by_daemon_set() {
        return Injection::none("not a daemon's pod");
    }
    if !is_paired(user, settings) {
        let mut injection = Injection::none("the user is not a paired controller");
        if node.is_some() {
            injection.findings = unpaired(user);
        }
        return injection;
    }
    let mut injection = Injection::default();
    let mut found = Findings::default();
    let no_spec = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&no_spec);
    let path = Path::new("spec");

    let mut list = tolerations::List::new(spec.tolerations.as_deref().unwrap_or_default());
    let tolerations_path = path.child("tolerations");
    injection.add_control_plane(&mut list, settings, &tolerations_path, &mut found);
    if settings.daemon_tolerations {
        for toleration in tolerations::of_daemons(spec.host_network == Some(true)) {
            list.add(toleration, &tolerations_path, &mut found);
        }
        injection.note("daemon-tolerations", list.take_changed());
    }
    list.patch(&path, &mut injection.patch);

    if let Some(node) = node.filter(|_| settings.node_pin) {
        found.set_rule(NODE_PIN_CONFLICT);
        let before = injection.patch.len();
        node_pin::pin(spec, node, &path, &mut injection.patch, &mut found);
        let pinned = injection.patch.len() > before;
        injection.note("node-pin", pinned);
    }
    injection.findings = found.into_vec();
    if injection.patch.is_empty() {
        injection.why_not = Some("the pod has all of it already");
    }
    injection
}

/// What is injected into the template of a DaemonSet that asks for it, itself or by its namespace.
pub fn template(object: &Object<'_>, by_namespace: bool, settings: &Settings) -> Injection {
    let asks = object.metadata.label(CONTROL_PLANE_LABEL) == Some("true");
    if object.kind() != Kind::DaemonSet || !(asks || by_namespace) {
        return Injection::none("not asked for");
    }
    if object.metadata.deletion_timestamp.is_some() {
        return Injection::none("the object is being deleted");
    }
    let mut injection = Injection::default();
    let spec = object.template().spec.as_ref();
    let existing = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let mut list = tolerations::List::new(existing);
    let path = Path::new("spec");
    let path = path.child("template");
    let path = path.child("spec");
    let tolerations_path = path.child("tolerations");
    let mut found = Findings::default();
    injection.add_control_plane(&mut list, settings, &tolerations_path, &mut found);
    let keys = list.added_keys().join(" and ");
    list.patch(&path, &mut injection.patch);
    if injection.patch.is_empty() {
        injection.why_not = Some("the template has all of it already");
        return injection;
    }
    found.set_rule(CONTROL_PLANE_INJECTION);
    let who = if asks { "the label" } else { "the namespace's label" };
    found.report(
        if existing.is_empty() { &path } else { &tolerations_path },
        Reason::Required,
        format!("setguard adds tolerations of {keys}, as {who} {CONTROL_PLANE_LABEL} asks for"),
        "write them into the template where what is stored must be what was applied",
    );
    injection.findings = found.into_vec();
    injection
}

impl Injection {
    fn add_control_plane(
        &mut self,
        list: &mut tolerations::List,
        settings: &Settings,
        path: &Path<'_>,
        found: &mut Findings,
    ) {
        found.set_rule(TOLERATION_SECONDS_LOOP);
        for toleration in &settings.tolerations {
            list.add(toleration.into(), path, found);
        }
        self.note("control-plane-tolerations", list.take_changed());
    }

    fn note(&mut self, what: &'static str, changed: bool) {
        if changed {
            self.injected.push(what);
        }
    }
}

/// Whether a user is on the policy's list of paired controllers.
pub fn is_paired(user: &User<'_>, settings: &Settings) -> bool {
    let paired = &settings.paired_controllers;
    let groups = user.groups.as_deref().unwrap_or_default();
    paired.users.iter().any(|name| **name == *user.username)
        || groups.iter().any(|group| paired.groups.iter().any(|name| **name == **group))
}

fn unpaired(user: &User<'_>) -> Vec<Finding> {
    let mut found = Findings::of(UNPAIRED_NODE_ANNOTATION);
    let metadata = Path::new("metadata");
    let annotations = metadata.child("annotations");
    found.report(
        &annotations.key(NODE_ANNOTATION),
        Reason::Forbidden,
        format!("{} is not a paired controller: nothing is injected", &*user.username),
        "remove it, or list the user in the policy's pairedControllers",
    );
    found.into_vec()
}

/// `add` of a value at a path, with an optional last step such as `-`.
fn add(path: &Path<'_>, last: Option<&str>, value: serde_json::Value) -> PatchOperation {
    let mut pointer = path.to_field().pointer();
    if let Some(last) = last {
        pointer.push('/');
        pointer.push_str(last);
    }
    // A pointer that `Field` wrote is a valid one; the root would only make the patch fail.
    let path = PointerBuf::parse(pointer).unwrap_or_default();
    PatchOperation::Add(AddOperation { path, value })
}

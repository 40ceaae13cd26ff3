//! Injection into pods, and into templates that request it.
//!
//! Patches are explicit operations on the original JSON, never the difference from a typed round trip. A second pass
//! patches nothing.

pub mod left_over;
mod node_pin;
mod patch;
pub mod pod;
pub mod settings;
mod tolerations;

use json_patch::{Patch, PatchOperation};

use self::{
    pod::PartialPod,
    settings::{PairedControllers, Settings},
};
use crate::{
    finding::{
        Finding, Findings, Path, Reason,
        paths::{ANNOTATIONS, POD_SPEC, SPEC, TOLERATIONS},
    },
    kubernetes::{resource::WorkloadKind, tolerations::of_daemons},
    object::{
        Object, User,
        annotations::{CONTROL_PLANE_LABEL, NODE_ANNOTATION},
    },
    rules::{
        control_plane_injection::CONTROL_PLANE_INJECTION, node_pin_conflict::NODE_PIN_CONFLICT,
        toleration_seconds_loop, unpaired_node_annotation::UNPAIRED_NODE_ANNOTATION,
    },
};

/// The patch of an injection and its findings, or the reason why nothing is injected.
#[derive(Clone, Debug, Default)]
pub struct Injection {
    /// The patch; empty if nothing is injected.
    pub patch: Vec<PatchOperation>,
    /// The names of the injections: `control-plane-tolerations`, `daemon-tolerations`, `node-pin`.
    pub injected: Vec<&'static str>,
    /// Why nothing was injected, or `None` if something was.
    pub why_not: Option<&'static str>,
    /// Problems of the object and remarks about the patch. The engine decides their modes.
    pub findings: Vec<Finding>,
}

impl Injection {
    fn none(why_not: &'static str) -> Self {
        Injection { why_not: Some(why_not), ..Injection::default() }
    }

    /// Applies the patch to the object. `None` if the patch is empty.
    pub fn applied(&self, json: &str) -> Option<String> {
        if self.patch.is_empty() {
            return None;
        }
        let mut object = serde_json::from_str(json).ok()?;
        json_patch::patch(&mut object, &Patch(self.patch.clone())).ok()?;
        Some(object.to_string())
    }
}

/// Determines the injection into a pod that this user creates.
pub fn pod(pod: &PartialPod<'_>, user: &User<'_>, settings: &Settings) -> Injection {
    let node = pod.metadata.annotation(NODE_ANNOTATION);
    if node.is_none() && !pod.is_owned_by_daemon_set() {
        return Injection::none("not a daemon's pod");
    }
    let PairedControllers { users, groups } = &settings.paired_controllers;
    if !user.is_among(users, groups) {
        let mut injection = Injection::none("the user is not a paired controller");
        if node.is_some() {
            injection.findings = unpaired(user);
        }
        return injection;
    }
    let mut injection = Injection::default();
    let spec = &pod.spec;
    let mut found = Findings::of(&toleration_seconds_loop::RULE.meta);
    let mut list = tolerations::List::new(spec.tolerations.as_deref().unwrap_or_default());
    let tolerations_path = SPEC.child("tolerations");
    injection.add_control_plane(&mut list, settings, &tolerations_path, &mut found);
    if settings.daemon_tolerations {
        for toleration in of_daemons(spec.host_network == Some(true)) {
            list.add(toleration, &tolerations_path, &mut found);
        }
        injection.note("daemon-tolerations", list.take_changed());
    }
    list.patch(&SPEC, &mut injection.patch);

    if let Some(node) = node.filter(|_| settings.node_pin) {
        found.set_rule(NODE_PIN_CONFLICT);
        let before = injection.patch.len();
        node_pin::pin(spec, node, &mut injection.patch, &mut found);
        let pinned = injection.patch.len() > before;
        injection.note("node-pin", pinned);
    }
    injection.findings = found.into_vec();
    if injection.patch.is_empty() {
        injection.why_not = Some("the pod already has everything");
    }
    injection
}

/// Determines the injection into the template of a DaemonSet, if the DaemonSet or its namespace requests it.
pub fn template(object: &Object<'_>, by_namespace: bool, settings: &Settings) -> Injection {
    let asks = object.metadata.label(CONTROL_PLANE_LABEL) == Some("true");
    if object.kind() != WorkloadKind::DaemonSet || !(asks || by_namespace) {
        return Injection::none("not requested");
    }
    if object.metadata.deletion_timestamp.is_some() {
        return Injection::none("the object is being deleted");
    }
    let mut injection = Injection::default();
    let spec = object.template().spec.as_ref();
    let existing = spec.and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let mut list = tolerations::List::new(existing);
    let mut found = Findings::of(&toleration_seconds_loop::RULE.meta);
    injection.add_control_plane(&mut list, settings, &TOLERATIONS, &mut found);
    let keys = list.added_keys().join(" and ");
    list.patch(&POD_SPEC, &mut injection.patch);
    if injection.patch.is_empty() {
        injection.why_not = Some("the template already has everything");
        return injection;
    }
    found.set_rule(CONTROL_PLANE_INJECTION);
    let who = if asks { "the label" } else { "the namespace's label" };
    found.report(
        if existing.is_empty() { &POD_SPEC } else { &TOLERATIONS },
        Reason::Required,
        format!("setguard adds tolerations of {keys}, as {who} {CONTROL_PLANE_LABEL} requests"),
        "write them into the template if the stored object must be equal to the applied one",
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

fn unpaired(user: &User<'_>) -> Vec<Finding> {
    let mut found = Findings::of(UNPAIRED_NODE_ANNOTATION);
    let who = if user.username.is_empty() { "a user without a name" } else { &*user.username };
    found.report(
        &ANNOTATIONS.key(NODE_ANNOTATION),
        Reason::Forbidden,
        format!("{who} is not a paired controller: nothing is injected"),
        "remove it, or list the user in the policy's pairedControllers",
    );
    found.into_vec()
}

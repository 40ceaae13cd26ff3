//! The warnings that the API server adds to its response to a write, in its words.
//!
//! Kubernetes: `GetWarningsForPodTemplate`, pkg/api/pod/warnings.go; `WarningsOnCreate`,
//! pkg/registry/apps/daemonset/strategy.go and pkg/registry/apps/statefulset/strategy.go.

mod containers;
mod overlaps;
mod ports;

use k8s_openapi::{
    api::core::v1::{NodeSelectorTerm, PersistentVolumeClaimSpec},
    apimachinery::pkg::api::resource::Quantity as Text,
};

use super::{api_validation::wording::of_release, legacy_node_label};
use crate::rules::prelude::*;
use crate::{
    kubernetes::{names, pod_affinity},
    object::dropped::drop_disabled,
    validation::pod::util::Seen,
};

pub(super) use self::{containers::is_hidden, ports::conflict};
pub(super) static RULE: Rule = rule! {
    id: "api-warning", group: Refused;
    title: "the API server warns about this setting",
    summary: "a setting that the API server accepts with a warning",
    scopes: [Scope::Object {
        phase: Phase::Warned,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    }],
};

/// The harm, and what to write instead. `None` for little harm: the warning is only a note.
type Harm = Option<&'static str>;

pub(super) const TWICE: Harm = Some(
    "remove one of them: server-side apply refuses the object, and client-side apply may drop one of the two",
);
const NO_SELECTOR: Harm = Some("write a labelSelector that matches the pods");
const NO_PLUGIN: Harm =
    Some("the kubelet does not mount it, so the pods never start: use the volume of a CSI driver");
const NO_GIT: Harm = Some(
    "the kubelet does not mount it, so the pods never start: clone the repository into an emptyDir volume, in an \
     init container",
);
const UNIT: Harm = Some("m means a thousandth, and no suffix means bytes: write Mi or Gi");

/// The field, whether a volume has it, and the text.
type Gone = (&'static str, fn(&Volume) -> bool, &'static str);

const GONE: &[Gone] = &[
    (
        "photonPersistentDisk",
        |v| v.photon_persistent_disk.is_some(),
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    ("scaleIO", |v| v.scale_io.is_some(), "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", |v| v.flocker.is_some(), "deprecated in v1.22, non-functional in v1.25+"),
    ("storageOS", |v| v.storageos.is_some(), "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", |v| v.quobyte.is_some(), "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", |v| v.glusterfs.is_some(), "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", |v| v.cephfs.is_some(), "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", |v| v.rbd.is_some(), "deprecated in v1.28, non-functional in v1.31+"),
];

const MASTER: &str = "node-role.kubernetes.io/master";

/// Kubernetes: `deprecatedNodeLabels`, pkg/api/node/util.go.
const LABELS: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (MASTER, "use \"node-role.kubernetes.io/control-plane\" instead"),
];

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    let mut of_label = Findings::of(&legacy_node_label::RULE.meta);
    legacy_node_label::RULE.run(subject, cluster, &mut of_label);
    warnings(subject, cluster, of_label.is_empty(), found);
}

/// Adds every warning that the API server gives on CREATE. `with_master` adds the warnings about the control plane's
/// old label.
pub fn warnings(subject: &Subject<'_>, cluster: &Cluster, with_master: bool, found: &mut Findings) {
    let object = &subject.object;
    let template = object.template();
    if let Some(spec) = read::pod_spec(object) {
        let stored = Some(spec).filter(|_| object.metadata.is_stored());
        let spec = &*drop_disabled(spec, stored, cluster);
        let label = |key: &str| {
            let known =
                LABELS.iter().find(|(label, _)| *label == key && (with_master || key != MASTER));
            known.map(|(_, text)| *text)
        };
        found.edit(|found| nodes(spec, &label, found), |finding| of_release(finding, cluster));
        selectors(spec, &label, found);
        if let Some(metadata) = &template.metadata {
            annotations(metadata, spec, found);
        }
        volumes(spec, cluster, found);
        lists(spec, found);
        amounts(
            spec.overhead.as_ref(),
            &["memory", "ephemeral-storage"],
            &POD_SPEC.child("overhead"),
            found,
        );
        visit(spec, &POD_SPEC, &mut |container, path| {
            containers::warn(container, path, template.metadata.as_ref(), spec, cluster, found);
        });
        ports::warn(spec, found);
        addresses(spec, cluster, found);
    }
    let Some(set) = object.stateful_set() else { return };
    for (i, (_, claim)) in read::claims(set).enumerate() {
        // The API server's path lacks `spec`.
        claim_spec(claim.spec.as_ref(), &CLAIM_TEMPLATES.index(i), found);
    }
    if set.revision_history_limit.is_some_and(|limit| limit < 0) {
        let text = "a negative value retains all historical revisions; a value >= 0 is recommended";
        say(&SPEC.child("revisionHistoryLimit"), text, None, found);
    }
}

fn say(path: &Path<'_>, text: impl Into<String>, harm: Harm, found: &mut Findings) {
    let reason = if harm == TWICE { Reason::Duplicate } else { Reason::Invalid };
    let reported = found.say(path, reason, text.into(), harm);
    reported.noted_if(harm.is_none()).planned_if(harm.is_some());
}

/// Follows the part about node labels, and `GetWarningsForNodeSelectorTerm`, pkg/api/node/util.go.
fn nodes(spec: &PodSpec, label: &dyn Fn(&str) -> Option<&'static str>, found: &mut Findings) {
    for key in spec.node_selector.iter().flat_map(BTreeMap::keys) {
        if let Some(text) = label(key) {
            say(&POD_SPEC.child("nodeSelector").key(key), text, None, found);
        }
    }
    let required = required_terms(spec.affinity.as_ref()).into_iter().flatten();
    for (i, term) in required.enumerate() {
        node_term(term, false, &NODE_TERMS.index(i), label, found);
    }
    let affinity = spec.affinity.as_ref().and_then(|it| it.node_affinity.as_ref());
    let preferred =
        affinity.and_then(|it| it.preferred_during_scheduling_ignored_during_execution.as_ref());
    let path =
        POD_SPEC.below("affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in preferred.into_iter().flatten().enumerate() {
        node_term(&term.preference, true, &path.index(i).child("preference"), label, found);
    }
}

fn node_term(
    term: &NodeSelectorTerm,
    with_values: bool,
    path: &Path<'_>,
    label: &dyn Fn(&str) -> Option<&'static str>,
    found: &mut Findings,
) {
    for (i, expression) in list(&term.match_expressions).iter().enumerate() {
        let path = path.item("matchExpressions", i);
        if let Some(text) = label(&expression.key) {
            say(&path.child("key"), format!("{} is {text}", expression.key), None, found);
        }
        for (i, value) in list(&expression.values).iter().enumerate().filter(|_| with_values) {
            for text in names::label_value(value) {
                let harm = Some("no node has such a label: write a value that nodes have");
                say(&path.item("values", i), format!("{value} is invalid, {text}"), harm, found);
            }
        }
    }
}

/// Follows the parts about topology spread and pod affinity.
fn selectors(spec: &PodSpec, label: &dyn Fn(&str) -> Option<&'static str>, found: &mut Findings) {
    const NULL: &str = "a null labelSelector results in matching no pod";
    let path = POD_SPEC.child("topologySpreadConstraints");
    for (constraint, path) in path.items(list(&spec.topology_spread_constraints)) {
        if let Some(text) = label(&constraint.topology_key) {
            let text = format!("{} is {text}", constraint.topology_key);
            say(&path.child("topologyKey"), text, None, found);
        }
        if constraint.label_selector.is_none() {
            say(&path.child("labelSelector"), NULL, NO_SELECTOR, found);
        }
    }
    let path = POD_SPEC.child("affinity");
    for (field, required, preferred) in spec.affinity.iter().flat_map(pod_affinity::groups) {
        let path = path.child(field);
        for (i, term) in required.iter().enumerate() {
            if term.label_selector.is_none() {
                let path = path.item("requiredDuringSchedulingIgnoredDuringExecution", i);
                say(&path.child("labelSelector"), NULL, NO_SELECTOR, found);
            }
        }
        for (i, term) in preferred.iter().enumerate() {
            if term.pod_affinity_term.label_selector.is_none() {
                let path = path.item("preferredDuringSchedulingIgnoredDuringExecution", i);
                say(&path.below("podAffinityTerm.labelSelector"), NULL, NO_SELECTOR, found);
            }
        }
    }
}

/// Follows `deprecatedAnnotations` and the part about the pod's seccomp annotation. An annotation is only a leftover if
/// the field that replaces it is set too, or if its value is the default.
fn annotations(metadata: &ObjectMeta, spec: &PodSpec, found: &mut Findings) {
    let context = spec.security_context.as_ref();
    let has_sysctls = context.is_some_and(|it| !list(&it.sysctls).is_empty());
    let seccomp = context.and_then(|it| it.seccomp_profile.as_ref());
    let of_priority = Some("set priorityClassName, for example to system-node-critical");
    let of_priority = of_priority.filter(|_| text(&spec.priority_class_name).is_empty());
    let of_sysctls = Some("set securityContext.sysctls of the pod").filter(|_| !has_sysctls);
    let (v16, v11) = (
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    );
    let path = TEMPLATE.below("metadata.annotations");
    for (key, value) in metadata.annotations.iter().flatten() {
        let (text, harm) = match key.as_str() {
            "scheduler.alpha.kubernetes.io/critical-pod" => (v16, of_priority),
            "security.alpha.kubernetes.io/sysctls"
            | "security.alpha.kubernetes.io/unsafe-sysctls" => (v11, of_sysctls),
            "seccomp.security.alpha.kubernetes.io/pod" if seccomp.is_none() => {
                (containers::SECCOMP, containers::of_seccomp(value, spec))
            }
            _ => continue,
        };
        say(&path.key(key), text, harm, found);
    }
}

/// Follows the part about volumes, and `warningsForOverlappingVirtualPaths`.
fn volumes(spec: &PodSpec, cluster: &Cluster, found: &mut Findings) {
    for (volume, path) in VOLUMES.items(list(&spec.volumes)) {
        if volume.git_repo.is_some() {
            let (text, harm) = match cluster.enabled("GitRepoVolumeDriver") {
                false => ("deprecated in v1.11, and disabled by default in v1.33+", NO_GIT),
                true => ("deprecated in v1.11", None),
            };
            say(&path.child("gitRepo"), text, harm, found);
        }
        for (name, _, text) in GONE.iter().filter(|(_, is_used, _)| is_used(volume)) {
            say(&path.child(name), *text, NO_PLUGIN, found);
        }
        let template = volume.ephemeral.as_ref().and_then(|it| it.volume_claim_template.as_ref());
        if let Some(template) = template {
            let path = path.below("ephemeral.volumeClaimTemplate.spec");
            claim_spec(Some(&template.spec), &path, found);
        }
        overlaps::warn(volume, &path, cluster, found);
    }
}

/// Follows `GetWarningsForPersistentVolumeClaimSpec`, pkg/api/persistentvolumeclaim/util.go.
fn claim_spec(spec: Option<&PersistentVolumeClaimSpec>, path: &Path<'_>, found: &mut Findings) {
    let Some(resources) = spec.and_then(|it| it.resources.as_ref()) else { return };
    let path = path.child("resources");
    amounts(resources.requests.as_ref(), &["storage"], &path.child("requests"), found);
    amounts(resources.limits.as_ref(), &["storage"], &path.child("limits"), found);
}

/// Fractions of a byte. An amount below a mebibyte has the wrong unit; `1.1Gi` is a fraction too, but does no harm.
fn amounts(
    amounts: Option<&BTreeMap<String, Text>>,
    names: &[&str],
    path: &Path<'_>,
    found: &mut Findings,
) {
    for name in names {
        let amount = amounts.and_then(|it| it.get(*name));
        let Some(amount) = amount.and_then(|it| Quantity::parse_resource(&it.0)) else { continue };
        if !amount.is_integer() {
            let shown = amount.to_text();
            let text = format!(
                "fractional byte value {} is invalid, must be an integer",
                Value::Str(&shown)
            );
            let is_tiny = amount.thousandths().is_some_and(|it| it < 1_000 << 20);
            say(&path.key(name), text, UNIT.filter(|_| is_tiny), found);
        }
    }
}

/// Follows the parts about host aliases, pull secrets and the grace period.
fn lists(spec: &PodSpec, found: &mut Findings) {
    let mut seen = Seen::new();
    for (i, alias) in list(&spec.host_aliases).iter().enumerate() {
        if !seen.insert(alias.ip.as_str()) {
            let text = format!("duplicate ip {}", Value::Str(&alias.ip));
            say(&POD_SPEC.item("hostAliases", i).child("ip"), text, TWICE, found);
        }
    }
    let mut seen = Seen::new();
    for (i, secret) in list(&spec.image_pull_secrets).iter().enumerate() {
        let (path, name) = (POD_SPEC.item("imagePullSecrets", i), Value::Str(&secret.name));
        if !seen.insert(secret.name.as_str()) {
            say(&path.child("name"), format!("duplicate name {name}"), TWICE, found);
        }
        if secret.name.is_empty() {
            say(&path.child("name"), format!("invalid empty name {name}"), None, found);
        }
    }
    if spec.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0) {
        let text = "must be >= 0; negative values are invalid and will be treated as 1";
        let harm =
            Some("each container is killed after one second: leave it out to have 30 seconds");
        say(&POD_SPEC.child("terminationGracePeriodSeconds"), text, harm, found);
    }
}

/// Follows the part about IP addresses.
fn addresses(spec: &PodSpec, cluster: &Cluster, found: &mut Findings) {
    let is_strict = cluster.enabled("StrictIPCIDRValidation");
    let mut check = |address: &str, path: &Path<'_>| {
        let is_refused = is_strict && !names::ip(address, true).is_empty();
        if let Some(text) = names::ip_warning(address, cluster).filter(|_| !is_refused) {
            say(path, text, None, found);
        }
    };
    let path = POD_SPEC.below("dnsConfig.nameservers");
    let servers = spec.dns_config.iter().flat_map(|it| list(&it.nameservers));
    servers.enumerate().for_each(|(i, server)| check(server, &path.index(i)));
    for (i, alias) in list(&spec.host_aliases).iter().enumerate() {
        check(&alias.ip, &POD_SPEC.item("hostAliases", i).child("ip"));
    }
}

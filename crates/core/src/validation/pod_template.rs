//! The validation of a pod template's spec: `ValidatePodTemplateSpec`. The parts are in [`pod`].

use k8s_openapi::api::core::v1::PodTemplateSpec;

use super::pod::{
    affinity, annotations, consistency, containers, dns, env, ephemeral_containers, eviction, host,
    os, ports, resource_claims, resources, restart, scheduling, security_context, spread,
    tolerations, util, volumes, windows,
};
use crate::object::dropped::{drop_disabled, uses_disabled};
use crate::validation::prelude::*;

#[derive(Clone, Copy)]
pub(crate) struct PodInputs<'a> {
    /// The fields must not contradict some of these annotations.
    pub annotations: Option<&'a BTreeMap<String, String>>,
    pub cluster: &'a Cluster,
    /// The claim templates of a StatefulSet count as volumes.
    pub claims: &'a [&'a str],
    /// The old spec on UPDATE. Called only if the result may depend on it.
    pub old: &'a dyn Fn() -> Option<&'a PodSpec>,
}

/// The controller sets `hostname` and `subdomain` of the pods and adds volumes for claim templates. Kubernetes:
/// `ValidatePodTemplateSpecForStatefulSet` and `ValidateStatefulSetSpec`, `pkg/apis/apps/validation/validation.go`.
pub(crate) fn validate_of_stateful_set<'a>(
    template: &PodTemplateSpec,
    claims: &[PersistentVolumeClaim],
    cluster: &Cluster,
    old: &dyn Fn() -> Option<&'a PodSpec>,
    found: &mut Findings,
) {
    let Some(pod) = &template.spec else { return };
    let claims: Vec<&str> = claims.iter().map(|claim| text(&claim.metadata.name)).collect();
    let named = pod.hostname.is_some() || pod.subdomain.is_some();
    let nameless = named.then(|| PodSpec { hostname: None, subdomain: None, ..pod.clone() });
    let pod = nameless.as_ref().unwrap_or(pod);
    let annotations = template.metadata.as_ref().and_then(|m| m.annotations.as_ref());
    let inputs = PodInputs { annotations, cluster, claims: &claims, old: &|| old() };
    validate_pod_spec(pod, &inputs, &POD_SPEC, found);
}

pub(crate) fn validate_pod_spec(
    spec: &PodSpec,
    inputs: &PodInputs<'_>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let before = found.checkpoint();
    let count = found.len();
    // If the spec uses a disabled feature or label keys, the old spec can make validation stricter. Otherwise the old
    // spec can only relax it.
    let cluster = inputs.cluster;
    let old_can_only_relax = !uses_disabled(spec, cluster) && !spread::uses_label_keys(spec);
    if old_can_only_relax {
        let new = Options::of(spec, None, cluster);
        validate_as(spec, &new, inputs, &found.at(path));
        if found.len() == count {
            return;
        }
    }
    let old = (inputs.old)();
    if old_can_only_relax && old.is_none() {
        return;
    }
    found.rewind(before);
    let spec = &*drop_disabled(spec, old, cluster);
    let eased = Options::of(spec, old, cluster);
    validate_as(spec, &eased, inputs, &found.at(path));
}

/// Follows `ValidatePodSpec`, in the same order.
fn validate_as(spec: &PodSpec, opts: &Options, inputs: &PodInputs<'_>, path: &At<'_>) {
    if let Some(annotations) = inputs.annotations {
        annotations::tolerations(annotations, opts, &path.at(&TEMPLATE.child("annotations")));
    }
    if spec.termination_grace_period_seconds.is_none() {
        path.child("terminationGracePeriodSeconds").required("");
    }
    let volumes = list(&spec.volumes);
    let volumes = volumes::validate(volumes, inputs.claims, opts, &path.child("volumes"));
    let resource_claims = list(&spec.resource_claims);
    resource_claims::validate(resource_claims, &path.child("resourceClaims"));
    let claim_names = resource_claims::names(resource_claims);
    let cx = &PodContext::of(spec, opts, &volumes, &claim_names);
    all_containers(spec, cx, path);
    if opts.pod_level_resources {
        consistency::validate(spec, cx, path);
    }
    ports::on_host_network(spec, path);
    restart::pod(text(&spec.restart_policy), &path.child("restartPolicy"));
    dns::policy(spec, path);
    labels::labels(spec.node_selector.as_ref(), &path.child("nodeSelector"));
    security_context::pod(spec, opts, path);
    if let Some(affinity) = &spec.affinity {
        affinity::validate(affinity, opts, &path.child("affinity"));
    }
    dns::config(spec, opts, path);
    scheduling::gates(spec, path);
    let constraints = list(&spec.topology_spread_constraints);
    spread::validate(constraints, opts, &path.child("topologySpreadConstraints"));
    windows::host_process(spec, path);
    host::users(spec, opts, path);
    host::name_override(spec, path);
    remaining_fields(spec, opts, path);
    os::validate(spec, path);
    scheduling::group(spec, path);
    eviction::validate(spec, &path.child("evictionResponders"));
    env::file_volumes(spec, inputs.claims, path);
    if let Some(annotations) = inputs.annotations {
        annotations::match_fields(annotations, spec, path);
    }
}

fn all_containers(spec: &PodSpec, cx: &PodContext<'_>, path: &At<'_>) {
    containers::validate(&spec.containers, cx, &path.child("containers"));
    let init = list(&spec.init_containers);
    containers::validate_init(init, &spec.containers, cx, &path.child("initContainers"));
    ephemeral_containers::validate(spec, cx, &path.child("ephemeralContainers"));
}

/// The fields from the service account on.
fn remaining_fields(spec: &PodSpec, opts: &Options, path: &At<'_>) {
    let account = text(&spec.service_account_name);
    // The deprecated field `serviceAccount` counts if `serviceAccountName` is empty.
    let account = if account.is_empty() { text(&spec.service_account) } else { account };
    for (field, name) in [("serviceAccountName", account), ("nodeName", text(&spec.node_name))] {
        if !name.is_empty() {
            subdomain(name, &path.child(field));
        }
    }
    if let Some(seconds) = spec.active_deadline_seconds
        && !(1..=i64::from(i32::MAX)).contains(&seconds)
    {
        let path = path.child("activeDeadlineSeconds");
        path.invalid(seconds, "must be between 1 and 2147483647, inclusive");
    }
    for (field, name) in [("hostname", text(&spec.hostname)), ("subdomain", text(&spec.subdomain))]
    {
        if !name.is_empty() {
            label(name, &path.child(field));
        }
    }
    tolerations::validate(list(&spec.tolerations), opts, &path.child("tolerations"));
    dns::host_aliases(list(&spec.host_aliases), opts, &path.child("hostAliases"));
    let class = text(&spec.priority_class_name);
    if !class.is_empty() {
        subdomain(class, &path.child("priorityClassName"));
    }
    if let Some(class) = &spec.runtime_class_name {
        util::each(names::dns1123_subdomain(class), class, &path.child("runtimeClassName"));
    }
    if let Some(policy) = &spec.preemption_policy {
        let policies = &["PreemptLowerPriority", "Never"];
        util::required_one_of(policy, policies, &path.child("preemptionPolicy"));
    }
    if let Some(overhead) = &spec.overhead {
        resources::overhead(overhead, opts, &path.child("overhead"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn spec(change: &Value) -> PodSpec {
        let mut spec = json!({
            "containers": [{
                "name": "a", "image": "a", "imagePullPolicy": "Always",
                "terminationMessagePolicy": "File"
            }],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30
        });
        for (pointer, value) in change.as_object().unwrap() {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            spec.pointer_mut(parent).unwrap()[name] = value.clone();
        }
        serde_json::from_value(spec).unwrap()
    }

    fn messages(
        spec: &PodSpec,
        old: Option<&PodSpec>,
        claims: &[&str],
        gates: &str,
    ) -> Vec<String> {
        let gates = crate::kubernetes::cluster::parse_gates(gates).unwrap();
        let cluster = Cluster::new("1.36".parse().unwrap(), gates);
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        let inputs = PodInputs { annotations: None, cluster: &cluster, claims, old: &|| old };
        validate_pod_spec(spec, &inputs, &Path::new("spec"), &mut found);
        found.into_vec().iter().map(|f| format!("{}: {}", f.field, f.message)).collect()
    }

    fn texts(change: &Value, gates: &str) -> Vec<String> {
        messages(&spec(change), None, &[], gates)
    }

    #[test]
    fn a_plain_spec_is_good_and_an_empty_one_is_not_fatal() {
        assert!(texts(&json!({}), "").is_empty());
        assert!(messages(&PodSpec::default(), None, &[""], "").len() > 3);
    }

    #[test]
    fn a_field_whose_feature_is_off_is_dropped_before_validation() {
        for (gate, change) in [
            (
                "SupplementalGroupsPolicy",
                json!({"/securityContext": {"supplementalGroupsPolicy": "x"}}),
            ),
            ("ProcMountType", json!({"/containers/0/securityContext": {"procMount": "x"}})),
        ] {
            assert!(texts(&change, &format!("{gate}=false")).is_empty(), "{gate} is off");
            assert!(!texts(&change, &format!("{gate}=true")).is_empty(), "{gate} is on");
            // A field that the old spec uses is kept and validated.
            let (new, old) = (spec(&change), spec(&change));
            assert!(
                !messages(&new, Some(&old), &[], &format!("{gate}=false")).is_empty(),
                "{gate}"
            );
        }
    }

    #[test]
    fn what_was_stored_with_a_fault_may_keep_it() {
        for change in [
            json!({"/tolerations": [{"key": "a", "operator": "Lt", "value": "1"}]}),
            json!({"/securityContext": {"seLinuxChangePolicy": "MountOption"}}),
            json!({"/hostUsers": false, "/hostNetwork": true}),
            json!({"/overhead": {"hugepages-2Mi": "3Mi", "cpu": "1"}}),
            json!({"/topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"a b": "c"}}
            }]}),
            json!({"/hostIPC": true, "/securityContext": {"sysctls": [{"name": "kernel.sem", "value": ""}]}}),
            json!({"/affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}]
            }}}}),
        ] {
            let bad = spec(&change);
            let fresh = messages(&bad, None, &[], "");
            assert!(!fresh.is_empty(), "{change}");
            let kept = messages(&bad, Some(&bad), &[], "");
            assert!(kept.len() < fresh.len(), "{change}: {kept:?}");
        }
    }

    #[test]
    fn a_claim_replaces_a_volume_of_the_same_name() {
        let shadowed = spec(&json!({
            "/containers/0/volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "/volumes": [{"name": "data", "hostPath": {"path": ""}}]
        }));
        assert!(messages(&shadowed, None, &["data"], "").is_empty());
    }

    /// Reads the old spec up front. [`validate_pod_spec`] must find the same.
    fn at_once(spec: &PodSpec, old: Option<&PodSpec>, cluster: &Cluster) -> Vec<String> {
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        let spec = drop_disabled(spec, old, cluster);
        let opts = Options::of(&spec, old, cluster);
        let inputs = PodInputs { annotations: None, cluster, claims: &[], old: &|| old };
        validate_as(&spec, &opts, &inputs, &found.at(&Path::new("spec")));
        found.into_vec().iter().map(|f| format!("{}: {}", f.field, f.message)).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "a test reads its cases")]
    fn recorded() -> Vec<PodSpec> {
        let folder =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let mut specs = Vec::new();
        for line in read("podspec.jsonl").lines().chain(read("cases.jsonl").lines()) {
            let case: Value = serde_json::from_str(line).unwrap();
            let base = read(&format!("bases/{}.json", case["base"].as_str().unwrap()));
            for patch in ["patch", "oldPatch"] {
                let mut object: Value = serde_json::from_str(&base).unwrap();
                let patch = serde_json::from_value::<json_patch::Patch>(case[patch].clone());
                if patch.is_ok_and(|patch| json_patch::patch(&mut object, &patch).is_ok())
                    && let Ok(template) = serde_json::from_value(object["spec"]["template"].take())
                {
                    let mut template: k8s_openapi::api::core::v1::PodTemplateSpec = template;
                    crate::object::defaults::template(&mut template);
                    specs.extend(template.spec);
                }
            }
        }
        specs
    }

    #[test]
    fn an_old_spec_that_is_read_late_says_the_same() {
        let off = |version: &str| Cluster::without_features(version.parse().unwrap());
        let clusters = [Cluster::default(), off("1.33"), off("1.36")];
        let specs = recorded();
        let (mut reads, mut pairs) = (0, 0);
        // Neighbors share a base; specs that are far apart share nothing.
        for (i, new) in specs.iter().enumerate() {
            for old in [0, 1, 977].map(|step| &specs[(i + step) % specs.len()]) {
                for cluster in &clusters {
                    let mut found = Findings::of(&crate::finding::TEST_RULE);
                    let was_read = std::cell::Cell::new(false);
                    let read = || {
                        was_read.set(true);
                        Some(old)
                    };
                    let inputs = PodInputs { annotations: None, cluster, claims: &[], old: &read };
                    validate_pod_spec(new, &inputs, &Path::new("spec"), &mut found);
                    let found = found.into_vec();
                    let texts: Vec<_> =
                        found.iter().map(|f| format!("{}: {}", f.field, f.message)).collect();
                    assert_eq!(texts, at_once(new, Some(old), cluster), "{new:?}\nwas {old:?}");
                    reads += usize::from(was_read.get());
                    pairs += 1;
                }
            }
        }
        assert!(reads > 1000 && reads < pairs * 9 / 10, "{reads} of {pairs} reads");
    }
}

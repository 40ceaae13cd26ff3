//! The limits of injection: it never lets a pod run on more nodes than before, and never patches it twice.

use crate::prelude::*;
use json_patch::Patch;
use proptest::prelude::*;
use setguard::{
    inject::{self, Injection, pod::PartialPod, settings::Settings},
    object::{Str, User},
};

const PAIRED: &str = "system:serviceaccount:kube-system:daemon-set-controller";
const NODES: [&str; 4] = ["worker-0", "worker-1", "cp-0", "edge-0"];

fn user(name: &str) -> User<'_> {
    User { username: Str(name.into()), groups: None }
}

fn inject(pod: &Value, name: &str) -> Injection {
    let text = pod.to_string();
    inject::pod(&PartialPod::parse(&text).unwrap(), &user(name), &Settings::default())
}

fn injected(pod: &Value) -> Value {
    let mut after = pod.clone();
    json_patch::patch(&mut after, &Patch(inject(pod, PAIRED).patch)).unwrap();
    after
}

fn pod(node: &str, spec: Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "agent", "annotations": {"setguard.io/node": node}},
    });
    pod["spec"] = spec;
    pod
}

fn denials(injection: &Injection) -> Vec<String> {
    let verdict = support::evaluate_injection(injection);
    verdict.denials().map(|j| format!("{}: {}", j.finding.field, j.finding.message)).collect()
}

fn labels(node: &str) -> Value {
    match node {
        "worker-0" => json!({"zone": "a", "disk": "ssd", "cores": "8"}),
        "worker-1" => json!({"zone": "b", "cores": "16"}),
        "cp-0" => json!({"zone": "a", "role": "control-plane"}),
        _ => json!({}),
    }
}

/// Whether a node selector requirement holds. Written from the Kubernetes API docs, independently of the tested code.
fn holds(requirement: &Value, actual: Option<&str>) -> bool {
    let values: Vec<&str> = requirement["values"]
        .as_array()
        .map_or(vec![], |v| v.iter().filter_map(Value::as_str).collect());
    let number = |text: &str| text.parse::<i64>().ok();
    match requirement["operator"].as_str().unwrap() {
        "In" => actual.is_some_and(|actual| values.contains(&actual)),
        "NotIn" => actual.is_none_or(|actual| !values.contains(&actual)),
        "Exists" => actual.is_some(),
        "DoesNotExist" => actual.is_none(),
        "Gt" => actual.and_then(number).zip(number(values[0])).is_some_and(|(a, v)| a > v),
        "Lt" => actual.and_then(number).zip(number(values[0])).is_some_and(|(a, v)| a < v),
        other => panic!("{other}"),
    }
}

fn may_run(pod: &Value, node: &str) -> bool {
    let mut selector = pod["spec"]["nodeSelector"].as_object().into_iter().flatten();
    if selector.any(|(key, value)| labels(node).get(key) != Some(value)) {
        return false;
    }
    let required =
        &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_null() {
        return true;
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&required["nodeSelectorTerms"]).iter().any(|term| {
        let (fields, labels_of) = (list(&term["matchFields"]), labels(node));
        let expressions = list(&term["matchExpressions"]);
        (!fields.is_empty() || !expressions.is_empty())
            && fields.iter().all(|field| holds(field, Some(node)))
            && expressions.iter().all(|e| {
                holds(e, labels_of.get(e["key"].as_str().unwrap()).and_then(Value::as_str))
            })
    })
}

fn requirement() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["zone", "disk", "cores", "role", "none"]);
    let values = prop::collection::vec(prop::sample::select(vec!["a", "b", "ssd", "8", "9"]), 1..3);
    let operator = prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
    (key, operator, values).prop_map(|(key, operator, values)| match operator {
        "Exists" | "DoesNotExist" => json!({"key": key, "operator": operator}),
        "Gt" | "Lt" => json!({"key": key, "operator": operator, "values": [values[0]]}),
        _ => json!({"key": key, "operator": operator, "values": values}),
    })
}

fn field() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(vec!["In", "NotIn"]);
    (operator, prop::sample::select(NODES.to_vec())).prop_map(
        |(operator, node)| json!({"key": "metadata.name", "operator": operator, "values": [node]}),
    )
}

fn term() -> impl Strategy<Value = Value> {
    let expressions = prop::option::of(prop::collection::vec(requirement(), 0..3));
    let fields = prop::option::of(prop::collection::vec(field(), 0..2));
    (expressions, fields).prop_map(|(expressions, fields)| {
        let mut term = json!({});
        if let Some(expressions) = expressions {
            term["matchExpressions"] = expressions.into();
        }
        if let Some(fields) = fields {
            term["matchFields"] = fields.into();
        }
        term
    })
}

fn affinity() -> impl Strategy<Value = Value> {
    let required = prop::collection::vec(term(), 1..4).prop_map(|terms| {
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": terms}}})
    });
    prop_oneof![
        1 => Just(Value::Null),
        1 => Just(json!({})),
        1 => Just(json!({"nodeAffinity": {}})),
        1 => Just(json!({"nodeAffinity": null, "podAffinity": {}})),
        1 => Just(json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}
        ]}})),
        8 => required,
    ]
}

fn node_selector() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["zone", "disk", "cores", "role"]);
    let value = prop::sample::select(vec!["a", "b", "ssd", "8", "control-plane"]);
    let labels = prop::collection::btree_map(key, value, 0..3).prop_map(|labels| json!(labels));
    prop_oneof![1 => Just(Value::Null), 2 => labels]
}

fn toleration() -> impl Strategy<Value = Value> {
    let keys = "|node-role.kubernetes.io/control-plane|node.kubernetes.io/not-ready|\
                node.kubernetes.io/disk-pressure|other";
    let key = prop::sample::select(keys.split('|').collect::<Vec<_>>());
    let effect = prop::sample::select(vec!["", "NoSchedule", "NoExecute"]);
    let value = prop::sample::select(vec!["", "v"]);
    (key, effect, prop::option::of(0i64..100), any::<bool>(), value).prop_map(
        |(key, effect, seconds, exists, value)| {
            let mut toleration = json!({});
            if !key.is_empty() {
                toleration["key"] = key.into();
            }
            if !effect.is_empty() {
                toleration["effect"] = effect.into();
            }
            if exists || key.is_empty() {
                toleration["operator"] = "Exists".into();
            } else {
                toleration["value"] = value.into();
            }
            if let Some(seconds) = seconds.filter(|_| effect == "NoExecute") {
                toleration["tolerationSeconds"] = seconds.into();
            }
            toleration
        },
    )
}

/// Returns how long a pod may stay on a node with a taint: `None` is not at all, `Some(None)` is forever. The first
/// matching toleration decides.
fn stays(pod: &Value, key: &str, effect: &str) -> Option<Option<i64>> {
    let list = pod["spec"]["tolerations"].as_array()?;
    let tolerates = |t: &&Value| {
        let text = |name: &str| t[name].as_str().unwrap_or_default().to_owned();
        (text("effect").is_empty() || text("effect") == effect)
            && (text("key").is_empty() || text("key") == key)
            && (text("operator") == "Exists" || text("value").is_empty())
    };
    list.iter().find(tolerates).map(|t| t["tolerationSeconds"].as_i64())
}

proptest! {
    #[test]
    fn the_pin_allows_exactly_its_node_if_the_pod_allowed_it_before(
        affinity in affinity(),
        selector in node_selector(),
        node in prop::sample::select(NODES.to_vec()),
    ) {
        let spec = json!({"affinity": affinity, "nodeSelector": selector, "containers": []});
        let before = pod(node, spec);
        let injection = inject(&before, PAIRED);
        if denials(&injection).is_empty() {
            let after = injected(&before);
            for candidate in NODES {
                prop_assert_eq!(
                    may_run(&after, candidate),
                    candidate == node && may_run(&before, candidate),
                    "{} {}", candidate, after
                );
            }
        } else {
            prop_assert!(!may_run(&before, node), "denied although the node was allowed");
        }
    }

    #[test]
    fn a_second_pass_patches_nothing(
        affinity in affinity(),
        tolerations in prop::option::of(prop::collection::vec(toleration(), 0..5)),
        host_network in any::<bool>(),
    ) {
        let spec = json!({"affinity": affinity, "tolerations": tolerations, "hostNetwork": host_network});
        let once = injected(&pod("worker-0", spec));
        prop_assert_eq!(inject(&once, PAIRED).patch, vec![]);
    }

    #[test]
    fn a_daemon_stays_where_the_built_in_controller_keeps_it(
        tolerations in prop::option::of(prop::collection::vec(toleration(), 0..5)),
        host_network in any::<bool>(),
    ) {
        let before = pod("worker-0", json!({"tolerations": tolerations, "hostNetwork": host_network}));
        let after = injected(&before);
        for (key, effect) in [
            ("node.kubernetes.io/not-ready", "NoExecute"),
            ("node.kubernetes.io/unreachable", "NoExecute"),
            ("node.kubernetes.io/disk-pressure", "NoSchedule"),
            ("node.kubernetes.io/unschedulable", "NoSchedule"),
            ("node-role.kubernetes.io/control-plane", "NoSchedule"),
            ("node-role.kubernetes.io/master", "NoSchedule"),
        ] {
            prop_assert_eq!(stays(&after, key, effect), Some(None), "{} {}", key, after);
        }
        let network = stays(&after, "node.kubernetes.io/network-unavailable", "NoSchedule");
        prop_assert!(network.is_some() || !host_network);
    }

    #[test]
    fn injection_removes_nothing_from_the_pod(
        affinity in affinity(),
        tolerations in prop::collection::vec(toleration(), 1..5),
    ) {
        let before = pod("worker-0", json!({
            "affinity": affinity, "tolerations": tolerations, "newField": {"unknown": true},
        }));
        let after = injected(&before);
        prop_assert_eq!(&after["spec"]["newField"], &before["spec"]["newField"]);
        prop_assert_eq!(&after["metadata"], &before["metadata"]);
        prop_assert!(after["spec"].get("nodeName").is_none());
        let kept = after["spec"]["tolerations"].as_array().unwrap();
        for toleration in before["spec"]["tolerations"].as_array().unwrap() {
            prop_assert!(kept.contains(toleration));
        }
    }
}

#[test]
fn the_patch_is_minimal() {
    let mut all_but_one = injected(&pod("worker-0", json!({})));
    all_but_one["spec"]["tolerations"].as_array_mut().unwrap().remove(1);
    let patch = serde_json::to_value(inject(&all_but_one, PAIRED).patch).unwrap();
    assert_eq!(
        patch,
        json!([{"op": "add", "path": "/spec/tolerations/-", "value": {
            "key": "node-role.kubernetes.io/master", "operator": "Exists", "effect": "NoSchedule",
        }}])
    );
}

#[test]
fn a_group_can_be_paired_too() {
    let policy = Policy::parse(
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\n\
         injection: {pairedControllers: {users: [], groups: [agents]}}\n",
    );
    let settings = policy.unwrap().injection;
    let text = pod("worker-0", json!({})).to_string();
    let pod = PartialPod::parse(&text).unwrap();
    let of = |group: &'static str| User {
        username: Str("bob".into()),
        groups: Some(vec![Str("system:authenticated".into()), Str(group.into())]),
    };
    assert!(!inject::pod(&pod, &of("agents"), &settings).patch.is_empty());
    assert!(inject::pod(&pod, &of("others"), &settings).patch.is_empty());
    assert!(inject::pod(&pod, &user(PAIRED), &settings).patch.is_empty(), "not on this list");
}

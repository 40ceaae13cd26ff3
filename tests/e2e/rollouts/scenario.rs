//! Generated changes of sets with a complete rollout, or in the middle of one.

use super::history::{Act, FINALIZER, History, LABEL};
use crate::prelude::*;

/// The image of the change in between.
const BETWEEN: &str = "between";

/// Returns the events before a change mid-rollout: an unfinished rollout with pods that may never become ready.
fn between(dice: &mut Dice, object: Value) -> (Vec<Act>, Vec<String>) {
    let is_broken = dice.percent(50);
    let rounds = usize::try_from(1 + dice.below(3)).expect("a small number");
    let broken = if is_broken { vec![BETWEEN.to_owned()] } else { Vec::new() };
    match dice.percent(35) {
        true => (vec![Act::Change(object), Act::Rounds(rounds)], broken),
        false => (Vec::new(), Vec::new()),
    }
}

/// Returns a change on the shared nodes.
fn change(
    name: String,
    objects: [Option<Value>; 2],
    acts: (Vec<Act>, Vec<String>),
    never_ready: Vec<String>,
) -> History {
    let [first, last] = objects;
    let (acts, broken) = if first.is_some() { acts } else { (Vec::new(), Vec::new()) };
    History {
        name,
        first,
        acts,
        last: last.expect("an object"),
        is_orphaned: false,
        nodes: Vec::new(),
        broken,
        binds: false,
        never_ready,
    }
}

pub(crate) fn stateful_sets(seed: u64, count: usize, prefix: &str) -> Vec<History> {
    let mut dice = Dice(seed);
    (0..count).map(|i| stateful_set(&mut dice, format!("{prefix}{i}"))).collect()
}

fn stateful_set(dice: &mut Dice, name: String) -> History {
    let policy = dice.pick(&["OrderedReady", "Parallel"]);
    let has_claims = dice.percent(40);
    let when_scaled = dice.pick(&["Retain", "Delete"]);
    let mut one = |image: &str| {
        let start = dice.pick(&[0, 0, 0, 2]);
        let mut spec = json!({
            "replicas": dice.below(6),
            "serviceName": name,
            "podManagementPolicy": policy,
            "selector": {"matchLabels": {"app": name}},
            "ordinals": {"start": start},
            "template": template(&name, image),
            "persistentVolumeClaimRetentionPolicy":
                {"whenDeleted": "Retain", "whenScaled": when_scaled},
        });
        spec["updateStrategy"] = strategy(dice);
        if has_claims {
            spec["volumeClaimTemplates"] = json!([claim("data")]);
        }
        object("StatefulSet", &name, &spec)
    };
    let old = one("old");
    let image = new_image(&name);
    let new = one(image);
    let middle = one(BETWEEN);
    let between = between(dice, middle);
    let never_ready = match dice.below(10) {
        0 | 1 => vec!["new".to_owned()],
        2 => vec![format!("{name}-{}", dice.below(5))],
        _ => Vec::new(),
    };
    let old = (!dice.percent(12)).then_some(old);
    change(name, [old, Some(new)], between, never_ready)
}

pub(super) fn strategy(dice: &mut Dice) -> Value {
    let mut rolling = json!({"partition": dice.pick(&[0, 0, 0, 1, 2, 3, 7])});
    if dice.percent(60) {
        rolling["maxUnavailable"] = dice.pick(&[json!(1), json!(2), json!(3), json!("50%")]);
    }
    match dice.percent(12) {
        true => json!({"type": "OnDelete"}),
        false => json!({"type": "RollingUpdate", "rollingUpdate": rolling}),
    }
}

pub(super) fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec":
        {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})
}

pub(super) fn tolerate(dice: &mut Dice, template: &mut Value) {
    if dice.percent(40) {
        template["spec"]["tolerations"] = dice.pick(&[
            json!([{"key": "quiet", "operator": "Exists", "effect": "NoSchedule"}]),
            json!([{"operator": "Exists"}]),
            json!([{"key": "strict", "operator": "Equal", "value": "yes"}]),
        ]);
    }
}

/// Sets `minReadySeconds` to 63 years.
pub(crate) fn slowly(mut histories: Vec<History>) -> Vec<History> {
    for history in &mut histories {
        for object in history.acts.iter_mut().filter_map(changed).chain([&mut history.last]) {
            object["spec"]["minReadySeconds"] = json!(2_000_000_000);
        }
    }
    histories
}

const fn changed(act: &mut Act) -> Option<&mut Value> {
    if let Act::Change(object) = act { Some(object) } else { None }
}

/// Changes the update strategy to `Recreate`. Every third change follows an earlier such change.
pub(crate) fn recreating(mut histories: Vec<History>) -> Vec<History> {
    let strategy = json!({"type": "Recreate"});
    for (i, history) in histories.iter_mut().enumerate() {
        history.last["spec"]["updateStrategy"] = strategy.clone();
        for object in history.acts.iter_mut().filter_map(changed).filter(|_| i % 3 == 0) {
            object["spec"]["updateStrategy"] = strategy.clone();
        }
    }
    histories
}

/// Two of three changes change the template. Templates with the same image are the same.
fn new_image(name: &str) -> &'static str {
    if name.bytes().map(usize::from).sum::<usize>() % 3 == 0 { "old" } else { "new" }
}

pub(crate) fn daemon_sets(seed: u64, count: usize, prefix: &str) -> Vec<History> {
    let mut dice = Dice(seed);
    (0..count).map(|i| daemon_set(&mut dice, format!("{prefix}{i}"))).collect()
}

/// A DaemonSet with these rolling update settings; in one of ten cases with OnDelete.
pub(super) fn daemon_set_of(
    dice: &mut Dice,
    name: &str,
    template: &Value,
    rolling: &Value,
) -> Value {
    let strategy = if dice.percent(10) {
        json!({"type": "OnDelete"})
    } else {
        json!({"type": "RollingUpdate", "rollingUpdate": rolling})
    };
    let spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": template,
        "updateStrategy": strategy,
    });
    object("DaemonSet", name, &spec)
}

fn daemon_set(dice: &mut Dice, name: String) -> History {
    let mut one = |image: &str| {
        let mut template = template(&name, image);
        if dice.percent(30) {
            let pool = dice.pick(&["a", "b"]);
            template["spec"]["nodeSelector"] = json!({"pool": pool});
        }
        if dice.percent(30) {
            let values = dice.pick(&[json!(["a"]), json!(["a", "b"]), json!(["none"])]);
            let pool = json!({"key": "pool", "operator": "In", "values": values});
            template["spec"]["affinity"] = json!({"nodeAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution":
                    {"nodeSelectorTerms": [{"matchExpressions": [pool]}]}}});
        }
        tolerate(dice, &mut template);
        let rolling = json!([{"maxUnavailable": 1}, {"maxUnavailable": 2}, {"maxUnavailable": "34%"},
            {"maxUnavailable": "100%"}, {"maxUnavailable": 0, "maxSurge": 1},
            {"maxUnavailable": 0, "maxSurge": "50%"}]);
        let rolling = dice.pick(rolling.as_array().expect("a list"));
        daemon_set_of(dice, &name, &template, &rolling)
    };
    let old = one("old");
    let image = new_image(&name);
    let mut new = one(image);
    if image == "old" {
        // Only the strategy differs.
        new["spec"]["template"] = old["spec"]["template"].clone();
    }
    let middle = one(BETWEEN);
    let between = between(dice, middle);
    let never_ready = if dice.percent(20) { vec!["new".to_owned()] } else { Vec::new() };
    let old = (!dice.percent(12)).then_some(old);
    change(name, [old, Some(new)], between, never_ready)
}

pub(super) fn template(name: &str, image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": name, LABEL: name}, "finalizers": [FINALIZER]},
        "spec": {"containers": [
            {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}},
        ]},
    })
}

pub(super) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    })
}

pub(crate) fn nodes() -> Vec<Value> {
    let taint = |key: &str, value: &str, effect: &str| json!([{"key": key, "value": value, "effect": effect}]);
    let nodes = [
        ("n1", "a", json!([])),
        ("n2", "a", json!([])),
        ("n3", "b", json!([])),
        ("n4", "b", json!([])),
        ("n5", "a", taint("quiet", "", "NoSchedule")),
        ("n6", "b", taint("strict", "yes", "NoExecute")),
    ];
    nodes
        .into_iter()
        .map(|(name, pool, taints)| {
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"pool": pool}},
                "spec": {"taints": taints},
            })
        })
        .collect()
}

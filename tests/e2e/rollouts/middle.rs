//! Random histories, followed by a change in the middle of something: changes on changes, broken or deleted pods,
//! claims and nodes that come and go, pods without an owner, and several old templates.

use kube::api::PropagationPolicy::{Background, Foreground, Orphan};

use super::{
    history::{Act, History, LABEL},
    scenario::{claim, daemon_set_of, object, strategy, template, tolerate},
};
use crate::prelude::*;

/// The templates of a history, by image. A change may go back to an earlier one.
const IMAGES: [&str; 4] = ["a", "b", "c", "d"];
/// Too many seconds for a pod to become available, unless it has been ready since long ago.
const LONG: i64 = 2_000_000_000;

pub(crate) fn stateful_sets(seed: u64, count: usize, prefix: &str) -> Vec<History> {
    histories(seed, count, prefix, &StatefulSets)
}

pub(crate) fn daemon_sets(seed: u64, count: usize, prefix: &str) -> Vec<History> {
    histories(seed, count, prefix, &DaemonSets)
}

fn histories(seed: u64, count: usize, prefix: &str, kind: &dyn Kind) -> Vec<History> {
    // The first numbers of a small seed are small too.
    let mut dice = Dice(seed.max(1));
    for _ in 0..20 {
        dice.below(2);
    }
    (0..count).map(|i| history(&mut dice, format!("{prefix}{i}"), kind)).collect()
}

trait Kind {
    /// Returns the traits that no change of a history changes.
    fn fixed(&self, dice: &mut Dice) -> Value;

    fn object(&self, dice: &mut Dice, fixed: &Value, name: &str, template: &Value) -> Value;

    fn template(&self, dice: &mut Dice, name: &str, image: &str) -> Value;

    fn nodes(&self, dice: &mut Dice, name: &str) -> Vec<Value>;

    /// Returns an event that only this kind has.
    fn event(&self, dice: &mut Dice, name: &str) -> Act;
}

struct StatefulSets;
struct DaemonSets;

fn history(dice: &mut Dice, name: String, kind: &dyn Kind) -> History {
    let is_slow = dice.percent(20);
    let fixed = kind.fixed(dice);
    let templates: BTreeMap<_, _> =
        IMAGES.iter().map(|image| (*image, kind.template(dice, &name, image))).collect();
    let broken =
        if dice.percent(40) { vec![dice.pick(&IMAGES[1..]).to_owned()] } else { Vec::new() };
    let one = |dice: &mut Dice, image: &str| {
        let mut object = kind.object(dice, &fixed, &name, &templates[image]);
        // The controller forgets revisions of pods that are still to come.
        object["spec"]["revisionHistoryLimit"] = json!(dice.pick(&[10, 10, 1, 0]));
        if is_slow {
            object["spec"]["minReadySeconds"] = json!(LONG);
        }
        object
    };
    let first = one(dice, IMAGES[0]);
    let mut now = first.clone();
    let mut acts = Vec::new();
    for _ in 0..2 + dice.below(4) {
        if dice.percent(10) {
            let image = dice.pick(&IMAGES);
            acts.push(Act::Write(one(dice, image)));
        }
        acts.push(act(dice, kind, &name, &mut now, &one));
        if dice.percent(45) {
            acts.push(Act::Rounds(1 + number(dice) % 3));
        }
    }
    let last = match dice.below(100) {
        // Nothing changes, but a rollout may be in progress.
        0..15 => now,
        // Such as another partition for a paused rollout.
        15..22 => {
            let strategy = one(dice, IMAGES[0])["spec"]["updateStrategy"].take();
            now["spec"]["updateStrategy"] = strategy;
            now
        }
        22..32 => {
            let image = &now["spec"]["template"]["spec"]["containers"][0]["image"];
            one(dice, image.as_str().expect("an image"))
        }
        _ => {
            let image = dice.pick(&IMAGES);
            one(dice, image)
        }
    };
    let is_orphaned = dice.percent(8);
    if !is_orphaned && dice.percent(10) {
        acts.push(Act::Delete(dice.pick(&[Background, Foreground, Orphan])));
    }
    let never_ready = match dice.below(12) {
        0 | 1 => vec!["new".to_owned()],
        2 if last["kind"] == "StatefulSet" => vec![format!("{name}-{}", dice.below(5))],
        _ => Vec::new(),
    };
    History {
        first: Some(first),
        acts,
        last,
        is_orphaned,
        nodes: kind.nodes(dice, &name),
        broken,
        binds: dice.percent(50),
        never_ready,
        name,
    }
}

/// An event. Afterwards, `now` is the object.
fn act(
    dice: &mut Dice,
    kind: &dyn Kind,
    name: &str,
    now: &mut Value,
    one: &dyn Fn(&mut Dice, &str) -> Value,
) -> Act {
    match dice.below(100) {
        0..44 => {
            let image = dice.pick(&IMAGES);
            *now = one(dice, image);
            Act::Change(now.clone())
        }
        44..51 => {
            let image = dice.pick(&IMAGES);
            *now = one(dice, image);
            Act::Recreate(now.clone())
        }
        51..58 => Act::Break(number(dice)),
        58..64 => Act::Unready(number(dice)),
        64..70 => Act::End(number(dice), dice.pick(&["Failed", "Succeeded"])),
        70..77 => Act::DeletePod(number(dice)),
        77..81 => Act::Evict(number(dice)),
        81..84 => Act::Relabel(number(dice)),
        84..87 => Act::Resize(number(dice)),
        87..91 => Act::Refuse(dice.pick(&["CREATE", "DELETE"])),
        _ => kind.event(dice, name),
    }
}

fn number(dice: &mut Dice) -> usize {
    usize::try_from(dice.below(60)).expect("a small number")
}

impl Kind for StatefulSets {
    fn fixed(&self, dice: &mut Dice) -> Value {
        let claims = json!([[], [], ["data"], ["data"], ["data", "logs"]]);
        let claims = dice.pick(claims.as_array().expect("a list"));
        json!({"policy": dice.pick(&["OrderedReady", "Parallel"]), "claims": claims})
    }

    fn object(&self, dice: &mut Dice, fixed: &Value, name: &str, template: &Value) -> Value {
        let start = dice.pick(&[0, 0, 0, 0, 0, 1, 2]);
        let strategy = strategy(dice);
        let names = fixed["claims"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let claims: Vec<_> = names.map(claim).collect();
        let spec = json!({
            "replicas": dice.below(6), "serviceName": name, "podManagementPolicy": fixed["policy"],
            "selector": {"matchLabels": {"app": name}}, "ordinals": {"start": start},
            "template": template, "updateStrategy": strategy, "volumeClaimTemplates": claims,
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": dice.pick(&["Retain", "Retain", "Delete"]),
                "whenScaled": dice.pick(&["Retain", "Delete"]),
            },
        });
        object("StatefulSet", name, &spec)
    }

    fn template(&self, _: &mut Dice, name: &str, image: &str) -> Value {
        template(name, image)
    }

    fn nodes(&self, _: &mut Dice, _: &str) -> Vec<Value> {
        Vec::new()
    }

    fn event(&self, dice: &mut Dice, _: &str) -> Act {
        Act::DeleteClaim(number(dice))
    }
}

impl Kind for DaemonSets {
    fn fixed(&self, _: &mut Dice) -> Value {
        Value::Null
    }

    fn object(&self, dice: &mut Dice, _: &Value, name: &str, template: &Value) -> Value {
        let rolling = json!([{"maxUnavailable": 1}, {"maxUnavailable": 2}, {"maxUnavailable": "34%"},
            {"maxUnavailable": "100%"}, {"maxUnavailable": 0, "maxSurge": 1},
            {"maxUnavailable": 0, "maxSurge": 2}, {"maxUnavailable": 0, "maxSurge": "50%"}]);
        let rolling = dice.pick(rolling.as_array().expect("a list"));
        daemon_set_of(dice, name, template, &rolling)
    }

    fn template(&self, dice: &mut Dice, name: &str, image: &str) -> Value {
        let mut template = template(name, image);
        let mut selector = json!({LABEL: name});
        if dice.percent(20) {
            selector["pool"] = json!(dice.pick(&["a", "b"]));
        }
        template["spec"]["nodeSelector"] = selector;
        tolerate(dice, &mut template);
        template
    }

    fn nodes(&self, dice: &mut Dice, name: &str) -> Vec<Value> {
        (0..3 + dice.below(4)).map(|i| node(dice, name, &format!("n{i}"))).collect()
    }

    fn event(&self, dice: &mut Dice, name: &str) -> Act {
        match dice.below(4) {
            0 => {
                let number = dice.below(1000);
                Act::AddNode(node(dice, name, &format!("m{number}")))
            }
            1 => Act::RemoveNode(number(dice)),
            2 => Act::Taint(number(dice), taints(dice)),
            _ => Act::Move(number(dice), dice.pick(&["a", "b"])),
        }
    }
}

fn node(dice: &mut Dice, history: &str, name: &str) -> Value {
    let taints = if dice.percent(25) { taints(dice) } else { json!([]) };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": format!("{history}-{name}"),
            "labels": {LABEL: history, "pool": dice.pick(&["a", "b"])},
        },
        "spec": {"taints": taints},
    })
}

fn taints(dice: &mut Dice) -> Value {
    dice.pick(&[
        json!([]),
        json!([{"key": "quiet", "effect": "NoSchedule"}]),
        json!([{"key": "strict", "value": "yes", "effect": "NoExecute"}]),
        // What a cordon does: all daemons tolerate it.
        json!([{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]),
    ])
}

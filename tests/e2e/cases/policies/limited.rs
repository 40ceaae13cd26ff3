//! Updates with consequences above limits.

use crate::prelude::*;

/// Limits that only warn, so that each object shows its findings.
pub(super) const LIMITS: &str = "\
limits:
- {atMostUnavailable: 34%, deletesClaims: false, replacesAll: false, mode: warn, reason: the first}
- {names: [\"l-*\"], atMostUnavailable: 2, mayExceed: {users: [ann], groups: [sre]}, mode: warn, reason: the second}
";

pub(super) fn pair(dice: &mut Dice, number: u64) -> (Value, Value) {
    let name = format!("l-{number}");
    let (mut old, mut new) = if dice.percent(35) {
        let mut old = manifests::daemon_set(&name);
        if dice.percent(90) {
            let nodes = dice.below(8);
            old["status"] = json!({
                "currentNumberScheduled": nodes, "desiredNumberScheduled": nodes,
                "numberMisscheduled": 0, "numberReady": nodes, "numberUnavailable": dice.below(3),
                "updatedNumberScheduled": dice.below(8), "observedGeneration": dice.below(2),
            });
        }
        (old, manifests::daemon_set(&name))
    } else {
        (manifests::stateful_set(&name), manifests::stateful_set(&name))
    };
    let claims = json!([{ "metadata": { "name": "data" }, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } } }]);
    let claims = if dice.percent(60) { claims } else { json!([]) };
    for set in [&mut old, &mut new] {
        let spec = &mut set["spec"];
        if dice.percent(70) {
            spec["template"]["spec"]["containers"][0]["image"] =
                json!(format!("registry.example.com/a:{}", dice.below(2)));
        }
        let most =
            dice.pick(&[json!(1), json!(2), json!(4), json!("10%"), json!("50%"), json!("100%")]);
        let is_stateful = spec.get("serviceName").is_some();
        spec["updateStrategy"] = if dice.percent(15) {
            json!({ "type": "OnDelete" })
        } else if is_stateful {
            let mut rolling = json!({});
            if dice.percent(60) {
                rolling["maxUnavailable"] = most;
            }
            if dice.percent(50) {
                rolling["partition"] = json!(dice.below(6));
            }
            json!({ "type": "RollingUpdate", "rollingUpdate": rolling })
        } else if dice.percent(25) {
            json!({ "rollingUpdate": { "maxUnavailable": 0, "maxSurge": most } })
        } else {
            json!({ "rollingUpdate": { "maxUnavailable": most } })
        };
        if is_stateful {
            spec["replicas"] = json!(dice.below(7));
            if dice.percent(30) {
                spec["ordinals"] = json!({ "start": dice.below(3) });
            }
            spec["volumeClaimTemplates"] = claims.clone();
            spec["persistentVolumeClaimRetentionPolicy"] =
                json!({ "whenScaled": dice.pick(&["Retain", "Delete"]) });
        }
    }
    // The policies do not see pods that an earlier change removes and that still exist.
    if let Some(most) = old["spec"]["replicas"].as_u64().filter(|_| dice.percent(60)) {
        let replicas = dice.below(most + 1);
        let ready = dice.below(replicas + 1);
        old["status"] = json!({
            "replicas": replicas, "readyReplicas": ready,
            "availableReplicas": dice.below(ready + 1),
            "updatedReplicas": dice.below(replicas + 1), "observedGeneration": dice.below(2),
        });
    }
    (old, new)
}

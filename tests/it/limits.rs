use crate::prelude::*;
use crate::{
    folder,
    plan::{daemon_set, stateful_set},
};

pub fn limits(entry: &str) -> String {
    folder::policy(&format!("limits:\n- {{{entry}, reason: agreed with storage}}\n"))
}

pub fn policy(entry: &str) -> Policy {
    Policy::parse(&limits(entry)).unwrap()
}

fn run(command: &str, policy: &str, old: &str, new: &str) -> Ran {
    let folder = Folder::new([("policy.yaml", policy), ("old.yaml", old), ("new.yaml", new)]);
    folder.setguard(&[command, "new.yaml", "--against", "old.yaml", "--policy", "policy.yaml"])
}

fn stored(kind: &str, strategy: &str, status: &str) -> String {
    let strategy = format!("  updateStrategy: {{{strategy}}}\n");
    let text = match kind {
        "StatefulSet" => {
            stateful_set("db", 4, "a:2", &(strategy + "  podManagementPolicy: Parallel\n"))
        }
        _ => {
            let rolling =
                "  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 2}}\n";
            daemon_set("agent", "a:2", "").replace(rolling, &strategy)
        }
    };
    let (metadata, rest) = text.split_once("}\nspec:").expect("metadata");
    let rest = rest.trim_end_matches("---\n");
    format!("{metadata}, uid: u, generation: 2}}\nspec:{rest}status: {{{status}}}\n")
}

/// setguard refuses the second of two writes for the combined effect.
#[test]
fn pods_that_are_old_count_with_the_strategy_of_the_new_object() {
    let rolling = |more: &str| format!("type: RollingUpdate, rollingUpdate: {{{more}}}");
    let (one, all) = (&*rolling("maxUnavailable: 1"), &*rolling("maxUnavailable: 100%"));
    let held = &*rolling("maxUnavailable: 100%, partition: 4");
    let half = &*rolling("maxUnavailable: 100%, partition: 2");
    let free = &*rolling("maxUnavailable: 100%, partition: 0");
    let on_delete = "type: OnDelete";
    let sets = |observed: u32, updated: u32, available: u32| {
        format!(
            "observedGeneration: {observed}, replicas: 4, readyReplicas: {available}, availableReplicas: {available}, \
             updatedReplicas: {updated}, currentRevision: db-1, updateRevision: db-2"
        )
    };
    let daemons = |observed: u32, updated: u32, down: u32| {
        format!(
            "observedGeneration: {observed}, desiredNumberScheduled: 4, currentNumberScheduled: 4, numberReady: 4, \
             numberMisscheduled: 0, updatedNumberScheduled: {updated}, numberUnavailable: {down}"
        )
    };
    let (set, daemon) = ("StatefulSet", "DaemonSet");
    for (what, kind, from, to, status, down) in [
        ("faster", set, one, all, sets(2, 0, 4), Some(4)),
        ("by hand before", set, on_delete, all, sets(2, 0, 4), Some(4)),
        ("by hand before, some are new", set, on_delete, all, sets(2, 1, 4), Some(3)),
        ("no partition", set, held, free, sets(2, 0, 4), Some(4)),
        ("a lower partition", set, held, half, sets(2, 0, 4), Some(2)),
        ("the pods above the partition are new", set, half, half, sets(2, 2, 4), None),
        ("the others are still down", set, half, free, sets(2, 2, 2), Some(4)),
        ("one by one", set, on_delete, one, sets(2, 0, 4), None),
        ("slower", set, all, one, sets(2, 0, 4), None),
        ("nothing is old", set, one, all, sets(2, 4, 4), None),
        ("the status is older", set, one, all, sets(1, 4, 4), Some(4)),
        ("the same as before", set, all, all, sets(1, 0, 0), None),
        ("those that are down already", set, one, one, sets(2, 0, 1), None),
        ("faster", daemon, one, all, daemons(2, 0, 0), Some(4)),
        ("by hand before", daemon, on_delete, all, daemons(2, 1, 0), Some(3)),
        ("nothing is old", daemon, one, all, daemons(2, 4, 0), None),
        ("the status is older", daemon, on_delete, all, daemons(1, 4, 0), Some(4)),
    ] {
        let old = stored(kind, from, &status);
        let new = stored(kind, to, &status);
        let policy = limits("atMostUnavailable: 25%, replacesAll: false");
        let said = down.map(|down| format!("takes down {down} of 4 pods at a time, because they"));
        let checked = run("check", &policy, &old, &new);
        let planned = run("plan", &policy, &old, &new);
        let reviewed = reviewed(&Policy::parse(&policy).unwrap(), &old, &new);
        for text in [&checked.stdout, &planned.stdout, &reviewed] {
            match &said {
                Some(said) => assert!(text.contains(said), "{what}: {text}"),
                None => assert!(!text.contains("limit-exceeded"), "{what}: {text}"),
            }
            let is_all = text.contains("replaces all 4 pods at once");
            assert_eq!(is_all, down == Some(4), "{what}: {text}");
        }
        let codes = [checked.code, planned.code].map(|it| it == 1);
        assert_eq!(codes, [down.is_some(); 2], "{what}: {checked:?} {planned:?}");
        assert_eq!(reviewed.contains("\"allowed\":false"), down.is_some(), "{what}: {reviewed}");
    }
}

fn reviewed(policy: &Policy, old: &str, new: &str) -> String {
    let json =
        |text: &str| -> Value { serde_json::from_str(&support::to_json(text).remove(0)).unwrap() };
    let cx = Context::of_review(policy, date(2026, 1, 1));
    response(json!({"namespace": "shop", "object": json(new), "oldObject": json(old)}), &cx)
        .to_string()
}

//! The limits of a policy.

use jiff::civil::date;
use serde_json::{Value, json};
use setguard::{engine::Context, policy::Policy};

use crate::{
    folder::{Folder, Ran},
    review::response,
};

const HEAD: &str = "apiVersion: setguard.io/v1alpha1\nkind: Policy\n";

fn limits(entry: &str) -> String {
    format!("{HEAD}limits:\n- {{{entry}, reason: agreed with storage}}\n")
}

fn stateful_set(replicas: u32, image: &str, more: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db, namespace: prod-eu}}\nspec:\n  \
         serviceName: db\n  replicas: {replicas}\n  selector: {{matchLabels: {{app: db}}}}\n  template:\n    \
         metadata: {{labels: {{app: db}}}}\n    spec:\n      containers:\n      - {{name: db, image: {image}, \
         volumeMounts: [{{name: data, mountPath: /data}}]}}\n  volumeClaimTemplates:\n  - metadata: {{name: data}}\n    \
         spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}\n{more}"
    )
}

fn daemon_set(image: &str, max_unavailable: &str, nodes: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: agent, namespace: prod-eu}}\nspec:\n  \
         updateStrategy: {{type: RollingUpdate, rollingUpdate: {{maxUnavailable: {max_unavailable}}}}}\n  \
         selector: {{matchLabels: {{app: agent}}}}\n  template:\n    metadata: {{labels: {{app: agent}}}}\n    \
         spec: {{containers: [{{name: agent, image: {image}}}]}}\nstatus: {{desiredNumberScheduled: {nodes}, \
         currentNumberScheduled: {nodes}, numberReady: {nodes}, numberAvailable: {nodes}, numberMisscheduled: 0}}\n"
    )
}

const RECREATED: &str = "  podManagementPolicy: Parallel\n  updateStrategy: {type: RollingUpdate, \
                         rollingUpdate: {maxUnavailable: MOST, partition: 0}}\n";

fn run(command: &str, policy: &str, old: &str, new: &str, more: &[&str]) -> Ran {
    let folder = Folder::new([("policy.yaml", policy), ("old.yaml", old), ("new.yaml", new)]);
    let args = [
        command,
        "new.yaml",
        "--against",
        "old.yaml",
        "--policy",
        "policy.yaml",
        "--kube-version",
        "1.37",
    ];
    folder.setguard(&[&args, more].concat())
}

/// The messages of a rule in a check of a change.
fn found(policy: &str, old: &str, new: &str) -> Vec<(String, String)> {
    let ran = run("check", policy, old, new, &["--format", "json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ours = report["findings"].as_array().unwrap().iter();
    ours.filter(|it| it["rule"] == "limit-exceeded")
        .map(|it| (text(&it["severity"]), text(&it["message"])))
        .collect()
}

#[test]
fn claims_that_a_change_deletes_are_beyond_a_limit() {
    let policy = limits("namespaces: [\"prod-*\"], deletesClaims: false");
    let whenever =
        "  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Delete}\n";
    let (old, new) = (stateful_set(5, "a:1", whenever), stateful_set(3, "a:1", whenever));
    let message = "this update removes db-3 and db-4, and whenScaled Delete also deletes the claims of \
                   each removed pod, such as data-db-3; the policy forbids it by deletesClaims: false \
                   (agreed with storage); set whenScaled to Retain unless the data is safe elsewhere";
    assert_eq!(found(&policy, &old, &new), [("error".to_owned(), message.to_owned())]);
    assert_eq!(run("check", &policy, &old, &new, &[]).code, 1);

    let other = limits("namespaces: [test], deletesClaims: false");
    let named = limits("names: [cache], deletesClaims: false");
    let allowed = limits("deletesClaims: true, neverEnds: false");
    for policy in [HEAD, &other, &named, &allowed] {
        assert_eq!(found(policy, &old, &new), [], "{policy}");
    }
    assert_eq!(found(&policy, &old, &stateful_set(5, "a:2", whenever)), [], "nothing is deleted");

    let warning = limits("deletesClaims: false, mode: warn");
    assert_eq!(found(&warning, &old, &new), [("warning".to_owned(), message.to_owned())]);
    let exception = format!(
        "{policy}exceptions:\n- {{rules: [limit-exceeded], names: [db], reason: moved, expires: DAY}}\n"
    );
    assert_eq!(found(&exception.replace("DAY", "2999-01-01"), &old, &new)[0].0, "note");
    assert_eq!(found(&exception.replace("DAY", "2020-01-01"), &old, &new)[0].0, "error");
}

#[test]
fn a_plan_of_a_change_beyond_a_limit_is_refused_and_says_why() {
    let policy = limits("deletesClaims: false");
    let whenever =
        "  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Delete}\n";
    let (old, new) = (stateful_set(5, "a:1", whenever), stateful_set(3, "a:1", whenever));
    run("plan", &policy, &old, &new, &[])
        .ends(1)
        .prints("the policy forbids it by deletesClaims: false");
    let json = run("plan", &policy, &old, &new, &["--format", "json"]);
    assert!(json.stdout.contains("\"limit-exceeded\""), "{json:?}");
}

#[test]
fn plan_and_inject_use_the_policy_of_the_repository_as_check_does() {
    let whenever =
        "  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Delete}\n";
    let folder = Folder::new([
        ("setguard.yaml", &*limits("deletesClaims: false")),
        ("old.yaml", &stateful_set(5, "a:1", whenever)),
        ("new.yaml", &stateful_set(3, "a:1", whenever)),
    ]);
    let plan = ["plan", "new.yaml", "--against", "old.yaml"];
    folder.setguard(&plan).ends(1).reports_only("policy: setguard.yaml\n").prints("beyond a limit");
    folder.setguard(&[&plan[..], &["--no-config"]].concat()).ends(0).reports_only("");
    folder.setguard(&["inject", "new.yaml"]).ends(0).reports_only("policy: setguard.yaml\n");
    folder.setguard(&["inject", "new.yaml", "--no-config"]).ends(0).reports_only("");
}

#[test]
fn pods_that_are_down_at_once_are_counted_as_the_controllers_do() {
    let most = |value: &str| limits(&format!("atMostUnavailable: {value}"));
    let all = limits("replacesAll: false");
    let stateful =
        |most: &str, image: &str| stateful_set(8, image, &RECREATED.replace("MOST", most));
    let sets = |most: &str| (stateful(most, "a:1"), stateful(most, "a:2"));
    let daemons =
        |most: &str, nodes| (daemon_set("a:1", most, nodes), daemon_set("a:2", most, nodes));
    for (policy, (old, new), expected) in [
        (most("25%"), sets("2"), None),
        (most("25%"), sets("3"), Some("takes down 3 of 8 pods at a time")),
        (most("2"), sets("30%"), None),
        (most("\"0%\""), sets("1"), Some("takes down 1 of 8 pods at a time")),
        (most("5"), sets("100%"), Some("takes down 8 of 8 pods at a time")),
        (all.clone(), sets("7"), None),
        (all.clone(), sets("8"), Some("replaces all 8 pods at once")),
        // The percentage of a DaemonSet is rounded up.
        (most("25%"), daemons("10%", 10), None),
        (most("10%"), daemons("11%", 10), Some("takes down 2 of 10 pods at a time")),
        (most("25%"), daemons("1", 3), None),
        (all.clone(), daemons("60%", 2), Some("replaces all 2 pods at once")),
        (all, daemons("1", 1), None),
    ] {
        let found = found(&policy, &old, &new);
        let messages: Vec<_> = found.iter().map(|(_, message)| message.as_str()).collect();
        assert_eq!(messages.len(), usize::from(expected.is_some()), "{policy}{messages:?}");
        assert!(expected.is_none_or(|it| messages[0].contains(it)), "{policy}{messages:?}");
    }
    let (old, _) = sets("8");
    assert_eq!(found(&limits("replacesAll: false"), &old, &old), [], "nothing changes");
}

/// A set as a cluster has it: the kind, the update strategy, the image, the generation and the status.
fn stored(kind: &str, strategy: &str, image: &str, generation: u32, status: &str) -> String {
    let strategy = format!("updateStrategy: {{{strategy}}}");
    let rolling = "updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}";
    let text = match kind {
        "StatefulSet" => stateful_set(
            4,
            image,
            &format!("  {strategy}\n  podManagementPolicy: Parallel\nstatus: "),
        ),
        _ => daemon_set(image, "1", 0).replace(rolling, &strategy),
    };
    let stored = format!("namespace: prod-eu, uid: u, generation: {generation}}}");
    let text = text.replace("namespace: prod-eu}", &stored);
    let (spec, _) = text.split_once("status: ").expect("a status");
    format!("{spec}status: {{{status}}}\n")
}

/// The second of two writes is refused for what both do together.
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
        let old = stored(kind, from, "a:2", 2, &status);
        let new = stored(kind, to, "a:2", 2, &status);
        let policy = limits("atMostUnavailable: 25%, replacesAll: false");
        let said = down.map(|down| format!("takes down {down} of 4 pods at a time, because they"));
        let checked = run("check", &policy, &old, &new, &[]);
        let planned = run("plan", &policy, &old, &new, &[]);
        let reviewed = reviewed(&Policy::parse(&policy).unwrap(), Some(&old), &new);
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

/// The claims of pods that were to be removed without them.
#[test]
fn pods_that_still_exist_count_when_claims_are_deleted_later() {
    let retain =
        "  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}\n";
    let delete = retain.replace("whenScaled: Retain", "whenScaled: Delete");
    let policy = limits("deletesClaims: false");
    for (exist, from, expected) in [(5, retain, true), (3, retain, false), (5, &*delete, false)] {
        let status = format!("status: {{replicas: {exist}, observedGeneration: 2}}\n");
        let old = stateful_set(3, "a:1", &format!("{from}{status}"));
        let new = stateful_set(3, "a:1", &delete);
        let found = found(&policy, &old, &new);
        let is_said = found.iter().any(|(_, message)| message.contains("removes db-3 and db-4"));
        assert_eq!(is_said, expected, "{exist} {from}: {found:?}");
    }
}

/// A rollout that waits for a broken pod begins with the strategy, not with the template.
#[test]
fn a_rollout_that_cannot_end_may_begin_with_another_strategy() {
    let policy = limits("neverEnds: false");
    let status = "status: {observedGeneration: 2, replicas: 3, readyReplicas: 2, availableReplicas: 2, \
                  updatedReplicas: 0, currentRevision: db-1, updateRevision: db-2}\n";
    let set = |strategy: &str| {
        stateful_set(3, "a:2", &format!("  updateStrategy: {{type: {strategy}}}\n{status}"))
    };
    let found = found(&policy, &set("OnDelete"), &set("RollingUpdate"));
    assert!(
        found.iter().any(|(_, message)| message.contains("1 of 3 pods is not ready")),
        "{found:?}"
    );
    assert_eq!(self::found(&policy, &set("RollingUpdate"), &set("OnDelete")), []);
}

/// The answer of `/validate` to a change, as JSON.
fn reviewed(policy: &Policy, old: Option<&str>, new: &str) -> String {
    let json = |text: &str| -> Value {
        let document = setguard::yaml::parse(text).into_iter().next().unwrap().unwrap();
        serde_json::from_str(&document.root.to_json()).unwrap()
    };
    let mut policy = policy.clone();
    policy.cluster.version = "1.37".parse().unwrap();
    let cx = Context::of_review(&policy, date(2026, 1, 1));
    response(json!({"namespace": "prod-eu", "object": json(new), "oldObject": old.map(json)}), &cx)
        .to_string()
}

#[test]
fn the_webhook_refuses_an_update_beyond_a_limit() {
    let policy = Policy::parse(&limits("replacesAll: false, neverEnds: false")).unwrap();
    let answer = |old: Option<&str>, new: &str| reviewed(&policy, old, new);
    let old = daemon_set("a:1", "100%", 9);
    let denied = answer(Some(&old), &daemon_set("a:2", "100%", 9));
    assert!(denied.contains("replaces all 9 pods at once"), "{denied}");
    assert!(denied.contains("\"allowed\":false"), "{denied}");
    for allowed in [answer(Some(&old), &old), answer(None, &old)] {
        assert!(allowed.contains("\"allowed\":true"), "{allowed}");
    }
}

#[test]
fn a_limit_that_is_wrong_is_an_error_of_the_policy() {
    for (entry, expected) in [
        ("deletesClaims: true", "limits[0]: limits nothing"),
        ("namespaces: [a]", "limits[0]: limits nothing"),
        ("atMostUnavailable: 25", ""),
        ("atMostUnavailable: \"101%\"", "limits[0].atMostUnavailable: write a number of pods"),
        ("atMostUnavailable: few", "limits[0].atMostUnavailable: write a number of pods"),
        ("atMostUnavailable: -1", "limits[0].atMostUnavailable: write a number of pods"),
        ("neverEnds: false, mode: audit", "limits[0].mode: audit is neither deny nor warn"),
        ("neverEnds: false, modus: warn", "modus"),
    ] {
        let ran = run("check", &limits(entry), "", &stateful_set(1, "a:1", ""), &[]);
        assert_eq!(ran.code == 2, !expected.is_empty(), "{entry}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{entry}: {ran:?}");
    }
}

#[test]
fn limits_that_are_gone_or_weaker_are_said() {
    let policy = |text: &str| Policy::parse(text).unwrap();
    let before =
        policy(&limits("namespaces: [a, b], atMostUnavailable: 25%, deletesClaims: false"));
    for (now, is_weaker) in [
        ("namespaces: [a, b], atMostUnavailable: 25%, deletesClaims: false", false),
        ("atMostUnavailable: 20%, deletesClaims: false, neverEnds: false", false),
        ("namespaces: [a], atMostUnavailable: 25%, deletesClaims: false", true),
        ("namespaces: [a, b], atMostUnavailable: 30%, deletesClaims: false", true),
        ("namespaces: [a, b], atMostUnavailable: 1, deletesClaims: false", true),
        ("namespaces: [a, b], atMostUnavailable: 25%", true),
        ("namespaces: [a, b], atMostUnavailable: 25%, deletesClaims: false, mode: warn", true),
        ("namespaces: [a, b], names: [x], atMostUnavailable: 25%, deletesClaims: false", true),
    ] {
        let found = policy(&limits(now)).weaker_than(&before, "main").into_vec();
        assert_eq!(!found.is_empty(), is_weaker, "{now}: {found:?}");
    }
    let found = policy(HEAD).weaker_than(&before, "main").into_vec();
    assert_eq!(found[0].message, "a limit of main is gone, or weaker: agreed with storage");
}

#[test]
fn nodes_that_a_daemon_set_leaves_count_wherever_nodes_are_known() {
    let node = |i: u32| {
        let pool = if i < 4 { "a" } else { "b" };
        format!(
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{i}, uid: u{i}, labels: {{pool: {pool}}}}}\n"
        )
    };
    let nodes: String = (0..8).map(node).collect();
    let on = |selector: &str| {
        daemon_set("a:1", "1", 8)
            .replace("spec: {containers", &format!("spec: {{{selector}containers"))
    };
    let (all, half) = (on(""), on("nodeSelector: {pool: a}, "));
    let folder = Folder::new([("old.yaml", &*all), ("new.yaml", &half), ("nodes.yaml", &nodes)]);
    let limit = |entry: &str| {
        folder.write("policy.yaml", limits(entry));
        let exits = [("check", "--inventory"), ("plan", "--nodes")].map(|(command, nodes)| {
            let args = [
                command,
                "new.yaml",
                "--against",
                "old.yaml",
                nodes,
                "nodes.yaml",
                "--policy",
                "policy.yaml",
            ];
            let ran = folder.setguard(&args);
            let words = "this change deletes the pods on 4 of 8 nodes at once";
            assert_eq!(ran.stdout.contains(words), ran.code == 1, "{entry}: {ran:?}");
            ran.code
        });
        assert_eq!(exits[0], exits[1], "{entry}");
        exits[0]
    };
    assert_eq!(limit("atMostUnavailable: 25%"), 1);
    assert_eq!(limit("atMostUnavailable: 3"), 1);
    assert_eq!(limit("atMostUnavailable: 50%"), 0);
    assert_eq!(limit("replacesAll: false"), 0, "four nodes keep their pods");
    folder.write("new.yaml", on("nodeSelector: {pool: c}, "));
    let args = ["check", "new.yaml", "--against", "old.yaml", "--policy", "policy.yaml"];
    let unknown = folder.setguard(&args);
    assert_eq!(unknown.code, 0, "without nodes nothing is claimed: {unknown:?}");
    for (command, nodes) in [("check", "--inventory"), ("plan", "--nodes")] {
        let known = folder.setguard(&[&[command], &args[1..], &[nodes, "nodes.yaml"]].concat());
        assert!(known.stdout.contains("on 8 of 8 nodes at once"), "{known:?}");
    }
}

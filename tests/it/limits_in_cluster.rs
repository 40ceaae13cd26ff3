//! A policy's limits in a webhook that knows the cluster.

use setguard::inventory::view::{Freshness, View};
use setguard_testing::manifests::{self, rolled_by, with, with_app, with_pod, within};

use crate::prelude::*;
use crate::{limits::policy, view};

/// The answer of `/validate` on 1 January 2026.
pub fn answer(request: &Value, policy: &Policy, view: Option<&View>) -> Value {
    let cx =
        Context { view, view_version: Some(7), ..Context::of_review(policy, date(2026, 1, 1)) };
    response(request.clone(), &cx)
}

/// An update of the replica count, as the API server sends it. It omits zero.
pub fn scale(resource: &str, from: u32, to: u32) -> Value {
    let scale = |replicas: u32| {
        let spec = if replicas == 0 { json!({}) } else { json!({"replicas": replicas}) };
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {"name": "db", "namespace": "shop", "resourceVersion": "7"}, "spec": spec, "status": {"replicas": from}})
    };
    json!({
        "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "resource": {"group": "apps", "version": "v1", "resource": resource},
        "subResource": "scale", "name": "db", "object": scale(to), "oldObject": scale(from),
    })
}

pub fn database(when_scaled: &str, start: u32) -> Value {
    let spec = json!({
        "ordinals": {"start": start},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": when_scaled},
    });
    let mut set = with(within(with_app(manifests::stateful_set("db"), "db"), "shop"), &spec);
    manifests::add_claim(&mut set, None, "1Gi");
    set
}

const UNKNOWN: &str =
    "does not see the StatefulSet now, so it is not known whether this deletes any";

#[test]
fn a_scale_down_that_deletes_claims_is_refused() {
    let policy = policy("names: [db], deletesClaims: false");
    let known = view::view([&database("Delete", 0)]);
    let denied = answer(&scale("statefulsets", 5, 3), &policy, Some(&known));
    assert_eq!(denied["allowed"], false, "{denied}");
    let message = denied["status"]["message"].as_str().unwrap();
    let expected = "this removes db-3 and db-4, and whenScaled Delete also deletes the claims of each removed \
                    pod, such as data-db-3; the policy forbids it by deletesClaims: false (agreed with storage)";
    assert!(message.contains(expected), "{message}");
    let later = view::view([&database("Delete", 7)]);
    let all = answer(&scale("statefulsets", 2, 0), &policy, Some(&later));
    assert!(all.to_string().contains("removes db-7 and db-8"), "{all}");
}

#[test]
fn other_writes_of_the_scale_are_allowed_without_a_word() {
    let forbids = policy("names: [db], deletesClaims: false");
    let (others, another) =
        (policy("names: [cache], deletesClaims: false"), policy("names: [db], neverEnds: false"));
    let (deletes, retains) = (database("Delete", 0), database("Retain", 0));
    let fewer = || scale("statefulsets", 5, 3);
    for (what, request, policy, set) in [
        ("more pods", scale("statefulsets", 3, 5), &forbids, &deletes),
        ("as many", scale("statefulsets", 3, 3), &forbids, &deletes),
        ("claims that stay", scale("statefulsets", 5, 0), &forbids, &retains),
        ("a Deployment", scale("deployments", 5, 3), &forbids, &deletes),
        ("no limit", fewer(), &Policy::default(), &deletes),
        ("a limit for others", fewer(), &others, &deletes),
        ("another limit", fewer(), &another, &deletes),
    ] {
        let answer = answer(&request, policy, Some(&view::view([set])));
        assert_eq!(answer["allowed"], true, "{what}: {answer}");
        assert!(answer.get("warnings").is_none(), "{what}: {answer}");
    }
}

#[test]
fn a_scale_down_of_a_set_whose_last_change_is_not_seen_is_refused() {
    let known = view::view([&database("Retain", 0)]);
    for (version, limit, expected) in [
        (json!("7"), "deletesClaims: false", None),
        (json!("6"), "deletesClaims: false", None),
        (json!("8"), "deletesClaims: false", Some(false)),
        (json!("8"), "deletesClaims: false, mode: warn", Some(true)),
        (json!("8"), "neverEnds: false", None),
        (json!("8"), "names: [cache], deletesClaims: false", None),
        (json!("abc"), "deletesClaims: false", Some(false)),
        (Value::Null, "deletesClaims: false", Some(false)),
    ] {
        let mut request = scale("statefulsets", 5, 3);
        request["oldObject"]["metadata"]["resourceVersion"] = version.clone();
        if version.is_null() {
            request["oldObject"]["metadata"].as_object_mut().unwrap().remove("resourceVersion");
        }
        let answer = answer(&request, &policy(limit), Some(&known));
        assert_eq!(answer["allowed"], expected.unwrap_or(true), "{version} {limit}: {answer}");
        let is_said =
            answer.to_string().contains("does not see the last change of the StatefulSet yet");
        assert_eq!(is_said, expected.is_some(), "{version} {limit}: {answer}");
    }
}

#[test]
fn a_scale_down_of_a_set_that_is_not_known_is_allowed_and_says_so() {
    let policy = policy("deletesClaims: false");
    let mut stale = view::view([&database("Delete", 0)]);
    stale.set_freshness(Kind::StatefulSet, Freshness::Stale { as_of: Timestamp::UNIX_EPOCH });
    let mut elsewhere = view::view([&database("Delete", 0)]);
    elsewhere.namespaces = Some(["other".to_owned()].into());
    let empty = view::view([]);
    for view in [None, Some(&View::default()), Some(&stale), Some(&elsewhere), Some(&empty)] {
        let answer = answer(&scale("statefulsets", 5, 3), &policy, view);
        assert_eq!(answer["allowed"], true, "{answer}");
        assert!(answer["warnings"].to_string().contains(UNKNOWN), "{answer}");
    }
}

fn daemons(selector: &Value) -> Value {
    let set = within(with_app(manifests::daemon_set("agent"), "agent"), "shop");
    let rolling = json!({"maxUnavailable": 1, "maxSurge": 0});
    let set = rolled_by(set, &json!({"type": "RollingUpdate", "rollingUpdate": rolling}));
    with_pod(set, &json!({"nodeSelector": selector}))
}

#[test]
fn the_nodes_that_a_change_leaves_count_only_if_they_are_certain() {
    let node = |i: usize| {
        let disk = if i < 6 { "ssd" } else { "hdd" };
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{i}"), "labels": {"all": "yes", "disk": disk}}})
    };
    let nodes: Vec<_> = (0..10).map(node).collect();
    let change =
        |to: &Value| json!({"object": daemons(to), "oldObject": daemons(&json!({"all": "yes"}))});
    let known = view::view(&nodes);
    let ssd = json!({"all": "yes", "disk": "ssd"});
    let none = json!({"disk": "tape"});
    for (limits, to, expected) in [
        ("atMostUnavailable: 3", &ssd, Some("deletes the pods on 4 of 10 nodes at once")),
        ("atMostUnavailable: 4", &ssd, None),
        ("atMostUnavailable: 40%", &ssd, None),
        ("atMostUnavailable: 25%", &ssd, Some("by atMostUnavailable: 25% (agreed with storage)")),
        ("replacesAll: false", &ssd, None),
        ("replacesAll: false", &none, Some("on 10 of 10 nodes at once")),
    ] {
        let answer = answer(&change(to), &policy(limits), Some(&known));
        assert_eq!(answer["allowed"], expected.is_none(), "{limits}: {answer}");
        let text = answer["status"]["message"].as_str().unwrap_or_default();
        assert!(expected.is_none_or(|it| text.contains(it)), "{limits}: {text}");
    }
    let mut stale = view::view(&nodes);
    stale.set_freshness(Kind::Node, Freshness::Stale { as_of: Timestamp::UNIX_EPOCH });
    let limit = policy("atMostUnavailable: 1");
    for view in [None, Some(&stale)] {
        assert_eq!(answer(&change(&ssd), &limit, view)["allowed"], true);
    }
    let warned = answer(&change(&ssd), &limit, Some(&stale));
    assert!(warned["warnings"].to_string().contains("as of 00:00:00 UTC: this change"), "{warned}");
}

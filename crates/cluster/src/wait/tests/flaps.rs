use super::build::{
    LONG, TRANSIENT, WatchedCluster, daemon_set, given_up, node, of_daemon_set, of_stateful_set,
    pod, running, stateful_set,
};
use crate::prelude::*;

fn flapping(pod: Value, every: i64, now: i64) -> Value {
    let turn = now / every;
    running(pod, turn % 2 == 0, turn * every)
}

/// Returns a StatefulSet with `minReadySeconds` and with this pod as its last one.
fn last(pod_: Value) -> WatchedCluster {
    let ready = i32::from(pod_["status"]["conditions"][0]["status"] == "True");
    let mut set = stateful_set(3, 2 + ready, 1);
    set["spec"]["minReadySeconds"] = json!(50);
    set["status"]["availableReplicas"] = json!(2);
    of_stateful_set(set, [pod("db-0", 1, None), pod("db-1", 1, None), pod_])
}

#[test]
fn a_pod_that_is_ready_and_unready_again_is_given_up() {
    for every in [10, 30] {
        let (second, decision) =
            given_up(|now| last(flapping(pod("db-2", 2, None), every, now))).unwrap();
        assert!((TRANSIENT..TRANSIENT + 60).contains(&second), "{second}");
        let why = decision.stuck[0].facts.heading();
        assert!(why.starts_with("db-2 has become unready "), "{why}");
        assert!(why.contains("50 seconds of minReadySeconds"), "{why}");
    }
    let (second, decision) = given_up(|now| {
        let nodes = [node("n0", None), node("n1", None)];
        let pods = [
            running(pod("db-a", 2, Some("n0")), true, -600),
            flapping(pod("db-b", 2, Some("n1")), 20, now),
        ];
        let mut set = daemon_set(2, 1, 2);
        set["spec"]["minReadySeconds"] = json!(50);
        of_daemon_set(set, nodes, pods)
    })
    .unwrap();
    assert!((TRANSIENT..TRANSIENT + 60).contains(&second), "{second}");
    assert!(decision.stuck[0].facts.heading().contains("db-b"), "{:?}", decision.stuck);
}

#[test]
fn pods_that_only_take_long_to_stay_ready_are_not_given_up() {
    // Unready twice, and then slow.
    let twice = |now: i64| match now {
        0..60 => flapping(pod("db-2", 2, None), 15, now),
        _ => running(pod("db-2", 2, None), false, 45),
    };
    assert!(given_up(|now| last(twice(now))).is_none());
    // Unready four times, and then ready; but it must stay so for long.
    let settled = |is_ready: bool| {
        given_up(move |now| {
            let mut world = last(match now {
                0..80 => flapping(pod("db-2", 2, None), 10, now),
                _ => running(pod("db-2", 2, None), is_ready, 80),
            });
            world[0].1["spec"]["minReadySeconds"] = json!(LONG);
            world
        })
    };
    assert!(settled(true).is_none());
    assert!(settled(false).is_none());
    // Unready in between, but available before.
    assert!(given_up(|now| last(flapping(pod("db-2", 2, None), 60, now))).is_none());
    // The rollout replaces it.
    let old = |now: i64| {
        let mut world = last(flapping(pod("db-2", 1, None), 10, now));
        world[0].1["spec"]["podManagementPolicy"] = json!("Parallel");
        world
    };
    assert!(given_up(old).is_none());
}

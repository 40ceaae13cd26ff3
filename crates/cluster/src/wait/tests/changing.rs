//! States that change.

use super::{
    super::{
        decision::{Memory, Repair},
        event::{Event, EventType},
    },
    build::{
        LONG, TRANSIENT, WatchedCluster, at, daemon_set, event, given_up, last, look, node,
        of_daemon_set, of_stateful_set, pod, slow, stateful_set, waiting,
    },
};
use crate::prelude::*;

#[track_caller]
fn never_given_up(what: &str, world: impl Fn(i64) -> WatchedCluster) {
    if let Some((second, decision)) = given_up(world) {
        panic!("{what}: given up after {second} s: {:#?}", decision.stuck);
    }
}

#[test]
fn a_set_that_does_not_exist_is_given_up() {
    let (second, decision) = given_up(|_| WatchedCluster::new()).unwrap();
    assert_eq!(second, 10);
    let heading = decision.stuck[0].facts.heading();
    assert!(heading.contains("it does not exist any more"), "{heading}");
}

/// Returns a StatefulSet with two pods, created at one time, and a third pod that was refused at a different time.
fn refused(created: i64, last: i64) -> WatchedCluster {
    let mut set = stateful_set(3, 2, 0);
    set["status"]["replicas"] = json!(2);
    let mut pods = [pod("db-0", 1, None), pod("db-1", 1, None)];
    pods.iter_mut().for_each(|it| it["metadata"]["creationTimestamp"] = json!(at(created)));
    let mut world = of_stateful_set(set, pods);
    let message = "pods \"db-2\" is forbidden: exceeded quota: small";
    world.push((Kind::Event, event("StatefulSet", "db", "FailedCreate", message, last)));
    world
}

#[test]
fn two_states_of_one_image_are_one_obstacle() {
    let changing = |now: i64| {
        let reason = if now / 3 % 2 == 0 { "ErrImagePull" } else { "ImagePullBackOff" };
        last(|pod| waiting(pod, reason, "rpc error: not found", 0))
    };
    assert_eq!(given_up(changing).map(|it| it.0), Some(10));
}

#[test]
fn a_container_that_runs_between_crashes_is_given_up_by_patience() {
    // It is even ready once.
    let changing = |now: i64| match now % 40 {
        0..20 => last(|pod| waiting(pod, "CrashLoopBackOff", "", 2)),
        20..30 => last(slow),
        _ => last(|pod| pod),
    };
    let longest = 2 * TRANSIENT;
    assert!(given_up(changing).is_some_and(|it| it.0 >= longest && it.0 < longest + 40));
}

#[test]
fn the_patience_with_a_kubelet_begins_when_the_pod_has_a_node() {
    let unbound = || {
        last(|mut pod| {
            pod["spec"] = json!({});
            pod["status"] = json!({"phase": "Pending"});
            pod
        })
    };
    let bound = || {
        last(|mut pod| {
            pod["status"] = json!({"phase": "Pending", "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": at(290)},
            ]});
            pod
        })
    };
    let end = given_up(|now| if now < 290 { unbound() } else { bound() }).unwrap();
    assert_eq!(end.0, 290 + TRANSIENT);
    assert_eq!(
        end.1.stuck[0].facts.since,
        at(290).parse::<jiff::Timestamp>().ok().map(|it| it.as_second())
    );
}

/// Somebody rolls back while the patience with the broken pod is almost over, and then deletes the pod.
#[test]
fn the_patience_with_a_pod_in_the_way_begins_when_the_rollout_waits_for_it() {
    let config = "configmap \"settings\" not found";
    for begins in [&slow as &dyn Fn(Value) -> Value, &|pod| {
        waiting(pod, "CreateContainerConfigError", config, 0)
    }] {
        let world = |now: i64| {
            let mut world = last(begins);
            if now >= TRANSIENT - 1 {
                world[0].1["status"]["updateRevision"] = json!("db-1");
            }
            world
        };
        let end = given_up(world).unwrap();
        assert_eq!(end.0, 2 * TRANSIENT);
        assert_eq!(end.1.stuck[0].repair, Some(Repair::DeletePod("db-2".to_owned())));
    }
}

#[test]
fn a_set_whose_controller_is_refused_again_is_given_up() {
    let again = |now: i64| refused(-80_000, if now < 100 { -400 } else { 100 });
    assert_eq!(given_up(again).map(|it| it.0), Some(TRANSIENT));
}

/// Each pod is young, and its state is new.
#[test]
fn the_patience_with_a_loop_does_not_begin_again_with_each_pod() {
    let fresh = |mut pod: Value, now: i64| {
        pod["metadata"]["creationTimestamp"] = json!(at(now - now.rem_euclid(20)));
        let reason = if now % 20 < 10 { "Pending" } else { "ContainerCreating" };
        waiting(pod, reason, "", 0)
    };
    let evicted = |name: &str, now: i64| {
        let mut event = event("Pod", name, "Evicted", "The node was low on memory", now - now % 20);
        event["firstTimestamp"] = json!(at(0));
        event["count"] = json!(now / 20 + 1);
        (Kind::Event, event)
    };
    let world = |now: i64| {
        let mut world = last(|pod| fresh(pod, now));
        world.push(evicted("db-2", now));
        world
    };
    let why = "its pods end and are replaced again and again: Evicted: The node was low on memory";
    let end = given_up(world).unwrap();
    assert_eq!((end.0, end.1.stuck[0].facts.cause.as_deref()), (TRANSIENT, Some(why)));
    let world = |now: i64| {
        let name = format!("db-{}", now / 20);
        let mut event = event("DaemonSet", "db", "FailedDaemonPod", "Found failed daemon pod", now);
        event["firstTimestamp"] = json!(at(0));
        event["count"] = json!(now / 20 + 1);
        let pods = [fresh(pod(&name, 2, Some("n0")), now)];
        let mut world = of_daemon_set(daemon_set(1, 0, 1), [node("n0", None)], pods);
        world.push((Kind::Event, event));
        world
    };
    let end = given_up(world).unwrap();
    assert_eq!(end.0, TRANSIENT);
    assert!(end.1.stuck[0].facts.heading().contains("FailedDaemonPod"), "{:?}", end.1.stuck);
}

#[test]
fn refusals_that_pass_are_not_added_up() {
    let refused = |last| refused(-60, last);
    // For five seconds of each minute, the quota still counts the replaced pod.
    never_given_up("a quota", |now| if now % 60 < 5 { refused(now) } else { last(slow) });
    never_given_up("a refusal of another day", |now| {
        let mut world = last(slow);
        world.extend(refused(-3_000).into_iter().filter(|it| it.0 == Kind::Event));
        if now > LONG { refused(now) } else { world }
    });
}

#[test]
fn a_rollout_of_many_pods_goes_on_for_hours() {
    never_given_up("30 pods, each two minutes", |now| {
        let done = i32::try_from(now / 120).unwrap().min(29);
        let names: Vec<_> = (0..30).map(|it| (it, format!("db-{it}"))).collect();
        let pods = names.iter().map(|(ordinal, name)| match ordinal.cmp(&(29 - done)) {
            std::cmp::Ordering::Less => pod(name, 1, None),
            std::cmp::Ordering::Equal => slow(pod(name, 2, None)),
            std::cmp::Ordering::Greater => pod(name, 2, None),
        });
        of_stateful_set(stateful_set(30, 29, done + 1), pods)
    });
}

/// Returns the line about a set.
fn line(world: &WatchedCluster) -> String {
    let decision = look(world, 400, false, &mut Memory::default());
    let target = Target {
        namespace: "shop".to_owned(),
        kind: WorkloadKind::StatefulSet,
        name: "db".to_owned(),
        has_claims: true,
    };
    Event::of(EventType::Progress, &target, &decision, at(400).parse().unwrap()).message
}

#[test]
fn a_line_says_nothing_twice() {
    let mut down = last(slow);
    down.push((Kind::Node, node("n0", Some(60))));
    let text = line(&down);
    assert!(text.contains(" is not ready since ") && !text.contains("(since "), "{text}");
    let mut set = stateful_set(3, 2, 3);
    set["status"]["replicas"] = json!(2);
    let text = line(&of_stateful_set(set, [pod("db-0", 2, None), pod("db-1", 2, None)]));
    assert!(text.starts_with("3 of 3 updated, 2 of 3 ready; 1 pod is missing, "), "{text}");
}

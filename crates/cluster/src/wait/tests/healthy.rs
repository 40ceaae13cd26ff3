use serde_json::{Value, json};
use setguard_core::kubernetes::kind::Kind;

use setguard_core::observed::Completion;

use super::{
    super::decision::Memory,
    build::{
        LONG, WatchedCluster, at, daemon_set, deleted, event, given_up, last, look, node,
        of_daemon_set, of_stateful_set, pod, slow, stateful_set, unschedulable, waiting,
    },
};

#[track_caller]
fn never_given_up(what: &str, world: impl Fn(i64) -> WatchedCluster) {
    if let Some((second, decision)) = given_up(world) {
        panic!("{what}: given up after {second} s: {:#?}", decision.stuck);
    }
}

fn outcome(world: &WatchedCluster) -> Option<Completion> {
    look(world, 0, false, &mut Memory::default()).standing.unwrap().outcome()
}

#[test]
fn what_is_slow_is_never_given_up() {
    never_given_up("a slow start", |_| last(slow));
    never_given_up("a large image", |_| last(|pod| waiting(pod, "ContainerCreating", "", 0)));
    never_given_up("an init container", |_| last(|pod| waiting(pod, "PodInitializing", "", 0)));
    never_given_up("a readiness gate", |_| {
        last(|mut pod| {
            pod = slow(pod);
            pod["status"]["containerStatuses"][0]["ready"] = json!(true);
            pod["status"]["conditions"][0]["reason"] = json!("ReadinessGatesNotReady");
            pod["status"]["conditions"][0]["message"] = json!("condition \"lb\" is not met");
            pod
        })
    });
    never_given_up("a long grace period", |_| last(|pod| deleted(pod, LONG)));
    never_given_up("minReadySeconds", |_| {
        let mut set = stateful_set(3, 3, 3);
        set["spec"]["minReadySeconds"] = json!(LONG);
        set["status"]["availableReplicas"] = json!(2);
        of_stateful_set(set, ["db-0", "db-1", "db-2"].map(|name| pod(name, 2, None)))
    });
    never_given_up("parallel pods that all start", |_| {
        let mut set = stateful_set(3, 0, 3);
        set["spec"]["podManagementPolicy"] = json!("Parallel");
        of_stateful_set(set, ["db-0", "db-1", "db-2"].map(|name| slow(pod(name, 2, None))))
    });
}

#[test]
fn broken_pods_of_an_old_revision_that_are_replaced_end_nothing() {
    let bad = |pod| waiting(pod, "ImagePullBackOff", "not found", 0);
    never_given_up("parallel", |_| {
        let mut set = stateful_set(2, 0, 1);
        set["spec"]["podManagementPolicy"] = json!("Parallel");
        of_stateful_set(set, [bad(pod("db-0", 1, None)), slow(pod("db-1", 2, None))])
    });
    never_given_up("of a DaemonSet", |_| {
        let nodes = [node("n0", None), node("n1", None)];
        let pods = [bad(pod("db-a", 1, Some("n0"))), slow(pod("db-b", 2, Some("n1")))];
        of_daemon_set(daemon_set(2, 0, 1), nodes, pods)
    });
}

#[test]
fn what_heals_in_time_is_not_given_up() {
    // Each state lasts less long than its patience.
    let then = |until: i64, early: fn() -> WatchedCluster| {
        move |now: i64| if now < until { early() } else { last(slow) }
    };
    never_given_up(
        "an image that comes",
        then(9, || last(|pod| waiting(pod, "ErrImagePull", "not found", 0))),
    );
    never_given_up(
        "a registry that recovers",
        then(290, || last(|pod| waiting(pod, "ImagePullBackOff", "i/o timeout", 0))),
    );
    never_given_up(
        "a crash while the database starts",
        then(290, || last(|pod| waiting(pod, "CrashLoopBackOff", "", 4))),
    );
    never_given_up(
        "a ConfigMap that comes",
        then(55, || last(|pod| waiting(pod, "CreateContainerConfigError", "not found", 0))),
    );
    never_given_up(
        "a node that the autoscaler brings",
        then(290, || last(|pod| unschedulable(pod, "0/3 nodes are available: 3 Insufficient cpu"))),
    );
    never_given_up(
        "a node that takes long to start",
        then(850, || {
            let full = "0/3 nodes are available: 3 Insufficient cpu";
            let mut world = last(|pod| unschedulable(pod, full));
            let text = "pod triggered scale-up: [{gpu 0->1 (max: 5)}]";
            let mut event = event("Pod", "db-2", "TriggeredScaleUp", text, 0);
            event["type"] = json!("Normal");
            world.push((Kind::Event, event));
            world
        }),
    );
    never_given_up(
        "a new leader of the controllers",
        then(200, || {
            let mut set = stateful_set(3, 3, 3);
            set["metadata"]["generation"] = json!(9);
            of_stateful_set(set, [])
        }),
    );
}

#[test]
fn refusals_that_pass_are_not_added_up() {
    let refused = |now: i64| {
        let mut set = stateful_set(3, 2, 0);
        set["status"]["replicas"] = json!(2);
        let mut world = of_stateful_set(set, [pod("db-0", 1, None), pod("db-1", 1, None)]);
        let text = "pods \"db-2\" is forbidden: exceeded quota";
        world.push((Kind::Event, event("StatefulSet", "db", "FailedCreate", text, now)));
        world
    };
    // For five seconds of each minute, the quota still counts the replaced pod.
    never_given_up("a quota", |now| if now % 60 < 5 { refused(now) } else { last(slow) });
    never_given_up("a refusal of another day", |now| {
        let mut world = last(slow);
        world.extend(refused(-3_000).into_iter().filter(|it| it.1 == "Event"));
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

/// One unavailable node is within the budget.
#[test]
fn a_dead_node_that_the_budget_allows_ends_nothing() {
    never_given_up("maxUnavailable 2", |_| {
        let mut set = daemon_set(2, 1, 1);
        set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(2);
        let nodes = [node("n0", None), node("n1", None), node("n2", Some(-600))];
        let pods = [
            slow(pod("db-a", 2, Some("n0"))),
            pod("db-b", 1, Some("n1")),
            deleted(slow(pod("db-c", 1, Some("n2"))), -500),
        ];
        of_daemon_set(set, nodes, pods)
    });
}

#[test]
fn a_claim_that_waits_for_its_pod_ends_nothing() {
    never_given_up("WaitForFirstConsumer", |_| {
        let mut set = stateful_set(1, 0, 1);
        set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
        let mut world =
            of_stateful_set(set, [waiting(pod("db-0", 2, None), "ContainerCreating", "", 0)]);
        world.push((
            Kind::PersistentVolumeClaim,
            json!({
                "metadata": {"name": "data-db-0", "namespace": "shop", "creationTimestamp": at(0)},
                "spec": {"storageClassName": "disk"}, "status": {"phase": "Pending"},
            }),
        ));
        world.push((
            Kind::StorageClass,
            json!({
                "metadata": {"name": "disk"}, "provisioner": "p",
                "volumeBindingMode": "WaitForFirstConsumer",
            }),
        ));
        world
    });
}

#[test]
fn strategies_end_as_what_they_are() {
    let pods = || ["db-0", "db-1", "db-2"].map(|name| pod(name, 2, None));
    let world = |ready: i32, updated: i32, strategy: Value| {
        let mut set = stateful_set(3, ready, updated);
        set["spec"]["updateStrategy"] = strategy;
        of_stateful_set(set, pods())
    };
    let rolling = |partition: i32| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": partition}});
    assert_eq!(outcome(&world(3, 3, rolling(0))), Some(Completion::RolledOut));
    assert_eq!(outcome(&world(3, 2, rolling(0))), None);
    assert_eq!(outcome(&world(2, 3, rolling(0))), None);
    let partitioned = Completion::Partitioned { partition: 2, kept: 2 };
    assert_eq!(outcome(&world(3, 1, rolling(2))), Some(partitioned));
    assert_eq!(outcome(&world(3, 0, rolling(2))), None);
    assert_eq!(outcome(&world(2, 1, rolling(2))), None, "an old pod is not ready");
    let on_delete = json!({"type": "OnDelete"});
    assert_eq!(outcome(&world(3, 1, on_delete.clone())), Some(Completion::OnDelete { kept: 2 }));
    assert_eq!(outcome(&world(3, 3, on_delete.clone())), Some(Completion::RolledOut));
    assert_eq!(outcome(&world(2, 3, on_delete)), None);
    // The status counts a pod that is being deleted, and for a moment one that is gone.
    for (updated, strategy) in [(3, rolling(0)), (1, rolling(2)), (1, json!({"type": "OnDelete"}))]
    {
        let mut ending = world(3, updated, strategy);
        let last = ending.pop().unwrap();
        assert_eq!(outcome(&ending), None);
        ending.push((Kind::Pod, deleted(last.1.clone(), LONG)));
        assert_eq!(outcome(&ending), None);
        let text = look(&ending, 0, false, &mut Memory::default()).standing.unwrap().text();
        assert!(
            text.ends_with("2 of 3 ready, 2 available") || text.ends_with("2 of 3 ready"),
            "{text}"
        );
        *ending.last_mut().unwrap() = last;
        assert!(outcome(&ending).is_some());
    }
    let empty = of_stateful_set(stateful_set(0, 0, 0), []);
    assert_eq!(outcome(&empty), Some(Completion::Empty));
}

#[test]
fn daemon_sets_end_as_what_they_are() {
    let world = |desired: i32, ready: i32, updated: i32, strategy: &str| {
        let mut set = daemon_set(desired, ready, updated);
        set["spec"]["updateStrategy"]["type"] = json!(strategy);
        let pods = [pod("db-a", 2, Some("n0")), pod("db-b", 2, Some("n1"))];
        of_daemon_set(set, [node("n0", None), node("n1", None)], pods)
    };
    assert_eq!(outcome(&world(2, 2, 2, "RollingUpdate")), Some(Completion::RolledOut));
    assert_eq!(outcome(&world(2, 2, 1, "RollingUpdate")), None);
    assert_eq!(outcome(&world(2, 1, 2, "RollingUpdate")), None);
    assert_eq!(outcome(&world(2, 2, 0, "OnDelete")), Some(Completion::OnDelete { kept: 2 }));
    assert_eq!(outcome(&world(2, 2, 2, "OnDelete")), Some(Completion::RolledOut));
    // The status counts a pod that is being deleted, and for a moment one that is gone.
    for strategy in ["RollingUpdate", "OnDelete"] {
        let mut ending = world(2, 2, 2, strategy);
        let at = ending.iter().position(|it| it.0 == Kind::Pod).unwrap();
        ending[at].1 = deleted(ending[at].1.clone(), LONG);
        assert_eq!(outcome(&ending), None);
        ending.remove(at);
        assert_eq!(outcome(&ending), None);
    }
    let mut unseen = world(2, 2, 2, "RollingUpdate");
    unseen[0].1["metadata"]["generation"] = json!(3);
    assert_eq!(outcome(&unseen), None, "of a generation before");
}

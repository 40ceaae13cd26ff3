use serde_json::{Value, json};
use setguard_core::kubernetes::kind::Kind;

use super::{
    super::decision::{Memory, Repair},
    build::{
        TRANSIENT, WatchedCluster, at, daemon_set, deleted, event, given_up, last, look, node,
        of_daemon_set, of_stateful_set, pod, sandboxed, slow, stateful_set, unschedulable, waiting,
    },
};

/// How long a fact must have been seen, and an obstacle that seldom goes away.
const FACT: i64 = 10;
const LIKELY: i64 = 60;

#[track_caller]
fn gives_up(world: &WatchedCluster, when: i64, why: &str) -> Option<Repair> {
    let Some((second, decision)) = given_up(|_| world.clone()) else {
        panic!("not given up; expected: {why}")
    };
    let obstacle = decision.stuck.first().unwrap();
    let text = obstacle.facts.heading();
    assert!(text.contains(why), "{text}: {why}");
    assert_eq!(second, when, "{why}");
    obstacle.repair.clone()
}

const NOT_FOUND: &str = "Back-off pulling image \"x\": ErrImagePull: rpc error: not found";

#[test]
fn images_that_do_not_exist_are_facts() {
    let world = |reason: &'static str, message: &'static str| {
        last(move |pod| waiting(pod, reason, message, 0))
    };
    gives_up(&world("ImagePullBackOff", NOT_FOUND), FACT, "db-2 is not ready: ImagePullBackOff");
    gives_up(&world("InvalidImageName", "couldn't parse"), FACT, "InvalidImageName");
    gives_up(&world("ErrImageNeverPull", "not present"), FACT, "ErrImageNeverPull");
    gives_up(&world("ErrImagePull", "manifest unknown"), FACT, "manifest unknown");
    gives_up(&world("SignatureValidationFailed", "of image x"), FACT, "of image x");
    gives_up(&world("RegistryUnavailable", "of image x"), TRANSIENT, "of image x");
    gives_up(&world("ImageInspectError", "of image x"), TRANSIENT, "of image x");
    let passing = "Back-off pulling image \"x\": 503 Service Unavailable";
    gives_up(&world("ImagePullBackOff", passing), TRANSIENT, "503");
    let nodes = [node("n0", None), node("n1", None)];
    let pods = [
        pod("db-a", 1, Some("n0")),
        waiting(pod("db-b", 2, Some("n1")), "ImagePullBackOff", NOT_FOUND, 0),
    ];
    gives_up(
        &of_daemon_set(daemon_set(2, 1, 1), nodes, pods),
        FACT,
        "db-b on node n1 is not ready",
    );
}

#[test]
fn a_pod_of_another_owner_with_the_name_is_given_up_by_patience() {
    let world = |owner: Value| {
        let mut other = pod("db-2", 1, None);
        other["metadata"]["ownerReferences"] = owner;
        let pods = [pod("db-0", 1, None), pod("db-1", 1, None), other];
        of_stateful_set(stateful_set(3, 2, 2), pods)
    };
    let job = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "a", "controller": true}]);
    gives_up(&world(job), TRANSIENT, "another pod has this name, which belongs to Job a");
    gives_up(
        &world(json!([])),
        TRANSIENT,
        "another pod has this name, which belongs to no controller",
    );
}

#[test]
fn two_states_of_one_image_are_one_obstacle() {
    let changing = |now: i64| {
        let reason = if now / 3 % 2 == 0 { "ErrImagePull" } else { "ImagePullBackOff" };
        last(|pod| waiting(pod, reason, NOT_FOUND, 0))
    };
    assert_eq!(given_up(changing).map(|it| it.0), Some(FACT));
}

#[test]
fn containers_that_go_on_crashing_are_given_up_by_their_restarts_or_by_patience() {
    let world = |restarts: i32| last(move |pod| waiting(pod, "CrashLoopBackOff", "", restarts));
    gives_up(&world(7), FACT, "restarted 7 times");
    gives_up(&world(2), 2 * TRANSIENT, "restarted 2 times");
    // The container runs between two crashes, and is even ready once.
    let changing = |now: i64| match now % 40 {
        0..20 => world(2),
        20..30 => last(slow),
        _ => last(|pod| pod),
    };
    let longest = 2 * TRANSIENT;
    assert!(given_up(changing).is_some_and(|it| it.0 >= longest && it.0 < longest + 40));
}

#[test]
fn what_a_container_lacks_may_come() {
    let config = "configmap \"settings\" not found";
    let world = last(|pod| waiting(pod, "CreateContainerConfigError", config, 0));
    gives_up(&world, TRANSIENT, config);
}

/// Anybody who may create events can write any event about any pod. Events only explain; the status decides.
#[test]
fn events_explain_and_end_nothing_earlier() {
    let creating = |has_sandbox: bool| {
        last(move |pod| sandboxed(waiting(pod, "ContainerCreating", "", 0), has_sandbox))
    };
    let missing = "MountVolume.SetUp failed: secret \"key\" not found";
    for (reason, message) in [
        ("FailedMount", missing),
        (
            "FailedMount",
            "driver name a.example.com not found in the list of registered CSI drivers",
        ),
        ("FailedCreatePodSandBox", "failed to set up sandbox: no IP addresses"),
        ("NetworkNotReady", "network is not ready: cni plugin not initialized"),
    ] {
        let with = |now: i64| {
            let mut world = creating(false);
            world.push((Kind::Event, event("Pod", "db-2", reason, message, now)));
            world
        };
        let end = given_up(with).unwrap();
        assert_eq!(end.0, TRANSIENT);
        assert!(end.1.stuck[0].facts.heading().contains(message), "{:?}", end.1.stuck);
    }
    let forged = [
        ("StatefulSet", "db", "FailedCreate"),
        ("StatefulSet", "db", "FailedDelete"),
        ("PersistentVolumeClaim", "data-db-2", "ProvisioningFailed"),
        ("Pod", "db-2", "FailedMount"),
        ("Pod", "db-2", "FailedScheduling"),
        ("Pod", "db-2", "Unhealthy"),
        ("Pod", "db-2", "Evicted"),
    ];
    let end = given_up(|now| {
        // The pod has its volumes and network, and pulls an image.
        let mut world = creating(true);
        world.extend(forged.map(|(kind, name, reason)| {
            (Kind::Event, event(kind, name, reason, "\"key\" not found", now))
        }));
        world
    });
    assert!(end.is_none(), "{end:?}");
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

#[test]
fn a_partition_that_covers_all_pods_rolls_out_nothing() {
    let mut set = stateful_set(3, 3, 0);
    set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(5);
    let pods = ["db-0", "db-1", "db-2"].map(|name| pod(name, 1, None));
    let mut world = of_stateful_set(set, pods);
    gives_up(&world, FACT, "the partition, 5, covers all 3 replicas");
    assert!(look(&world, 0, true, &mut Memory::default()).is_done());
    // Without a new revision there is nothing to roll out.
    world[0].1["status"]["currentRevision"] = json!("db-2");
    world[0].1["status"]["updatedReplicas"] = json!(3);
    assert!(look(&world, 0, false, &mut Memory::default()).is_done());
}

#[test]
fn a_pull_secret_may_come() {
    let denied = "repository does not exist or may require authorization";
    let pull = || last(|pod| waiting(pod, "ImagePullBackOff", denied, 0));
    gives_up(&pull(), FACT, denied);
    let without_secret = |now| {
        let mut world = pull();
        let said = "Unable to retrieve some image pull secrets (regcred)";
        world.push((
            Kind::Event,
            event("Pod", "db-2", "FailedToRetrieveImagePullSecret", said, now),
        ));
        world
    };
    assert_eq!(given_up(without_secret).unwrap().0, TRANSIENT);
}

#[test]
fn a_pod_of_an_old_revision_holds_up_the_fix() {
    let world = |change: &dyn Fn(Value) -> Value| {
        let pods = [pod("db-0", 1, None), change(pod("db-1", 0, None)), pod("db-2", 1, None)];
        of_stateful_set(stateful_set(3, 2, 0), pods)
    };
    let bad = world(&|pod| waiting(pod, "ImagePullBackOff", NOT_FOUND, 0));
    let delete = Some(Repair::DeletePod("db-1".to_owned()));
    assert_eq!(gives_up(&bad, FACT, "db-1 is not ready"), delete);
    // After a rollback to the previous revision, the status contains only that one.
    let mut back = bad.clone();
    back[0].1["status"]["updateRevision"] = json!("db-1");
    back[0].1["status"]["updatedReplicas"] = json!(2);
    assert_eq!(gives_up(&back, FACT, "db-1 is not ready"), delete);
    // A pod that is merely unready may become ready soon.
    assert_eq!(gives_up(&world(&slow), TRANSIENT, "db-1 is not ready"), delete);
    // A pod of the new revision must not be deleted, and neither must one without a revision.
    let new = last(|pod| waiting(pod, "ImagePullBackOff", NOT_FOUND, 0));
    assert_eq!(gives_up(&new, FACT, "db-2"), None);
    // Below the partition, the pod would come back unchanged.
    for (mut below, when) in [(bad, FACT), (world(&slow), TRANSIENT)] {
        below[0].1["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = json!(2);
        assert_eq!(gives_up(&below, when, "db-1"), None);
    }
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

fn missing() -> WatchedCluster {
    let mut set = stateful_set(3, 2, 0);
    set["status"]["replicas"] = json!(2);
    let old = ["db-0", "db-1"].map(|name| {
        let mut pod = pod(name, 1, None);
        pod["metadata"]["creationTimestamp"] = json!(at(-80_000));
        pod
    });
    of_stateful_set(set, old)
}

fn refused(message: &str, last: i64) -> WatchedCluster {
    let mut world = missing();
    world.push((Kind::Event, event("StatefulSet", "db", "FailedCreate", message, last)));
    world
}

#[test]
fn refused_pods_have_the_patience_of_pods_that_are_missing() {
    for message in [
        "pods \"db-2\" is forbidden: exceeded quota: small",
        "pods \"db-2\" is forbidden: violates PodSecurity \"baseline:latest\"",
        "pods \"db-2\" is forbidden: error looking up service account shop/db: serviceaccount \"db\" not found",
        "admission webhook \"deny.example.com\" denied the request: no",
    ] {
        let why = message.rsplit("forbidden: ").next().unwrap();
        assert_eq!(gives_up(&refused(message, 0), TRANSIENT, why), None);
    }
    let passing = "failed calling webhook \"w.example.com\": connection refused";
    gives_up(&refused(passing, 0), TRANSIENT, passing);
    let nodes = [node("n0", None), node("n1", None)];
    let mut set = daemon_set(2, 1, 1);
    set["status"]["currentNumberScheduled"] = json!(1);
    let mut world = of_daemon_set(set, nodes, [pod("db-a", 2, Some("n0"))]);
    let text = "pods \"db-b\" is forbidden: violates PodSecurity";
    world.push((Kind::Event, event("DaemonSet", "db", "FailedCreate", text, -3)));
    gives_up(&world, TRANSIENT, "violates PodSecurity");
}

#[test]
fn a_refusal_of_before_is_given_the_next_attempt() {
    let message = "pods \"db-2\" is forbidden: exceeded quota: small";
    let (poke, why) = (Some(Repair::Poke), "exceeded quota: small");
    assert_eq!(gives_up(&refused(message, -400), 1_060 - 400, why), poke);
    // The controller should have tried again long ago.
    assert_eq!(gives_up(&refused(message, -1_200), TRANSIENT, why), poke);
    // The controller tries again and is refused again.
    let again = |now: i64| refused(message, if now < 100 { -400 } else { 100 });
    assert_eq!(given_up(again).map(|it| it.0), Some(TRANSIENT));
}

#[test]
fn refused_deletions_explain_why_nothing_goes_on() {
    let pods = ["db-0", "db-1", "db-2"].map(|name| pod(name, 1, None));
    let mut world = of_stateful_set(stateful_set(3, 3, 0), pods);
    let text = "admission webhook \"keep\" denied the request";
    world.push((Kind::Event, event("StatefulSet", "db", "FailedDelete", text, 1)));
    gives_up(&world, TRANSIENT, "the deletion of pods is refused");
}

#[test]
fn claims_that_are_not_bound() {
    let world = |class: Value, phase: &str, classes: Value, failed: Option<&str>| {
        let mut set = stateful_set(1, 0, 1);
        set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
        let place = "pod has unbound immediate PersistentVolumeClaims";
        let mut world = of_stateful_set(set, [unschedulable(pod("db-0", 2, None), place)]);
        world.push((Kind::PersistentVolumeClaim, json!({
            "metadata": {"name": "data-db-0", "namespace": "shop", "creationTimestamp": at(-60)},
            "spec": {"storageClassName": class}, "status": {"phase": phase},
        })));
        for class in classes.as_array().unwrap() {
            world.push((Kind::StorageClass, class.clone()));
        }
        if let Some(text) = failed {
            let event = event("PersistentVolumeClaim", "data-db-0", "ProvisioningFailed", text, 0);
            world.push((Kind::Event, event));
        }
        world
    };
    let disk = json!([{"metadata": {"name": "disk"}, "provisioner": "csi.example.com"}]);
    let pending = |class: &str, classes: &Value, failed: Option<&str>| {
        world(json!(class), "Pending", classes.clone(), failed)
    };
    gives_up(&pending("none", &disk, None), FACT, "the storage class none does not exist");
    gives_up(&world(json!(null), "Pending", disk.clone(), None), FACT, "no class is the default");
    gives_up(&world(json!("disk"), "Lost", disk.clone(), None), FACT, "does not exist any more");
    gives_up(&pending("disk", &disk, Some("quota of the cloud")), TRANSIENT, "quota of the cloud");
    gives_up(&pending("disk", &disk, None), TRANSIENT, "has made no volume");
}

#[test]
fn pods_without_a_place_and_nodes_that_are_down() {
    let full = "0/3 nodes are available: 3 Insufficient cpu";
    gives_up(
        &last(|pod| unschedulable(pod, full)),
        TRANSIENT,
        "none of 3 nodes has a place for it: 3 Insufficient cpu",
    );
    let answered = |reason: &str, message: &str| {
        let mut world = last(|pod| unschedulable(pod, full));
        let mut event = event("Pod", "db-2", reason, message, 0);
        event["type"] = json!("Normal");
        world.push((Kind::Event, event));
        world
    };
    let at_most = "pod didn't trigger scale-up: 1 max node group size reached";
    let adds_none = "the cluster autoscaler adds no node: 1 max node group size reached";
    gives_up(&answered("NotTriggerScaleUp", at_most), TRANSIENT, adds_none);
    // The autoscaler also gives up on a node after 15 minutes.
    let nominated = answered("Nominated", "Pod should schedule on: nodeclaim/gpu-x2");
    gives_up(&nominated, 900, "and it has not come: nodeclaim/gpu-x2");
    let gone = "persistentvolumeclaim \"data\" not found";
    gives_up(&last(|pod| unschedulable(pod, gone)), LIKELY, "its claim data does not exist");
    let no_scheduler = last(|mut pod| {
        pod["spec"] = json!({"schedulerName": "mine"});
        pod["status"] = json!({"phase": "Pending"});
        pod
    });
    gives_up(&no_scheduler, TRANSIENT, "the scheduler mine");
    let on = |node: Value, end: Option<i64>| {
        let mut world = last(|mut pod| {
            pod["spec"]["nodeName"] = json!("n1");
            slow(end.map_or(pod.clone(), |end| deleted(pod, end)))
        });
        world.push((Kind::Node, node));
        world
    };
    gives_up(&on(node("n1", Some(-600)), None), FACT, "its node n1 is not ready");
    gives_up(&on(node("n1", Some(-100)), None), TRANSIENT - 100, "its node n1 is not ready");
    gives_up(&on(node("n2", None), None), TRANSIENT, "its node n1 does not exist");
    gives_up(&on(node("n1", None), Some(30)), TRANSIENT + 30, "db-2 should be gone");
}

/// One dead node of three uses up maxUnavailable, although the status does not count it.
#[test]
fn a_dead_node_eats_the_budget() {
    let world = |most: i32, since: i64| {
        let mut set = daemon_set(2, 2, 0);
        set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = json!(most);
        set["status"]["numberUnavailable"] = json!(0);
        let nodes = [node("n0", None), node("n1", None), node("n2", Some(since))];
        let pods = [
            pod("db-a", 1, Some("n0")),
            pod("db-b", 1, Some("n1")),
            // The rollout deleted it a moment ago.
            deleted(slow(pod("db-c", 1, Some("n2"))), 30),
        ];
        of_daemon_set(set, nodes, pods)
    };
    gives_up(&world(1, -600), FACT, "node n2 is not ready");
    gives_up(&world(1, -100), TRANSIENT - 100, "node n2");
}

#[test]
fn a_daemon_set_without_a_node_is_not_rolled_out() {
    let mut other = node("n0", None);
    other["metadata"]["labels"] = json!({});
    let mut tainted = node("n1", None);
    tainted["spec"]["taints"] = json!([{"key": "gpu", "effect": "NoSchedule"}]);
    let world = of_daemon_set(daemon_set(0, 0, 0), [other.clone()], []);
    gives_up(&world, FACT, "no node gets a pod: of 1 node, 1 without the label pool=a");
    let world = of_daemon_set(daemon_set(0, 0, 0), [other, tainted], []);
    gives_up(&world, FACT, "does not tolerate all taints: gpu:NoSchedule on 1 node (n1)");
    assert!(look(&world, 0, true, &mut Memory::default()).is_done());
    let world = of_daemon_set(daemon_set(0, 0, 0), [], []);
    gives_up(&world, FACT, "no node gets a pod");
}

#[test]
fn sets_that_no_controller_sees_and_sets_that_go() {
    let mut set = stateful_set(3, 3, 3);
    set["metadata"]["generation"] = json!(3);
    let pods = || ["db-0", "db-1", "db-2"].map(|name| pod(name, 2, None));
    let unseen = of_stateful_set(set.clone(), pods());
    gives_up(&unseen, TRANSIENT, "no controller has seen generation 3");
    set["metadata"]["deletionTimestamp"] = json!(at(0));
    gives_up(&of_stateful_set(set, pods()), FACT, "it is being deleted");
    gives_up(&WatchedCluster::new(), FACT, "it does not exist any more");
}

/// The status counts a pod that is being deleted as ready but not as updated.
#[test]
fn a_pod_that_does_not_end_is_named_although_the_status_is_healthy() {
    let mut set = stateful_set(1, 1, 0);
    set["status"]["currentRevision"] = json!("db-2");
    let world = of_stateful_set(set, [deleted(pod("db-0", 2, None), 0)]);
    gives_up(&world, TRANSIENT, "db-0 should be gone");
    // The status of a DaemonSet counts it in full.
    let pods = [deleted(pod("db-a", 2, Some("n0")), 0)];
    let world = of_daemon_set(daemon_set(1, 1, 1), [node("n0", None)], pods);
    gives_up(&world, TRANSIENT, "db-a should be gone");
}

/// The status shows nothing of it.
#[test]
fn pods_without_the_volume_of_a_claim_template_are_a_fact() {
    let mut set = stateful_set(2, 2, 2);
    set["status"]["currentRevision"] = json!("db-2");
    set["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "data"}}]);
    let with = |volume: &str| {
        let claim = |name: &str| {
            let mut pod = pod(name, 2, None);
            pod["spec"]["volumes"] = json!([{
                "name": volume, "persistentVolumeClaim": {"claimName": format!("{volume}-{name}")},
            }]);
            pod
        };
        of_stateful_set(set.clone(), ["db-0", "db-1"].map(claim))
    };
    assert!(look(&with("data"), 0, false, &mut Memory::default()).is_done());
    gives_up(&with("old"), FACT, "db-0, db-1 lack the volume of a claim template");
}

#[test]
fn nothing_goes_on_and_nothing_says_why() {
    let pods = ["db-0", "db-1", "db-2"].map(|name| pod(name, 1, None));
    let world = of_stateful_set(stateful_set(3, 3, 0), pods);
    gives_up(&world, TRANSIENT, "the controller replaces none");
    gives_up(&missing(), TRANSIENT, "1 pod is missing");
}

/// The status counts a pod with the generation of the set as updated.
#[test]
fn daemons_that_count_as_updated_are_not_rolled_out() {
    let mut set = daemon_set(1, 1, 1);
    set["metadata"]["creationTimestamp"] = json!(at(-90));
    let mut old = pod("db-a", 2, Some("n0"));
    old["metadata"]["labels"]["controller-revision-hash"] = json!("hash-1");
    let world = |pod: Value| of_daemon_set(set.clone(), [node("n0", None)], [pod]);
    gives_up(&world(old), FACT, "db-a has an older template");
    let current = world(pod("db-a", 2, Some("n0")));
    assert!(look(&current, 0, false, &mut Memory::default()).is_done());
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

use serde_json::{Value, json};

use super::*;
use crate::{
    kubernetes::cluster::{Cluster, Version},
    object::{StatefulSetSpec, defaults},
    rollout::testing::text,
};

fn settings(spec: Value, gates: &str) -> Settings {
    settings_in(36, spec, gates)
}

fn settings_in(minor: u32, spec: Value, gates: &str) -> Settings {
    let mut spec: StatefulSetSpec = serde_json::from_value(spec).unwrap();
    defaults::stateful_set(&mut spec);
    let mut cluster = Cluster::new(Version::of_minor(minor), std::collections::BTreeMap::new());
    for gate in gates.split_whitespace() {
        cluster.set_gate(gate, true);
    }
    Settings::of("db", &spec, &cluster).unwrap()
}

fn old(ordinals: Range<i64>, settings: &Settings) -> State {
    let pod = Replica { revision: Revision::Old, health: Health::Available };
    State {
        claims: ordinals.clone().flat_map(|it| settings.claims_of(it)).collect(),
        pods: ordinals.map(|it| (it, pod)).collect(),
        ..State::default()
    }
}

fn course(spec: Value, gates: &str, before: Range<i64>, never: &NeverReady) -> Course {
    let settings = settings(spec, gates);
    let state = old(before, &settings);
    simulate(&settings, state, never)
}

fn steps(spec: Value, before: Range<i64>) -> String {
    text(&course(spec, "", before, &NeverReady::default()))
}

#[test]
fn ordered_pods_are_created_one_by_one_and_parallel_ones_at_once() {
    assert_eq!(steps(json!({"replicas": 3}), 0..0), "1 +0 | 2 +1 | 3 +2");
    let parallel = json!({"replicas": 3, "podManagementPolicy": "Parallel"});
    assert_eq!(steps(parallel, 0..0), "1 +0 +1 +2");
}

#[test]
fn an_update_goes_from_the_last_to_the_partition() {
    let spec = |partition: i64| {
        json!({"replicas": 4, "minReadySeconds": 30,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}})
    };
    let course = course(spec(2), "", 0..4, &NeverReady::default());
    assert_eq!(text(&course), "1 -3 +3 | 2 -2 +2");
    assert_eq!((course.at_least_seconds, course.at_most_unavailable, course.waves), (60, 1, 2));
    assert_eq!(course.stop, None);
    assert_eq!(steps(spec(4), 0..4), "");
}

#[test]
fn scaling_down_waits_for_each_pod_to_be_gone_and_comes_before_the_update() {
    assert_eq!(steps(json!({"replicas": 2}), 0..4), "1 -3 | 2 -2 | 3 -1 +1 | 4 -0 +0");
    let parallel = json!({"replicas": 2, "podManagementPolicy": "Parallel"});
    assert_eq!(steps(parallel, 0..4), "1 -2 -3 -1 +1 | 2 -0 +0");
}

#[test]
fn ordered_pods_that_are_down_together_come_back_one_by_one() {
    let spec = json!({"replicas": 4, "updateStrategy": {"type": "RollingUpdate",
        "rollingUpdate": {"partition": 0, "maxUnavailable": 2}}});
    let course = course(spec.clone(), "MaxUnavailableStatefulSet", 0..4, &NeverReady::default());
    assert_eq!(text(&course), "1 -3 -2 +2 | 2 +3 | 3 -1 -0 +0 | 4 +1");
    assert_eq!(course.at_most_unavailable, 2);
    assert_eq!(steps(spec, 0..4), "1 -3 +3 | 2 -2 +2 | 3 -1 +1 | 4 -0 +0", "the gate is off");
}

#[test]
fn a_pod_below_the_partition_is_made_from_the_old_template() {
    let spec = json!({"replicas": 3, "updateStrategy": {"type": "RollingUpdate",
        "rollingUpdate": {"partition": 2}}});
    assert_eq!(steps(spec.clone(), 0..1), "1 +1* | 2 +2");
    let settings = settings(spec, "");
    let state = State { is_current: true, ..old(0..1, &settings) };
    assert_eq!(text(&simulate(&settings, state, &NeverReady::default())), "1 +1 | 2 +2");
}

/// The API server leaves the block `rollingUpdate` out if only the type is written. Seen on 1.37.2.
#[test]
fn without_its_block_a_rolling_update_makes_the_first_missing_pods_from_the_old_template() {
    let bare = |policy: &str| json!({"replicas": 3, "podManagementPolicy": policy, "updateStrategy": {"type": "RollingUpdate"}});
    assert_eq!(steps(bare("OrderedReady"), 0..3), "1 -2 +2 | 2 -1 +1 | 3 -0 +0");
    assert_eq!(steps(bare("OrderedReady"), 1..3), "1 +0* | 2 -2 +2 | 3 -1 +1 | 4 -0 +0");
    let renumbered = json!({"replicas": 3, "ordinals": {"start": 2}, "podManagementPolicy": "Parallel",
        "updateStrategy": {"type": "RollingUpdate"}});
    assert_eq!(steps(renumbered, 0..3), "1 +3* +4* -0 -1 -4 +4 | 2 -3 +3 | 3 -2 +2");
    for (minor, expected) in [(36, "1 +0* -2 +2 | 2 -1 +1 | 3 -0 +0"), (37, "1 +0* -0")] {
        let settings = settings_in(minor, bare("Parallel"), "");
        let course = simulate(&settings, old(1..3, &settings), &NeverReady::default());
        assert_eq!(text(&course), expected, "1.{minor}");
        let endless = Stop::new(Target::Ordinal(0), Waits::Endlessly);
        assert_eq!(course.stop, (minor == 37).then_some(endless));
    }
    let few = json!({"replicas": 2, "podManagementPolicy": "Parallel", "updateStrategy": {"type": "RollingUpdate"}});
    let settings = settings_in(37, few, "");
    let course = simulate(&settings, old(1..2, &settings), &NeverReady::default());
    assert_eq!((text(&course), course.stop), ("1 +0* -0 +0 | 2 -1 +1".to_owned(), None));
    // Pods of the revision in between do not count.
    let settings = settings_in(37, bare("Parallel"), "");
    let state = State { strays: BTreeSet::from([1, 2]), ..old(1..3, &settings) };
    let course = simulate(&settings, state, &NeverReady::default());
    assert_eq!((text(&course), course.stop), ("1 +0 | 2 -2 +2 | 3 -1 +1".to_owned(), None));
}

#[test]
fn the_partition_counts_from_the_first_ordinal() {
    let spec = json!({"replicas": 3, "ordinals": {"start": 5}, "updateStrategy":
        {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}});
    assert_eq!(steps(spec, 5..8), "1 -7 +7");
}

#[test]
fn claims_follow_the_retention_policy() {
    let spec = |when_scaled: &str| {
        json!({"replicas": 1, "updateStrategy": {"type": "OnDelete"},
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": when_scaled},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}]})
    };
    assert_eq!(steps(spec("Delete"), 0..2), "1 -1(data-db-1)");
    assert_eq!(steps(spec("Retain"), 0..2), "1 -1");
    assert_eq!(steps(spec("Retain"), 0..0), "1 +0(data-db-0)");
    let settings = settings(spec("Retain"), "");
    let claims = settings.claims_of(0).collect();
    let kept = State { claims, ..State::default() };
    assert_eq!(text(&simulate(&settings, kept, &NeverReady::default())), "1 +0");
}

#[test]
fn renumbered_pods_are_replaced_by_others() {
    let spec = json!({"replicas": 2, "ordinals": {"start": 1}});
    assert_eq!(steps(spec, 0..2), "1 +2 | 2 -0 | 3 -1 +1");
}

#[test]
fn a_pod_that_never_becomes_ready_stops_an_ordered_update() {
    let never = NeverReady { all_new: true, ..NeverReady::default() };
    let course = course(json!({"replicas": 3}), "", 0..3, &never);
    assert_eq!(text(&course), "1 -2 +2");
    assert_eq!(course.stop, Some(Stop::new(Target::Ordinal(2), Waits::ForThisPod)));
    let only = NeverReady { ordinals: vec![0], ..NeverReady::default() };
    let course = simulate(&settings(json!({"replicas": 1}), ""), State::default(), &only);
    assert_eq!(course.stop, Some(Stop::new(Target::Ordinal(0), Waits::ForTheLast)));
}

#[test]
fn a_broken_pod_holds_up_its_own_repair_only_if_pods_are_ordered() {
    let steps = [("OrderedReady", ""), ("Parallel", "1 -2 +2 | 2 -1 +1 | 3 -0 +0")];
    for (policy, expected) in steps {
        let settings = settings(json!({"replicas": 3, "podManagementPolicy": policy}), "");
        let mut state = old(0..3, &settings);
        state.pods.insert(1, Replica { revision: Revision::Old, health: Health::Broken });
        assert_eq!(text(&simulate(&settings, state, &NeverReady::default())), expected);
    }
}

#[test]
fn recreate_deletes_all_old_pods_before_it_creates_new_ones() {
    let spec = |policy: &str| json!({"replicas": 2, "podManagementPolicy": policy, "updateStrategy": {"type": "Recreate"}});
    assert_eq!(steps(spec("Parallel"), 0..2), "1 -0 -1 | 2 +0 +1");
    assert_eq!(steps(spec("Parallel"), 0..1), "1 -0 | 2 +0 +1");
    assert_eq!(steps(spec("OrderedReady"), 0..3), "1 -0 -1 -2 | 2 +0 | 3 +1");
}

#[test]
fn recreate_leaves_the_claims_of_old_pods() {
    let spec = json!({"replicas": 1, "updateStrategy": {"type": "Recreate"},
        "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
    assert_eq!(steps(spec.clone(), 0..2), "1 -0 -1 | 2 +0");
    let settings = settings(spec, "");
    let mut state = old(0..2, &settings);
    state.pods.values_mut().for_each(|pod| pod.revision = Revision::New);
    let course = simulate(&settings, state, &NeverReady::default());
    assert_eq!(text(&course), "1 -1(data-db-1)", "the template is the same");
}

#[test]
fn until_1_33_an_ordered_pod_that_is_ready_is_not_deleted_before_it_is_available() {
    let spec = json!({"replicas": 0, "minReadySeconds": 30});
    for (minor, seconds) in [(33, 30), (34, 0)] {
        let settings = settings_in(minor, spec.clone(), "");
        let mut state = old(0..1, &settings);
        state.pods.values_mut().for_each(|pod| pod.health = Health::Ready(0));
        let course = simulate(&settings, state, &NeverReady::default());
        assert_eq!((text(&course).as_str(), course.at_least_seconds), ("1 -0", seconds));
    }
}

#[test]
fn since_1_37_parallel_pods_that_are_down_are_replaced_first() {
    let spec = json!({"replicas": 3, "podManagementPolicy": "Parallel"});
    for (minor, expected) in [(36, ""), (37, "1 -1 -0 +0 +1 | 2 -2 +2")] {
        let settings = settings_in(minor, spec.clone(), "MaxUnavailableStatefulSet");
        let mut state = old(0..3, &settings);
        for ordinal in [0, 1] {
            state.pods.insert(ordinal, Replica { revision: Revision::Old, health: Health::Broken });
        }
        let course = simulate(&settings, state, &NeverReady::default());
        assert_eq!(text(&course), expected, "1.{minor}");
    }
}

#[test]
fn ten_thousand_pods_are_no_problem() {
    let course = course(json!({"replicas": 10_000}), "", 0..10_000, &NeverReady::default());
    assert_eq!((course.waves, course.steps.len()), (10_000, 20_000));
}

#[test]
fn pods_without_the_volumes_of_the_set_end_each_round() {
    let misfits = |policy: &str, misfits: [i64; 4]| {
        let spec = json!({
            "replicas": 8, "podManagementPolicy": policy,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        });
        let settings = settings(spec, "");
        let mut state = State { claims: BTreeSet::new(), ..old(0..7, &settings) };
        state.misfits = misfits.into();
        let course = simulate(&settings, state, &NeverReady::default());
        let unused: Vec<_> = course.unused_claims.iter().map(|(ordinal, _)| *ordinal).collect();
        (text(&course), unused, course.stop.unwrap())
    };
    let at = |ordinal, why| Stop::new(Target::Ordinal(ordinal), why);
    let stop = at(1, Waits::Volumes);
    assert_eq!(misfits("OrderedReady", [1, 2, 3, 4]), (String::new(), vec![1], stop.clone()));
    // The controller handles one parallel pod, then two, then four.
    assert_eq!(misfits("Parallel", [1, 2, 3, 4]), (String::new(), vec![1, 2], stop));
    let (steps, unused, stop) = misfits("Parallel", [4, 5, 6, 7]);
    assert_eq!(unused, [4, 5, 6]);
    assert_eq!((steps, stop), (String::new(), at(4, Waits::Volumes)));
}

#[test]
fn a_name_that_another_pod_has_ends_each_round() {
    let of = |policy: &str| {
        let settings = settings(json!({"replicas": 5, "podManagementPolicy": policy}), "");
        let state = State { taken: [1].into(), ..State::default() };
        let course = simulate(&settings, state, &NeverReady::default());
        (text(&course), course.stop)
    };
    let stop = Some(Stop::new(Target::Ordinal(1), Waits::Name));
    assert_eq!(of("OrderedReady"), ("1 +0".to_owned(), stop.clone()));
    assert_eq!(of("Parallel"), ("1 +0 +2".to_owned(), stop));
}

/// The steps, and the claims that disappear with pod 1. The pod is terminating and owns its claim. The set had two
/// pods, and will have `replicas`.
fn while_a_pod_ends(
    health: Health,
    is_pending: bool,
    replicas: i64,
    policy: &str,
    when_scaled: &str,
) -> (String, Vec<String>) {
    let spec = json!({
        "replicas": replicas, "podManagementPolicy": policy,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}}],
        "persistentVolumeClaimRetentionPolicy": {"whenScaled": when_scaled},
    });
    let settings = settings(spec, "");
    let claims = [0, 1].iter().flat_map(|it| settings.claims_of(*it)).collect();
    let mut state = State { claims, is_current: true, ..old(0..1, &settings) };
    state.pods.values_mut().for_each(|pod| pod.revision = Revision::New);
    state.terminating.insert(1, Replica { revision: Revision::New, health });
    state.pending.extend(is_pending.then_some(1));
    state.owned.insert(1, settings.claims_of(1).collect());
    let course = simulate(&settings, state, &NeverReady::default());
    let going = course.going.iter().flat_map(|(_, claims)| claims).cloned().collect();
    (text(&course), going)
}

#[test]
fn the_claim_of_a_pod_that_is_being_deleted_stays_only_if_the_controller_gets_to_it() {
    let data = vec!["data-db-1".to_owned()];
    for (replicas, policy, when_scaled, steps, going) in [
        // The ordered controller waits until the pod has terminated before it looks at its claims.
        (2, "OrderedReady", "Delete", "1 +1(data-db-1)", &data),
        (2, "OrderedReady", "Retain", "1 +1(data-db-1)", &data),
        (2, "Parallel", "Delete", "1 +1", &vec![]),
        (2, "Parallel", "Retain", "1 +1", &vec![]),
        // The pod stays outside the range.
        (1, "OrderedReady", "Delete", "", &data),
        (1, "Parallel", "Delete", "", &data),
        (1, "OrderedReady", "Retain", "", &vec![]),
        (1, "Parallel", "Retain", "", &vec![]),
    ] {
        let seen = while_a_pod_ends(Health::Starting, false, replicas, policy, when_scaled);
        assert_eq!(seen, (steps.to_owned(), going.clone()), "{replicas} {policy} {when_scaled}");
    }
}

#[test]
fn the_controller_looks_at_the_claims_of_pods_that_wait_and_not_of_those_that_have_ended() {
    let lost = ("1 +1(data-db-1)".to_owned(), vec!["data-db-1".to_owned()]);
    let kept = ("1 +1".to_owned(), vec![]);
    for policy in ["OrderedReady", "Parallel"] {
        for when_scaled in ["Delete", "Retain"] {
            let ended = while_a_pod_ends(Health::Ended, false, 2, policy, when_scaled);
            assert_eq!(ended, lost, "{policy} {when_scaled}");
            let pending = while_a_pod_ends(Health::Starting, true, 2, policy, when_scaled);
            assert_eq!(pending, kept, "{policy} {when_scaled}");
        }
    }
}

#[test]
fn a_pod_that_ends_in_the_middle_does_not_hold_up_the_last_one() {
    let settings = settings(json!({"replicas": 1}), "");
    let mut state = old(0..4, &settings);
    state.pods.values_mut().for_each(|pod| pod.revision = Revision::New);
    state.pods.remove(&2);
    let ending = Replica { revision: Revision::New, health: Health::Starting };
    state.terminating.insert(2, ending);
    let course = simulate(&settings, state, &NeverReady::default());
    assert_eq!(text(&course), "1 -3 | 2 -1");
}

#[test]
fn a_claim_that_is_being_deleted_is_gone_with_its_pod_and_created_again() {
    let spec = json!({"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
    let settings = settings(spec, "");
    let mut state = old(0..2, &settings);
    state.ending_claims.insert(0, settings.claims_of(0).collect());
    let course = simulate(&settings, state, &NeverReady::default());
    let lost = "1 -1 +1 | 2 -0(data-db-0) +0(data-db-0)";
    assert_eq!(text(&course), lost);
}

#[test]
fn a_pod_that_waits_to_be_started_gets_the_claim_that_it_lacks() {
    let spec = json!({"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]});
    let settings = settings(spec, "");
    let mut state = State { is_current: true, ..old(0..2, &settings) };
    state.pods.values_mut().for_each(|pod| pod.revision = Revision::New);
    state.claims.remove("data-db-0");
    let missing =
        |state: &State| simulate(&settings, state.clone(), &NeverReady::default()).missing_claims;
    assert_eq!(missing(&state), []);
    state.pods.insert(0, Replica { revision: Revision::New, health: Health::Broken });
    assert_eq!(missing(&state), []);
    state.pending.insert(0);
    assert_eq!(missing(&state), [(0, vec!["data-db-0".to_owned()])]);
}

#[test]
fn a_pod_on_a_dead_node_stays_once_it_is_deleted() {
    let course = |policy: &str, ordinals: Range<i64>| {
        let settings = settings(json!({"replicas": 3, "podManagementPolicy": policy}), "");
        let mut state = old(ordinals, &settings);
        let lost = Replica { revision: Revision::Old, health: Health::Broken };
        state.pods.insert(1, lost);
        state.stranded.insert(1, Waits::Node);
        let course = simulate(&settings, state, &NeverReady::default());
        let stop = course.stop.as_ref().map(|it| (it.target.clone(), it.why));
        assert_eq!(stop, Some((Target::Ordinal(1), Waits::Node)));
        text(&course)
    };
    assert_eq!(course("OrderedReady", 0..3), "");
    assert_eq!(course("Parallel", 0..3), "1 -2 +2 | 2 -1");
}

#[test]
fn a_set_that_shrinks_waits_for_a_dead_node() {
    let settings = settings(json!({"replicas": 1}), "");
    let mut state = old(0..1, &settings);
    state.terminating.insert(2, Replica { revision: Revision::Old, health: Health::Starting });
    state.stranded.insert(2, Waits::Node);
    let stop = simulate(&settings, state, &NeverReady::default()).stop;
    assert_eq!(stop, Some(Stop::new(Target::Ordinal(2), Waits::Node)));
}

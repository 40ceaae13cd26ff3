use serde_json::{Value, json};

use super::*;
use crate::{
    object::{DaemonSetSpec, defaults},
    rollout::testing::text,
};

const RUNS: NodePods = NodePods {
    runs: true,
    keeps: true,
    old: None,
    new: None,
    new_is_older: false,
    new_is_stale: false,
    excess: 0,
    excess_new: 0,
    is_ending: false,
    never_ends: false,
    is_dead: false,
};
const OLD: NodePods = NodePods { old: Some(Health::Available), ..RUNS };

fn settings(strategy: &Value) -> Settings {
    let mut spec: DaemonSetSpec =
        serde_json::from_value(json!({"updateStrategy": strategy, "minReadySeconds": 10})).unwrap();
    defaults::daemon_set(&mut spec);
    Settings::of(&spec)
}

fn rolling(max_unavailable: &Value, max_surge: &Value) -> Settings {
    settings(&json!({"type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": max_unavailable, "maxSurge": max_surge}}))
}

fn course(settings: &Settings, places: Vec<NodePods>) -> Course {
    simulate(settings, places, &NeverReady::default())
}

#[test]
fn new_pods_come_at_once_and_old_ones_are_replaced_a_few_at_a_time() {
    let settings = rolling(&json!(1), &json!(0));
    assert_eq!(text(&course(&settings, vec![RUNS; 3])), "1 +0 +1 +2");
    let update = course(&settings, vec![OLD; 3]);
    assert_eq!(text(&update), "1 -1of012 +1of012 | 2 -1of012 +1of012 | 3 -1of012 +1of012");
    assert_eq!((update.at_least_seconds, update.at_most_unavailable), (30, 1));
}

#[test]
fn percentages_are_of_the_nodes_that_run_it_and_rounded_up() {
    let settings = rolling(&json!("34%"), &json!(0));
    assert_eq!(settings.budget(3).max_unavailable, 2);
    let update = course(&settings, vec![OLD; 3]);
    assert_eq!(text(&update), "1 -2of012 +2of012 | 2 -1of012 +1of012");
    assert_eq!(rolling(&json!("100%"), &json!(0)).budget(3).max_unavailable, 3);
    assert_eq!(text(&course(&rolling(&json!(3), &json!(0)), vec![OLD; 2])), "1 -0 -1 +0 +1");
}

#[test]
fn with_surge_the_new_pod_comes_first() {
    let update = course(&rolling(&json!(0), &json!(1)), vec![OLD; 2]);
    assert_eq!(text(&update), "1 +1of01 | 2 -1of01 +1of01 | 3 -1of01");
    assert_eq!((update.at_least_seconds, update.at_most_unavailable), (20, 0));
}

#[test]
fn nodes_that_are_no_longer_selected_lose_their_pods_at_once() {
    let leaves = NodePods { runs: false, keeps: false, ..OLD };
    let update = course(&rolling(&json!(1), &json!(0)), vec![leaves, leaves, RUNS]);
    assert_eq!(text(&update), "1 +2 -0 -1");
}

#[test]
fn old_pods_that_are_down_are_replaced_at_once_and_use_up_the_budget() {
    let broken = NodePods { old: Some(Health::Broken), ..RUNS };
    let update = course(&rolling(&json!(1), &json!(0)), vec![OLD, broken, broken]);
    assert_eq!(text(&update), "1 -1 -2 +1 +2 | 2 -0 +0");
    assert_eq!(update.at_most_unavailable, 2);
}

#[test]
fn of_two_pods_the_older_stays_if_no_surge_is_allowed() {
    let both = NodePods { new: Some(Health::Available), ..OLD };
    let settings = rolling(&json!(1), &json!(0));
    assert_eq!(text(&course(&settings, vec![both])), "1 -0 -0 +0");
    let rolled_back = NodePods { new_is_older: true, ..both };
    assert_eq!(text(&course(&settings, vec![rolled_back])), "1 -0");
}

#[test]
fn it_stops_when_the_budget_is_used_up() {
    let never = NeverReady { all_new: true, ..NeverReady::default() };
    let update = simulate(&rolling(&json!(1), &json!(0)), vec![OLD; 3], &never);
    assert_eq!(text(&update), "1 -1of012 +1of012");
    assert_eq!(update.stop.unwrap().why, Waits::Budget);
    let on_delete = settings(&json!({"type": "OnDelete"}));
    assert_eq!(text(&course(&on_delete, vec![OLD, RUNS])), "1 +1");
}

#[test]
fn ten_thousand_nodes_are_no_problem() {
    let update = course(&rolling(&json!(1), &json!(0)), vec![OLD; 10_000]);
    assert_eq!((update.waves, update.steps.len()), (10_000, 20_000));
}

#[test]
fn of_several_old_pods_on_a_node_the_oldest_stays_until_it_has_its_turn() {
    let crowded = NodePods { excess: 1, ..OLD };
    let settings = rolling(&json!(1), &json!(0));
    assert_eq!(text(&course(&settings, vec![crowded])), "1 -0 -0 +0");
    let surging = rolling(&json!(0), &json!(1));
    assert_eq!(text(&course(&surging, vec![crowded])), "1 -0 +0 | 2 -0");
}

#[test]
fn an_old_pod_that_becomes_available_does_not_make_the_new_one_available() {
    let waiting = NodePods { old: Some(Health::Ready(-5)), ..RUNS };
    let update = course(&rolling(&json!(0), &json!(1)), vec![waiting]);
    assert_eq!((text(&update).as_str(), update.at_least_seconds), ("1 +0 | 2 -0", 10));
}

#[test]
fn a_pod_that_only_counts_as_new_is_kept_with_its_old_template() {
    let stale = NodePods { new: Some(Health::Available), new_is_stale: true, ..RUNS };
    let settings = rolling(&json!(1), &json!(0));
    let kept = |nodes| {
        let update = course(&settings, nodes);
        (text(&update), update.kept_daemons)
    };
    let old = |index| (Target::Node(index), Revision::Old);
    assert_eq!(kept(vec![stale]), (String::new(), vec![old(0)]));
    let leaves = NodePods { runs: false, keeps: false, ..stale };
    assert_eq!(course(&settings, vec![leaves]).steps[0].revision, Revision::Old);
    let both = NodePods { old: Some(Health::Available), ..stale };
    assert_eq!(kept(vec![both]).1, [], "replaced, then");
}

#[test]
fn pods_that_are_being_deleted_already_use_up_the_budget_until_they_are_gone() {
    let ending = NodePods { is_ending: true, ..RUNS };
    let gone = NodePods { runs: false, keeps: false, ..ending };
    let two = rolling(&json!(2), &json!(0));
    // The terminating pod leaves room for one more.
    assert_eq!(text(&course(&two, vec![ending, OLD])), "1 -1 +1 +0");
    // With two more, nothing happens until all of them end at the same time.
    assert_eq!(text(&course(&two, vec![ending, OLD, gone, gone])), "1 +0 -1 +1");
    let one = rolling(&json!(1), &json!(0));
    assert_eq!(text(&course(&one, vec![ending, OLD])), "1 +0 | 2 -1 +1");
}

#[test]
fn a_pod_on_a_node_that_is_down_does_not_end_and_uses_up_the_budget() {
    let dead = NodePods { old: Some(Health::Broken), is_dead: true, ..RUNS };
    let leaves = NodePods { runs: false, ..dead };
    for (most, steps, stop) in [
        (1, "1 -1", Some(Stop::new(Target::Node(1), Waits::Node))),
        (2, "1 -1 -1of02 +1of02 | 2 -1of02 +1of02", None),
    ] {
        let update = course(&rolling(&json!(most), &json!(0)), vec![OLD, leaves, OLD]);
        assert_eq!((text(&update).as_str(), update.stop), (steps, stop));
    }
    let terminating = NodePods { is_ending: true, old: None, ..leaves };
    let update = course(&rolling(&json!(1), &json!(0)), vec![OLD, terminating]);
    assert_eq!((text(&update).as_str(), update.stop.unwrap().why), ("", Waits::Node));
    // A pod that tolerates the taint comes back once the node does.
    let update = course(&rolling(&json!(2), &json!(0)), vec![OLD, dead]);
    assert_eq!(text(&update), "1 -1 -0 +0");
    assert_eq!(update.stop, Some(Stop::new(Target::Node(1), Waits::Node)));
}

//! Broken connections and missing rights.

use super::{Cluster, Waiting, pod, set};
use crate::prelude::*;

fn begun(flags: &[&str]) -> (Cluster, Waiting) {
    let cluster = Cluster::rolling();
    cluster.has("statefulsets", &set("db", 2, 1));
    let mut waiting = cluster.begin(&[&["sts/db", "-n", "shop"], flags].concat());
    waiting.says("progress", "1 of 3 updated");
    (cluster, waiting)
}

#[test]
fn watches_that_are_cut_and_a_server_that_is_away_are_survived() {
    let (cluster, mut waiting) = begun(&[]);
    cluster.api_server.change(|world| world.cut = true);
    waiting.says("note", "cannot follow the cluster, trying again: ");
    // The wait must not miss a change during the interruption.
    cluster.has("statefulsets", &set("db", 3, 2));
    cluster.api_server.change(|world| world.cut = false);
    waiting.says("note", "the cluster can be followed again");
    waiting.says("progress", "2 of 3 updated");
    cluster.done(&set("db", 3, 3));
    waiting.says("done", "rolled out");
    waiting.ends_with(0);
}

#[test]
fn a_server_that_has_forgotten_the_version_is_listed_again() {
    let (cluster, mut waiting) = begun(&[]);
    cluster.api_server.change(|world| world.cut = true);
    waiting.says("note", "cannot follow the cluster");
    cluster.done(&set("db", 3, 3));
    cluster.api_server.change(|world| {
        world.compacted = world.version();
        world.cut = false;
    });
    waiting.says("done", "rolled out");
    waiting.ends_with(0);
}

#[test]
fn a_right_that_is_taken_away_is_said() {
    let (cluster, mut waiting) = begun(&[]);
    cluster.api_server.change(|world| {
        world.forbidden = ["pods"].into();
        world.cut = true;
    });
    waiting.says("note", "cannot follow the cluster");
    cluster.api_server.change(|world| world.cut = false);
    waiting.says("note", "these cannot be read, so why a rollout waits may stay unknown: pods");
    cluster.api_server.change(|world| {
        world.forbidden = ["statefulsets"].into();
        world.cut = true;
    });
    waiting.says("note", "cannot follow the cluster");
    cluster.api_server.change(|world| world.cut = false);
    waiting.ends_with(2);
}

#[test]
fn a_server_that_stays_away_ends_with_the_time() {
    let (cluster, mut waiting) = begun(&["--timeout", "3s"]);
    cluster.api_server.change(|world| world.cut = true);
    waiting.says("end", "timed out after 3s: the cluster cannot be followed");
    waiting.ends_with(3);
}

#[test]
fn a_set_that_is_deleted_meanwhile_cannot_succeed() {
    let (cluster, mut waiting) = begun(&["--patience", "1s"]);
    cluster.api_server.delete("statefulsets", "shop", "db");
    waiting.says("stuck", "cannot succeed; it does not exist any more");
    waiting.ends_with(1);

    let (cluster, mut waiting) = begun(&["--patience", "1s"]);
    let mut held = set("db", 3, 3);
    held["metadata"]["deletionTimestamp"] = json!("2026-11-22T11:00:00Z");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.has("statefulsets", &held);
    let event = waiting.says("stuck", "it is being deleted");
    assert_eq!(event["message"], json!("cannot succeed: it is being deleted"));
    waiting.ends_with(1);
}

#[test]
fn without_the_right_to_read_pods_the_status_counts() {
    let cluster = Cluster::rolling();
    cluster.done(&set("db", 3, 3)).has("pods", &pod("db-0", "new", "", ""));
    cluster.api_server.change(|world| world.forbidden = ["pods", "nodes", "events"].into());
    let ran = cluster.run(&["sts/db", "-n", "shop"]).ends(0);
    let why =
        "these cannot be read, so why a rollout waits may stay unknown: nodes, pods, events\n";
    let (_, said) = ran.stderr.split_once("Z: ").unwrap();
    assert_eq!(said, why);
    cluster.api_server.change(|world| world.forbidden = ["statefulsets"].into());
    cluster.run(&["-l", "app=db", "-n", "shop"]).ends(2).reports("403: you may not");
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let cluster = Cluster::rolling();
    cluster.done(&set("db", 3, 3));
    cluster.api_server.change(|world| world.busy = 2);
    let events = cluster.events(0, &["sts/db", "-n", "shop"]);
    assert_eq!(events.last().unwrap()["message"], json!("1 set is done"));
}

//! The view of a cluster whose API server fails in ways that look like success.

use super::{Viewer, WORKLOADS, daemon_set, daemon_sets};
use crate::{api_server::ApiServer, api_server::Streams, daemon::eventually};

const ERROR: &str = r#"{"type":"ERROR","object":{"kind":"Status","code":500,"message":"no"}}"#;
const UNREADABLE: &str = r#"{"type":"ADDED","object":[]}"#;

fn line(viewer: &Viewer, kind: &str) -> String {
    let body = viewer.daemon.get("/readyz?verbose").body;
    let start = format!("{kind}: ");
    body.lines().find_map(|line| Some(line.split_once(&start)?.1.to_owned())).unwrap_or_default()
}

pub(super) fn becomes(viewer: &Viewer, kind: &str, state: &str) -> String {
    eventually(&format!("a {kind} that is {state}"), || {
        Some(line(viewer, kind)).filter(|line| line.starts_with(state))
    })
}

#[test]
fn a_streaming_list_that_fails_is_followed_by_pages() {
    use Streams::{CutOff, Fails, Refused, Unreadable, WithoutEnd};
    for streams in [Refused, WithoutEnd, Fails, CutOff, Unreadable] {
        let api_server = ApiServer::start("36");
        api_server.change(|world| world.streams = streams);
        daemon_sets(&api_server, 150);
        let viewer = Viewer::of_workloads(&api_server);
        viewer.holds("DaemonSet", 150);
        WORKLOADS.iter().for_each(|kind| viewer.knows(kind));
        let again = api_server.asked("daemonsets?&watch=true&timeoutSeconds=4");
        assert!(again <= 1, "{streams:?}: {again} streaming lists");
        assert!(api_server.asked("daemonsets?&limit=100") >= 2, "{streams:?}");
        // setguard tries to stream only once, for all kinds, if the API server cannot stream at all.
        if matches!(streams, Refused | WithoutEnd | Fails) {
            assert_eq!(api_server.asked("sendInitialEvents=true"), 1, "{streams:?}");
        }
    }
}

#[test]
fn a_watch_that_answers_and_fails_confirms_nothing() {
    for bad in [ERROR, UNREADABLE] {
        let (api_server, viewer) = Viewer::of_daemon_sets("36", 2);
        // Each watch gets an answer, but only its content confirms a kind.
        api_server.change(|world| {
            world.watch_line = Some(bad.to_owned());
            world.streams = Streams::Refused;
            world.hold_lists = true;
        });
        becomes(&viewer, "DaemonSet", "stale");
        becomes(&viewer, "DaemonSet", "unknown");
        viewer.answers();
        api_server.change(|world| {
            world.watch_line = None;
            world.hold_lists = false;
        });
        becomes(&viewer, "DaemonSet", "fresh, 2 objects");
    }
}

#[test]
fn a_view_is_not_fresh_from_the_moment_at_which_its_watch_breaks() {
    let api_server = ApiServer::start("36");
    daemon_sets(&api_server, 2);
    // A silent kind would be stale after nine seconds.
    let viewer = Viewer::start_at(10, &api_server, &["--inventory", "workloads"]);
    viewer.holds("DaemonSet", 2);
    becomes(&viewer, "DaemonSet", "fresh");
    api_server.change(|world| world.cut = true);
    let line = becomes(&viewer, "DaemonSet", "stale");
    let seconds = line.split_once("seen ").unwrap().1.split_once(" s").unwrap().0;
    assert!(seconds.parse::<u64>().unwrap() < 9, "{line}");
    api_server.apply("daemonsets", &daemon_set("shop", "new"));
    viewer.answers();
    api_server.change(|world| world.cut = false);
    becomes(&viewer, "DaemonSet", "fresh, 3 objects");
}

#[test]
fn a_server_that_comes_back_with_an_older_state_is_listed_again() {
    let (api_server, viewer) = Viewer::of_daemon_sets("36", 3);
    // A list follows a silent watch anyway.
    api_server.apply("daemonsets", &daemon_set("shop", "new"));
    viewer.holds("DaemonSet", 4);
    let known = api_server.world().version();
    api_server.change(|world| world.cut = true);
    becomes(&viewer, "DaemonSet", "unknown");
    // After an etcd restore, the version soon exceeds the known one.
    api_server.delete("daemonsets", "shop", "agent-0");
    api_server.change(|world| world.go_back());
    while api_server.world().version() <= known {
        api_server.apply("daemonsets", &daemon_set("shop", "agent-1"));
    }
    api_server.change(|world| world.cut = false);
    becomes(&viewer, "DaemonSet", "fresh, 3 objects");
}

#[test]
fn a_list_without_end_is_given_up_and_holds_up_no_other() {
    let api_server = ApiServer::start("33");
    daemon_sets(&api_server, 2);
    api_server.change(|world| world.endless = Some(("priorityclasses", false)));
    let viewer = Viewer::of_workloads(&api_server);
    let warning = viewer.daemon.logged("the list of this kind is too long; its rules are silent");
    assert_eq!(warning["fields"]["kind"], "PriorityClass");
    viewer.holds("DaemonSet", 2);
    for kind in WORKLOADS.iter().filter(|kind| **kind != "PriorityClass") {
        viewer.knows(kind);
    }
    assert_eq!(viewer.metric("synced", "PriorityClass"), Some(0));
    assert_eq!(viewer.metric("objects", "PriorityClass"), Some(0), "what came is dropped");
    viewer.answers();
}

#[test]
fn a_view_of_nothing_is_said() {
    let api_server = ApiServer::start("36");
    api_server.change(|world| world.cut = true);
    let viewer = Viewer::of_workloads(&api_server);
    let warning = viewer.daemon.logged(
        "the view of the cluster knows no kind; the rules about several objects are silent",
    );
    assert_eq!(warning["level"], "WARN");
    viewer.answers();
    api_server.change(|world| world.cut = false);
    viewer.daemon.logged("the view of the cluster knows a kind again");
}

//! Failing audits, and their progress output.

use super::{Cluster, mixed};
use crate::daemon::Killed;
use crate::prelude::*;

#[test]
fn an_api_server_that_goes_away_is_reported_once_with_what_was_found() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.dies_at = Some("services"));
    let ran = cluster.run(&["--format=json", "--output", "text=report.txt"]).ends(2);
    let lines: Vec<_> = ran.stderr.lines().collect();
    let [line] = lines[..] else { panic!("{}", ran.stderr) };
    let (before, why) = line.split_once(" does not answer: ").unwrap();
    assert!(before.starts_with("error: the API server http://127.0.0.1:"), "{line}");
    assert_eq!(why, "connection closed before message completed");
    let read = |name: &str| fs::read_to_string(cluster.folder.0.path().join(name)).unwrap();
    let text = read("report.txt");
    assert!(text.contains("partition-covers-all"), "{text}");
    assert!(text.contains("\nnot everything could be read, so this is not all\n"), "{text}");
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["failures"], json!([line.strip_prefix("error: ").unwrap()]));
    // Three attempts at this list, and perhaps some at a parallel list.
    let requests = &cluster.api_server.world().requests;
    let first = requests.iter().position(|it| it.contains("/services")).unwrap();
    assert!(requests.len() - first <= 6, "{requests:#?}");
}

#[test]
fn a_set_that_vanished_with_its_list_causes_no_advice_about_rights() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.dies_at = Some("sets"));
    let ran = cluster.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    let last = "error: neither DaemonSets nor StatefulSets can be read\n";
    assert!(ran.stderr.ends_with(last), "{}", ran.stderr);
    cluster.api_server.change(|world| {
        world.dies_at = None;
        world.forbidden = ["daemonsets", "statefulsets"].into();
        world.requests.clear();
    });
    let advice = "can be read; name namespaces with -n\n";
    let ran = cluster.run(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.ends_with(advice), "all are not for this user");
    assert_eq!(cluster.api_server.asked("/nodes"), 0);
    assert!(!cluster.run(&["-n", "shop"]).stderr.ends_with(advice), "that is no help here");
}

#[test]
fn a_context_that_does_not_exist_is_reported_with_those_that_do() {
    let cluster = Cluster::audited();
    let ran = cluster.run(&["--context", "other"]);
    let why = "error: no usable kubeconfig: it has no context \"other\"; its contexts are: test\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (2, why));
    fs::remove_file(&cluster.kubeconfig).unwrap();
    let ran = cluster.run(&[]).ends(2);
    let lines: Vec<_> = ran.stderr.lines().collect();
    let [line] = lines[..] else { panic!("{}", ran.stderr) };
    assert!(line.contains("kubeconfig': No such file") || line.contains("No such file"), "{line}");
    assert!(line.ends_with("; and this is not a pod of a cluster"), "{line}");
    assert_eq!(line.matches("No such file").count(), 1, "{line}");
}

#[test]
fn all_namespaces_have_the_flags_of_kubectl() {
    let cluster = mixed();
    assert_eq!(cluster.json(1, &["-A"])["summary"]["objects"], 5);
    assert_eq!(cluster.run(&["-A", "-n", "shop"]).code, 2, "both cannot be meant");
}

#[test]
fn patience_is_a_duration() {
    let cluster = mixed();
    assert_eq!(cluster.run(&["--patience", "90s"]).code, 1);
    for wrong in ["--patience=5x", "--patience=-5m"] {
        let ran = cluster.run(&[wrong]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{wrong}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_a_line_moves_until_it_is_interrupted_and_nothing_is_left() {
    let cluster = mixed();
    cluster.api_server.change(|world| world.silent = true);
    let command = format!(
        "echo $$ > pid; exec {} audit --output json=report.json",
        env!("CARGO_BIN_EXE_setguard")
    );
    let script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(cluster.folder.0.path())
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("KUBECONFIG", &cluster.kubeconfig)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut script = Killed(script.expect("script, of util-linux"));
    let mut screen = script.0.stdout.take().unwrap();
    let mut shown = String::new();
    let mut read_until = |wanted: &dyn Fn(&str) -> bool| {
        let (mut buffer, end) = ([0; 4096], Instant::now() + Duration::from_secs(60));
        while !wanted(&shown) {
            let count = screen.read(&mut buffer).unwrap_or(0);
            assert!(count > 0 && Instant::now() < end, "{shown:?}");
            shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        shown.clone()
    };
    let waits = "0 objects read; now waiting for the API server";
    let shown = read_until(&|shown| shown.matches(waits).count() > 2);
    let spins =
        ["| ", "/ ", "- ", "\\ "].iter().filter(|it| shown.contains(&format!("{it}{waits}")));
    assert!(spins.count() > 1, "it does not move: {shown:?}");
    let pid = fs::read_to_string(cluster.folder.0.path().join("pid")).unwrap();
    let killed = Command::new("kill").args(["-s", "INT", pid.trim()]).status().unwrap();
    assert!(killed.success());
    let status = script.0.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let mut rest = String::new();
    screen.read_to_string(&mut rest).unwrap();
    assert!(rest.ends_with("\r\u{1b}[2K"), "the line stays: {rest:?}");
    let mut left: Vec<_> = fs::read_dir(cluster.folder.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("report.json"))
        .collect();
    left.sort();
    assert_eq!(left, [""; 0]);
}

//! The cost of a review and of `setguard check` as their input grows, as tables and plots.
//!
//! The measurements are processor time: of this thread for a review without HTTP, of this process
//! for `check`, and of the server for connections. Each point is the minimum of several
//! measurements in turn, since other programs on the machine only add to it.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Parser;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use setguard::{
    admission::{self, Endpoint},
    check::{self, CheckArgs},
    engine::Context,
    policy::Policy,
    rules::traps,
};

use crate::{
    Arguments, certificate, check as manifests, plain,
    plot::{Line, svg},
    reviews,
    throughput::{Side, setguard_args},
};

/// The number of measurements of each point.
const TURNS: usize = 7;
/// The minimum time for one measurement of a review, in seconds.
const BATCH: f64 = 0.01;

/// Measures and prints the tables. Writes the plots into `--plots`.
pub(crate) fn measure(arguments: &Arguments) {
    println!("\ngrowth: processor time, the least of {TURNS} measurements in turn");
    let object = "bytes of the object";
    let us = "microseconds a review";
    let items = sweep("environment variables", &OBJECTS.map(|n| review(n, 0)));
    let texts = sweep("one long text", &TEXTS.map(|n| review(reviews::SMALL, n)));
    show(
        arguments,
        "object-size",
        "A review over the size of the object",
        [object, us],
        &[items, texts],
    );
    let line = sweep("rules that are not off", &RULES.map(of_rules));
    show(arguments, "rules", "A review of 7 KB over the rules", ["rules", us], &[line]);
    let line = sweep("exceptions that do not apply", &EXCEPTIONS.map(of_exceptions));
    let axes = ["exceptions", us];
    show(arguments, "exceptions", "A review with a finding over the exceptions", axes, &[line]);
    let line = of_connections(arguments);
    let axes = ["connections", "microseconds of the server a request"];
    show(arguments, "connections", "A request over the open connections", axes, &[line]);
    let lines = [("in 50 namespaces", 50), ("in one namespace", 1)];
    let lines = lines.map(|(name, namespaces)| of_check(name, namespaces));
    let axes = ["objects", "milliseconds in all"];
    show(arguments, "check", "setguard check over the objects", axes, &lines);
}

/// The numbers of environment variables. With more, the object would be too large to be evaluated.
const OBJECTS: [usize; 6] = [5, 20, 80, 320, 1_240, 2_500];
/// The lengths of texts, in bytes.
const TEXTS: [usize; 5] = [1, 10_000, 100_000, 500_000, 1_500_000];
/// The parts of the rules, in eighths.
const RULES: [usize; 4] = [1, 2, 4, 8];
const EXCEPTIONS: [usize; 5] = [1, 10, 100, 1_000, 10_000];
const CONNECTIONS: [usize; 5] = [1, 8, 64, 256, 500];
const DOCUMENTS: [u32; 4] = [500, 2_000, 8_000, 32_000];

/// A review, and the policy that applies to it.
struct Point {
    x: f64,
    body: Vec<u8>,
    policy: Policy,
}

/// An UPDATE with this many environment variables and this much text in one of them.
fn review(variables: usize, text: usize) -> Point {
    let mut review: Value =
        serde_json::from_slice(&reviews::daemon_set_update(variables)).expect("JSON");
    for object in ["object", "oldObject"] {
        let container = &mut review["request"][object]["spec"]["template"]["spec"]["containers"][0];
        if text > 0 {
            container["env"][0]["value"] = json!("x".repeat(text));
        }
    }
    let x = review["request"]["object"].to_string().len() as f64;
    Point { x, body: review.to_string().into_bytes(), policy: Policy::default() }
}

fn of_rules(eighths: usize) -> Point {
    let on = traps().count() * eighths / 8;
    let off = traps().skip(on).filter(|trap| trap.meta.adjustable);
    let rules = off.fold(String::new(), |mut text, trap| {
        let _ = write!(text, "\n  {}: off", trap.meta.id);
        text
    });
    let rules = if rules.is_empty() { String::new() } else { format!("rules:{rules}\n") };
    Point { x: on as f64, policy: policy(&rules), ..review(reviews::SMALL, 0) }
}

fn of_exceptions(count: usize) -> Point {
    let mut exceptions = String::from("rules:\n  history-limit-zero: warn\nexceptions:\n");
    for i in 0..count {
        let _ = write!(
            exceptions,
            "- namespaces: [team-{i}, \"shop-{i}-*\"]\n  names: [agent-{i}]\n  \
             rules: [history-limit-zero]\n  reason: it is on its way\n"
        );
    }
    let body = reviews::daemon_set_update(reviews::SMALL);
    let mut review: Value = serde_json::from_slice(&body).expect("JSON");
    review["request"]["object"]["spec"]["revisionHistoryLimit"] = json!(0);
    let body = review.to_string().into_bytes();
    Point { x: count as f64, body, policy: policy(&exceptions) }
}

fn policy(more: &str) -> Policy {
    let text = format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\n{more}");
    Policy::parse(&text).expect("a policy")
}

/// Measures reviews in turn.
fn sweep(name: &str, points: &[Point]) -> Line {
    let today = jiff::civil::date(2026, 11, 22);
    let judge = |point: &Point| {
        let Point { body, policy, .. } = point;
        admission::answer(Endpoint::Validate, body, &Context::of_review(policy, today))
    };
    for point in points {
        let answer = judge(point).expect("an answer");
        let body = String::from_utf8_lossy(&answer.body);
        assert!(!body.contains("too-large-to-check"), "{} bytes are not judged", point.x);
    }
    let mut least = vec![f64::INFINITY; points.len()];
    for _ in 0..TURNS {
        for (point, least) in points.iter().zip(&mut least) {
            let (mut count, mut took) = (0.0, 0.0);
            let start = seconds(ClockId::ThreadCPUTime);
            while took < BATCH {
                let _ = std::hint::black_box(judge(point));
                count += 1.0;
                took = seconds(ClockId::ThreadCPUTime) - start;
            }
            *least = least.min(took / count * 1e6);
        }
    }
    let points = points.iter().zip(least).map(|(point, least)| (point.x, least)).collect();
    Line { name: name.to_owned(), points }
}

fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Measures a fixed number of requests over more and more connections.
fn of_connections(arguments: &Arguments) -> Line {
    let folder = tempfile::tempdir().expect("a folder");
    let [certificate, key] = certificate::write(folder.path());
    let tls = plain::trust(&certificate);
    let body = reviews::daemon_set_update(reviews::SMALL);
    let request = plain::post("/validate?timeout=10s", "", &body);
    let mut side =
        Side::start("setguard", folder.path(), |port| setguard_args(port, &certificate, &key));
    side.wait(&tls, &request);
    side.round(8, &tls, &request, Duration::from_secs(1));
    let mut least = CONNECTIONS.map(|_| f64::INFINITY);
    for _ in 0..arguments.rounds {
        for (connections, least) in CONNECTIONS.into_iter().zip(&mut least) {
            side.rounds.clear();
            side.round(connections, &tls, &request, Duration::from_secs(arguments.seconds));
            *least = least.min(side.median(|round| round.processor));
        }
    }
    let points = CONNECTIONS.into_iter().map(|n| n as f64).zip(least).collect();
    Line { name: "the 7 KB review".to_owned(), points }
}

/// `setguard check` as a command, without the rest of the command line.
#[derive(Debug, Parser)]
struct Check {
    #[command(flatten)]
    args: CheckArgs,
}

/// `setguard check` on more and more objects, a hundred in a file.
fn of_check(name: &str, namespaces: u32) -> Line {
    let folders = DOCUMENTS.map(|count| {
        let folder = tempfile::tempdir().expect("a folder");
        for file in 0..count / 100 {
            let manifest = |i| manifests::manifest(i, &format!("team-{}", i % namespaces));
            let documents: Vec<String> = (file * 100..(file + 1) * 100).map(manifest).collect();
            let path = folder.path().join(format!("{file}.yaml"));
            fs::write(path, documents.join("---\n")).expect("a file");
        }
        folder
    });
    let mut least = DOCUMENTS.map(|_| f64::INFINITY);
    for _ in 0..TURNS.div_ceil(2) {
        for (folder, least) in folders.iter().zip(&mut least) {
            let report = format!("json={}", folder.path().join("report").display());
            let path = folder.path().to_str().expect("a path");
            let check = Check::parse_from(["check", path, "--output", &report]);
            let start = seconds(ClockId::ProcessCPUTime);
            check::run(&check.args).expect("a report");
            *least = least.min((seconds(ClockId::ProcessCPUTime) - start) * 1e3);
        }
    }
    let points = DOCUMENTS.into_iter().map(f64::from).zip(least).collect();
    Line { name: name.to_owned(), points }
}

/// Prints a table, and writes the plot if asked for.
fn show(arguments: &Arguments, file: &str, title: &str, [x, y]: [&str; 2], lines: &[Line]) {
    println!("\n{title}");
    for line in lines {
        println!("\n| {x} ({}) | {y} | for each | growth |\n|---|---|---|---|", line.name);
        let mut before: Option<(f64, f64)> = None;
        for &(x, y) in &line.points {
            // The power of x with which y has grown since the previous line: 1 is proportional.
            let power = before.map(|(x0, y0)| (y / y0).ln() / (x / x0).ln());
            let power = power.map(|power| format!("{power:.2}")).unwrap_or_default();
            println!("| {x:.0} | {y:.1} | {:.4} | {power} |", y / x);
            before = Some((x, y));
        }
    }
    if let Some(folder) = &arguments.plots {
        fs::create_dir_all(folder).expect("a folder");
        let path: PathBuf = Path::new(folder).join(format!("{file}.svg"));
        fs::write(path, svg(title, x, y, lines)).expect("a plot");
    }
}

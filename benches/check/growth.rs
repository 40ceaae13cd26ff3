//! The cost of a review without HTTP, and of `setguard check`, as the input grows, as tables.
//!
//! Measures the processor time of this process. Each point is the minimum of several interleaved measurements, because
//! other programs only add time.

use std::{fmt::Write as _, fs, hint::black_box};

use clap::Parser;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use setguard::{
    admission::{self, Endpoint},
    browser::Inputs,
    check::{self, CheckArgs},
    engine::Context,
    policy::Policy,
};

use crate::{manifests::manifest, reviews};

/// The number of measurements of each point.
const TURNS: usize = 5;
/// The minimum time for one measurement, in seconds.
const BATCH: f64 = 0.01;

pub(crate) fn measure() {
    println!("\ngrowth: processor time, the least of {TURNS} measurements in turn");
    // With more variables, the object would be too large to evaluate.
    let variables = [reviews::SMALL, 20, 80, 320, reviews::LARGE, 2_500];
    reviews_over("bytes of the object, many variables", &variables.map(|n| review(n, 0)));
    let texts = [1, 10_000, 100_000, 500_000, 1_500_000];
    reviews_over("bytes of the object, one long text", &texts.map(|n| review(reviews::SMALL, n)));
    reviews_over("exceptions that do not apply", &[1, 10, 100, 1_000, 10_000].map(with_exceptions));
    let pod = Point {
        x: 1.0,
        endpoint: Endpoint::Mutate,
        body: reviews::pod_create(),
        policy: Policy::default(),
    };
    reviews_over("pods of a daemon", &[pod]);
    check_over("objects of `check` in 50 namespaces", 50);
    check_over("objects of `check` in one namespace", 1);
    check_files("copies of one object in one file", |count| {
        vec![(0..count).map(|_| manifest(0, "team-0")).collect()]
    });
    let plan = |replicas: &u32| {
        let before = json!({ "before": parallel_set(*replicas, "a:1") }).to_string();
        let inputs = Inputs::parse(&before).expect("inputs");
        inputs.plan(&parallel_set(*replicas, "a:2")).expect("a plan");
    };
    show("replicas of a plan, Parallel", &[1_000, 4_000, 16_000], |it| f64::from(*it), plan);
}

fn parallel_set(replicas: u32, image: &str) -> String {
    let template = json!({
        "metadata": {"labels": {"app": "db"}},
        "spec": {"containers": [{"name": "db", "image": image}]},
    });
    let spec = json!({
        "replicas": replicas, "podManagementPolicy": "Parallel", "serviceName": "db",
        "selector": {"matchLabels": {"app": "db"}}, "template": template,
    });
    let metadata = json!({"name": "db"});
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": spec})
        .to_string()
}

struct Point {
    x: f64,
    endpoint: Endpoint,
    body: Vec<u8>,
    policy: Policy,
}

/// The UPDATE of a DaemonSet with this many environment variables, and a value of this length in one of them.
fn review(variables: usize, text: usize) -> Point {
    let mut review = daemon_set_update(variables);
    for object in ["object", "oldObject"] {
        let container = &mut review["request"][object]["spec"]["template"]["spec"]["containers"][0];
        if text > 0 {
            container["env"][0]["value"] = json!("x".repeat(text));
        }
    }
    let x = review["request"]["object"].to_string().len() as f64;
    let body = review.to_string().into_bytes();
    Point { x, endpoint: Endpoint::Validate, body, policy: Policy::default() }
}

fn daemon_set_update(variables: usize) -> Value {
    serde_json::from_slice(&reviews::daemon_set_update(variables)).expect("JSON")
}

fn with_exceptions(count: usize) -> Point {
    let mut exceptions = String::from("rules:\n  history-limit-zero: warn\nexceptions:\n");
    for i in 0..count {
        let _ = write!(
            exceptions,
            "- namespaces: [team-{i}, \"shop-{i}-*\"]\n  names: [agent-{i}]\n  \
             rules: [history-limit-zero]\n  reason: it is on its way\n"
        );
    }
    let mut faulty = daemon_set_update(reviews::SMALL);
    faulty["request"]["object"]["spec"]["revisionHistoryLimit"] = json!(0);
    let body = faulty.to_string().into_bytes();
    Point { x: count as f64, body, policy: policy(&exceptions), ..review(reviews::SMALL, 0) }
}

fn policy(more: &str) -> Policy {
    let text = format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\n{more}");
    Policy::parse(&text).expect("a policy")
}

fn reviews_over(x: &str, points: &[Point]) {
    let today = jiff::civil::date(2026, 11, 22);
    let answer = |Point { endpoint, body, policy, .. }: &Point| {
        admission::answer(*endpoint, body, &Context::of_review(policy, today)).expect("an answer")
    };
    for point in points {
        let text = String::from_utf8_lossy(&answer(point).body).into_owned();
        assert!(!text.contains("too-large-to-"), "{x} {}: too large", point.x);
    }
    show(x, points, |point| point.x, |point| drop(black_box(answer(point))));
}

/// `setguard check` as a command, without the rest of the command line.
#[derive(Debug, Parser)]
struct Check {
    #[command(flatten)]
    args: CheckArgs,
}

fn check_over(x: &str, namespaces: u32) {
    check_files(x, |count| {
        let manifest = |i| manifest(i, &format!("team-{}", i % namespaces));
        let file = |file: u32| (file * 100..(file + 1) * 100).map(manifest).collect();
        (0..count / 100).map(file).collect()
    });
}

/// `setguard check` on files with a growing number of documents.
fn check_files(x: &str, files: impl Fn(u32) -> Vec<Vec<String>>) {
    let points = [500, 2_000, 8_000].map(|count| {
        let folder = tempfile::tempdir().expect("a folder");
        for (file, documents) in files(count).iter().enumerate() {
            let path = folder.path().join(format!("{file}.yaml"));
            fs::write(path, documents.join("---\n")).expect("a file");
        }
        (count, folder)
    });
    let run = |(_, folder): &(u32, tempfile::TempDir)| {
        let report = format!("json={}", folder.path().join("report").display());
        let path = folder.path().to_str().expect("a path");
        check::run(&Check::parse_from(["check", path, "--output", &report]).args)
            .expect("a report");
    };
    show(x, &points, |(count, _)| f64::from(*count), run);
}

fn show<T>(title: &str, points: &[T], x: impl Fn(&T) -> f64, work: impl Fn(&T)) {
    let mut least = vec![f64::INFINITY; points.len()];
    for _ in 0..TURNS {
        for (point, least) in points.iter().zip(&mut least) {
            let (mut count, mut took) = (0.0, 0.0);
            let start = processor_time();
            while took < BATCH {
                work(point);
                count += 1.0;
                took = processor_time() - start;
            }
            *least = least.min(took / count * 1e6);
        }
    }
    println!("\n| {title} | microseconds | for each | growth |\n|---|---|---|---|");
    let mut before: Option<(f64, f64)> = None;
    for (x, y) in points.iter().map(x).zip(least) {
        // The exponent of growth since the previous line: 1 is linear.
        let power = before.map(|(x0, y0)| (y / y0).ln() / (x / x0).ln());
        let power = power.map(|power| format!("{power:.2}")).unwrap_or_default();
        println!("| {x:.0} | {y:.1} | {:.4} | {power} |", y / x);
        before = Some((x, y));
    }
}

pub(crate) fn processor_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

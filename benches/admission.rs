//! The cost of one review without HTTP: read, evaluate, answer. `cargo bench --bench admission
//! [WORD]…` measures the parts with one of these words in their names.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints for people to read"
)]

use std::{
    env,
    hint::black_box,
    time::{Duration, Instant},
};

use setguard::{
    admission::{self, Endpoint, review::Request},
    engine::Context,
    finding::Findings,
    inject::pod::PartialPod,
    kubernetes::resource::Resource,
    object::{Object, Subject},
    policy::Policy,
    rules::{
        api_validation::{self, API_VALIDATION},
        traps,
    },
};
use setguard_testing::reviews;

/// How many times are compared.
const SAMPLES: usize = 101;
/// How long one sample takes, at least.
const SAMPLE: Duration = Duration::from_millis(20);

/// Prints the time of `work`: the minimum, the median and the maximum of the samples.
fn measure(name: &str, bytes: usize, mut work: impl FnMut()) {
    // Cargo adds --bench.
    let words: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
        return;
    }
    let mut sample = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| work());
        start.elapsed()
    };
    let mut runs = 1;
    while sample(runs) < SAMPLE {
        runs *= 2;
    }
    let mut times: Vec<f64> =
        (0..SAMPLES).map(|_| sample(runs).as_secs_f64() * 1e6 / f64::from(runs)).collect();
    times.sort_unstable_by(f64::total_cmp);
    let [least, median, most] = [0, SAMPLES / 2, SAMPLES - 1].map(|at| times[at]);
    let speed = bytes as f64 / median;
    println!("{name:30} {median:9.2} µs ({least:.2} to {most:.2}), {speed:.0} MB/s");
}

fn validate() {
    let policy = Policy::default();
    let today = jiff::civil::date(2026, 11, 21);
    for (size, variables) in [("7KB", reviews::SMALL), ("300KB", reviews::LARGE)] {
        let body = reviews::daemon_set_update(variables);
        let measure = |part: &str, work: &mut dyn FnMut()| {
            measure(&format!("validate/{size}/{part}"), body.len(), work);
        };
        let resource = Resource::of_gvk("apps", "v1", "DaemonSet").expect("a known resource");
        // Only the rules, on a parsed object: the API server's validation, and the traps.
        let request = Request::parse(&body).expect("a review");
        let json = request.object.expect("an object").get();
        let subject = Subject::create(Object::parse(resource, json).expect("a DaemonSet"));
        measure("api-validation", &mut || {
            let mut found = Findings::of(API_VALIDATION);
            black_box(api_validation::validate(&subject, &policy.cluster, &mut found));
            assert!(found.is_empty());
        });
        measure("traps", &mut || {
            let mut found = Findings::of(API_VALIDATION);
            for trap in traps() {
                trap.run(&subject, &policy.cluster, &mut found);
            }
            black_box(found);
        });
        let cx = Context::of_review(&policy, today);
        measure("whole", &mut || {
            let answer = admission::answer(Endpoint::Validate, &body, &cx);
            assert!(black_box(answer).is_ok());
        });
    }
}

fn mutate() {
    let policy = Policy::default();
    let today = jiff::civil::date(2026, 11, 21);
    let body = reviews::pod_create();
    measure("mutate/pod/parse", body.len(), || {
        let request = Request::parse(&body).expect("a review");
        black_box(PartialPod::parse(request.object.expect("an object").get()).expect("a pod"));
    });
    let cx = Context::of_review(&policy, today);
    measure("mutate/pod/whole", body.len(), || {
        let answer = admission::answer(Endpoint::Mutate, &body, &cx);
        assert!(black_box(answer).is_ok());
    });
}

fn main() {
    validate();
    mutate();
}

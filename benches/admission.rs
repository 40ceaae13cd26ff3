//! What one review costs without HTTP: read, judge, answer.

#![allow(missing_docs, clippy::expect_used)]

mod reviews;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use setguard::{
    admission::{self, Endpoint, review::Request},
    engine::deadline::Deadline,
    finding::Findings,
    inject::pod::Pod,
    kubernetes::resource::Resource,
    object::{Object, Subject},
    policy::Policy,
    rules::{
        api_validation::{self, meta::API_VALIDATION},
        traps::TRAPS,
    },
};

fn validate(c: &mut Criterion) {
    let policy = Policy::default();
    let today = jiff::civil::date(2026, 11, 21);
    for (size, variables) in [("7KB", reviews::SMALL), ("300KB", reviews::LARGE)] {
        let body = reviews::daemon_set_update(variables);
        let mut group = c.benchmark_group(format!("validate/{size}"));
        group.throughput(Throughput::Bytes(body.len() as u64));
        // Only the envelope and the new object, which every rule needs.
        group.bench_function("parse", |b| {
            let resource = Resource::of_gvk("apps", "v1", "DaemonSet").expect("a known resource");
            b.iter(|| {
                let request = Request::parse(&body).expect("a review");
                let object = request.object.expect("an object");
                black_box(Object::parse(resource, object.get()).expect("a DaemonSet"));
            });
        });
        // Only the rules, on a parsed object: the API server's validation, and the traps.
        let request = Request::parse(&body).expect("a review");
        let resource = Resource::of_gvk("apps", "v1", "DaemonSet").expect("a known resource");
        let json = request.object.expect("an object").get();
        let subject = Subject::create(Object::parse(resource, json).expect("a DaemonSet"));
        group.bench_function("api-validation", |b| {
            b.iter(|| {
                let mut found = Findings::of(&API_VALIDATION);
                black_box(api_validation::validate(&subject, &policy.cluster, &mut found));
                assert!(found.is_empty());
            });
        });
        group.bench_function("traps", |b| {
            b.iter(|| {
                let mut found = Findings::of(&API_VALIDATION);
                for trap in TRAPS {
                    trap.run(&subject, &policy.cluster, &mut found);
                }
                black_box(found);
            });
        });
        group.bench_function("whole", |b| {
            b.iter(|| {
                black_box(admission::answer(
                    Endpoint::Validate,
                    &body,
                    &policy,
                    None,
                    today,
                    Deadline::NONE,
                ))
            });
        });
        group.finish();
    }
}

fn mutate(c: &mut Criterion) {
    let policy = Policy::default();
    let today = jiff::civil::date(2026, 11, 21);
    let body = reviews::pod_create();
    let mut group = c.benchmark_group("mutate/pod");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("parse", |b| {
        b.iter(|| {
            let request = Request::parse(&body).expect("a review");
            black_box(Pod::parse(request.object.expect("an object").get()).expect("a pod"));
        });
    });
    group.bench_function("whole", |b| {
        b.iter(|| {
            black_box(admission::answer(
                Endpoint::Mutate,
                &body,
                &policy,
                None,
                today,
                Deadline::NONE,
            ))
        });
    });
    group.finish();
}

criterion_group!(benches, validate, mutate);
criterion_main!(benches);

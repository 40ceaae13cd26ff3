//! A review is answered in JSON, or refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use setguard_core::{
    admission::{self, Endpoint},
    engine::Context,
    policy::Policy,
};

fuzz_target!(|review: &[u8]| {
    let (policy, today) = (Policy::default(), jiff::civil::date(2026, 11, 23));
    let cx = Context::of_review(&policy, today);
    for endpoint in [Endpoint::Validate, Endpoint::Mutate, Endpoint::MutateControlPlane] {
        match admission::answer(endpoint, review, &cx) {
            Ok(answer) => {
                let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
                assert!(body["response"]["uid"].is_string(), "{body}");
                assert!(body["response"]["allowed"].is_boolean(), "{body}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

//! A review is answered alike if it is read in one pass and if it is read whole, as a review that
//! begins with many spaces is. Only invalid JSON in a part that is skipped may make a difference.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use setguard::{
    admission::{self, Endpoint},
    engine::Context,
    policy::Policy,
};

fn answer(review: &str) -> Option<Vec<u8>> {
    let (policy, today) = (Policy::default(), jiff::civil::date(2026, 11, 23));
    let cx = Context::of_review(&policy, today);
    admission::answer(Endpoint::Validate, review.as_bytes(), &cx)
        .ok()
        .map(|answer| answer.body.to_vec())
}

fuzz_target!(|review: &str| {
    if serde_json::from_str::<Value>(review).is_ok() {
        let spaced = format!("{}{review}", " ".repeat(1024));
        assert_eq!(answer(review), answer(&spaced));
    }
});

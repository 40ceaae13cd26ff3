//! A policy is valid, or refused with a reason.

#![no_main]

use libfuzzer_sys::fuzz_target;
use setguard_core::policy::Policy;

fuzz_target!(|text: &str| {
    if let Err(problems) = Policy::parse(text) {
        assert!(!problems.is_empty(), "refused without a reason");
        problems.iter().for_each(|problem| assert!(!problem.to_string().is_empty()));
    }
});

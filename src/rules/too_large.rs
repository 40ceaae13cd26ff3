//! The rule that reports an object that was not evaluated, or not by all rules.

use crate::{
    finding::{Findings, Meta, Mode, Reason, paths::SPEC},
    kubernetes::kind::Kind,
    object::size::{self, ObjectSize},
};

/// The kinds of object that can be too large.
pub static KINDS: &[Kind] = &[Kind::DaemonSet, Kind::StatefulSet, Kind::Pod];

/// The rule for objects that are too large to evaluate.
pub static TOO_LARGE: Meta = Meta {
    id: "too-large-to-check",
    summary: "an object with so many items or so much text that setguard skips it",
    why: "\
Everybody who may create an object can send one of up to 3 MiB through the API server, with hundreds of
thousands of items in a list. Kubernetes' types are large: an empty volume is two bytes of JSON and three
kilobytes in memory. A webhook that reads such an object is killed for its memory, or is busy for so long that
the API server gives up, and then no other objects are checked either.

So setguard estimates how much memory an object would take before it reads it. An object of more than 8 MiB
is not evaluated, and nothing is injected into it. That is room for about 1,000 volumes, 1,500 containers
or 4,000 tolerations; the objects of real charts take less than 0.2 MiB. The rule also reports an object that
setguard has not finished evaluating when three quarters of the caller's time have passed: some rules have
then not looked at it.

Allowing it is a way around the rules that deny. To close that way, set this rule to deny.

Kubernetes: the API server itself limits a request to 3 MiB (`MaxRequestBodyBytes`, apiserver
pkg/server/config.go) and etcd a stored object to 1.5 MiB; pods have no limit on their lists.",
    bad: include_str!("too_large/examples/too-large-to-check.bad.yaml"),
    good: include_str!("too_large/examples/too-large-to-check.good.yaml"),
    mode: Mode::Warn,
    adjustable: true,
};

/// Reports an object that was not read.
pub fn too_large(size: &ObjectSize, found: &mut Findings) {
    let mib = |bytes: usize| bytes.div_ceil(1 << 20);
    let largest = &size.largest;
    found.report_at(
        largest.field.clone(),
        Reason::TooMany,
        format!(
            "setguard does not evaluate this object: it would take up to {} MiB of memory, of which \
             {} MiB are for the {} items here",
            mib(size.bytes),
            mib(largest.bytes),
            largest.items
        ),
        format!("make it smaller, to at most {} MiB", mib(size::MAX)),
    );
}

/// Reports an object that this number of rules did not check, because time ran out.
pub fn out_of_time(rules: usize, found: &mut Findings) {
    found.report(
        &SPEC,
        Reason::TooMany,
        format!(
            "the evaluation took too long and was stopped: {rules} rules have not looked at this object"
        ),
        "make the object smaller, or give setguard more processor time",
    );
}

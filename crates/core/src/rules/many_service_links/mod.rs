use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "many-service-links", group: NeverStarts;
    title: "pods get too many variables of Services",
    summary: "pods that get so many variables of Services that programs may not start",
    scopes: [Scope::Inventory { kinds: SETS, evidence: Evidence::Presence, check }],
};

/// In bytes: three quarters of what Linux allows.
const TOO_MANY: u64 = 3 << 19;

/// Counting stops at this many Services.
const MOST_COUNTED: usize = 50_000;

fn check(query: &Query<'_>, found: &mut Findings) {
    let namespace = query.item.namespace();
    if !query.details.has_service_links {
        return;
    }
    let services = query.inventory().in_namespace(Kind::Service, namespace).take(MOST_COUNTED);
    let services = services.filter(|item| query.counts(item));
    let sizes = services.filter_map(|item| item.service()).map(|it| u64::from(it.variables));
    let (count, bytes) = sizes
        .filter(|bytes| *bytes > 0)
        .fold((0, 0), |(count, sum), bytes| (count + 1, sum + bytes));
    if bytes < TOO_MANY {
        return;
    }
    let tenths = bytes * 10 / (1 << 20);
    let message = format!(
        "each container gets variables for {count} Services of namespace {namespace}, {}.{} MiB, \
         and Linux starts no program with more than 2 MiB of arguments and variables",
        tenths / 10,
        tenths % 10,
    );
    let help = "set enableServiceLinks: false; the pods then find Services by DNS";
    found.via(Kind::Service, &POD_SPEC, Reason::Invalid, message, help);
}

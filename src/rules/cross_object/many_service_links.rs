//! Containers that get too many variables from the Services of their namespace.

use crate::{
    finding::{Meta, Mode, Reason, paths::POD_SPEC},
    kubernetes::kind::Kind,
    rules::rule::{
        Rule, Scope,
        inventory::{Evidence, InventoryFindings, Query},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "many-service-links",
        summary: "pods that get so many variables of Services that programs may not start",
        why: "\
Unless `enableServiceLinks` is false, each container gets variables for every Service of its namespace that
has an address: seven for a port, about 450 bytes with a name of 20 characters. Linux starts no program whose
arguments and variables take more than 2 MiB, a quarter of the usual limit of the stack. The containers then
fail with \"argument list too long\", and nothing names the Services. It happens when pods restart, on any node,
long after the Services were added.

Seen on Linux, variables as the kubelet makes them: with 4,743 Services of one port a program starts, with
4,744 it does not. Several ports and long names need fewer: reports begin at 2,000. A script that passes the
names of all variables as one argument, as the image of nginx does, fails above 128 KiB, with about 420
Services.

The variables are counted as the kubelet makes them, and reported from 1.5 MiB: the program's own arguments
and variables count too.

Kubernetes: `getServiceEnvVarMap`, pkg/kubelet/kubelet_pods.go; `FromServices`,
pkg/kubelet/envvars/envvars.go. Linux: `bprm_stack_limits`, fs/exec.c.",
        bad: include_str!("examples/many-service-links.bad.yaml"),
        good: include_str!("examples/many-service-links.good.yaml"),
        mode: Mode::Warn,
        adjustable: true,
    },
    scope: Scope::Inventory {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        evidence: Evidence::Presence,
        check,
    },
};

/// The bytes of variables from which the rule reports: three quarters of what Linux allows.
const TOO_MANY: u64 = 3 << 19;

/// The most Services that are counted.
const MOST_COUNTED: usize = 50_000;

fn check(query: &Query<'_>, found: &mut InventoryFindings) {
    let namespace = query.item.namespace();
    if query.item.details().is_none_or(|details| !details.has_service_links) {
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
    found.report(
        Kind::Service,
        &POD_SPEC,
        Reason::Invalid,
        format!(
            "each container gets variables for {count} Services of namespace {namespace}, {}.{} MiB, \
             and Linux starts no program with more than 2 MiB of arguments and variables",
            tenths / 10,
            tenths % 10,
        ),
        "set enableServiceLinks: false; the pods then find Services by DNS",
    );
}

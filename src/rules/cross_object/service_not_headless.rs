//! A StatefulSet whose Service has an address of its own.

use super::{
    rule::{Found, Rule},
    services,
};
use crate::{
    finding::{Meta, Mode, Reason, paths::SPEC},
    inventory::Inventory,
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "service-not-headless",
        summary: "a StatefulSet whose Service is not headless",
        why: "\
The Service that a StatefulSet names gives its pods their DNS names. Kubernetes specifies such names for
headless Services only (`clusterIP: None`); with any other, whether `web-0.web` resolves depends on the
DNS server of the cluster. And the name of the Service itself leads to one virtual address instead of all
pods, so that software that looks its members up there finds a single one. It is hard to repair: neither
`serviceName` nor the `clusterIP` can be changed later.

Seen on a 1.36 control plane: setting `clusterIP: None` on a Service that has an address is refused with
\"may not change once set\".

Found by `setguard check` where one run is given both. A Service with an address can stand beside the
headless one, for clients to whom any pod will do.

Kubernetes: DNS specification, \"Records for a Headless Service\";
`ValidateServiceClusterIPsRelatedFields`, pkg/apis/core/validation/validation.go.",
        bad: include_str!("examples/service-not-headless.bad.yaml"),
        good: include_str!("examples/service-not-headless.good.yaml"),
        mode: Mode::Warn,
        since: "0.1.0",
        adjustable: true,
    },
    kinds: &["StatefulSet"],
    check,
};

fn check(inventory: &Inventory, found: &mut Found) {
    services::each(inventory, |it| {
        let mut services = it.services.iter();
        if let Some((first, _)) = it.services.first()
            && services.all(|(_, service)| !service.is_headless)
        {
            found.report(
                it.index,
                &SPEC.child("serviceName"),
                Reason::Invalid,
                format!("its {first} is not headless, so the pods may get no DNS names"),
                "name a Service with clusterIP: None here; neither can be changed later",
            );
        }
    });
}

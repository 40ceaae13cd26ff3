use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "fs-group-on-large-volume", group: Data, mode: Mode::Audit, cel: "cel.yaml";
    title: "fsGroup changes the owner of every file",
    summary: "fsGroup on a large volume without fsGroupChangePolicy: OnRootMismatch",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

const LARGE: &str = "100Gi";

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let context = spec.template.spec.as_ref().and_then(|pod| pod.security_context.as_ref());
    let Some(context) = context.filter(|context| context.fs_group.is_some()) else { return };
    if context.fs_group_change_policy.as_deref() == Some("OnRootMismatch") {
        return;
    }
    let large = Quantity::parse_resource(LARGE);
    let sizes = read::claims(spec).filter_map(|(name, claim)| {
        let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
        Some((name, requests.get("storage")?))
    });
    let mut sizes = sizes.filter(|(_, size)| Quantity::parse_resource(&size.0) >= large);
    let Some((name, size)) = sizes.next() else { return };
    found.report(
        &POD_SPEC.child("securityContext").child("fsGroup"),
        Reason::Invalid,
        format!(
            "at each start of a pod the group of every file of its claim {name:?} ({}) is changed",
            size.0
        ),
        "set fsGroupChangePolicy: OnRootMismatch",
    );
}

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use crate::kubernetes::semantic;
use crate::rules::prelude::*;

pub static RULE: Rule = rule! {
    id: "immutable-field", group: Refused;
    title: "this field cannot be changed",
    summary: "a change to an immutable field, and what to do instead",
    scopes: [Scope::Object {
        phase: Phase::Before {
            operations: &[Operation::Update],
            sent_if: "oldObject != null && (object.spec.?selector != oldObject.spec.?selector || \
             object.spec.?serviceName != oldObject.spec.?serviceName || \
             object.spec.?podManagementPolicy != oldObject.spec.?podManagementPolicy || \
             object.spec.?volumeClaimTemplates != oldObject.spec.?volumeClaimTemplates)",
        },
        openkruise: OpenKruise::DoesNotApply,
        check: ObjectCheck::Both(check),
    }],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(old) = subject.old() else { return };
    let selector = subject.object.selector();
    if selector.is_some() && !semantic::equal(&selector, &old.selector()) {
        let message = "the selector cannot be changed, and orphaned pods that the new one does not match \
             would stay behind";
        let help = "use another name, or delete the object with its pods and apply it again";
        found.report(&SPEC.child("selector"), Reason::Forbidden, message, help).instead();
        // A new object with a different selector does not take over the pods, so the other remedies are wrong.
        return;
    }
    let (Some(new), Some(old)) = (subject.object.stateful_set(), old.stateful_set()) else {
        return;
    };
    let delete = "delete sts --cascade=orphan";
    let name = subject.object.name();
    let delete = read::kubectl(Effect::Changes, delete, &subject.object, name);
    let mut report = |path: &Path<'_>, what: &str, then: Help| {
        let leaves = ", and apply the object again: the pods keep running";
        let message = format!("{what} cannot be changed");
        let help = Help::say("run ").run(delete.clone()).and(leaves).then(then);
        found.report(path, Reason::Forbidden, message, help).instead();
    };
    let (service, old_service) = (new.service_name.as_deref(), old.service_name.as_deref());
    if service.unwrap_or_default() != old_service.unwrap_or_default() {
        let written = SPEC.child("serviceName");
        let field = if new.service_name.is_some() { &written } else { &SPEC };
        report(field, "serviceName", "; they keep the old name until they restart".into());
    }
    if new.pod_management_policy != old.pod_management_policy {
        let written = SPEC.child("podManagementPolicy");
        // OrderedReady is the default, so the field may be absent.
        let parallel = new.pod_management_policy.as_deref() == Some("Parallel");
        report(if parallel { &written } else { &SPEC }, "podManagementPolicy", Help::default());
    }
    if semantic::equal(&new.volume_claim_templates, &old.volume_claim_templates) {
        return;
    }
    let written = SPEC.child("volumeClaimTemplates");
    let field = if new.volume_claim_templates.is_some() { &written } else { &SPEC };
    let (what, then) = if !read::claims(new).map(|c| c.0).eq(read::claims(old).map(|c| c.0)) {
        let then = "; then delete the pods one by one, the lowest ordinal first, each when the one before \
                    is available: a running pod keeps its volumes";
        ("the list of claim templates", then)
    } else if only_sizes_differ(new, old) {
        let grow = grow_first(&subject.object, new, old);
        report(field, "the size in a claim template", grow);
        return;
    } else {
        ("a claim template", "; existing claims stay as they are")
    };
    report(field, what, then.into());
}

fn grow_first<T, U>(
    object: &Object<'_>,
    new: &StatefulSetSpec<T>,
    old: &StatefulSetSpec<U>,
) -> Help {
    let size = |claim: &PersistentVolumeClaim| claim.spec.as_ref().map(|s| s.resources.clone());
    let mut claims = read::claims(new).zip(read::claims(old));
    let changed = claims.find(|((_, new), (_, old))| !semantic::equal(&size(new), &size(old)));
    let claim = changed.map_or("", |((name, _), _)| name);
    let request = |claim: &PersistentVolumeClaim| {
        let size = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?.get("storage")?;
        Quantity::parse_resource(&size.0)?.thousandths()
    };
    if changed.is_some_and(|((_, new), (_, old))| request(new) < request(old)) {
        return "; existing claims keep their size: a volume cannot shrink".into();
    }
    let name = format!("{claim}-{}-{}", object.name(), read::ordinals(new).start);
    let edit = read::kubectl(Effect::Changes, "edit pvc", object, &name);
    Help::say("; grow existing claims one by one, ").run(edit).and(" first")
}

fn only_sizes_differ<T, U>(new: &StatefulSetSpec<T>, old: &StatefulSetSpec<U>) -> bool {
    let sizeless = |claims: &Option<Vec<PersistentVolumeClaim>>| {
        let mut claims = claims.clone().unwrap_or_default();
        for spec in claims.iter_mut().filter_map(|claim| claim.spec.as_mut()) {
            spec.resources = None;
        }
        claims
    };
    semantic::equal(&sizeless(&new.volume_claim_templates), &sizeless(&old.volume_claim_templates))
}

use crate::rules::prelude::*;
use crate::{finding::ClusterAssumption, kubernetes::tolerations};

pub(super) static RULE: Rule = rule! {
    id: "legacy-master-toleration", group: Upgrade, cel: "cel.yaml";
    title: "only the control plane's old taint is tolerated",
    summary: "a toleration of the control plane's old taint without the new one",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

const OLD: &str = "node-role.kubernetes.io/master";
const NEW: &str = "node-role.kubernetes.io/control-plane";

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let list = list(&spec.tolerations);
    // A toleration without an effect matches all effects. The taint has NoSchedule.
    let is_effective =
        |it: &Toleration| matches!(it.effect.as_deref(), None | Some("" | "NoSchedule"));
    let is_old = |it: &Toleration| it.key.as_deref() == Some(OLD) && is_effective(it);
    let Some(i) = list.iter().position(is_old) else { return };
    if list.iter().any(|it| tolerations::tolerates(it, NEW, "NoSchedule")) {
        return;
    }
    // Tolerations of other effects belong to it. Of several equal tolerations, one copy is enough.
    let old = list.iter().enumerate().filter(|(i, it)| {
        let copy = Toleration { key: Some(NEW.to_owned()), ..Toleration::clone(it) };
        it.key.as_deref() == Some(OLD)
            && !list.iter().take(*i).any(|other| other == *it)
            && !list.contains(&copy)
    });
    found
        .report(
            &TOLERATIONS.index(i).child("key"),
            Reason::Invalid,
            format!("this brings no pod to control plane nodes that have the taint {NEW}"),
            format!("tolerate {NEW} too"),
        )
        .since(24)
        .only_with(ClusterAssumption::ControlPlaneNodes)
        .fixed_by(Fix::copy(old.map(|(i, _)| TOLERATIONS.index(i)), NEW));
}

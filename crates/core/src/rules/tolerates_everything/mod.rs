use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "tolerates-everything", group: Nodes, mode: Mode::Audit, cel: "cel.yaml";
    title: "no taint can move the pods",
    summary: "a toleration of every taint, so that no taint can move the pods off a node",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let list = list(&spec.tolerations);
    let empty = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
    let every = |effect: &str| {
        list.iter().position(|it| {
            empty(&it.key)
                && (empty(&it.effect) || it.effect.as_deref() == Some(effect))
                && it.operator.as_deref() == Some("Exists")
                && it.toleration_seconds.is_none()
        })
    };
    // PreferNoSchedule keeps no pod off a node.
    let (Some(_), Some(i)) = (every("NoSchedule"), every("NoExecute")) else { return };
    let message = "every taint is tolerated, so the pods also stay on nodes that are drained by a taint \
         or out of service";
    let help = "list the taints that the pods must tolerate, or at least set the effect";
    found.report(&TOLERATIONS.index(i), Reason::Invalid, message, help);
}

use crate::kubernetes::node_selector;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "unschedulable-affinity", group: NeverStarts;
    title: "no node can meet this affinity",
    summary: "node affinity that no node can ever meet",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let terms = node_selector::required_terms(spec.affinity.as_ref()).unwrap_or_default();
    let why_not = |term| node_selector::why_not(spec.node_selector.as_ref(), term, None);
    let Some(reasons) = terms.iter().map(why_not).collect::<Option<Vec<_>>>() else { return };
    let Some(first) = reasons.first() else { return };
    let outcome = match subject.object.kind() {
        WorkloadKind::DaemonSet => {
            "no pod is created and `kubectl rollout status` still reports success"
        }
        WorkloadKind::StatefulSet => "the pods stay Pending forever",
    };
    let others = if reasons.len() > 1 { ", and no other term can be met either" } else { "" };
    let message = format!("{first}{others}, so {outcome}");
    let help = "write at least one term that a node can meet together with the nodeSelector";
    found.report(&NODE_TERMS, Reason::Invalid, message, help);
}

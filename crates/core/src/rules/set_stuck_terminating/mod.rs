use super::pod_stuck_terminating;
use crate::finding::paths::FINALIZERS;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "set-stuck-terminating", group: Cluster;
    title: "the deletion of the set does not end",
    summary: "a DaemonSet or StatefulSet whose deletion does not end",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::Others(check) }],
};

const COLUMNS: &str = "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,\
                       DELETED:.metadata.deletionTimestamp,FINALIZERS:.metadata.finalizers";
/// Deletion waits for the pods.
const FOREGROUND: &str = "foregroundDeletion";

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    for set in audit.observed.sets() {
        let Some(deletion) = set.deletion() else { continue };
        let waits_for_pods = deletion.finalizers.iter().any(|it| &**it == FOREGROUND);
        let grace = if waits_for_pods { deletion.grace } else { 0 };
        if deletion.finalizers.is_empty()
            || !audit.is_long_ago(deletion.requested.saturating_add(grace))
        {
            continue;
        }
        let query = StatusQuery { set, audit };
        let is_overdue = |pod: &&Pod| pod.deleted.is_some_and(|it| audit.is_long_ago(it));
        let held = audit.observed.pods(set).iter().find(is_overdue).filter(|_| waits_for_pods);
        let (cause, help) = match held {
            Some(pod) => {
                let (why, help) = pod_stuck_terminating::explain(&query, pod, &[&pod.name]);
                (format!("{} should be gone: {why}", pod.name), help)
            }
            None => {
                let finalizers = deletion.finalizers.join(", ");
                let cause = format!("it waits for its finalizers ({finalizers})");
                (cause, advice(&query, waits_for_pods))
            }
        };
        let facts = Facts::title("the deletion of the set does not end")
            .cause(cause)
            .effect("no pod of it is created or replaced meanwhile".to_owned())
            .since(deletion.requested);
        found.add(StatusFinding::new(&FINALIZERS, facts, help).about(ObjectName::from(set)));
    }
}

fn advice(query: &StatusQuery<'_>, waits_for_pods: bool) -> Help {
    if waits_for_pods {
        let pods = query.kubectl().looks("get pods", &["-o", COLUMNS]);
        return Help::say("see which of its pods are still there, and why; ")
            .run(pods)
            .and(" lists the pods with their finalizers");
    }
    pod_stuck_terminating::unpin(query, "patch", &query.target())
}

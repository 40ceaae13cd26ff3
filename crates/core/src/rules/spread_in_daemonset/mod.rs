use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "spread-in-daemonset", group: Nodes, cel: "cel.yaml";
    title: "the pods keep each other off nodes",
    summary: "a DaemonSet whose pods keep each other off their nodes",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::DaemonSet(check))],
};

const HOSTNAME: &str = "kubernetes.io/hostname";

fn check(spec: &DaemonSetSpec, subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(pod) = &spec.template.spec else { return };
    let labels = spec.template.metadata.as_ref().and_then(|metadata| metadata.labels.as_ref());
    let itself = |selector: &Option<LabelSelector>| {
        let selector = selector.as_ref().filter(|it| selector::parses(it));
        selector.is_some_and(|it| selector::matches_labels(it, labels))
    };
    for (i, term) in read::self_anti_affinity(&subject.object) {
        let key = &term.topology_key;
        let message = if key != HOSTNAME {
            format!(
                "the pods keep each other off nodes with the same {key}, but each can run on one \
                 node only: all but one stay Pending forever"
            )
        } else if read::surges(spec) && of_all_revisions(term.match_label_keys.as_ref()) {
            String::from(
                "the surge pod cannot run next to the old one, so it stays Pending and the \
                 rollout never ends",
            )
        } else {
            continue;
        };
        found.report(
            &POD_SPEC
                .below("affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution")
                .index(i),
            Reason::Invalid,
            message,
            "leave the term out",
        );
    }
    for (i, spread) in pod.topology_spread_constraints.iter().flatten().enumerate() {
        let applies = spread.node_affinity_policy.as_deref() == Some("Ignore")
            && spread.when_unsatisfiable == "DoNotSchedule"
            && itself(&spread.label_selector);
        let key = &spread.topology_key;
        let message = if applies && key != HOSTNAME {
            format!(
                "each pod can run on one node only, so if one {key} has more nodes than another, \
                 pods stay Pending forever"
            )
        } else if applies
            && spread.max_skew < 2
            && read::surges(spec)
            && of_all_revisions(spread.match_label_keys.as_ref())
        {
            String::from(
                "the surge pod makes two on its node, so it stays Pending as long as any node of \
                 the cluster has none, and the rollout does not end",
            )
        } else {
            continue;
        };
        let help = "leave the constraint out, or use whenUnsatisfiable ScheduleAnyway";
        found.report(
            &POD_SPEC.item("topologySpreadConstraints", i),
            Reason::Invalid,
            message,
            help,
        );
    }
}

/// Counts pods of the new and the old template together.
fn of_all_revisions(match_label_keys: Option<&Vec<String>>) -> bool {
    match_label_keys.is_none_or(Vec::is_empty)
}

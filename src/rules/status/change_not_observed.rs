//! Sets whose controller has not observed their latest change.

use super::phrases::{count, names, since};
use crate::{
    finding::{Facts, Help, Meta, Mode, Path, paths::STATUS},
    kubernetes::kind::Kind,
    observed::WorkloadStatus,
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Audit, ObjectName, Report, StatusFindings},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "change-not-observed",
        summary: "a set that was created or changed, and whose controller does not react",
        why: "\
The controllers of DaemonSets and StatefulSets write the generation that they have seen into
`status.observedGeneration`. While it is older than `metadata.generation`, nothing of the change happens, and
the rest of the status describes the set as it was before. A controller needs a moment for this. If it needs
more than five minutes, kube-controller-manager doesn't run, is not the leader, or can't reach the API server.
Pods that fail are not replaced either, and no other rule about status can say anything about the set.

The time is from `metadata.managedFields`: the last change of anything but the status. If more than one set
waits, one finding in the set that has waited longest names them all.

Seen on a 1.37 control plane without kube-controller-manager: a new StatefulSet has no `observedGeneration`
and no pod, and the status of a changed DaemonSet keeps saying that all of its pods are updated.

Kubernetes: `updateStatefulSetStatus`, pkg/controller/statefulset/stateful_set_control.go;
`storeDaemonSetStatus`, pkg/controller/daemon/daemon_controller.go.",
        bad: include_str!("examples/change-not-observed.bad.yaml"),
        good: include_str!("examples/change-not-observed.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Status {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        check: StatusCheck::Others(check),
    },
};

static GENERATION: Path<'static> = STATUS.child("observedGeneration");

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let waits = |set: &&WorkloadStatus| set.is_unobserved();
    let waiting = audit.observed.sets().filter(waits);
    let waiting = waiting.filter_map(|set| Some((set.spec_written?, set)));
    let mut waiting: Vec<_> = waiting.filter(|(at, _)| audit.is_long_ago(*at)).collect();
    waiting.sort_by_key(|(at, _)| *at);
    let Some((&(at, first), others)) = waiting.split_first() else { return };
    let mut message = format!(
        "no controller has observed generation {} of this set {}; it has observed {}",
        first.generation(),
        since(at),
        match first.observed_generation() {
            0 => "none".to_owned(),
            generation => format!("generation {generation}"),
        }
    );
    if !others.is_empty() {
        let kinds = others
            .iter()
            .map(|(_, set)| format!("{} {}/{}", set.kind(), set.namespace(), set.name()));
        let kinds: Vec<_> = kinds.collect();
        let list = names(kinds.iter().map(String::as_str));
        message.push_str(&format!(
            "; the same holds for {} ({list})",
            count(others.len(), "other set")
        ));
    }
    let kubectl = audit.kubectl("kube-system");
    let lease = kubectl.looks("get lease", &["kube-controller-manager", "-o", "yaml"]);
    let help = Help::say(
        "find out why kube-controller-manager does nothing: no change of a set takes effect, and no \
         pod is replaced; ",
    )
    .run(lease)
    .and(" shows who leads, and when that was renewed");
    let title = format!("no controller has observed generation {} of this set", first.generation());
    let facts = Facts::title(title).since(at).effect(
        (!others.is_empty()).then(|| format!("{} wait too", count(others.len(), "other set"))),
    );
    let about = ObjectName::from(first);
    found.add(Report::new(&GENERATION, message, help).about(about).facts(facts));
}

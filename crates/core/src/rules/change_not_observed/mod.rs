use super::status::refusal::annotate;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "change-not-observed", group: Cluster, mode: Mode::Deny;
    title: "the controller does not react",
    summary: "a set that was created or changed, and whose controller does not react",
    scopes: [Scope::Status { kinds: SETS, check: StatusCheck::Others(check) }],
};

static GENERATION: Path<'static> = STATUS.child("observedGeneration");

fn check(audit: &Audit<'_>, found: &mut StatusFindings) {
    let waits = |set: &&WorkloadStatus| set.is_unobserved();
    let waiting = audit.observed.sets().filter(waits);
    let waiting = waiting.filter_map(|set| Some((set.spec_written?, set)));
    let mut waiting: Vec<_> = waiting.filter(|(at, _)| audit.is_long_ago(*at)).collect();
    waiting.sort_by_key(|(at, _)| *at);
    let Some((&(at, first), others)) = waiting.split_first() else { return };
    let seen = match first.observed_generation() {
        0 => "it has observed none".to_owned(),
        generation => format!("it has observed generation {generation}"),
    };
    let effect = (!others.is_empty()).then(|| {
        let all =
            others.iter().map(|(_, it)| format!("{} {}/{}", it.kind(), it.namespace(), it.name()));
        let all: Vec<_> = all.collect();
        let list = names(all.iter().map(String::as_str));
        format!("the same holds for {} ({list})", count(others.len(), "other set"))
    });
    let is_later = |set: &WorkloadStatus| set.status_written.is_some_and(|it| it > at);
    let mut of_kind = audit.observed.sets().filter(|it| it.kind() == first.kind());
    let help = match of_kind.any(|it| !it.is_unobserved() && is_later(it)) {
        true => Help::say(
            "kube-controller-manager works, but not on this set: the API server may refuse it a \
             ControllerRevision or a change of a pod, because of a quota, a policy or a webhook; its log says \
             which; once that is repaired, it tries again within 17 minutes, or at once after ",
        )
        .run(annotate(&StatusQuery { set: first, audit })),
        false => {
            let kubectl = audit.kubectl("kube-system");
            let lease = kubectl.looks("get lease", &["kube-controller-manager", "-o", "yaml"]);
            Help::say(
                "find out why kube-controller-manager does nothing: no change of a set takes effect, and no \
                 pod is replaced; ",
            )
            .run(lease)
            .and(" shows who leads, and when that was renewed")
        }
    };
    let title = format!("no controller has observed generation {} of this set", first.generation());
    let facts = Facts::title(title).since(at).cause(seen).effect(effect);
    found.add(StatusFinding::new(&GENERATION, facts, help).about(ObjectName::from(first)));
}

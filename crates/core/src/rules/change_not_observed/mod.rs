//! Sets whose controller has not observed their latest change.

use super::status::phrases::{count, names, since};
use crate::{
    finding::{Facts, Help, Mode, Path, paths::STATUS},
    kubernetes::kind::Kind,
    observed::WorkloadStatus,
    rules::rule::{
        Rule, Scope, StatusCheck,
        status::{Audit, ObjectName, Report, StatusFindings},
    },
};

pub(super) static RULE: Rule = Rule {
    meta: meta! {
        id: "change-not-observed",
        title: "the controller does not react",
        summary: "a set that was created or changed, and whose controller does not react",
        group: Cluster,
        mode: Mode::Deny,
        adjustable: true,
    },
    scopes: &[Scope::Status {
        kinds: &[Kind::DaemonSet, Kind::StatefulSet],
        check: StatusCheck::Others(check),
    }],
    cel: None,
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

//! The point where a rollout stops or could stop, and the commands that help.

use setguard_core::rollout::stateful_set::COMPLETE;

use super::forecast::Remedy;
use crate::plan::prelude::*;

pub(super) fn line(forecast: &Forecast) -> Option<Line> {
    let rollout = forecast.rollout.as_ref()?;
    if let Some(stop) = &rollout.course.stop {
        let then = then(rollout, forecast, stop).unwrap_or_default();
        let why = format!(" {}{then}", forecast.why(stop));
        return Some(Line::new(Tone::Bad, "stops:").and(Tone::Plain, why));
    }
    let broken = rollout.if_broken.as_ref().filter(|_| forecast.change == ChangeKind::Update)?;
    let stop = broken.stop.as_ref()?;
    let deletes = |it: &&setguard_core::rollout::Step| it.action == Action::Delete;
    let several = rollout.course.steps.iter().filter(deletes).count() > 1;
    let is_daemon = !matches!(stop.target, Target::Ordinal(_));
    let (when, subject) = match stop.why {
        Waits::ForTheLast if broken.takes_all_down && (several || is_daemon) => {
            ("nothing stops it if", "the new pods never become ready, and then none is available")
        }
        Waits::ForTheLast if is_daemon => ("stops if", "the new pods never become ready"),
        Waits::ForTheLast if several => ("nothing stops it if", "the new pods never become ready"),
        _ if is_daemon => ("stops if", "the pod on the first node never becomes ready"),
        Waits::Budget if !stop.others.is_empty() => ("stops if", "never become ready"),
        _ => ("stops if", "never becomes ready"),
    };
    let mut names = forecast.names(stop);
    if stop.why == Waits::ForThisPod {
        names.extend(together(rollout, &stop.target).map(|it| forecast.name(it)));
    }
    let subject = match (&stop.target, when) {
        (Target::Ordinal(_), "stops if") => {
            let and = if stop.why == Waits::Budget { " and " } else { " or " };
            format!("{} {subject}", names.join(and))
        }
        _ => subject.to_owned(),
    };
    let text = format!(" {subject}{}", undo(rollout, forecast, &names));
    Some(Line::new(Tone::Caution, when).and(Tone::Plain, text))
}

/// Returns the other pods that the same wave replaces. An ordered set waits for each of them.
fn together<'a>(rollout: &'a Rollout, target: &'a Target) -> impl Iterator<Item = &'a Target> {
    let steps = rollout.course.steps.iter().filter(|_| rollout.is_ordered());
    let deleted = steps.clone().filter(|it| it.action == Action::Delete);
    let wave = deleted.clone().find(|it| it.target == *target).map(|it| it.wave);
    let others = deleted.filter(move |it| Some(it.wave) == wave && it.target != *target);
    let comes_back = move |it: &&'a Target| {
        steps.clone().any(|step| step.action == Action::Create && step.target == **it)
    };
    others.map(|it| &it.target).filter(comes_back)
}

/// Returns what to do. A command ends the line, so that nothing sticks to it when it is copied.
fn then(rollout: &Rollout, forecast: &Forecast, stop: &Stop) -> Option<String> {
    let pod = forecast.name(&stop.target);
    let namespace = &forecast.id.namespace;
    let delete = format!("kubectl delete pod {pod} -n {namespace}");
    let describe = match rollout.of_kind {
        OfKind::StatefulSet { .. } => format!("kubectl describe pod {pod} -n {namespace}"),
        OfKind::DaemonSet { .. } => {
            format!("kubectl describe ds {} -n {namespace}", forecast.id.name)
        }
    };
    let complete = format!(
        "kubectl patch sts {} -n {namespace} --type merge -p '{COMPLETE}'",
        forecast.id.name
    );
    let remedy = match rollout.of_kind {
        OfKind::StatefulSet { remedy, .. } => remedy?,
        OfKind::DaemonSet { .. } => Remedy::Undo,
    };
    Some(match (stop.why, remedy) {
        (Waits::Volumes, _) => format!(
            "; then, and likewise for the next one, from the lowest ordinal up, once it is available: {delete}"
        ),
        (Waits::Name, _) => format!("; then, if that pod isn't needed: {delete}"),
        (Waits::Node, _) if matches!(stop.target, Target::Ordinal(_)) => {
            "; then: repair or remove the node".to_owned()
        }
        (Waits::Deletion, _) => {
            "; then: find out what keeps the pod: one of its finalizers, or the kubelet of its node"
                .to_owned()
        }
        (Waits::Node, _) => "; then: repair or remove the node, or raise maxUnavailable".to_owned(),
        (Waits::Endlessly, _) => format!("; then: {complete}"),
        (Waits::Port, _) => "; then: use maxSurge 0 and maxUnavailable 1 or more".to_owned(),
        (_, Remedy::Complete) => {
            format!(
                "; without that block it comes back with the old template; then: {complete} && {delete}"
            )
        }
        (_, Remedy::Delete(revision)) => {
            format!("; it comes back with the {} template after: {delete}", revision.as_str())
        }
        (_, Remedy::GiveUp) => format!("; it does not come back after: {delete}"),
        (_, Remedy::Look) => format!("; then: {describe}"),
        (_, Remedy::Undo) if rollout.undo == Undo::None => format!("; then: {describe}"),
        (_, Remedy::Undo) => undo(rollout, forecast, &[pod]),
    })
}

/// Returns the commands that roll back a change while one of these pods does not work. An ordered set waits for the pod
/// even then, and a pod below the partition keeps its template until somebody deletes it.
fn undo(rollout: &Rollout, forecast: &Forecast, pods: &[String]) -> String {
    let id = &forecast.id;
    let kind = match rollout.of_kind {
        OfKind::StatefulSet { .. } => "sts",
        OfKind::DaemonSet { .. } => "ds",
    };
    let changes = |path: &str| forecast.differences.iter().any(|it| it.path == path);
    let mut pods: Vec<_> = pods.iter().map(String::as_str).collect();
    let (undo, stays) = match rollout.undo {
        Undo::Manifest => {
            // The previous manifest deletes the pods that it lacks.
            let acts = |action, pod: &str| {
                let steps = &rollout.course.steps;
                steps.iter().any(|it| it.action == action && forecast.name(&it.target) == pod)
            };
            let is_added = |pod: &str| acts(Action::Create, pod) && !acts(Action::Delete, pod);
            let grows = changes("spec.replicas") || changes("spec.ordinals.start");
            pods.retain(|pod| !(grows && is_added(pod)));
            let stays = changes("spec.updateStrategy.rollingUpdate.partition");
            (None, stays)
        }
        _ => {
            let to = rollout.undo.option().map(|it| format!(" {it}")).unwrap_or_default();
            let undo = format!("kubectl rollout undo {kind}/{} -n {}{to}", id.name, id.namespace);
            (Some(undo), rollout.is_ordered())
        }
    };
    let (first, others) = pods.split_first().filter(|_| stays).unzip();
    let delete = first.map(|pod| format!("kubectl delete pod {pod} -n {}", id.namespace));
    let others = others.filter(|it| !it.is_empty());
    let likewise = others.map(|it| format!(", for {} likewise", it.join(" or ")));
    let likewise = likewise.unwrap_or_default();
    match (undo, delete) {
        (Some(undo), Some(delete)) => format!("; then{likewise}: {undo} && {delete}"),
        (Some(undo), None) => format!("; then: {undo}"),
        (None, Some(delete)) => {
            format!("; then apply the previous manifest, and run{likewise}: {delete}")
        }
        (None, None) => "; then: apply the previous manifest".to_owned(),
    }
}

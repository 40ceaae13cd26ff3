//! The point where a rollout stops or could stop, and the commands that help.

use setguard_core::rollout::{Action, Stop, Target, Waits, undo::Undo};

use super::{
    forecast::{ChangeKind, Forecast, OfKind, Rollout},
    remedies::Remedy,
    styled_line::{Line, Tone},
};

pub(super) fn line(forecast: &Forecast) -> Option<Line> {
    let rollout = forecast.rollout.as_ref()?;
    if let Some(stop) = &rollout.course.stop {
        let then = then(rollout, forecast, stop);
        let then = then.map(|then| format!("; then: {then}")).unwrap_or_default();
        let why = format!(" {}{then}", forecast.why(stop));
        return Some(Line::new(Tone::Bad, "stops:").and(Tone::Plain, why));
    }
    let stop = rollout.if_broken.as_ref().filter(|_| forecast.change == ChangeKind::Update)?;
    let deletes = |it: &&setguard_core::rollout::Step| it.action == Action::Delete;
    let several = rollout.course.steps.iter().filter(deletes).count() > 1;
    let is_daemon = !matches!(stop.target, Target::Ordinal(_));
    let (when, subject) = match stop.why {
        Waits::ForTheLast if several || is_daemon => {
            ("nothing stops it if", "the new pods never become ready, and then none is available")
        }
        _ if is_daemon => ("stops if", "the pod on the first node never becomes ready"),
        _ => ("stops if", "never becomes ready"),
    };
    let subject = match (&stop.target, when) {
        (Target::Ordinal(_), "stops if") => format!("{} {subject}", forecast.name(&stop.target)),
        _ => subject.to_owned(),
    };
    let text = format!(" {subject}; then: {}", undo(rollout, forecast, &stop.target));
    Some(Line::new(Tone::Caution, when).and(Tone::Plain, text))
}

fn then(rollout: &Rollout, forecast: &Forecast, stop: &Stop) -> Option<String> {
    let pod = forecast.name(&stop.target);
    let namespace = &forecast.id.namespace;
    let delete = format!("kubectl delete pod {pod} -n {namespace}");
    let describe = format!("kubectl describe pod {pod} -n {namespace}");
    let remedy = match rollout.of_kind {
        OfKind::StatefulSet { remedy, .. } => remedy?,
        OfKind::DaemonSet { .. } => Remedy::Undo,
    };
    Some(match (stop.why, remedy) {
        (Waits::Volumes, _) => {
            format!("{delete}, then the next one, from the lowest ordinal up, once it is available")
        }
        (Waits::Name, _) => format!("{delete}, if that pod isn't needed"),
        (_, Remedy::Delete) => format!("{delete}, and it comes back with the new template"),
        (_, Remedy::Look) => describe,
        (_, Remedy::Undo) if rollout.undo == Undo::None => describe,
        (_, Remedy::Undo) => undo(rollout, forecast, &stop.target),
    })
}

/// Returns the commands that roll back a change while this pod does not work. An ordered set waits for the pod even
/// then, and a pod below the partition keeps its template until somebody deletes it.
fn undo(rollout: &Rollout, forecast: &Forecast, target: &Target) -> String {
    let id = &forecast.id;
    let (kind, is_ordered) = match rollout.of_kind {
        OfKind::StatefulSet { is_ordered, .. } => ("sts", is_ordered),
        OfKind::DaemonSet { .. } => ("ds", false),
    };
    let partition = "spec.updateStrategy.rollingUpdate.partition";
    let (undo, stays) = match rollout.undo {
        Undo::Manifest => {
            let stays = forecast.differences.iter().any(|it| it.path == partition);
            ("apply the previous manifest".to_owned(), stays)
        }
        _ => {
            let to = rollout.undo.option().map(|it| format!(" {it}")).unwrap_or_default();
            let undo = format!("kubectl rollout undo {kind}/{} -n {}{to}", id.name, id.namespace);
            (undo, is_ordered)
        }
    };
    match stays {
        true => {
            let pod = forecast.name(target);
            format!("{undo}, and then kubectl delete pod {pod} -n {}", id.namespace)
        }
        false => undo,
    }
}

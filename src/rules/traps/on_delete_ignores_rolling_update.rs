//! D4: a rolling update that never is.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "on-delete-ignores-rolling-update",
        summary: "a DaemonSet with settings for rolling updates under OnDelete",
        why: "\
With `updateStrategy.type: OnDelete` the block `rollingUpdate` means nothing: pods are replaced when somebody
deletes them. The API server does not even look at it, so it takes values that it would refuse otherwise.
Whoever wrote the block expects updates to roll.

A block that holds only the defaults is left alone: it stays behind when the type of an existing object is
changed.

Seen on a 1.36 control plane: `type: OnDelete` with `maxUnavailable: 300%` and `maxSurge: 3` is accepted and
stored as it is. For a StatefulSet the API server refuses the block.

Kubernetes: `ValidateDaemonSetUpdateStrategy`, pkg/apis/apps/validation/validation.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["DaemonSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::daemon_set(&subject.object) else { return };
    let Some(strategy) = &spec.update_strategy else { return };
    let Some(rolling) = &strategy.rolling_update else { return };
    let is = |value: &Option<IntOrString>, default| {
        value.as_ref().is_none_or(|value| *value == IntOrString::Int(default))
    };
    let is_default = is(&rolling.max_unavailable, 1) && is(&rolling.max_surge, 0);
    if strategy.type_.as_deref() != Some("OnDelete") || is_default {
        return;
    }
    let path = Path::new("spec");
    let path = path.child("updateStrategy");
    found.report(
        &path.child("rollingUpdate"),
        Reason::Forbidden,
        "rollingUpdate is ignored with type OnDelete: a pod is replaced when somebody deletes it",
        "use type RollingUpdate, or leave rollingUpdate out",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  updateStrategy:
    type: OnDelete
    rollingUpdate: {maxUnavailable: 30%, maxSurge: 0}
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  updateStrategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 30%, maxSurge: 0}
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";

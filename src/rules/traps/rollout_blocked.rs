//! D17: a rollout for which no pod may become unavailable.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "rollout-blocked",
        summary: "a changed template while as many pods are unavailable as may be",
        why: "\
A rolling update replaces the pods that are unavailable first, and then others, as long as no more than
`maxUnavailable` are. If that many are unavailable already and stay so, because their node is down, full or
broken, the update reaches none of the others. The default is 1: one dead node is enough. A pod on a dead
node cannot even be deleted, and its node goes on counting as unavailable.

Seen on a 1.36 control plane, two nodes, `maxUnavailable: 1`, one node dead, then a new template: its pod
stays Terminating, the pod of the other node keeps the old template, and `kubectl rollout status` waits.

It is told from the stored status, and only when no rollout is under way: during one, that many pods are
unavailable all the time.

Kubernetes: `rollingUpdate`, pkg/controller/daemon/update.go.",
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
    if read::strategy(&subject.object) != Some("RollingUpdate") || read::surges(spec) {
        return;
    }
    let rolling = spec.update_strategy.as_ref().and_then(|it| it.rolling_update.as_ref());
    let max_unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
    let Some(status) = subject.old().and_then(read::daemon_set_status) else { return };
    let desired = status.desired_number_scheduled;
    let unavailable = status.number_unavailable.unwrap_or_default();
    let allowed = max_unavailable.and_then(|value| read::scaled(value, desired, true));
    let Some(allowed) = allowed.filter(|allowed| *allowed > 0) else { return };
    let is_settled = status.updated_number_scheduled.unwrap_or_default() == desired;
    if !is_settled
        || i64::from(unavailable) < allowed
        || unavailable >= desired
        || !read::template_changes(subject)
    {
        return;
    }
    let path = Path::new("spec");
    found.report(
        &path.child("template"),
        Reason::Invalid,
        format!(
            "{unavailable} of {desired} pods are unavailable and maxUnavailable allows {allowed}, \
             so the other pods keep the old template until those are available again"
        ),
        "mend or remove the nodes of those pods, or raise maxUnavailable",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  updateStrategy:
    rollingUpdate: {maxUnavailable: 1}
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}

status: {currentNumberScheduled: 3, desiredNumberScheduled: 3, numberMisscheduled: 0, numberReady: 2, numberAvailable: 2, numberUnavailable: 1, updatedNumberScheduled: 3}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  updateStrategy:
    rollingUpdate: {maxUnavailable: 1}
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.5.0}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  updateStrategy:
    rollingUpdate: {maxUnavailable: 1}
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}

status: {currentNumberScheduled: 3, desiredNumberScheduled: 3, numberMisscheduled: 0, numberReady: 3, numberAvailable: 3, numberUnavailable: 0, updatedNumberScheduled: 3}
---
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  updateStrategy:
    rollingUpdate: {maxUnavailable: 1}
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.5.0}
";

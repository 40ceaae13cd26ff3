//! S27, D22: finalizers that every pod gets.

use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "template-finalizers",
        summary: "a template with finalizers, which keep every deleted pod Terminating",
        why: "\
The finalizers of a template are put on every pod. A pod with finalizers is not gone when it has ended: it
stays Terminating until somebody removes them. A rolling update waits for that at each pod, and so do
scaling down, draining a node, deleting the set and deleting the namespace. The API server does not look at
this field of a template.

Seen on a 1.36 control plane: a DaemonSet with `finalizers: [example.com/hold]` was deleted; ten minutes
later its pods were still Terminating.

Kubernetes: `getPodsFinalizers`, pkg/controller/controller_utils.go; `isTerminating`,
pkg/controller/statefulset/stateful_set_utils.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["DaemonSet", "StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let metadata = subject.object.template().metadata.as_ref();
    let finalizers = metadata.and_then(|it| it.finalizers.as_deref()).unwrap_or_default();
    if finalizers.is_empty() {
        return;
    }
    let path = Path::new("spec");
    let path = path.child("template");
    let path = path.child("metadata");
    found.report(
        &path.child("finalizers"),
        Reason::Forbidden,
        format!(
            "every deleted pod stays Terminating, and its rollout waits, until somebody removes \
             {} from it",
            finalizers.join(", ")
        ),
        "leave the finalizers out of the template",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: agent
spec:
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
      finalizers: [example.com/hold]
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
  selector:
    matchLabels: {app: agent}
  template:
    metadata:
      labels: {app: agent}
    spec:
      containers:
        - {name: agent, image: registry.example.com/agent:1.4.2}
";

//! S9: pods without names in DNS.

use super::read;
use crate::{
    finding::{Findings, Meta, Mode, Path, Reason},
    kubernetes::cluster::Cluster,
    object::{Operation, Subject},
    rules::trap::{Phase, Trap},
};

pub(super) static TRAP: Trap = Trap {
    meta: Meta {
        id: "service-name-empty",
        summary: "a StatefulSet without serviceName: its pods get no names in DNS",
        why: "\
Each pod gets `serviceName` as its subdomain, and by that its own name in DNS, such as web-0.web.
Without it the pods have a hostname only, members cannot find each other by name, and a headless
Service that selects the pods does not help. serviceName is optional since 1.33, and it cannot be set
later: the StatefulSet has to be deleted and made again. For this reason it is asked for when a
StatefulSet is created, and never after, and only of one with several replicas: a single pod is
reached by any Service that selects it.

Seen on a 1.36 control plane: accepted; the pod has a hostname and no subdomain.

Kubernetes: `initIdentity`, pkg/controller/statefulset/stateful_set_utils.go;
`ValidateStatefulSetUpdate`, pkg/apis/apps/validation/validation.go.",
        bad: BAD,
        good: GOOD,
        mode: Mode::Warn,
        kinds: &["StatefulSet"],
        since: "0.1.0",
        adjustable: true,
    },
    phase: Phase::After,
    check,
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::stateful_set(&subject.object) else { return };
    // A single pod is reached by any Service that selects it.
    if subject.operation != Operation::Create || spec.replicas.unwrap_or(1) < 2 {
        return;
    }
    let path = Path::new("spec");
    let written = path.child("serviceName");
    let field = match spec.service_name.as_deref() {
        None => &path,
        Some("") => &written,
        Some(_) => return,
    };
    let name = subject.object.name();
    let first = read::ordinals(spec).start;
    found.report(
        field,
        Reason::Required,
        format!(
            "without serviceName no pod can be reached by a name of its own, such as \
             {name}-{first}.{name}, and it cannot be set later"
        ),
        "set it to the name of the headless Service of these pods",
    );
}

const BAD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
  replicas: 3
  selector:
    matchLabels: {app: store}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
        - name: store
          image: registry.example.com/store:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";

const GOOD: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
  serviceName: store
  replicas: 3
  selector:
    matchLabels: {app: store}
  template:
    metadata:
      labels: {app: store}
    spec:
      containers:
        - name: store
          image: registry.example.com/store:1.0.0
          readinessProbe: {tcpSocket: {port: 8080}}
";

//! `setguard check` on many manifests.

use std::{fs, path::Path, process::Command};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    cost::{Cost, wait_for},
    harness::process::Process,
    throughput::setguard,
};

/// Measures and prints the results. Returns the results for 10,000 files.
pub(crate) fn measure() -> Cost {
    println!("\nsetguard check on a folder of manifests, one object per file");
    let whole = |i: u32| manifest(i, &format!("team-{}", i % 50));
    let [_, many] = [1_000, 10_000].map(|count| run(&written(count, &whole), count, &[], ""));
    // OnDelete ignores these fields.
    let faulty = |i: u32| {
        let more = "updateStrategy: {type: OnDelete, rollingUpdate: {";
        let daemon = whole(i).replace("updateStrategy: {rollingUpdate: {", more);
        daemon.replace("replicas: 3", &format!("replicas: 3\n  {more}partition: 1}}}}"))
    };
    run(&written(10_000, &faulty), 10_000, &[], ", with a finding in each");
    let folder = written(10_000, &whole);
    commit(folder.path());
    run(&folder, 10_000, &["--against-ref", "HEAD"], ", compared with a commit");
    many
}

/// Writes a folder of manifests.
fn written(count: u32, manifest: &dyn Fn(u32) -> String) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for i in 0..count {
        fs::write(folder.path().join(format!("{i}.yaml")), manifest(i)).expect("a file");
    }
    folder
}

/// Commits all files of a folder to a repository of its own.
fn commit(folder: &Path) {
    let identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
    for args in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "all"]] {
        let ran = Command::new("git").args(identity).args(args).current_dir(folder).output();
        assert!(ran.expect("git").status.success(), "git {args:?}");
    }
}

fn run(folder: &TempDir, count: u32, args: &[&str], title: &str) -> Cost {
    let logs = tempfile::tempdir().expect("a folder");
    let args = [&["check", ".", "--format=json"], args].concat();
    let program = setguard().canonicalize().expect("setguard");
    let mut process = Process::start_in(folder.path(), &program, &args, logs.path());
    let (status, cost) = wait_for(&mut process);
    let report = fs::read_to_string(&process.output).unwrap_or_default();
    assert!(matches!(status.code(), Some(0 | 1)), "setguard check ended with {status}");
    let report: Value = serde_json::from_str(&report).expect("a report");
    assert_eq!(report["summary"]["objects"], count, "every object must be checked");
    println!("{count:6} files{title}  {:.2} s  {:.1} MiB at most", cost.seconds, cost.memory);
    cost
}

/// A manifest, with names in braces for what differs between manifests.
const MANIFEST: &str = "\
# Workload number {i}
apiVersion: apps/v1
kind: {kind}
metadata:
  name: {name}
  namespace: {namespace}
  labels:
    app.kubernetes.io/name: {name}
    app.kubernetes.io/part-of: load
spec:
  {more}
  selector:
    matchLabels:
      app.kubernetes.io/name: {name}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {name}
    spec:
      securityContext:
        runAsNonRoot: true
      terminationGracePeriodSeconds: 30
      containers:
        - name: main
          image: registry.example/workload:1.{i}
          args: [--config=/etc/workload/config.yaml, --log-level=info]
          env:
            - name: NODE_NAME
              valueFrom:
                fieldRef:
                  fieldPath: spec.nodeName
            - name: NUMBER
              value: \"{i}\"
          ports:
            - name: http
              containerPort: 8080
          readinessProbe: {\"httpGet\":{\"path\":\"/healthz\",\"port\":\"http\"},\"periodSeconds\":10}
          resources:
            requests:
              cpu: 100m
              memory: 64Mi
            limits:
              memory: 128Mi
          volumeMounts:
            - name: config
              mountPath: /etc/workload
      volumes:
        - name: config
          configMap:
            name: workload
";

/// A manifest as people write it, with a comment. Every second one is a DaemonSet.
pub(crate) fn manifest(i: u32, namespace: &str) -> String {
    let name = format!("workload-{i}");
    let (kind, more) = if i.is_multiple_of(2) {
        ("DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}")
    } else {
        ("StatefulSet", "serviceName: workload\n  replicas: 3")
    };
    let i = i.to_string();
    let values = [
        ("{i}", &*i),
        ("{kind}", kind),
        ("{name}", &name),
        ("{namespace}", namespace),
        ("{more}", more),
    ];
    values.iter().fold(MANIFEST.to_owned(), |text, (name, value)| text.replace(name, value))
}

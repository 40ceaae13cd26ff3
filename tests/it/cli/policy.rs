//! The policy: modes, exceptions and its own faults.

use setguard_testing::recorded::snapshot;

use super::{Folder, GOOD, policy};

/// A StatefulSet with a trap: its partition is above its replicas, so no pod is ever updated.
const PARTITIONED: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 5}}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: a}]}
";

#[test]
fn warnings_are_denied_by_a_flag_and_turned_off_by_policy() {
    let warn = [("partition-covers-all", "warn")];
    let excepted = "exceptions:\n- rules: [partition-covers-all]\n  reason: staged by hand\n";
    let expired = format!("{excepted}  expires: 2020-01-01\n");
    let folder = Folder::new([
        ("a.yaml", PARTITIONED),
        ("off.yaml", &policy(&[], "")),
        ("warn.yaml", &policy(&warn, "")),
        ("deny.yaml", &policy(&[("partition-covers-all", "deny")], "")),
        ("excepted.yaml", &policy(&warn, excepted)),
        ("expired.yaml", &policy(&warn, &expired)),
    ]);
    let run = |args: &[&str]| {
        let ran = folder.run(&[&["check", "a.yaml"], args].concat());
        assert_eq!(ran.stderr, "");
        (ran.code, ran.stdout)
    };
    let (code, text) = run(&["--policy", "warn.yaml"]);
    assert_eq!(code, 0);
    assert!(text.contains("warning[partition-covers-all]"), "{text}");
    assert!(text.contains("0 denied, 1 warned"), "{text}");
    let (code, text) = run(&["--policy", "warn.yaml", "--deny-warnings"]);
    assert_eq!(code, 1);
    assert!(text.contains("error[partition-covers-all]"), "{text}");
    assert_eq!(run(&["--policy", "off.yaml"]).0, 0);
    assert_eq!(run(&["--policy", "deny.yaml"]).0, 1);
    let (code, text) = run(&["--policy", "excepted.yaml", "--deny-warnings"]);
    assert_eq!(code, 0);
    assert!(text.contains("note[partition-covers-all]"), "{text}");
    assert!(text.contains("exempted by the policy: staged by hand"), "{text}");
    let (code, text) = run(&["--policy", "expired.yaml"]);
    assert_eq!(code, 0);
    assert!(text.contains("expired on 2020-01-01"), "{text}");
    let (_, report) = folder.json(&["a.yaml", "--policy", "expired.yaml"]);
    assert_eq!(report["remarks"][0]["object"]["name"], "db");
}

#[test]
fn an_exception_applies_to_findings_about_a_pod() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata:
  generateName: agent-
  namespace: ops
  annotations: {setguard.io/node: worker-0}
spec:
  containers: [{name: agent, image: a}]
";
    let deny = "injection: {unpairedAnnotation: deny}\n";
    let excepted = "exceptions:\n- rules: [unpaired-node-annotation]\n  namespaces: [ops]\n  \
                    names: ['agent-*']\n  reason: made by hand\n";
    let folder = Folder::new([
        ("pod.yaml", pod),
        ("deny.yaml", &policy(&[], deny)),
        ("excepted.yaml", &policy(&[], &format!("{deny}{excepted}"))),
    ]);
    let inject =
        |policy: &str| folder.run(&["inject", "pod.yaml", "--user", "bob", "--policy", policy]);
    let denied = inject("deny.yaml");
    assert_eq!(denied.code, 1);
    assert!(denied.stderr.contains("agent-: deny: unpaired-node-annotation"), "{}", denied.stderr);
    let excepted = inject("excepted.yaml");
    assert_eq!((excepted.code, excepted.stderr.as_str()), (0, ""));
}

#[test]
fn a_wrong_policy_is_shown_with_its_lines() {
    let policy = "\
apiVersion: setguard.io/v1alpha1
kind: Policy
rules:
  partition-covers-al: warn
  schema: off
  surge-host-port: wran
exceptions:
- rules: []
  raeson: x
injection: {nodePin: 'yes'}
";
    let folder = Folder::new([("a.yaml", GOOD), ("policy.yaml", policy)]);
    let ran = folder.run(&["check", "a.yaml", "--policy", "policy.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    snapshot("cli/a_wrong_policy_is_shown_with_its_lines", &ran.stderr);
}

#[test]
fn a_policy_cannot_inject_what_no_pod_may_have() {
    for (toleration, field) in [
        ("{key: bad key}", "key"),
        ("{key: a/b/c}", "key"),
        ("{key: '', operator: Equal}", "operator"),
        ("{key: a, operator: Equal, value: b c}", "value"),
    ] {
        let policy = format!(
            "apiVersion: setguard.io/v1alpha1\nkind: Policy\ninjection: {{tolerations: [{toleration}]}}\n"
        );
        let folder = Folder::new([("a.yaml", GOOD), ("policy.yaml", policy.as_str())]);
        let ran = folder.run(&["check", "a.yaml", "--policy", "policy.yaml"]);
        let named = ran.stderr.contains(&format!("injection.tolerations[0].{field}"));
        assert!(ran.code == 2 && named, "{toleration}: {}", ran.stderr);
    }
}

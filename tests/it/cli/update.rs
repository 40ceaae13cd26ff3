//! Manifests that replace older ones, `--against` and `--as`.

use super::{Folder, GOOD, indent};

const WEB: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 2
  updateStrategy:
    type: OnDelete
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: 'registry.local/web:1'}
";

#[test]
fn against_means_apply_unless_it_says_replace() {
    let rolling = WEB.replace("  updateStrategy:\n    type: OnDelete\n", "");
    let folder = Folder::new([("new.yaml", WEB), ("old.yaml", rolling.as_str())]);
    for verb in ["apply", "server-side-apply"] {
        let (code, report) = folder.json(&["new.yaml", "--against", "old.yaml", "--as", verb]);
        assert_eq!(code, 1, "{verb}: {report}");
        // The block is a default of the old object, so the nearest mapping of the new one is shown.
        let finding = &report["findings"][0];
        assert_eq!(finding["field"], "spec.updateStrategy.rollingUpdate", "{verb}: {report}");
        assert_eq!((&finding["line"], &finding["column"]), (&7.into(), &3.into()), "{verb}");
    }
    let replace = ["check", "new.yaml", "--against", "old.yaml", "--as", "replace"];
    assert_eq!(folder.run(&replace).code, 0);
    // Server-side apply refuses what other commands accept, also for a new object.
    assert_eq!(folder.run(&["check", "new.yaml", "--as", "replace"]).code, 0);
}

#[test]
fn a_field_that_another_owns_stays() {
    let scaled = WEB
        .replace("replicas: 2", "replicas: 5")
        .replace("{name: web}\nspec", "\n  name: web\n  uid: u\nspec");
    let with_claims = |text: &str| {
        format!(
            "{text}  persistentVolumeClaimRetentionPolicy: {{whenScaled: Delete}}
  volumeClaimTemplates:
    - metadata: {{name: data}}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {{requests: {{storage: 1Gi}}}}
"
        )
    };
    let bare = with_claims(&WEB.replace("  replicas: 2\n", ""));
    let folder = Folder::new([
        ("new.yaml", bare.as_str()),
        ("live.yaml", &with_claims(&scaled)),
        ("manifest.yaml", &with_claims(&WEB.replace("replicas: 2", "replicas: 5"))),
        ("policy.yaml", "apiVersion: setguard.io/v1alpha1\nkind: Policy\n"),
    ]);
    let removes = |old: &str, verb: &str| {
        let arguments = ["new.yaml", "--policy", "policy.yaml", "--against", old, "--as", verb];
        let (_, report) = folder.json(&arguments);
        report.to_string().contains("claims-deleted-on-scale-down")
    };
    assert!(!removes("live.yaml", "apply"), "nothing says that replicas were applied");
    assert!(!removes("live.yaml", "server-side-apply"));
    assert!(removes("live.yaml", "replace"));
    assert!(removes("manifest.yaml", "apply"), "replicas are no longer in the manifest");
}

#[test]
fn against_makes_it_an_update() {
    let changed = GOOD.replace("app: agent", "app: other");
    let folder = Folder::new([
        ("new/a.yaml", changed.as_str()),
        ("old/b.yaml", &format!("kind: List\napiVersion: v1\nitems:\n- {}", indent(GOOD))),
    ]);
    assert_eq!(folder.run(&["check", "new"]).code, 0);
    let (code, report) = folder.json(&["new", "--against", "old"]);
    assert_eq!(code, 1, "{report}");
    let finding = &report["findings"][0];
    assert_eq!(finding["field"], "spec.selector");
    assert!(finding["message"].as_str().unwrap().contains("immutable"), "{finding}");
    // An object in another namespace is another object.
    let elsewhere = changed.replace("{name: agent}", "{name: agent, namespace: other}");
    folder.write("new/a.yaml", elsewhere.as_bytes());
    assert_eq!(folder.run(&["check", "new", "--against", "old"]).code, 0);
}

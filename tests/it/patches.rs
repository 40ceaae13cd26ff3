//! Objects that a kustomization changes before they are applied: a denial stays, a warning can become a note, and a patch
//! is no object.

use crate::folder::{Folder, Ran};

/// A set of a game without storage in its claim, which the API server refuses.
const PARTIAL: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: palworld}\nspec:\n  \
     selector: {matchLabels: {app: palworld}}\n  serviceName: palworld\n  \
     template:\n    metadata: {labels: {app: palworld}}\n    \
     spec: {containers: [{name: main, image: \"game:1\", readinessProbe: {exec: {command: [ok]}},\n      \
     volumeMounts: [{name: data, mountPath: /data}]}]}\n  \
     volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]\n";

/// The same set without claims.
fn whole() -> String {
    let (set, _) = PARTIAL.split_once("  volumeClaimTemplates").unwrap();
    set.replace(",\n      volumeMounts: [{name: data, mountPath: /data}]", "")
}

fn folder(kustomization: &str) -> Folder {
    let folder = Folder::new([("base/set.yaml", PARTIAL)]);
    folder.write("base/kustomization.yaml", kustomization);
    folder
}

fn check(folder: &Folder) -> Ran {
    folder.setguard(&["check", "."])
}

#[test]
fn a_denial_stays_whatever_a_kustomization_changes() {
    let storage = "{spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: \
                   {requests: {storage: 1Gi}}}}]}}";
    let inline = format!(
        "- patch: |-\n    {{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: palworld}},\n     {}\n",
        &storage[1..]
    );
    for patches in [
        &format!("patches:\n{inline}"),
        "replacements: [{targets: [{select: {kind: StatefulSet}, \
         fieldPaths: [spec.volumeClaimTemplates.0.spec.resources.requests.storage]}]}]",
        "commonLabels: {team: games}",
        "images: [{name: game, newTag: \"2\"}]",
    ] {
        let folder = folder(&format!("resources: [set.yaml]\n{patches}\n"));
        let ran = check(&folder);
        assert_eq!(ran.code, 1, "{patches}: {ran:?}");
        assert!(ran.stdout.contains("error[api-validation]"), "{patches}: {ran:?}");
    }
}

#[test]
fn a_part_of_a_set_is_not_checked_where_it_seems_to_be_a_patch() {
    let part = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: palworld}\nspec:\n  template:\n    \
                spec: {containers: [{name: main}]}\n";
    let with = |kustomization: &str| {
        let folder = folder(&format!("resources: [set.yaml]\n{kustomization}"));
        folder.write("base/set.yaml", whole());
        folder
    };
    // From overlays/default of ThinkParQ/beegfs-csi-driver, and manifests/dev of gcp-filestore-csi-driver.
    // From examples of networkservicemesh/deployments-k8s.
    for file in [
        "base/other.yaml",
        "base/patches/limits.yaml",
        "examples/patches/limits.yaml",
        "examples/patch-forwarder.yaml",
    ] {
        let folder = with("");
        folder.write(file, part);
        let ran = check(&folder);
        assert_eq!(ran.code, 0, "{file}: {ran:?}");
        let text = format!(
            "not checked: ./{file}:1: without a selector and labels, this seems to be a patch"
        );
        assert!(ran.stdout.contains(&text), "{file}: {ran:?}");
        assert_eq!(folder.setguard(&["check", file]).code, 1, "{file}");
    }
    // As cloud-provider-aws lists its patches.
    let old = with("patches: [part.yaml]\n");
    old.write("base/part.yaml", part);
    let ran = check(&old);
    let text = "not checked: ./base/part.yaml:1: it is a part of ./base; kubectl kustomize ./base";
    assert!(ran.code == 0 && ran.stdout.contains(text), "{ran:?}");
    // Nothing says that these are patches.
    for file in ["deploy/other.yaml", "base/deep/deeper/other.yaml"] {
        let folder = with("");
        folder.write(file, part);
        assert_eq!(check(&folder).code, 1, "{file}");
    }
    let listed = folder("resources: [set.yaml, part.yaml]\n");
    listed.write("base/set.yaml", whole());
    listed.write("base/part.yaml", part.replace("palworld", "other"));
    assert_eq!(check(&listed).code, 1);
}

/// Flux replaces these, and so does `envsubst`: from kube-vip of rwlove/home-ops.
#[test]
fn what_is_wrong_about_a_placeholder_is_not_denied() {
    let set = whole();
    for (old, new, name) in [
        ("spec: {c", "spec: {nodeSelector: {host: \"m1.${DOMAIN}\"}, c", "${DOMAIN}"),
        ("  serviceName", "  replicas: ${REPLICAS:=2}\n  serviceName", "${REPLICAS:=2}"),
        // From ibm-vpc-block-csi-driver.
        ("  serviceName", "  replicas: \"{{replicas}}\"\n  serviceName", "{{replicas}}"),
        // The variables of kustomize, as in odh-manifests, and of a shell, as in network-metrics-daemon.
        ("spec: {c", "spec: {nodeSelector: {host: $(node)}, c", "$(node)"),
        ("  serviceName", "  replicas: $REPLICAS\n  serviceName", "$REPLICAS"),
    ] {
        let set = set.replace(old, new);
        let folder = Folder::new([("apps/set.yaml", set.as_str())]);
        let ran = check(&folder).ends(0);
        let note = format!("not denied: {name} seems to be replaced before this is applied");
        assert!(ran.stdout.contains(&note), "{ran:?}");
        assert!(ran.stdout.contains("not checked: ./apps/set.yaml:"), "{ran:?}");
        // A file that is named, and a rendered one, are applied as they are.
        assert_eq!(folder.setguard(&["check", "apps/set.yaml"]).code, 1);
        assert_eq!(folder.feed(&["check", "-"], &set).code, 1);
    }
}

#[test]
fn a_plan_of_a_refused_set_says_which_kustomization_changes_it() {
    let patch = "{kind: StatefulSet, spec: {replicas: 3}}";
    let folder = folder(&format!("resources: [set.yaml]\npatches:\n- patch: |-\n    {patch}\n"));
    let ran = folder.setguard(&["plan", "."]).ends(1);
    let note = "./base changes this object; plan what it builds: kubectl kustomize ./base | setguard plan -";
    assert!(ran.stdout.contains(note) && ran.stdout.contains("refused"), "{ran:?}");
}

/// From kind of rabbitmq/diy-kubernetes-examples.
#[test]
fn a_label_that_a_kustomization_adds_is_not_missing_for_a_service() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: palworld}\nspec:\n  clusterIP: None\n  \
                   selector: {app: palworld, part-of: games}\n";
    for (labels, severity) in [
        ("", "warning"),
        ("commonLabels: {part-of: games}\n", "note"),
        // From gitea-mirror of shikanime/manifests.
        ("labels: [{includeTemplates: true, pairs: {part-of: games}}]\n", "note"),
    ] {
        let folder = folder(&format!("resources: [set.yaml, service.yaml]\n{labels}"));
        folder.write("base/set.yaml", whole());
        folder.write("base/service.yaml", service);
        let ran = check(&folder);
        let found = format!("{severity}[service-selects-nothing]");
        assert!(ran.stdout.contains(&found), "{ran:?}");
    }
}

/// From topolvm of cybozu-go/neco-apps: the patch replaces the tolerations.
#[test]
fn a_warning_about_a_field_that_a_kustomization_changes_is_a_note() {
    let set = whole().replace(
        "    spec: {c",
        "    spec: {tolerations: [{key: node-role.kubernetes.io/master, effect: NoSchedule}], c",
    );
    for (patch, severity) in [
        ("tolerations: [{key: example.com/master}]", "note"),
        ("nodeSelector: {disk: ssd}", "warning"),
    ] {
        let folder = folder("resources: [set.yaml]\npatches: [{path: env/patch.yaml}]\n");
        folder.write("base/set.yaml", &set);
        let patch = format!("kind: StatefulSet\nspec: {{template: {{spec: {{{patch}}}}}}}\n");
        folder.write("base/env/patch.yaml", patch);
        let ran = check(&folder);
        let found = format!("{severity}[legacy-master-toleration]");
        assert!(ran.stdout.contains(&found), "{ran:?}");
    }
}

//! Objects that a kustomization changes before they are applied: their files need not be whole.

use crate::folder::{Folder, Ran};

/// The set of d-uzlov/k8s-homelab: patches that are not in git complete the claim.
const PARTIAL: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: palworld}\nspec:\n  \
     selector: {matchLabels: {app: palworld}}\n  serviceName: palworld\n  \
     template:\n    metadata: {labels: {app: palworld}}\n    \
     spec: {containers: [{name: main, image: \"game:1\", readinessProbe: {exec: {command: [ok]}},\n      \
     volumeMounts: [{name: data, mountPath: /data}]}]}\n  \
     volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]\n";

fn folder(kustomization: &str) -> Folder {
    let folder = Folder::new([("base/set.yaml", PARTIAL)]);
    folder.write("base/kustomization.yaml", kustomization);
    folder
}

fn check(folder: &Folder) -> Ran {
    folder.setguard(&["check", "."])
}

#[test]
fn what_a_patch_may_complete_is_not_denied() {
    let storage = "{spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: \
                   {requests: {storage: 1Gi}}}}]}}";
    let inline = format!(
        "- patch: |-\n    {{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: palworld}},\n     \
         {}\n",
        &storage[1..]
    );
    let operation = "[{op: add, path: /spec/volumeClaimTemplates/0/spec/resources, value: {}}]";
    for patches in [
        // The file is not in the repository.
        "patches: [{path: env/patch.yaml}]",
        "patchesStrategicMerge: [env/patch.yaml]",
        &format!("patches:\n{inline}"),
        &format!(
            "patches: [{{target: {{kind: StatefulSet, name: pal.*}}, patch: \"{operation}\"}}]"
        ),
        &format!("patches: [{{target: {{name: my-palworld}}, patch: \"\\n{storage}\"}}]"),
        "replacements: [{targets: [{select: {kind: StatefulSet}, \
         fieldPaths: [spec.volumeClaimTemplates.0.spec.resources.requests.storage]}]}]",
    ] {
        let folder = folder(&format!("resources: [set.yaml]\n{patches}\n"));
        let ran = check(&folder);
        assert_eq!(ran.code, 0, "{patches}: {ran:?}");
        let note = "not denied: ./base changes this; check what it builds: \
                    kubectl kustomize ./base | setguard check -";
        assert!(ran.stdout.contains(note), "{patches}: {ran:?}");
        // A file that is named is checked as it is.
        assert_eq!(folder.setguard(&["check", "base/set.yaml"]).code, 1, "{patches}");
    }
}

#[test]
fn what_no_patch_changes_is_denied() {
    for patches in [
        "patches: [{target: {kind: Deployment}, path: env/patch.yaml}]",
        "patches: [{target: {kind: StatefulSet, name: other}, path: env/patch.yaml}]",
        "patches: [{patch: \"\\n{kind: StatefulSet, metadata: {name: palworld}, spec: {replicas: 2}}\"}]",
        "patches: [{target: {kind: StatefulSet}, patch: \"[{op: add, path: /spec/replicas, value: 2}]\"}]",
        "commonLabels: {team: games}",
        "images: [{name: game, newTag: \"2\"}]",
    ] {
        let folder = folder(&format!("resources: [set.yaml]\n{patches}\n"));
        let ran = check(&folder);
        assert_eq!(ran.code, 1, "{patches}: {ran:?}");
    }
}

#[test]
fn an_overlay_and_a_component_change_the_resources_of_a_base() {
    let folder = folder("resources: [set.yaml]\n");
    assert_eq!(check(&folder).code, 1);
    folder.write("prod/kustomization.yaml", "resources: [../base]\ncomponents: [../claim]\n");
    assert_eq!(check(&folder).code, 1);
    folder
        .write("claim/kustomization.yaml", "kind: Component\npatches: [{path: env/patch.yaml}]\n");
    let ran = check(&folder);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("kubectl kustomize ./prod"), "{ran:?}");
}

#[test]
fn the_selector_that_common_labels_add_is_not_missing() {
    let set = PARTIAL
        .replace("  selector: {matchLabels: {app: palworld}}\n", "")
        .replace("accessModes", "resources: {requests: {storage: 1Gi}}, accessModes");
    let folder = Folder::new([("set.yaml", &*set)]);
    assert_eq!(check(&folder).code, 1);
    for labels in ["commonLabels: {a: b}", "labels: [{includeSelectors: true, pairs: {a: b}}]"] {
        folder.write("kustomization.yaml", format!("resources: [set.yaml]\n{labels}\n"));
        let ran = check(&folder);
        assert_eq!(ran.code, 0, "{labels}: {ran:?}");
    }
    folder.write("kustomization.yaml", "resources: [set.yaml]\nlabels: [{pairs: {a: b}}]\n");
    assert_eq!(check(&folder).code, 1);
}

#[test]
fn a_volume_that_a_patch_may_define_is_not_missing() {
    let set = PARTIAL.replace("{name: data, mountPath", "{name: watch, mountPath");
    let set = set.replace("accessModes", "resources: {requests: {storage: 1Gi}}, accessModes");
    let folder = Folder::new([("set.yaml", &*set)]);
    assert_eq!(check(&folder).code, 1);
    folder.write("kustomization.yaml", "resources: [set.yaml]\npatches: [{path: patch.yaml}]\n");
    folder.write(
        "patch.yaml",
        "kind: StatefulSet\nspec: {template: {spec: {volumes: [{name: watch}]}}}\n",
    );
    let ran = check(&folder);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn a_part_of_a_set_that_no_kustomization_lists_seems_to_be_a_patch() {
    let part = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: palworld}\nspec:\n  template:\n    \
                spec: {containers: [{name: main}]}\n";
    // From overlays/default of ThinkParQ/beegfs-csi-driver, and manifests/dev of gcp-filestore-csi-driver.
    // From examples of networkservicemesh/deployments-k8s.
    for file in [
        "base/other.yaml",
        "base/patches/limits.yaml",
        "examples/patches/limits.yaml",
        "examples/patch-forwarder.yaml",
    ] {
        let folder = folder("resources: [set.yaml]\npatches: [{path: env/patch.yaml}]\n");
        folder.write(file, part);
        let ran = check(&folder);
        assert_eq!(ran.code, 0, "{file}: {ran:?}");
        let note = "not denied: without a selector and labels, this seems to be a patch";
        assert!(ran.stdout.contains(note), "{file}: {ran:?}");
        assert_eq!(folder.setguard(&["check", file]).code, 1, "{file}");
    }
    // As cloud-provider-aws lists its patches.
    let old = folder("resources: [../other]\npatches: [part.yaml]\n");
    old.write("base/part.yaml", part);
    assert!(!check(&old).stdout.contains("part.yaml"));
    // Nothing says that these are patches.
    for file in ["deploy/other.yaml", "base/deep/deeper/other.yaml"] {
        let folder = folder("resources: [set.yaml]\npatches: [{path: env/patch.yaml}]\n");
        folder.write(file, part);
        assert_eq!(check(&folder).code, 1, "{file}");
    }
    let listed = folder("resources: [set.yaml, part.yaml]\npatches: [{path: env/patch.yaml}]\n");
    listed.write("base/part.yaml", part.replace("palworld", "other"));
    listed.write("base/env/patch.yaml", PARTIAL);
    assert_eq!(check(&listed).code, 1);
}

/// Flux replaces these, and so does `envsubst`: from kube-vip of rwlove/home-ops.
#[test]
fn what_is_wrong_about_a_placeholder_is_not_denied() {
    let set = PARTIAL.split_once("  volumeClaimTemplates").unwrap().0;
    let set = set.replace(",\n      volumeMounts: [{name: data, mountPath: /data}]", "");
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
        let ran = check(&folder);
        assert_eq!(ran.code, 0, "{ran:?}");
        let note = format!("not denied: {name} seems to be replaced before this is applied");
        assert!(ran.stdout.contains(&note), "{ran:?}");
        // A file that is named, and a rendered one, are applied as they are.
        assert_eq!(folder.setguard(&["check", "apps/set.yaml"]).code, 1);
        assert_eq!(folder.feed(&["check", "-"], &set).code, 1);
    }
}

#[test]
fn a_plan_does_not_call_refused_what_a_kustomization_completes() {
    let folder = folder("resources: [set.yaml]\npatches: [{path: env/patch.yaml}]\n");
    let ran = folder.setguard(&["plan", "."]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let note = "not simulated: ./base changes this; plan what it builds: \
                kubectl kustomize ./base | setguard plan -";
    assert!(ran.stdout.contains(note) && !ran.stdout.contains("refused"), "{ran:?}");
    // A file that is named is planned as it is.
    assert_eq!(folder.setguard(&["plan", "base/set.yaml"]).code, 1);
}

/// From kind of rabbitmq/diy-kubernetes-examples.
#[test]
fn a_label_that_a_kustomization_adds_is_not_missing_for_a_service() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: palworld}\nspec:\n  clusterIP: None\n  \
                   selector: {app: palworld, part-of: games}\n";
    let (set, _) = PARTIAL.split_once("  volumeClaimTemplates").unwrap();
    let set = set.replace(",\n      volumeMounts: [{name: data, mountPath: /data}]", "");
    for (labels, severity) in [
        ("", "warning"),
        ("commonLabels: {part-of: games}\n", "note"),
        // From gitea-mirror of shikanime/manifests.
        ("labels: [{includeTemplates: true, pairs: {part-of: games}}]\n", "note"),
    ] {
        let folder = folder(&format!("resources: [set.yaml, service.yaml]\n{labels}"));
        folder.write("base/set.yaml", &set);
        folder.write("base/service.yaml", service);
        let ran = check(&folder);
        let found = format!("{severity}[service-selects-nothing]");
        assert!(ran.stdout.contains(&found), "{ran:?}");
    }
}

/// From topolvm of cybozu-go/neco-apps: the patch replaces the tolerations.
#[test]
fn a_warning_about_a_field_that_a_kustomization_changes_is_a_note() {
    let (set, _) = PARTIAL.split_once("  volumeClaimTemplates").unwrap();
    let set = set.replace(",\n      volumeMounts: [{name: data, mountPath: /data}]", "").replace(
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

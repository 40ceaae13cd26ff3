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

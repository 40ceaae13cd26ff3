//! The programs that deploy objects: they decide whether fields stay that a manifest lacks, and deploy a change
//! again that a command has rolled back.

use serde_json::Value;

use crate::{
    folder::Folder,
    plan::{planned, stateful_set},
};

const PARTITION: &str = "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}\n";

/// Fields of a manager: the template, the partition and the annotation of Helm.
fn fields(manager: &str, operation: &str, time: &str) -> String {
    format!(
        "{{manager: {manager}, operation: {operation}, apiVersion: apps/v1, time: '2026-11-{time}T00:00:00Z',
          fieldsType: FieldsV1, fieldsV1: {{
            \"f:metadata\": {{\"f:annotations\": {{\"f:meta.helm.sh/release-name\": {{}}}}}},
            \"f:spec\": {{\"f:template\": {{}},
              \"f:updateStrategy\": {{\"f:rollingUpdate\": {{\"f:partition\": {{}}}}}}}}}}}}"
    )
}

/// Plans a manifest without the partition of the object in the cluster, which has this metadata.
fn plan(metadata: &str, args: &str) -> Value {
    let stored = format!("namespace: shop, uid: u1, {metadata}");
    let before = stateful_set("db", 3, "db:1", PARTITION).replacen("namespace: shop", &stored, 1);
    let after = stateful_set("db", 3, "db:2", "");
    let folder = Folder::new([("before.yaml", before.as_str()), ("after.yaml", after.as_str())]);
    let (ran, plan) = planned(&folder, &format!("after.yaml --against before.yaml {args}"));
    assert_eq!(ran.code, 0, "{ran:?}");
    plan["objects"][0].clone()
}

/// The number of replaced pods, and the notes.
fn outcome(plan: &Value) -> (u64, String) {
    let replaced = plan["summary"]["replaced"].as_u64().expect("a number");
    (replaced, plan["notes"].to_string())
}

#[test]
fn fields_of_the_last_writer_are_removed() {
    let flux = fields("kustomize-controller", "Apply", "20");
    let helm = fields("helm", "Update", "20");
    for (managed, name) in [
        (flux.clone(), "server-side apply by kustomize-controller"),
        (helm.clone(), "an upgrade by helm"),
        (format!("{helm}, {}", fields("helm", "Apply", "21")), "server-side apply by helm"),
    ] {
        let (replaced, notes) = outcome(&plan(&format!("managedFields: [{managed}]"), ""));
        let one_owner = managed.matches("manager:").count() == 1;
        assert_eq!(replaced, if one_owner { 3 } else { 1 }, "{name}: {notes}");
        assert_eq!(
            notes.contains(&format!("as in {name}, the last to write")),
            one_owner,
            "{notes}"
        );
    }
    // The command that is given counts.
    let metadata = format!("managedFields: [{flux}]");
    for args in ["--as apply", "--as server-side-apply"] {
        let (replaced, notes) = outcome(&plan(&metadata, args));
        assert!(replaced == 1 && !notes.contains("as in"), "{args}: {notes}");
    }
    let manager = "--as server-side-apply --field-manager kustomize-controller";
    assert_eq!(outcome(&plan(&metadata, manager)).0, 3);
}

#[test]
fn fields_of_other_writers_stay() {
    // kubectl apply is known by its annotation; a program that updates objects leaves fields that it lacks.
    let applied = "annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}";
    let edited =
        fields("kubectl-edit", "Update", "20").replace("f:meta.helm.sh/release-name", "f:a");
    let flux = fields("kustomize-controller", "Apply", "20");
    for metadata in
        [format!("{applied}, managedFields: [{flux}]"), format!("managedFields: [{edited}]")]
    {
        let (replaced, notes) = outcome(&plan(&metadata, ""));
        assert!(replaced == 1 && !notes.contains("as in"), "{metadata}: {notes}");
    }
}

#[test]
fn what_is_not_known_about_fields_is_said() {
    let (replaced, notes) = outcome(&plan("resourceVersion: '7'", ""));
    let note = "it isn't known whether fields stay that the manifest lacks: spec.updateStrategy.";
    assert!(replaced == 1 && notes.contains(note), "{notes}");
    let (replaced, notes) = outcome(&plan("resourceVersion: '7'", "--as replace"));
    assert!(replaced == 3 && !notes.contains(note), "{notes}");
}

#[test]
fn a_field_manager_is_for_server_side_apply() {
    let folder = Folder::new([("db.yaml", stateful_set("db", 3, "db:1", "").as_str())]);
    folder
        .setguard(&["plan", "db.yaml", "--as", "replace", "--field-manager", "flux"])
        .ends(2)
        .reports("--field-manager is for --as server-side-apply");
}

#[test]
fn who_deploys_the_object_has_to_roll_back_too() {
    let flux = |group: &str, name: &str| {
        format!(
            "labels: {{{group}.toolkit.fluxcd.io/namespace: flux-system, {group}.toolkit.fluxcd.io/name: {name}}}"
        )
    };
    let helm =
        "annotations: {meta.helm.sh/release-name: front, meta.helm.sh/release-namespace: web}";
    for (metadata, advice) in [
        (
            flux("kustomize", "apps"),
            "Flux deploys it (the Kustomization apps in flux-system): revert the change",
        ),
        (
            flux("helm", "db") + ", " + helm,
            "Flux deploys it (the HelmRelease db in flux-system): revert the change",
        ),
        (
            "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/StatefulSet:shop/db'}"
                .to_owned(),
            "Argo CD deploys it (the application shop): revert the change in git too",
        ),
        (
            helm.to_owned(),
            "Helm deploys it: helm rollback front -n web rolls the whole release back",
        ),
    ] {
        let (_, notes) = outcome(&plan(&metadata, "--as replace"));
        assert!(!notes.contains("deploys it"), "replace removes what names the tool: {notes}");
        let (_, notes) = outcome(&plan(&metadata, "--as apply"));
        assert!(notes.contains(advice), "{metadata}: {notes}");
    }
}

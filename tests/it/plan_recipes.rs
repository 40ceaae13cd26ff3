//! Runs the recipes of docs/plan.md for charts and kustomizations in a repository.

use setguard_testing::harness::process::path_with;

use crate::prelude::*;

const PAGE: &str = include_str!("../../docs/plan.md");

const CHART: &str = "apiVersion: v2\nname: shop\nversion: 0.1.0\n";

const KUSTOMIZATION: &str = "\
namespace: shop
resources: [../../base]
images: [{name: db, newTag: \"1.4\"}]
";

fn objects(image: &str) -> String {
    include_str!("../fixtures/manifests/guarded-set.yaml").replace("IMAGE", image)
}

fn repository() -> Folder {
    let chart = objects("db:{{ .Values.tag }}");
    let folder = Folder::new([
        ("repository/chart/Chart.yaml", CHART),
        ("repository/chart/values.yaml", "tag: \"1.4\"\n"),
        ("repository/chart/templates/db.yaml", chart.as_str()),
        ("repository/base/db.yaml", objects("db").as_str()),
        ("repository/base/kustomization.yaml", "resources: [db.yaml]\n"),
        ("repository/overlays/prod/kustomization.yaml", KUSTOMIZATION),
    ]);
    for args in
        ["init -q", "add .", "commit -q -m before", "update-ref refs/remotes/origin/main HEAD"]
    {
        folder.git(&format!("-C repository {args}"));
    }
    for file in ["repository/chart/values.yaml", "repository/overlays/prod/kustomization.yaml"] {
        folder.write(file, folder.read(file).replace("1.4", "1.5"));
    }
    folder
}

fn commands(beginning: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(beginning).expect("a recipe");
    let (_, rest) = rest.split_once("```sh\n").expect("its commands");
    rest.split_once("```").expect("their end").0
}

fn follow(recipe: &str) -> Ran {
    let folder = repository();
    let script = commands("## Charts and kustomizations").to_owned() + commands(recipe);
    let mut programs = vec![Path::new(env!("CARGO_BIN_EXE_setguard")).parent().unwrap().to_owned()];
    programs.extend(helm::find().and_then(|helm| helm.parent().map(Path::to_owned)));
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &script]).current_dir(folder.path("repository"));
    Ran::from(bash.env("PATH", path_with(programs)).output().expect("bash"))
}

fn compares(recipe: &str) {
    let ran = follow(recipe);
    let plan = [
        "StatefulSet shop/db   RollingUpdate, OrderedReady, 3 replicas\n",
        "  ~ spec.template.spec.containers[db].image: db:1.4 -> db:1.5\n",
        "  * 1. db-2 replaced\n",
        "PodDisruptionBudget least",
    ];
    assert!(ran.code == 0 && plan.iter().all(|text| ran.stdout.contains(text)), "{ran:?}");
    assert!(!ran.stdout.contains("is new") && !ran.stdout.contains("is deleted"), "{ran:?}");
}

#[test]
fn charts_are_compared_as_they_are_rendered() {
    if helm::find().is_some() {
        compares("**Helm.**");
    }
}

#[test]
fn kustomizations_are_compared_as_they_are_built() {
    match Command::new("kubectl").args(["kustomize", "--help"]).output() {
        Ok(output) if output.status.success() => compares("**Kustomize.**"),
        _ => eprintln!("skipped: kubectl not found"),
    }
}

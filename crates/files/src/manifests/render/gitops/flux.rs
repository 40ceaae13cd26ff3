//! The objects of Flux.

use std::{
    path::{Path, PathBuf},
    slice,
};

use ignore::gitignore::Gitignore;
use serde_json::{Value, json};
use setguard_core::policy::file_patterns::patterns;
use walkdir::DirEntry;

use super::{Changes, Declared, Way, key, keys, not_understood, sorted, text, without};
use crate::manifests::{
    edits::entries,
    files::{self, is_manifest},
};

/// Returns the kind of a source of Flux.
pub(super) fn source_kind(kind: &str) -> Option<&'static str> {
    ["GitRepository", "OCIRepository", "Bucket"].into_iter().find(|it| *it == kind)
}

/// Returns a name without the hash that kustomize adds to it.
///
/// Upstream: `encode`, api/hasher/hasher.go in github.com/kubernetes-sigs/kustomize.
pub(super) fn unhashed(name: &str) -> &str {
    let is_hash = |it: &str| it.len() == 10 && it.chars().all(|it| "bcdfghkmt2456789".contains(it));
    name.rsplit_once('-').filter(|(_, it)| is_hash(it)).map_or(name, |(it, _)| it)
}

/// Returns the files that tell Flux what to leave out of a folder.
pub(super) fn ignores(folder: &Path, top: &Path) -> Vec<PathBuf> {
    const IGNORE: &str = ".sourceignore";
    let above = folder.ancestors().skip(1).take_while(|it| it.starts_with(top));
    let inside = entries(folder).filter(|it| it.file_name() == IGNORE).map(DirEntry::into_path);
    let mut all: Vec<_> = above.map(|it| it.join(IGNORE)).chain(inside).collect();
    all.sort();
    all
}

/// Returns the lines that exclude something from a folder, or include it again, each after its folder. Empty if the
/// whole folder counts, as with a list of what counts in the repository.
pub(super) fn left_out(ignores: &[PathBuf], folder: &Path) -> String {
    let mut all = Vec::new();
    for file in ignores {
        let (Ok(text), Some(root)) = (files::text(file), file.parent()) else { continue };
        let lines: Vec<_> = text.lines().map(str::to_owned).collect();
        all.push((root, patterns(root, &lines), lines));
    }
    if all.is_empty() {
        return String::new();
    }
    let files = entries(folder).map(DirEntry::into_path).filter(|it| is_built(it, folder));
    let files: Vec<_> = files.collect();
    let is_matched = |root: &Path, patterns: &Gitignore, it: &Path| {
        let found = it.starts_with(root).then(|| patterns.matched_path_or_any_parents(it, false));
        found.filter(|it| !it.is_none()).map(|it| it.is_ignore())
    };
    // The last match wins.
    let is_left_out = |it: &PathBuf| {
        let mut all = all.iter().rev();
        all.find_map(|(root, patterns, _)| is_matched(root, patterns, it)) == Some(true)
    };
    if !files.iter().any(is_left_out) {
        return String::new();
    }
    let lines = all.iter().flat_map(|(root, _, lines)| {
        let counts = |line: &&String| {
            let one = patterns(root, slice::from_ref(*line));
            line.starts_with('!') || files.iter().any(|it| is_matched(root, &one, it).is_some())
        };
        let at = root.strip_prefix(folder).unwrap_or(Path::new("")).display();
        lines.iter().filter(counts).map(move |it| format!("{at}: {it}"))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns whether a file may affect what is applied: a manifest, a kustomization or a part of a chart.
fn is_built(file: &Path, folder: &Path) -> bool {
    let mut above = file.ancestors().skip(1).take_while(|it| it.starts_with(folder));
    is_manifest(file)
        || file.file_name().is_some_and(|it| it == "Kustomization")
        || above.any(|it| it.join("Chart.yaml").is_file())
}

/// Returns the source of an object of Flux.
fn way_of_flux(object: &Value, source: &Value, path: Option<String>) -> Way {
    Way {
        path: path.unwrap_or_default(),
        source: json!([reference(source, object), key(source, object)]),
        namespace: text(&object["spec"], "targetNamespace"),
        cluster: object["spec"]["kubeConfig"].clone(),
    }
}

/// Returns a reference without the namespace, if that is the object's own.
fn reference(reference: &Value, object: &Value) -> Value {
    let is_own = reference["namespace"] == object["metadata"]["namespace"];
    without(reference, if is_own { "namespace" } else { "" })
}

/// Returns an object of Flux without the fields that only decide when it is applied.
fn says(object: &Value) -> String {
    let when =
        "dependsOn healthCheckExprs healthChecks interval retryInterval suspend timeout wait";
    let mut spec = without(&object["spec"], when);
    if !spec["sourceRef"].is_null() {
        spec["sourceRef"] = reference(&spec["sourceRef"], object);
    }
    format!("{} {}", key(&object["metadata"], object), sorted(&spec))
}

/// Returns the namespaces and names of the ConfigMaps and Secrets in a list.
fn names(of: &Value, object: &Value) -> Vec<String> {
    of.as_array().into_iter().flatten().map(|it| unhashed(&key(it, object)).to_owned()).collect()
}

/// Upstream: api/v1/kustomization_types.go in github.com/fluxcd/kustomize-controller.
pub(super) fn flux_kustomization(object: &Value) -> Declared {
    let known = "decryption deletionPolicy dependsOn force healthCheckExprs healthChecks ignoreMissingComponents \
                 interval kubeConfig path prune retryInterval serviceAccountName sourceRef suspend timeout wait";
    let rest = without(&object["spec"], known);
    let keys = keys(&rest);
    let is_little = |it: &&str| ["commonMetadata", "postBuild", "targetNamespace"].contains(it);
    let changes = match keys[..] {
        ["targetNamespace"] => Changes::Namespaces,
        _ if keys.iter().all(is_little) => Changes::Little,
        _ if keys.contains(&"components") => Changes::All,
        _ => Changes::Found,
    };
    let path = text(&object["spec"], "path");
    Declared {
        ways: vec![way_of_flux(object, &object["spec"]["sourceRef"], path.clone())],
        says: Some(says(object)),
        from: names(&object["spec"]["postBuild"]["substituteFrom"], object),
        path: path.unwrap_or_default(),
        why_not: not_understood(&keys),
        rest: Some(sorted(&rest)),
        changes,
        ..Declared::by("Kustomization", object)
    }
}

/// Returns the chart that a HelmRelease takes from elsewhere.
pub(super) fn remote_chart(object: &Value) -> Option<String> {
    let (spec, chart) = (&object["spec"], &object["spec"]["chart"]["spec"]);
    let is_here =
        chart["sourceRef"]["kind"] == "GitRepository" || spec["chartRef"]["kind"] == "HelmChart";
    text(chart, "chart").or_else(|| text(&spec["chartRef"], "name")).filter(|_| !is_here)
}

/// Upstream: api/v2/helmrelease_types.go in github.com/fluxcd/helm-controller.
pub(super) fn helm_release(object: &Value) -> Option<Declared> {
    let spec = &object["spec"];
    let chart = &spec["chart"]["spec"];
    if chart["sourceRef"]["kind"] != "GitRepository" {
        return None;
    }
    let known = "chart dependsOn driftDetection healthCheckExprs install interval kubeConfig maxHistory persistentClient \
                 releaseName rollback serviceAccountName storageNamespace suspend targetNamespace test timeout uninstall \
                 upgrade values waitStrategy";
    let rest = without(spec, known);
    let of_chart =
        without(chart, "chart interval reconcileStrategy sourceRef suspend verify version");
    let mut keys: Vec<_> = keys(&rest).into_iter().chain(keys(&of_chart)).collect();
    keys.extend((spec["upgrade"]["preserveValues"] == true).then_some("preserveValues"));
    let is_empty = |of: &Value, key: &str| of[key].as_array().is_some_and(Vec::is_empty);
    keys.retain(|key| !is_empty(&rest, key) && !is_empty(&of_chart, key));
    let why_not = match keys[..] {
        ["valuesFiles"] => Some("its valuesFiles replace the chart's own values".to_owned()),
        ["valuesFrom"] => Some("its valuesFrom are in the cluster".to_owned()),
        _ => not_understood(&keys),
    };
    let target = text(spec, "targetNamespace");
    let prefix = target.iter().map(|it| format!("{it}-")).collect::<String>();
    let name = text(&object["metadata"], "name").unwrap_or_default();
    Some(Declared {
        ways: vec![way_of_flux(object, &chart["sourceRef"], text(chart, "chart"))],
        says: Some(says(object)),
        from: names(&spec["valuesFrom"], object),
        path: text(chart, "chart")?,
        is_release: true,
        inline: Some(&spec["values"]).filter(|it| !it.is_null()).map(Value::to_string),
        name: text(spec, "releaseName").unwrap_or_else(|| format!("{prefix}{name}")),
        namespace: target.or_else(|| text(&object["metadata"], "namespace")),
        rest: Some(sorted(&json!([rest, of_chart]))),
        why_not,
        ..Declared::by("HelmRelease", object)
    })
}

//! Releases of charts in the repository, as objects of Argo CD and Flux describe them.
//!
//! Each list of fields here is closed: with any other field, the object does not say alone what is applied.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::{
    root::{Kind, Release, Root},
    shown,
};
use crate::manifests::{
    exclude::whole,
    files,
    layout::clean,
    not_checked::{Cause, NotChecked},
    objects::ManifestObject,
};

/// The releases of charts that objects describe.
#[derive(Default)]
pub(super) struct Releases {
    pub(super) roots: Vec<Root>,
    /// The releases that cannot be rendered from the repository alone, by the name of the root.
    pub(super) not_rendered: Vec<(String, NotChecked)>,
    /// The objects that change what other roots render to.
    pub(super) not_checked: Vec<NotChecked>,
}

impl Releases {
    /// Adds those in a file. `top` is the folder of the repository.
    pub(super) fn add(&mut self, file: &Path, name: &Path, roots: &[&Root], top: &Path) {
        let Ok(text) = files::text(file) else { return };
        // An escape or a tag can stand for any letter.
        let marks = ["argoproj.io/", "toolkit.fluxcd.io/", "\\", "!"];
        if !marks.iter().any(|it| text.contains(it)) {
            return;
        }
        for document in kube_yaml::documents(&text).flatten() {
            for object in ManifestObject::all(document.root) {
                for declared in declared(&object) {
                    self.add_declared(declared, name, roots, top);
                }
            }
        }
    }

    fn add_declared(&mut self, declared: Declared, name: &Path, roots: &[&Root], top: &Path) {
        let at = whole(&clean(&top.join(declared.path.trim_start_matches('/'))));
        let mut found = roots.iter().filter(|it| whole(&it.at) == at);
        let chart = found.clone().find(|it| matches!(it.kind, Kind::Chart(_)));
        let (Some(chart), true) = (chart, declared.is_release) else {
            let is_plain = declared.is_directory && found.next().is_none();
            let is_here = at.exists() || declared.path.contains("{{");
            if let Some(why) = declared.why_not.filter(|_| is_here && !is_plain) {
                let why = format!("{} is not rendered as it is: {why}", declared.object);
                let entry = NotChecked::at(name, Cause::Kustomization, why);
                let by_namespace = declared.changes == Changes::Namespaces;
                let of = (declared.changes == Changes::All).then_some(at);
                self.not_checked.push(NotChecked { by_namespace, ..entry.of(of) });
            }
            return;
        };
        let object = Some((declared.object.clone(), name.to_owned()));
        let file = |file: &String| match file.strip_prefix('/') {
            Some(file) => clean(&top.join(file)),
            None => clean(&at.join(file)),
        };
        let files: Vec<_> = declared.files.iter().map(|it| (it, file(it))).collect();
        let missing = files.iter().find(|(_, at)| !declared.skips_missing && !at.exists());
        let missing = missing.map(|(file, _)| format!("the repository has no {file}"));
        if let Some(why) = declared.why_not.or(missing) {
            let root = chart.with(Release { object, ..Release::default() }).name();
            let why = format!("{root} is not rendered: {why}");
            let entry = NotChecked::at(name, Cause::Chart, why);
            let parts = files.into_iter().map(|(_, at)| at).chain([at.clone()]);
            self.not_rendered.push((root, entry.of(parts)));
            return;
        }
        let values = files.into_iter().map(|(_, at)| at).filter(|at| at.exists());
        self.roots.push(chart.with(Release {
            values: values.map(|file| (shown(chart, &at, &file), file)).collect(),
            inline: declared.inline,
            object,
            name: Some(declared.name),
            namespace: declared.namespace,
            flags: declared.flags,
        }));
    }
}

/// What the fields that are not understood change.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Changes {
    #[default]
    All,
    /// The namespaces, which not every policy looks at.
    Namespaces,
    /// Placeholders and labels of objects.
    Little,
}

#[derive(Default)]
struct Declared {
    object: String,
    /// A folder, from the root of the repository.
    path: String,
    is_release: bool,
    /// Whether the only field that is not understood is about a folder of manifests.
    is_directory: bool,
    /// From the root of the repository if the path begins with a slash, otherwise from the chart.
    files: Vec<String>,
    skips_missing: bool,
    inline: Option<String>,
    name: String,
    namespace: Option<String>,
    flags: Vec<String>,
    /// Why the repository alone does not show what is applied.
    why_not: Option<String>,
    changes: Changes,
}

fn declared(object: &ManifestObject<'_>) -> Vec<Declared> {
    let group = object.api_version().split('/').next().unwrap_or_default();
    let json = || serde_json::from_str::<Value>(&object.node.to_json()).unwrap_or_default();
    match (group, object.kind()) {
        ("argoproj.io", "Application") => applications(&json()),
        ("argoproj.io", "ApplicationSet") => application_set(&json()),
        ("helm.toolkit.fluxcd.io", "HelmRelease") => helm_release(&json()).into_iter().collect(),
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => vec![flux_kustomization(&json())],
        _ => Vec::new(),
    }
}

fn text(of: &Value, key: &str) -> Option<String> {
    of[key].as_str().filter(|it| !it.is_empty()).map(str::to_owned)
}

fn label(kind: &str, object: &Value) -> String {
    format!("{kind} {}", object["metadata"]["name"].as_str().unwrap_or_default())
}

/// Returns an object without these fields, and without those that are null: the API server drops them.
fn without(object: &Value, known: &str) -> Value {
    let Value::Object(fields) = object else { return object.clone() };
    let is_known = |key: &str| known.split_whitespace().any(|it| it == key);
    let kept = fields.iter().filter(|(key, value)| !value.is_null() && !is_known(key));
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().into_iter().flatten().map(|(key, _)| &**key).collect()
}

fn not_understood(keys: &[&str]) -> Option<String> {
    (!keys.is_empty()).then(|| format!("setguard does not follow {}", keys.join(", ")))
}

/// Returns the fields of a type, or why it does not have these fields alone.
fn fields<T: for<'de> Deserialize<'de> + Default>(of: Value, field: &str) -> Result<T, String> {
    if of.is_null() {
        return Ok(T::default());
    }
    serde_json::from_value(of).map_err(|error| {
        let error = error.to_string();
        format!(
            "its {field} is not understood: {}",
            error.split(", expected").next().unwrap_or_default()
        )
    })
}

/// The fields of a source that are not about how it is rendered.
const SOURCE: &str = "chart helm name path ref repoURL targetRevision";

/// Upstream: pkg/apis/application/v1alpha1/types.go in github.com/argoproj/argo-cd.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct ArgoHelm {
    release_name: String,
    namespace: Option<String>,
    value_files: Vec<String>,
    ignore_missing_value_files: bool,
    values: String,
    values_object: Option<Value>,
    parameters: Vec<Value>,
    kube_version: String,
    api_versions: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Parameter {
    name: String,
    value: String,
    force_string: bool,
}

fn sources(spec: &Value) -> impl Iterator<Item = &Value> {
    let all = spec["sources"].as_array().into_iter().flatten();
    let all = [&spec["source"], &spec["sourceHydrator"]["drySource"]].into_iter().chain(all);
    all.filter(|it| text(it, "path").is_some())
}

fn applications(object: &Value) -> Vec<Declared> {
    sources(&object["spec"]).map(|source| application(object, source)).collect()
}

/// Upstream: `helmTemplate`, reposerver/repository/repository.go in github.com/argoproj/argo-cd.
fn application(object: &Value, source: &Value) -> Declared {
    let rest = without(source, SOURCE);
    let declared = Declared {
        object: label("Application", object),
        path: text(source, "path").unwrap_or_default(),
        is_release: true,
        is_directory: keys(&rest) == ["directory"] && rest["directory"]["jsonnet"].is_null(),
        why_not: not_understood(&keys(&rest)),
        ..Declared::default()
    };
    // These decide about hooks of tests, CustomResourceDefinitions and credentials.
    let helm = "passCredentials skipCrds skipSchemaValidation skipTests version";
    let helm = fields::<ArgoHelm>(without(&source["helm"], helm), "helm");
    let helm = helm.and_then(|mut helm| {
        let all = std::mem::take(&mut helm.parameters).into_iter();
        let all = all.map(|it| fields::<Parameter>(without(&it, ""), "parameters"));
        Ok((helm, all.collect::<Result<Vec<_>, _>>()?))
    });
    let (helm, parameters) = match helm {
        Ok(helm) => helm,
        Err(why) => {
            let why_not = declared.why_not.or(Some(why));
            return Declared { why_not, is_directory: false, ..declared };
        }
    };
    // A file of a different source of the same Application begins with its name.
    let file = |file: String| match file.strip_prefix('$').and_then(|it| it.split_once('/')) {
        Some((_, file)) => format!("/{file}"),
        None => file,
    };
    let set = |Parameter { name, value, force_string }: Parameter| {
        let flag = if force_string { "--set-string" } else { "--set" };
        format!("{flag}={name}={}", value.replace(',', "\\,"))
    };
    let version = Some(helm.kube_version).filter(|it| !it.is_empty());
    let version = version.map(|it| format!("--kube-version={it}"));
    let apis = helm.api_versions.iter().map(|it| format!("--api-versions={it}"));
    let release = Some(helm.release_name).filter(|it| !it.is_empty());
    let inline = helm.values_object.map_or(helm.values, |it| it.to_string());
    Declared {
        files: helm.value_files.into_iter().map(file).collect(),
        skips_missing: helm.ignore_missing_value_files,
        inline: Some(inline).filter(|it| !it.is_empty()),
        name: release.or_else(|| text(&object["metadata"], "name")).unwrap_or_default(),
        namespace: helm.namespace.or_else(|| text(&object["spec"]["destination"], "namespace")),
        flags: version.into_iter().chain(apis).chain(parameters.into_iter().map(set)).collect(),
        ..declared
    }
}

/// The cluster makes Applications of it, so only what changes no release is followed.
fn application_set(object: &Value) -> Vec<Declared> {
    let template = &object["spec"]["template"]["spec"];
    let of = |source: &Value| {
        let mut rest = without(source, SOURCE);
        if let (Value::Object(fields), Some(directory)) = (&mut rest, source.get("directory"))
            && directory["jsonnet"].is_null()
        {
            fields.remove("directory");
        }
        let helm = (!source["helm"].is_null()).then_some("helm");
        let patch = (!object["spec"]["templatePatch"].is_null()).then_some("templatePatch");
        let keys: Vec<_> = keys(&rest).into_iter().chain(helm).chain(patch).collect();
        Declared {
            object: label("ApplicationSet", object),
            path: text(source, "path").unwrap_or_default(),
            why_not: not_understood(&keys),
            ..Declared::default()
        }
    };
    sources(template).map(of).collect()
}

/// Upstream: api/v1/kustomization_types.go in github.com/fluxcd/kustomize-controller.
fn flux_kustomization(object: &Value) -> Declared {
    let known = "decryption deletionPolicy dependsOn force healthCheckExprs healthChecks ignoreMissingComponents \
                 interval kubeConfig path prune retryInterval serviceAccountName sourceRef suspend timeout wait";
    let rest = without(&object["spec"], known);
    let keys = keys(&rest);
    let is_little = |it: &&str| ["commonMetadata", "postBuild", "targetNamespace"].contains(it);
    let changes = match keys[..] {
        ["targetNamespace"] => Changes::Namespaces,
        _ if keys.iter().all(is_little) => Changes::Little,
        _ => Changes::All,
    };
    Declared {
        object: label("Kustomization", object),
        path: text(&object["spec"], "path").unwrap_or_default(),
        why_not: not_understood(&keys),
        changes,
        ..Declared::default()
    }
}

/// Upstream: api/v2/helmrelease_types.go in github.com/fluxcd/helm-controller.
fn helm_release(object: &Value) -> Option<Declared> {
    let spec = &object["spec"];
    let chart = &spec["chart"]["spec"];
    if chart["sourceRef"]["kind"] != "GitRepository" {
        return None;
    }
    let known = "chart dependsOn driftDetection healthCheckExprs install interval kubeConfig maxHistory persistentClient \
                 releaseName rollback serviceAccountName storageNamespace suspend targetNamespace test timeout uninstall \
                 upgrade values waitStrategy";
    let rest = without(spec, known);
    let of_chart = without(chart, "chart interval reconcileStrategy sourceRef verify version");
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
        object: label("HelmRelease", object),
        path: text(chart, "chart")?,
        is_release: true,
        inline: Some(&spec["values"]).filter(|it| !it.is_null()).map(Value::to_string),
        name: text(spec, "releaseName").unwrap_or_else(|| format!("{prefix}{name}")),
        namespace: target.or_else(|| text(&object["metadata"], "namespace")),
        why_not,
        ..Declared::default()
    })
}

/// Returns the name of a file in the folder that the user named.
pub(super) fn named(file: &Path, there: &Path, folder: &Path) -> PathBuf {
    file.strip_prefix(there).map_or_else(|_| file.to_owned(), |it| clean(&folder.join(it)))
}

//! The objects of Argo CD.

mod application_set;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use walkdir::DirEntry;

pub(super) use self::application_set::application_set;
use super::{
    Changes, Declared, OPEN, Way, documents_in, fields, has_images, is_part, keys, not_understood,
    sorted, text, value_file, without,
};
use crate::manifests::{
    edits::entries,
    files::{self, is_manifest},
    not_checked::may_have_set,
};

/// The fields of a source that do not affect how it is rendered.
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
    /// Argo CD Image Updater writes it in lower case.
    #[serde(alias = "forcestring")]
    force_string: bool,
}

fn sources(spec: &Value) -> impl Iterator<Item = &Value> {
    all_sources(spec).filter(|it| text(it, "path").is_some())
}

fn all_sources(spec: &Value) -> impl Iterator<Item = &Value> {
    let all = spec["sources"].as_array().into_iter().flatten();
    [&spec["source"], &spec["sourceHydrator"]["drySource"]].into_iter().chain(all)
}

/// Returns the charts that an Application takes from elsewhere.
pub(super) fn remote_charts(spec: &Value) -> Vec<String> {
    all_sources(spec).filter_map(|it| text(it, "chart")).collect()
}

fn url(source: &Value) -> &str {
    let url = source["repoURL"].as_str().unwrap_or_default();
    url.trim_end_matches('/').trim_end_matches(".git")
}

pub(super) fn applications(object: &Value, top: &Path) -> Vec<Declared> {
    let of = |source| {
        let (merged, overrides) = overridden(source, object, top);
        let ways = vec![way(&object["spec"], source)];
        Declared { overrides, ways, ..application(object, &merged) }
    };
    sources(&object["spec"]).map(of).collect()
}

fn way(spec: &Value, source: &Value) -> Way {
    let files = source["helm"]["valueFiles"].as_array();
    let has_values = |it: &&Value| {
        let of_it = format!("${}/", it["ref"].as_str().unwrap_or_default());
        let mut files = files.into_iter().flatten().filter_map(Value::as_str);
        files.any(|it| it.starts_with(&of_it))
    };
    let repository = |it: &Value| {
        let revision = text(it, "targetRevision").unwrap_or_else(|| "HEAD".to_owned());
        json!([url(it), revision])
    };
    let own = repository(source);
    let others = all_sources(spec).filter(has_values);
    let others = others.map(|it| json!([it["ref"], repository(it)])).filter(|it| it[1] != own);
    let mut others: Vec<_> = others.collect();
    others.sort_by_key(Value::to_string);
    let directory = &source["directory"];
    let which = json!([directory["include"], directory["exclude"], directory["recurse"] == true]);
    let path = text(source, "path").unwrap_or_default();
    let cluster = without(&spec["destination"], "namespace");
    let is_own =
        cluster["server"] == "https://kubernetes.default.svc" || cluster["name"] == "in-cluster";
    Way {
        path,
        source: json!([own, others, which]),
        namespace: destination(spec),
        cluster: if is_own { Value::Null } else { cluster },
    }
}

/// Returns the files in a folder of manifests that Argo CD skips.
///
/// Upstream: `findManifests`, reposerver/repository/repository.go in github.com/argoproj/argo-cd.
pub(super) fn skipped(folder: &Path) -> (String, Vec<PathBuf>) {
    let files = entries(folder).map(DirEntry::into_path).filter(|it| is_manifest(it));
    let has_mark = |it: &PathBuf| {
        files::text(it)
            .is_ok_and(|it| it.contains("+argocd:skip-file-rendering") && may_have_set(&it))
    };
    let files: Vec<_> = files.filter(has_mark).collect();
    let name = |it: &PathBuf| it.strip_prefix(folder).unwrap_or(it).display().to_string();
    (files.iter().map(name).collect::<Vec<_>>().join("\n"), files)
}

/// Returns the namespace for objects without one.
fn destination(spec: &Value) -> Option<String> {
    text(&spec["destination"], "namespace").filter(|it| it != "default")
}

/// Returns a source with the parameters that files in its folder override, and these files.
///
/// Upstream: `mergeSourceParameters`, reposerver/repository/repository.go in github.com/argoproj/argo-cd.
fn overridden(source: &Value, object: &Value, top: &Path) -> (Value, Vec<PathBuf>) {
    let metadata = |key| object["metadata"][key].as_str().unwrap_or_default();
    let (namespace, name) = (metadata("namespace"), metadata("name"));
    let folder = top.join(source["path"].as_str().unwrap_or_default().trim_start_matches('/'));
    let names = [String::new(), format!("-{name}"), format!("-{namespace}_{name}")];
    let files = names.map(|it| folder.join(format!(".argocd-source{it}.yaml")));
    let mut merged = source.clone();
    for file in &files {
        let patches = documents_in(file, top).unwrap_or_default();
        patches.iter().for_each(|it| json_patch::merge(&mut merged, it));
    }
    (merged, files.into())
}

/// Returns a text with the variables that Argo CD replaces, or the name of one with an unknown value.
///
/// Upstream: `Env.Envsubst`, pkg/apis/application/v1alpha1/types.go, and `newEnv`,
/// reposerver/repository/repository.go.
fn expanded(text: &str, object: &Value, source: &Value) -> Result<String, String> {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        done.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            done.push('$');
            rest = after;
            continue;
        }
        let inner = after.strip_prefix('{').and_then(|it| it.split_once('}'));
        let (name, after) = inner
            .unwrap_or_else(|| after.split_at(after.find(|c| !is_part(c)).unwrap_or(after.len())));
        let value = match name {
            "ARGOCD_APP_NAME" => object["metadata"]["name"].as_str(),
            "ARGOCD_APP_NAMESPACE" => object["spec"]["destination"]["namespace"].as_str(),
            "ARGOCD_APP_PROJECT_NAME" => object["spec"]["project"].as_str(),
            "ARGOCD_APP_SOURCE_PATH" => source["path"].as_str(),
            _ => None,
        };
        done.push_str(value.ok_or_else(|| format!("setguard does not know the value of ${name}"))?);
        rest = after;
    }
    done.push_str(rest);
    Ok(done)
}

/// Returns a value whose commas mean the same to Helm as to Argo CD: in a list in braces, they separate the items.
///
/// Upstream: `cleanSetParameters`, util/helm/cmd.go in github.com/argoproj/argo-cd.
fn with_commas(value: &str) -> String {
    if value.starts_with('{') && value.ends_with('}') {
        return value.to_owned();
    }
    let (mut done, mut rest) = (String::new(), value.chars().peekable());
    while let Some(c) = rest.next() {
        done.push(c);
        if c != '\\' && rest.next_if_eq(&',').is_some() {
            done.push_str("\\,");
        }
    }
    done
}

/// Fails if a file of values is not in the repository of the chart. Helm must not skip it, whatever
/// `ignoreMissingValueFiles` says.
fn is_here(file: &str, object: &Value, source: &Value) -> Result<(), String> {
    if file.contains("://") {
        return Err(format!("setguard does not fetch {file}"));
    }
    let name = file.strip_prefix('$').and_then(|it| Some(it.split_once('/')?.0));
    let of = all_sources(&object["spec"]).find(|it| name.is_some() && it["ref"].as_str() == name);
    match of.is_some_and(|it| url(it) != url(source)) {
        true => Err(format!("{file} is in another repository")),
        false => Ok(()),
    }
}

/// Upstream: `helmTemplate`, reposerver/repository/repository.go in github.com/argoproj/argo-cd.
fn application(object: &Value, source: &Value) -> Declared {
    let rest = without(source, SOURCE);
    let declared = Declared {
        path: text(source, "path").unwrap_or_default(),
        is_release: true,
        destination: destination(&object["spec"]),
        is_directory: keys(&rest) == ["directory"] && rest["directory"]["jsonnet"].is_null(),
        why_not: not_understood(&keys(&rest)),
        ..Declared::by("Application", object)
    };
    if has_images(&rest) {
        let says = format!("{} {}", declared.id, sorted(&rest));
        return Declared { says: Some(says), changes: Changes::Images, ..declared };
    }
    let changes = Some(sorted(&json!([rest, source["helm"]])));
    // These decide about hooks of tests, CustomResourceDefinitions and credentials.
    let helm = "passCredentials skipCrds skipSchemaValidation skipTests version";
    let helm = fields::<ArgoHelm>(without(&source["helm"], helm), "helm");
    let helm = helm.and_then(|mut helm| {
        for file in &mut helm.value_files {
            is_here(file, object, source)?;
            *file = expanded(&value_file(file), object, source)?;
        }
        let all = std::mem::take(&mut helm.parameters).into_iter();
        let all = all.map(|it| {
            let it = fields::<Parameter>(without(&it, ""), "parameters")?;
            Ok(Parameter { value: expanded(&it.value, object, source)?, ..it })
        });
        Ok((helm, all.collect::<Result<Vec<_>, String>>()?))
    });
    let (helm, parameters) = match helm {
        Ok(helm) => helm,
        Err(why) => {
            let why_not = declared.why_not.or(Some(why));
            return Declared { why_not, rest: changes, is_directory: false, ..declared };
        }
    };
    let set = |Parameter { name, value, force_string }: Parameter| {
        let flag = if force_string { "--set-string" } else { "--set" };
        format!("{flag}={name}={}", with_commas(&value))
    };
    let version = Some(helm.kube_version).filter(|it| !it.is_empty());
    let version = version.map(|it| format!("--kube-version={it}"));
    let apis = helm.api_versions.iter().map(|it| format!("--api-versions={it}"));
    let release = Some(helm.release_name).filter(|it| !it.is_empty());
    let has_pattern = helm.value_files.iter().any(|it| it.contains(OPEN));
    let pattern = has_pattern.then(|| "its valueFiles have a pattern".to_owned());
    let destination = &object["spec"]["destination"];
    let cluster = ["server", "name"].into_iter();
    let cluster = cluster.filter_map(|it| Some(format!("{it} {}", text(destination, it)?))).next();
    let inline = helm.values_object.map_or(helm.values, |it| it.to_string());
    Declared {
        files: helm.value_files,
        skips_missing: helm.ignore_missing_value_files,
        inline: Some(inline).filter(|it| !it.is_empty()),
        name: release.or_else(|| text(&object["metadata"], "name")).unwrap_or_default(),
        namespace: helm.namespace.or_else(|| text(destination, "namespace")),
        cluster,
        why_not: declared.why_not.or(pattern),
        rest: changes,
        flags: version.into_iter().chain(apis).chain(parameters.into_iter().map(set)).collect(),
        ..declared
    }
}

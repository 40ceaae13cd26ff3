//! Releases of charts in the repository, as objects of Argo CD and Flux describe them.
//!
//! Each list of fields here is closed: with any other field, the object does not say alone what is applied.

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap, HashSet},
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json};
use walkdir::{DirEntry, WalkDir};

use super::{
    Rendered,
    applied::Applied,
    root::{Release, Root},
    shown,
};
use crate::manifests::{
    document::documents,
    edits::entries,
    exclude::whole,
    files::{self, is_manifest},
    layout::{clean, is_kustomization},
    listing::Listing,
    not_checked::{Cause, NotChecked, may_have_set},
    objects::ManifestObject,
    source::Source,
};

/// The releases of charts that objects describe.
#[derive(Default)]
pub(super) struct Releases<'a> {
    /// The charts and kustomizations that were found in folders.
    known: &'a [Root],
    /// The kustomizations that others take, except those that an object applies.
    inner: Vec<Root>,
    /// The folders of those that were rendered, and whether there may be a set.
    rendered: HashMap<PathBuf, bool>,
    /// Returns why a chart in one of the folders is not read.
    unread: Option<&'a dyn Fn(&Path) -> Option<NotRead>>,
    roots: Vec<Root>,
    /// The releases that cannot be rendered from the repository alone, by the name of the root, and the ConfigMaps and
    /// Secrets with their values.
    not_rendered: Vec<(String, NotChecked, Vec<String>)>,
    /// The objects that change what other roots render to, likewise.
    not_checked: Vec<(NotChecked, Vec<String>)>,
    /// The charts that objects of Flux describe, by namespace and name, and the releases that take them so.
    charts: HashMap<String, Value>,
    waiting: Vec<(Value, Holder)>,
    applied: Vec<Applied>,
    /// The files with which Argo CD overrides Applications here.
    overrides: HashSet<PathBuf>,
    /// Where sources of Flux lead to, and what they are made of, by kind and name.
    sources: HashMap<(String, String), (String, Vec<PathBuf>)>,
    /// The data of the ConfigMaps and Secrets with a name.
    configs: HashMap<String, Vec<(String, String)>>,
    /// The names after `${` in all texts.
    variables: HashSet<String>,
    /// The folders that were searched for variables.
    searched: HashSet<PathBuf>,
    /// The files that say what Flux leaves out, by folder.
    ignores: HashMap<PathBuf, Vec<PathBuf>>,
    /// Whether a file may have a set or a release. Many objects can apply one folder.
    has_set: RefCell<HashMap<PathBuf, bool>>,
}

/// The file or the root that has an object.
#[derive(Clone)]
struct Holder {
    name: String,
    /// The file that represents it in reports.
    file: PathBuf,
    /// What it is made of.
    of: Vec<PathBuf>,
    /// The folder of the repository.
    top: PathBuf,
}

/// Why a chart in a folder is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRead {
    /// A flag or the policy excludes it.
    Excluded,
    /// It is packed or vendored.
    Foreign,
}

impl<'a> Releases<'a> {
    pub(super) fn of(
        (known, inner): (&'a [Root], Vec<Root>),
        unread: &'a dyn Fn(&Path) -> Option<NotRead>,
    ) -> Self {
        Releases { known, inner, unread: Some(unread), ..Releases::default() }
    }

    /// Adds those in the output of roots that were found in folders.
    pub(super) fn see(&mut self, rendered: &[&Source]) {
        let roots = rendered.iter().filter_map(|it| Some((it.text(), it.rendered()?)));
        let roots = roots.filter(|(_, it)| it.root.is_found);
        for (text, Rendered { folder, .. }) in roots.clone() {
            *self.rendered.entry(folder.clone()).or_default() |=
                may_have_set(text) || describes(text);
        }
        for (text, Rendered { root, top, .. }) in
            roots.filter(|(_, it)| it.top.join(".git").exists())
        {
            let (name, file, of, top) = (root.name(), root.file(), root.parts(), top.clone());
            self.add(text, &Holder { name, file, of, top });
        }
    }

    /// Adds those in a file of a repository.
    pub(super) fn add_file(&mut self, name: &Path, file: &Path) {
        let folder = whole(file.parent().unwrap_or(file));
        let top = folder.ancestors().find(|it| it.join(".git").exists());
        if let (Some(top), Ok(text)) = (top, files::text(file)) {
            let (shown, of) = (name.display().to_string(), vec![name.to_owned()]);
            self.add(
                &text,
                &Holder { name: shown, file: name.to_owned(), of, top: top.to_owned() },
            );
        }
    }

    fn add(&mut self, text: &str, holder: &Holder) {
        self.add_variables(text);
        // An escape or a tag can stand for any letter.
        let marks = ["argoproj.io/", "toolkit.fluxcd.io/", "\\", "!", "ConfigMap", "Secret"];
        if !marks.iter().any(|it| text.contains(it)) {
            return;
        }
        for document in kube_yaml::documents(text).flatten() {
            for object in ManifestObject::all(document.root) {
                self.add_object(&object, holder);
            }
        }
    }

    fn add_variables(&mut self, text: &str) {
        let names = text.split("${").skip(1).filter_map(|it| it.split(|c| !is_part(c)).next());
        self.variables.extend(names.map(str::to_owned));
    }

    fn add_object(&mut self, object: &ManifestObject<'_>, holder: &Holder) {
        let json = || json(object);
        let declared = match (group(object), object.kind()) {
            ("argoproj.io", "Application") => applications(&json(), &holder.top),
            ("argoproj.io", "ApplicationSet") => application_set(&json(), &holder.top),
            ("helm.toolkit.fluxcd.io", "HelmRelease") => {
                let json = json();
                if json["spec"]["chartRef"]["kind"] == "HelmChart" {
                    self.waiting.push((json, holder.clone()));
                    return;
                }
                helm_release(&json).into_iter().collect()
            }
            ("source.toolkit.fluxcd.io", "HelmChart") => {
                let json = json();
                self.charts.insert(key(&json["metadata"], &json), json["spec"].clone());
                return;
            }
            ("source.toolkit.fluxcd.io", kind @ ("GitRepository" | "OCIRepository" | "Bucket")) => {
                let (json, kind) = (json(), kind.to_owned());
                let name = text(&json["metadata"], "name").unwrap_or_default();
                let leads = ["url", "ref", "include", "ignore", "bucketName", "endpoint", "prefix"];
                let leads = leads.map(|key| sorted(&json["spec"][key])).join(" ");
                let (all, of) = self.sources.entry((kind, name)).or_default();
                all.push_str(&leads);
                of.extend(holder.of.iter().cloned());
                return;
            }
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => vec![flux_kustomization(&json())],
            ("v1", "ConfigMap" | "Secret") => {
                let json = json();
                let name = text(&json["metadata"], "name").unwrap_or_default();
                let data = ["data", "stringData", "binaryData"].map(|it| json[it].as_object());
                let data = data.into_iter().flatten().flatten();
                let data = data.map(|(key, value)| (key.clone(), value.to_string()));
                self.configs.entry(name).or_default().extend(data);
                return;
            }
            _ => return,
        };
        declared.into_iter().for_each(|it| self.add_declared(it, holder));
    }

    /// Returns the releases so far, also those that take a chart by the name of an object of Flux.
    pub(super) fn take(&mut self) -> Vec<Root> {
        for (mut object, holder) in std::mem::take(&mut self.waiting) {
            let reference = object["spec"]["chartRef"].take();
            if let Some(chart) = self.charts.get(&key(&reference, &object)) {
                object["spec"]["chart"]["spec"] = chart.clone();
                helm_release(&object).into_iter().for_each(|it| self.add_declared(it, &holder));
            } else {
                object["spec"]["chartRef"] = reference;
                self.waiting.push((object, holder));
            }
        }
        std::mem::take(&mut self.roots)
    }

    fn add_declared(&mut self, declared: Declared, holder: &Holder) {
        let top = &holder.top;
        self.overrides.extend(declared.overrides.iter().map(|it| whole(it)));
        let (at, _) = in_repository(top, &declared.path);
        if !declared.from.is_empty() && self.searched.insert(at.clone()) {
            // No root need have these.
            let files = entries(&at);
            let texts = files.filter_map(|it| files::text(it.path()).ok());
            texts.for_each(|it| self.add_variables(&it));
        }
        let found: Vec<_> = self.known.iter().filter(|it| whole(&it.at) == at).collect();
        let chart = found.iter().find(|it| it.is_default_chart());
        let is_open = declared.path.contains("{{");
        let folders: Vec<_> = match is_open {
            true => self
                .known
                .iter()
                .filter(|it| it.is_default_chart())
                .map(|it| whole(&it.at))
                .collect(),
            false => vec![at.clone()],
        };
        let is_here = at.starts_with(top) && at.exists();
        for Way { path, mut source } in declared.ways {
            let (at, path) = in_repository(top, &path);
            let mut of = [&holder.of[..], &declared.overrides].concat();
            if let (Some(_), Some(source)) = (&declared.says, source.as_array_mut()) {
                let ignores = self.ignores.entry(at.clone()).or_insert_with(|| ignores(&at, top));
                source.push(left_out(ignores).into());
                of.extend(ignores.iter().cloned());
            }
            let (object, id, top) = (declared.object.clone(), declared.id.clone(), top.clone());
            let is_release = declared.is_release
                && self.known.iter().any(|it| it.is_chart() && whole(&it.at) == at);
            let entry = NotChecked::at(&holder.file, Cause::Chart, "").of(of);
            self.applied.push(Applied { object, id, top, path, source, is_release, entry });
        }
        let files = |file: &String| match file.strip_prefix('/') {
            Some(file) => may_mean(top, file),
            None => folders.iter().flat_map(|it| may_mean(it, file)).collect(),
        };
        let files: Vec<_> = declared.files.iter().map(|it| (it, files(it))).collect();
        let all_files = files.iter().flat_map(|(_, all)| all.clone());
        // Of these, only the object counts.
        let of_object = if declared.says.is_some() { &[][..] } else { &holder.of[..] };
        let of_object = of_object.iter().cloned();
        let (Some(chart), true) = (chart, declared.is_release) else {
            // The object says that a kustomization is applied, although another one takes it.
            if let Some(i) = self.inner.iter().position(|it| whole(&it.at) == at) {
                self.roots.push(self.inner.swap_remove(i));
            }
            let is_plain = declared.is_directory && found.is_empty();
            let is_chart = at.is_file() || at.join("Chart.yaml").is_file();
            let is_unread = declared.is_release && found.is_empty() && is_chart;
            let unread = self.unread.filter(|_| is_unread).and_then(|unread| unread(&at));
            let path = &declared.path;
            if is_here && declared.is_release && found.is_empty() && !is_chart {
                // Argo CD evaluates it.
                let depth = if declared.is_directory { usize::MAX } else { 1 };
                let all = WalkDir::new(&at).max_depth(depth).into_iter().flatten();
                let mut all = all.map(DirEntry::into_path).filter(|it| is_jsonnet(it)).peekable();
                if all.peek().is_some() {
                    let why = format!("setguard does not evaluate Jsonnet of {}", declared.object);
                    let entry = NotChecked::at(&holder.file, Cause::Unreadable, why);
                    self.not_checked.push((entry.of(all), Vec::new()));
                }
            }
            let why_unread = || match unread? {
                NotRead::Excluded => Some(format!("{path} is excluded")),
                NotRead::Foreign => {
                    Some(format!("{path} is an archive, or in a folder that is skipped"))
                }
            };
            let folder = at.clone();
            let has_set = || self.may_have_set(&folder);
            let is_of_interest = (at.exists() || is_open)
                && !is_plain
                && (declared.changes != Changes::Found || has_set());
            if let Some(why) = declared.why_not.or_else(why_unread).filter(|_| is_of_interest) {
                let (cause, how) = match unread {
                    Some(_) => (Cause::Chart, ""),
                    None => (Cause::Kustomization, " as it is"),
                };
                let why = format!("{} is not rendered{how}: {why}", declared.object);
                let entry = NotChecked::at(&holder.file, cause, why);
                let by_namespace = declared.changes == Changes::Namespaces;
                let is_all = matches!(declared.changes, Changes::All | Changes::Found);
                // What is excluded may change.
                let at = Some(at).filter(|_| unread != Some(NotRead::Excluded));
                let parts = all_files.chain(at).chain(declared.overrides).filter(|_| is_all);
                let of = parts.chain(of_object);
                let from = if has_set() { declared.from } else { Vec::new() };
                let entry = NotChecked { by_namespace, object: declared.says, ..entry.of(of) };
                self.not_checked.push((entry, from));
            }
            return;
        };
        let object = Some(format!("{} in {}", declared.object, holder.name));
        let missing = files
            .iter()
            .find(|(_, all)| !declared.skips_missing && !all.iter().all(|it| it.exists()));
        let missing = missing.map(|(file, _)| format!("the repository has no {file}"));
        if let Some(why) = declared.why_not.or(missing) {
            let root = chart.with(Release { object, ..Release::default() }).name();
            let why = format!("{root} is not rendered: {why}");
            let entry = NotChecked::at(&holder.file, Cause::Chart, why);
            let parts = all_files.chain([at.clone()]).chain(of_object);
            let entry = NotChecked { object: declared.says, ..entry.of(parts) };
            self.not_rendered.push((root, entry, declared.from));
            return;
        }
        let values = all_files.filter(|at| at.exists());
        self.roots.push(chart.with(Release {
            values: values.map(|file| (shown(chart, &at, &file), file)).collect(),
            inline: declared.inline,
            object,
            of: holder.of.clone(),
            cluster: declared.cluster,
            name: Some(declared.name),
            namespace: declared.namespace,
            flags: declared.flags,
        }));
    }

    /// Lists what is not rendered, also the releases whose chart no file describes.
    pub(super) fn finish(mut self, listing: &mut Listing) {
        for (object, holder) in self.waiting {
            let why = format!(
                "{} is not rendered: no file has its HelmChart",
                label("HelmRelease", &object)
            );
            let entry = NotChecked::at(&holder.file, Cause::Chart, why).of(holder.of);
            self.not_checked.push((entry, Vec::new()));
        }
        let with = |mut it: NotChecked, from: Vec<String>| {
            let configs = from.iter().flat_map(|name| {
                // kustomize may add a hash.
                let is_it = move |it: &str| {
                    it.strip_prefix(&**name).is_some_and(|it| it.is_empty() || it.starts_with('-'))
                };
                self.configs.iter().filter(move |(it, _)| is_it(it)).map(|(_, config)| config)
            });
            // Flux puts only these into the objects of a Kustomization.
            let counts =
                |key: &String| it.cause != Cause::Kustomization || self.variables.contains(key);
            let data: BTreeSet<_> = configs.flatten().filter(|(key, _)| counts(key)).collect();
            it.object.as_mut().into_iter().for_each(|it| it.push_str(&format!("{data:?}")));
            it
        };
        let empty = self.not_rendered.into_iter();
        listing.empty.extend(empty.map(|(root, it, from)| (root, with(it, from))));
        listing.not_checked.extend(self.not_checked.into_iter().map(|(it, from)| with(it, from)));
        listing.overrides.extend(self.overrides);
        for mut it in self.applied {
            let key = text(&it.source[0], "kind").zip(text(&it.source[0], "name"));
            if let Some((leads, of)) = key.and_then(|key| self.sources.get(&key)) {
                it.source[1] = json!([leads, it.source[1]]);
                it.entry.of = it.entry.of.iter().chain(of).cloned().collect();
            }
            listing.applied.push(it);
        }
    }

    /// Returns whether Flux may find a set, or a release, in a folder.
    fn may_have_set(&self, folder: &Path) -> bool {
        let in_root = |folder: &Path| self.rendered.get(folder).copied();
        let has_set = |file: PathBuf| {
            let has = |text: String| may_have_set(&text) || describes(&text);
            let read = |it: &PathBuf| is_manifest(it) && files::text(it).map_or(true, has);
            *self.has_set.borrow_mut().entry(file).or_insert_with_key(read)
        };
        let mut files = WalkDir::new(folder).into_iter().flatten().map(DirEntry::into_path);
        in_root(folder).unwrap_or_else(|| {
            files.any(|it| match is_kustomization(&it) {
                true => in_root(&whole(it.parent().unwrap_or(&it))).unwrap_or(true),
                false => has_set(it),
            })
        })
    }
}

/// Returns the namespace and the name in a reference. The namespace is that of the object by default.
fn key(reference: &Value, object: &Value) -> String {
    let namespace = text(reference, "namespace").or_else(|| text(&object["metadata"], "namespace"));
    format!("{}/{}", namespace.unwrap_or_default(), reference["name"].as_str().unwrap_or_default())
}

/// Returns the place of a path in a repository, and the path without steps that lead nowhere. Flux takes a path above
/// the repository as one in it.
fn in_repository(top: &Path, path: &str) -> (PathBuf, PathBuf) {
    let way = clean(Path::new(path));
    let way = way.components().filter(|it| matches!(it, Component::Normal(_)));
    let way: PathBuf = way.collect();
    (whole(&top.join(&way)), way)
}

/// Returns the files that say what Flux leaves out of a folder.
fn ignores(folder: &Path, top: &Path) -> Vec<PathBuf> {
    const IGNORE: &str = ".sourceignore";
    let above = folder.ancestors().skip(1).take_while(|it| it.starts_with(top));
    let inside = entries(folder).filter(|it| it.file_name() == IGNORE).map(DirEntry::into_path);
    let mut all: Vec<_> = above.map(|it| it.join(IGNORE)).chain(inside).collect();
    all.sort();
    all
}

fn left_out(ignores: &[PathBuf]) -> String {
    let texts: Vec<_> = ignores.iter().filter_map(|it| files::text(it).ok()).collect();
    let lines = texts.iter().flat_map(|it| it.lines());
    let lines = lines.filter(|it| !it.trim().is_empty() && !it.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The first letters of placeholders and patterns in a path.
const OPEN: [char; 4] = ['{', '*', '?', '['];

/// Returns the file at a path, or the files that a placeholder or a pattern in it may stand for.
fn may_mean(folder: &Path, file: &str) -> Vec<PathBuf> {
    let Some(at) = file.find(OPEN) else { return vec![clean(&folder.join(file))] };
    let (before, open) = file.split_at(at);
    let folder = clean(&folder.join(before.rsplit_once('/').map_or("", |it| it.0)));
    let end = open.rsplit(['}', '*', '?', ']']).next().unwrap_or_default();
    let depth = if open.contains('/') || open.contains("**") { usize::MAX } else { 1 };
    let all = WalkDir::new(&folder).max_depth(depth).into_iter().flatten();
    let all = all.filter(|it| it.file_type().is_file()).map(DirEntry::into_path);
    // These count as the chart.
    let own = ["Chart.yaml", "values.yaml"].map(|it| folder.join(it));
    all.filter(|it| it.to_string_lossy().ends_with(end) && !own.contains(it)).collect()
}

/// What the fields that are not understood change.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Changes {
    #[default]
    All,
    /// Only the objects that are found there.
    Found,
    /// The namespaces, which not every policy looks at.
    Namespaces,
    /// Placeholders and labels of objects.
    Little,
}

/// A folder from the root of a repository, where the repository comes from, and which files there count.
struct Way {
    path: String,
    source: Value,
}

#[derive(Default)]
struct Declared {
    object: String,
    /// Its kind, namespace and name.
    id: String,
    /// A folder, from the root of the repository.
    path: String,
    is_release: bool,
    /// Whether the only field that is not understood is about a folder of manifests.
    is_directory: bool,
    /// From the root of the repository if the path begins with a slash, otherwise from the chart.
    files: Vec<String>,
    skips_missing: bool,
    /// The files in the folder that override what the object says.
    overrides: Vec<PathBuf>,
    inline: Option<String>,
    name: String,
    namespace: Option<String>,
    cluster: Option<String>,
    flags: Vec<String>,
    /// Why the repository alone does not show what is applied.
    why_not: Option<String>,
    changes: Changes,
    /// What it applies. An ApplicationSet can apply several folders.
    ways: Vec<Way>,
    /// The ConfigMaps and Secrets with values.
    from: Vec<String>,
    /// All that the object says about what is applied, if it is of Flux.
    says: Option<String>,
}

impl Declared {
    fn by(kind: &str, object: &Value) -> Self {
        let id = format!("{kind} {}", key(&object["metadata"], object));
        Declared { object: label(kind, object), id, ..Declared::default() }
    }
}

fn text(of: &Value, key: &str) -> Option<String> {
    of[key].as_str().filter(|it| !it.is_empty()).map(str::to_owned)
}

fn strings(of: &Value) -> Vec<String> {
    of.as_array().into_iter().flatten().filter_map(Value::as_str).map(value_file).collect()
}

/// A file of a different source of the same Application begins with its name.
fn value_file(file: &str) -> String {
    match file.strip_prefix('$').and_then(|it| it.split_once('/')) {
        Some((name, file)) if !name.contains("ARGOCD_") => format!("/{file}"),
        _ => file.to_owned(),
    }
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

fn applications(object: &Value, top: &Path) -> Vec<Declared> {
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
        let url = text(it, "repoURL").unwrap_or_default();
        let revision = text(it, "targetRevision").unwrap_or_else(|| "HEAD".to_owned());
        json!([url.trim_end_matches('/').trim_end_matches(".git"), revision])
    };
    let own = repository(source);
    let others = all_sources(spec).filter(has_values);
    let others = others.map(|it| json!([it["ref"], repository(it)])).filter(|it| it[1] != own);
    let mut others: Vec<_> = others.collect();
    others.sort_by_key(Value::to_string);
    let directory = &source["directory"];
    let which = json!([directory["include"], directory["exclude"], directory["recurse"] == true]);
    let path = text(source, "path").unwrap_or_default();
    Way { path, source: json!([own, others, which]) }
}

/// Returns the source of an object of Flux.
fn way_of_flux(object: &Value, source: &Value, path: Option<String>) -> Way {
    Way { path: path.unwrap_or_default(), source: json!([reference(source, object), null]) }
}

/// Returns a reference without the namespace, if that is the object's own.
fn reference(reference: &Value, object: &Value) -> Value {
    let is_own = reference["namespace"] == object["metadata"]["namespace"];
    without(reference, if is_own { "namespace" } else { "" })
}

/// Returns an object of Flux without what only decides when it is applied.
fn says(object: &Value) -> String {
    let when =
        "dependsOn healthCheckExprs healthChecks interval retryInterval suspend timeout wait";
    let mut spec = without(&object["spec"], when);
    if !spec["sourceRef"].is_null() {
        spec["sourceRef"] = reference(&spec["sourceRef"], object);
    }
    format!("{} {}", key(&object["metadata"], object), sorted(&spec))
}

/// The order of keys means nothing.
fn sorted(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

/// Returns the names of the ConfigMaps and Secrets in a list.
fn names(of: &Value) -> Vec<String> {
    of.as_array().into_iter().flatten().filter_map(|it| text(it, "name")).collect()
}

fn is_jsonnet(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "jsonnet" || it == "libsonnet")
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

/// Returns the documents in a file of the repository. The path, the name, or a link may lead out of it.
fn documents_in(file: &Path, top: &Path) -> Option<Vec<Value>> {
    let inside = dunce::canonicalize(file).ok().filter(|it| it.starts_with(top))?;
    let text = files::text(&inside).ok()?;
    let json = |it: kube_yaml::Document<'_>| serde_json::from_str(&it.root.to_json());
    Some(kube_yaml::documents(&text).flatten().map(|it| json(it).unwrap_or_default()).collect())
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
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

/// Upstream: `helmTemplate`, reposerver/repository/repository.go in github.com/argoproj/argo-cd.
fn application(object: &Value, source: &Value) -> Declared {
    let rest = without(source, SOURCE);
    let declared = Declared {
        path: text(source, "path").unwrap_or_default(),
        is_release: true,
        is_directory: keys(&rest) == ["directory"] && rest["directory"]["jsonnet"].is_null(),
        why_not: not_understood(&keys(&rest)),
        ..Declared::by("Application", object)
    };
    // These decide about hooks of tests, CustomResourceDefinitions and credentials.
    let helm = "passCredentials skipCrds skipSchemaValidation skipTests version";
    let helm = fields::<ArgoHelm>(without(&source["helm"], helm), "helm");
    let helm = helm.and_then(|mut helm| {
        for file in &mut helm.value_files {
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
            return Declared { why_not, is_directory: false, ..declared };
        }
    };
    let set = |Parameter { name, value, force_string }: Parameter| {
        let flag = if force_string { "--set-string" } else { "--set" };
        format!("{flag}={name}={}", value.replace(',', "\\,"))
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
        flags: version.into_iter().chain(apis).chain(parameters.into_iter().map(set)).collect(),
        ..declared
    }
}

/// The cluster makes Applications of it, so only what changes no release is followed.
fn application_set(object: &Value, top: &Path) -> Vec<Declared> {
    let template = &object["spec"]["template"]["spec"];
    let (mut elements, mut overrides) = (Vec::new(), Vec::new());
    add_elements(&object["spec"]["generators"], top, &mut elements, &mut overrides);
    if elements.is_empty() {
        elements.push(Value::Null);
    }
    let of = |(i, source): (usize, &Value)| {
        let mut rest = without(source, SOURCE);
        if let (Value::Object(fields), Some(directory)) = (&mut rest, source.get("directory"))
            && directory["jsonnet"].is_null()
        {
            fields.remove("directory");
        }
        let helm = (!source["helm"].is_null()).then_some("helm");
        let patch = (!object["spec"]["templatePatch"].is_null()).then_some("templatePatch");
        let keys: Vec<_> = keys(&rest).into_iter().chain(helm).chain(patch).collect();
        let ways = elements.iter().filter_map(|element| {
            let spec = filled(template, element);
            let source = sources(&spec).nth(i)?;
            Some(way(&spec, source))
        });
        Declared {
            ways: ways.collect(),
            path: text(source, "path").unwrap_or_default(),
            files: strings(&source["helm"]["valueFiles"]),
            overrides: overrides.clone(),
            why_not: not_understood(&keys),
            ..Declared::by("ApplicationSet", object)
        }
    };
    sources(template).enumerate().map(of).collect()
}

/// Adds what generators put into a template, as far as the repository has it, and the files with it.
fn add_elements(
    generators: &Value,
    top: &Path,
    elements: &mut Vec<Value>,
    files: &mut Vec<PathBuf>,
) {
    let list = |it: &Value| it.as_array().cloned().unwrap_or_default();
    for generator in list(generators) {
        elements.extend(list(&generator["list"]["elements"]));
        let folders = list(&generator["git"]["directories"]).into_iter();
        elements.extend(folders.filter(|it| it["exclude"] != true));
        for file in list(&generator["git"]["files"]).iter().filter_map(|it| text(it, "path")) {
            let is_inside = !Path::new(&file).components().any(|it| it == Component::ParentDir);
            let found = is_inside.then(|| may_mean(top, file.trim_start_matches('/')));
            for file in found.into_iter().flatten() {
                let Some(documents) = documents_in(&file, top) else { continue };
                for document in documents {
                    match document {
                        Value::Array(all) => elements.extend(all),
                        it => elements.push(it),
                    }
                }
                files.push(file);
            }
        }
        for key in ["matrix", "merge"] {
            add_elements(&generator[key]["generators"], top, elements, files);
        }
    }
}

/// Returns a part of a template with the values of an element.
fn filled(template: &Value, element: &Value) -> Value {
    match template {
        Value::String(text) => {
            let mut parts = text.split("{{");
            let mut filled = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let value = part.split_once("}}").and_then(|(key, rest)| {
                    // With `goTemplate`, a path has parts of its own.
                    let key = key.trim().trim_start_matches('.').replace("path.path", "path");
                    let value = element.pointer(&format!("/{}", key.replace('.', "/")))?;
                    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned) + rest)
                });
                filled.push_str(&value.unwrap_or_else(|| format!("{{{{{part}")));
            }
            Value::from(filled)
        }
        Value::Array(all) => all.iter().map(|it| filled(it, element)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, it)| (key.clone(), filled(it, element)));
            Value::Object(fields.collect())
        }
        it => it.clone(),
    }
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
        _ if keys.contains(&"components") => Changes::All,
        _ => Changes::Found,
    };
    let path = text(&object["spec"], "path");
    Declared {
        ways: vec![way_of_flux(object, &object["spec"]["sourceRef"], path.clone())],
        says: Some(says(object)),
        from: names(&object["spec"]["postBuild"]["substituteFrom"]),
        path: path.unwrap_or_default(),
        why_not: not_understood(&keys),
        changes,
        ..Declared::by("Kustomization", object)
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
        from: names(&spec["valuesFrom"]),
        path: text(chart, "chart")?,
        is_release: true,
        inline: Some(&spec["values"]).filter(|it| !it.is_null()).map(Value::to_string),
        name: text(spec, "releaseName").unwrap_or_else(|| format!("{prefix}{name}")),
        namespace: target.or_else(|| text(&object["metadata"], "namespace")),
        why_not,
        ..Declared::by("HelmRelease", object)
    })
}

fn group<'o>(object: &'o ManifestObject<'_>) -> &'o str {
    object.api_version().split('/').next().unwrap_or_default()
}

fn json(object: &ManifestObject<'_>) -> Value {
    serde_json::from_str(&object.node.to_json()).unwrap_or_default()
}

/// Returns whether a text has an object of Argo CD or Flux that changes how a part of the repository is applied.
pub(in crate::manifests) fn describes(text: &str) -> bool {
    let is_it = |it: &ManifestObject<'_>| match (group(it), it.kind()) {
        ("argoproj.io", "Application" | "ApplicationSet") => true,
        ("helm.toolkit.fluxcd.io", "HelmRelease") => {
            let it = json(it);
            !it["spec"]["chartRef"].is_null() || helm_release(&it).is_some()
        }
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => {
            flux_kustomization(&json(it)).why_not.is_some()
        }
        _ => false,
    };
    let marks = ["argoproj.io/", "toolkit.fluxcd.io/", "${", "$(", "{{", "\\x", "\\u", "!!"];
    let has_mark = marks.iter().any(|it| text.contains(it));
    has_mark
        && documents(text, false).flatten().any(|it| {
            // A placeholder can stand for any kind.
            it.unread().next().is_some() || it.others.iter().any(is_it)
        })
}

/// Returns the name of a file in the folder that the user named.
pub(super) fn named(file: &Path, there: &Path, folder: &Path) -> PathBuf {
    file.strip_prefix(there).map_or_else(|_| file.to_owned(), |it| clean(&folder.join(it)))
}

//! Releases of charts in the repository, as objects of Argo CD and Flux describe them.
//!
//! Each list of fields here is closed: with any other field, the object alone does not decide what is applied.

mod argo;
mod flux;

use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap, HashSet},
    path::{Component, Path, PathBuf},
};

use serde::Deserialize;
use serde_json::{Value, json};
use walkdir::{DirEntry, WalkDir};

use self::{
    argo::{application_set, applications, remote_charts, skipped},
    flux::{
        flux_kustomization, helm_release, ignores, left_out, remote_chart, source_kind, unhashed,
    },
};
use super::{
    Rendered,
    applied::Applied,
    has_images,
    root::{Release, Root},
    shown,
};
use crate::manifests::{
    document::documents,
    edits::entries,
    exclude::whole,
    files::{self, is_manifest},
    kustomization::Kustomization,
    layout::{clean, is_kustomization},
    listing::Listing,
    not_checked::{Cause, NotChecked, may_have_set},
    objects::ManifestObject,
    source::Source,
};

/// The releases of charts that objects describe.
#[derive(Default)]
pub(in crate::manifests) struct Releases<'a> {
    /// The charts and kustomizations that were found in folders, by folder.
    known: HashMap<PathBuf, Vec<&'a Root>>,
    /// The kustomizations that others take and no object applies, by folder.
    inner: HashMap<PathBuf, Root>,
    /// The folders of rendered kustomizations, and whether they may have a set.
    rendered: HashMap<PathBuf, bool>,
    unread: Option<Unread<'a>>,
    roots: Vec<Root>,
    /// The releases that cannot be rendered from the repository alone, by the name of the root, and the ConfigMaps and
    /// Secrets with their values.
    not_rendered: Vec<(String, NotChecked, Vec<String>)>,
    /// The objects that change the output of other roots, in the same way.
    not_checked: Vec<(NotChecked, Vec<String>)>,
    /// The charts that objects of Flux describe, and the releases that take them by that name.
    charts: Named<Value>,
    waiting: Vec<(Value, Holder)>,
    applied: Vec<Applied>,
    /// The files where Argo CD overrides Applications.
    overrides: HashSet<PathBuf>,
    /// The targets of Flux's sources, and the files that describe them.
    sources: Named<(String, Vec<PathBuf>)>,
    /// The data of ConfigMaps and Secrets.
    configs: Named<Vec<(String, String)>>,
    /// The names after `${` in all texts.
    variables: HashSet<String>,
    /// The folders that were searched for variables.
    searched: HashSet<PathBuf>,
    /// The files that Flux or Argo CD leaves out, and the files that say so, by folder and by whether it is Flux.
    ignores: HashMap<(PathBuf, bool), (String, Vec<PathBuf>)>,
    /// Whether a file or a folder may have a set or a release. Many objects can apply one folder.
    has_set: RefCell<HashMap<PathBuf, bool>>,
}

/// The file or the root with an object.
#[derive(Clone)]
struct Holder {
    name: String,
    /// The file that represents it in reports.
    file: PathBuf,
    /// The files that it is made of.
    of: Vec<PathBuf>,
    /// The folder of the repository.
    top: PathBuf,
}

/// Objects that others refer to, by kind and name, with the namespace and the file of each. A repository can have the
/// objects of several clusters.
struct Named<T>(HashMap<(&'static str, String), Vec<Placed<T>>>);

type Placed<T> = (String, PathBuf, T);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named(HashMap::new())
    }
}

impl<T> Named<T> {
    fn add(&mut self, kind: &'static str, object: &Value, holder: &Holder, it: T) {
        let metadata = |key| text(&object["metadata"], key).unwrap_or_default();
        let of_name = self.0.entry((kind, metadata("name"))).or_default();
        of_name.push((metadata("namespace"), holder.file.clone(), it));
    }

    /// Returns the objects that a file can mean by a kind and a name: the closest ones, and any in a folder above or
    /// below. kustomize or Flux may add a namespace that an object lacks.
    fn near(&self, (kind, reference): (&'static str, &str), file: &Path) -> Vec<&T> {
        let (namespace, name) = reference.rsplit_once('/').unwrap_or(("", reference));
        let is_it = |of: &str| of == namespace || of.is_empty() || namespace.is_empty();
        let all = self.0.get(&(kind, name.to_owned())).into_iter().flatten();
        let all = all.filter(|(of, ..)| is_it(of)).map(|(_, at, it)| (common(at, file), at, it));
        let all: Vec<_> = all.collect();
        let closest = all.iter().map(|(common, ..)| *common).max();
        let is_in = |at: &Path, of: &Path| of.parent().is_some_and(|it| at.starts_with(it));
        let is_near = |at: &Path| is_in(file, at) || is_in(at, file);
        let near = all.into_iter().filter(|(it, at, _)| Some(*it) == closest || is_near(at));
        near.map(|(.., it)| it).collect()
    }
}

/// Returns the number of folders that two files share.
fn common(one: &Path, other: &Path) -> usize {
    one.components().zip(other.components()).take_while(|(one, other)| one == other).count()
}

/// Returns why a chart in one of the folders is not read.
type Unread<'a> = &'a dyn Fn(&Path) -> Option<NotRead>;

/// Why a chart in a folder is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRead {
    /// A flag or the policy excludes it.
    Excluded,
    /// It is packed or vendored.
    Foreign,
}

impl<'a> Releases<'a> {
    pub(super) fn of((known, inner): (&'a [Root], Vec<Root>), unread: Unread<'a>) -> Self {
        let mut by_folder = HashMap::<_, Vec<_>>::new();
        known.iter().for_each(|it| by_folder.entry(whole(&it.at)).or_default().push(it));
        let inner = inner.into_iter().map(|it| (whole(&it.at), it)).collect();
        Releases { known: by_folder, inner, unread: Some(unread), ..Releases::default() }
    }

    /// Returns the parts that the objects in texts apply.
    pub(in crate::manifests) fn applied<'t>(
        texts: impl Iterator<Item = (&'t Path, &'t str)>,
        top: &Path,
    ) -> Vec<Applied> {
        let mut releases = Releases::of((&[], Vec::new()), &|_| None);
        for (file, text) in texts {
            let (file, of, top) = (file.to_owned(), vec![file.to_owned()], top.to_owned());
            releases.add(text, &Holder { name: file.display().to_string(), file, of, top });
        }
        let mut listing = Listing::default();
        releases.finish(&mut listing);
        listing.applied
    }

    /// Adds the objects in the output of roots that were found in folders.
    pub(super) fn see(&mut self, rendered: &[&Source]) {
        self.has_set.borrow_mut().clear();
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

    /// Adds the objects in a file of a repository.
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
            ("argoproj.io", kind @ ("Application" | "ApplicationSet")) => {
                let json = json();
                let is_set = kind == "ApplicationSet";
                let spec = if is_set { &json["spec"]["template"]["spec"] } else { &json["spec"] };
                self.add_remote(kind, &json, &remote_charts(spec), holder);
                if is_set {
                    application_set(&json, &holder.top)
                } else {
                    applications(&json, &holder.top)
                }
            }
            ("helm.toolkit.fluxcd.io", kind @ "HelmRelease") => {
                let json = json();
                self.add_remote(kind, &json, remote_chart(&json).as_slice(), holder);
                if json["spec"]["chartRef"]["kind"] == "HelmChart" {
                    self.waiting.push((json, holder.clone()));
                    return;
                }
                helm_release(&json).into_iter().collect()
            }
            ("source.toolkit.fluxcd.io", "HelmChart") => {
                let json = json();
                self.charts.add("HelmChart", &json, holder, json["spec"].clone());
                return;
            }
            ("source.toolkit.fluxcd.io", kind) if let Some(kind) = source_kind(kind) => {
                let json = json();
                let leads = [
                    "url", "ref", "include", "ignore", "sparseCheckout", "bucketName", "endpoint",
                    "prefix",
                ];
                let leads = leads.map(|key| sorted(&json["spec"][key])).join(" ");
                self.sources.add(kind, &json, holder, (leads, holder.of.clone()));
                return;
            }
            ("kustomize.toolkit.fluxcd.io", "Kustomization") => vec![flux_kustomization(&json())],
            ("v1", "ConfigMap" | "Secret") => return self.add_config(&json(), holder),
            _ => return,
        };
        declared.into_iter().for_each(|it| self.add_declared(it, holder));
    }

    /// Adds the charts of other repositories that an object applies, to list a release that moves to one.
    fn add_remote(&mut self, kind: &str, json: &Value, charts: &[String], holder: &Holder) {
        for chart in charts {
            let Declared { object, id, .. } = Declared::by(kind, json);
            let entry = NotChecked::at(&holder.file, Cause::Chart, "").of(holder.of.clone());
            self.applied.push(Applied {
                object,
                id,
                top: holder.top.clone(),
                path: format!("the chart {chart}").into(),
                source: Value::Null,
                rest: None,
                namespace: None,
                cluster: Value::Null,
                is_placed: false,
                is_release: false,
                is_foreign: false,
                entry,
            });
        }
    }

    fn add_config(&mut self, json: &Value, holder: &Holder) {
        let data = ["data", "stringData", "binaryData"].map(|it| json[it].as_object());
        let data = data.into_iter().flatten().flatten();
        let data = data.map(|(key, value)| (key.clone(), value.to_string()));
        let name = json["metadata"]["name"].as_str().map(unhashed);
        let it = json!({"metadata": {"name": name, "namespace": json["metadata"]["namespace"]}});
        self.configs.add("", &it, holder, data.collect());
    }

    /// Adds the ConfigMaps and Secrets of a file that a walk leaves out.
    pub(super) fn add_foreign(&mut self, (name, file): &(PathBuf, PathBuf)) {
        let text = files::text(file).unwrap_or_default();
        let (of, top) = (Vec::new(), PathBuf::new());
        let holder = Holder { name: String::new(), file: name.clone(), of, top };
        for objects in documents(&text, false).flatten() {
            let is_config = |it: &&ManifestObject<'_>| matches!(it.kind(), "ConfigMap" | "Secret");
            objects
                .others
                .iter()
                .filter(is_config)
                .for_each(|it| self.add_config(&json(it), &holder));
        }
    }

    /// Returns the releases so far, including the ones that take a chart by the name of an object of Flux.
    pub(super) fn take(&mut self) -> Vec<Root> {
        for (mut object, holder) in std::mem::take(&mut self.waiting) {
            let of_name = &key(&object["spec"]["chartRef"], &object);
            let mut charts = self.charts.near(("HelmChart", of_name), &holder.file);
            charts.sort_by_key(|it| it.to_string());
            charts.dedup();
            let charts: Vec<_> = charts.into_iter().cloned().collect();
            if charts.is_empty() {
                self.waiting.push((object, holder));
                continue;
            }
            object["spec"]["chartRef"].take();
            for chart in charts {
                object["spec"]["chart"]["spec"] = chart;
                helm_release(&object).into_iter().for_each(|it| self.add_declared(it, &holder));
            }
        }
        std::mem::take(&mut self.roots)
    }

    fn add_declared(&mut self, declared: Declared, holder: &Holder) {
        let top = &holder.top;
        self.overrides.extend(declared.overrides.iter().map(|it| whole(it)));
        let (at, _) = in_repository(top, &declared.path);
        if !declared.from.is_empty() && self.searched.insert(at.clone()) {
            // These need not belong to a root.
            let files = entries(&at);
            let texts = files.filter_map(|it| files::text(it.path()).ok());
            texts.for_each(|it| self.add_variables(&it));
        }
        let found = self.known.get(&at).cloned().unwrap_or_default();
        let chart = found.iter().find(|it| it.is_default_chart());
        let is_open = declared.path.contains("{{");
        let folders: Vec<_> = match is_open {
            true => {
                let charts = self.known.iter().filter(|(_, it)| it.iter().any(|it| it.is_chart()));
                charts.map(|(at, _)| at.clone()).collect()
            }
            false => vec![at.clone()],
        };
        let is_here = at.starts_with(top) && at.exists();
        let is_followed = declared.why_not.is_none() && !declared.is_made
            || declared.is_directory
            || matches!(declared.changes, Changes::Images | Changes::Namespaces);
        for Way { path, mut source, namespace, cluster } in declared.ways {
            let (at, path) = in_repository(top, &path);
            let mut of = [&holder.of[..], &declared.overrides].concat();
            let is_flux = source[0].is_object();
            if let Some(source) = source.as_array_mut().filter(|_| is_flux || found.is_empty()) {
                let read = || match is_flux {
                    true => {
                        let files = ignores(&at, top);
                        (left_out(&files, &at), files)
                    }
                    false => skipped(&at),
                };
                let key = (at.clone(), is_flux);
                let (left_out, files) = self.ignores.entry(key).or_insert_with(read);
                source.push(left_out.clone().into());
                of.extend(files.iter().cloned());
            }
            let (object, id, top) = (declared.object.clone(), declared.id.clone(), top.clone());
            let mut roots = self.known.get(&at).into_iter().flatten();
            let is_release = declared.is_release && roots.any(|it| it.is_chart());
            let is_unread = !self.known.contains_key(&at) && at.join("Chart.yaml").is_file();
            let why = self.unread.filter(|_| is_unread).and_then(|unread| unread(&at));
            let is_foreign = why == Some(NotRead::Foreign);
            let entry = NotChecked::at(&holder.file, Cause::Chart, "").of(of);
            let rest = declared.rest.clone().filter(|_| !is_followed);
            let own = Kustomization::of_folder(&at).and_then(|it| it.namespace);
            // Flux overrides it.
            let is_placed = !is_release && (declared.why_not.is_some() || own.is_none());
            let namespace = own.filter(|_| !is_placed).or(namespace);
            self.applied.push(Applied {
                object,
                id,
                top,
                path,
                source,
                rest,
                namespace,
                cluster,
                is_placed,
                is_release,
                is_foreign,
                entry,
            });
        }
        let files = |file: &String| match file.strip_prefix('/') {
            Some(file) => may_mean(top, file),
            None => folders.iter().flat_map(|it| may_mean(it, file)).collect(),
        };
        let files: Vec<_> = declared.files.iter().map(|it| (it, files(it))).collect();
        let all_files = files.iter().flat_map(|(_, all)| all.clone());
        // Only the object counts for these.
        let of_object = if declared.says.is_some() { &[][..] } else { &holder.of[..] };
        let of_object = of_object.iter().cloned();
        let (Some(chart), true) = (chart, declared.is_release) else {
            // The object applies a kustomization although a different one takes it.
            self.roots.extend(self.inner.remove(&at));
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
            let mut changes = declared.changes;
            let mut why = declared.why_not.or_else(why_unread).filter(|_| is_of_interest);
            let has_own = || Kustomization::of_folder(&at).is_some_and(|it| it.namespace.is_some());
            let mut says = declared.says;
            if why.is_none()
                && let Some(namespace) = declared.destination
                && at.is_dir()
                && has_set()
                && !has_own()
            {
                why = Some(format!("it puts objects without a namespace into {namespace}"));
                says = Some(format!("{} {namespace}", declared.id));
                changes = Changes::Namespaces;
            }
            let of_object = if says.is_some() { &[][..] } else { &holder.of[..] };
            if let Some(why) = why {
                let (cause, how) = match unread {
                    Some(_) => (Cause::Chart, ""),
                    None => (Cause::Kustomization, " as it is"),
                };
                let why = format!("{} is not rendered{how}: {why}", declared.object);
                let entry = NotChecked::at(&holder.file, cause, why);
                let by_namespace = changes == Changes::Namespaces;
                let is_all = matches!(changes, Changes::All | Changes::Found);
                // Excluded files may change.
                let at = Some(at).filter(|_| unread != Some(NotRead::Excluded));
                let parts = all_files.chain(at).chain(declared.overrides).filter(|_| is_all);
                let of = parts.chain(of_object.iter().cloned());
                let from = if has_set() { declared.from } else { Vec::new() };
                let only_images = changes == Changes::Images;
                let entry = NotChecked { by_namespace, only_images, object: says, ..entry.of(of) };
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
            // The last one decides where it is deployed.
            of: [declared.overrides, holder.of.clone()].concat(),
            cluster: declared.cluster,
            name: Some(declared.name),
            namespace: declared.namespace,
            flags: declared.flags,
        }));
    }

    /// Lists the objects that are not rendered, including releases whose chart no file describes.
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
            let file = Path::new(&it.file);
            let configs = from.iter().flat_map(|name| self.configs.near(("", name), file));
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
            let kind = it.source[0]["kind"].as_str().and_then(source_kind);
            if let Some(kind) = kind {
                let name = it.source[1].as_str().unwrap_or_default();
                let mut found = self.sources.near((kind, name), Path::new(&it.entry.file));
                found.sort();
                found.dedup_by(|one, other| one.0 == other.0);
                let (leads, of): (Vec<_>, Vec<_>) = found.into_iter().cloned().unzip();
                it.source[1] = json!(leads);
                it.entry.of = it.entry.of.iter().cloned().chain(of.into_iter().flatten()).collect();
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
        let known = in_root(folder).or_else(|| self.has_set.borrow().get(folder).copied());
        known.unwrap_or_else(|| {
            let mut files = WalkDir::new(folder).into_iter().flatten().map(DirEntry::into_path);
            let found = files.any(|it| match is_kustomization(&it) {
                true => in_root(&whole(it.parent().unwrap_or(&it))).unwrap_or(true),
                false => has_set(it),
            });
            self.has_set.borrow_mut().insert(folder.to_owned(), found);
            found
        })
    }
}

/// Returns the namespace and the name in a reference. The namespace is that of the object by default.
fn key(reference: &Value, object: &Value) -> String {
    let namespace = text(reference, "namespace").or_else(|| text(&object["metadata"], "namespace"));
    format!("{}/{}", namespace.unwrap_or_default(), reference["name"].as_str().unwrap_or_default())
}

/// Returns the place of a path in a repository, and the normalized path. Flux takes a path above the repository as one
/// in it.
fn in_repository(top: &Path, path: &str) -> (PathBuf, PathBuf) {
    let way = clean(Path::new(path));
    let way = way.components().filter(|it| matches!(it, Component::Normal(_)));
    let way: PathBuf = way.collect();
    (whole(&top.join(&way)), way)
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

/// What the unsupported fields change.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Changes {
    #[default]
    All,
    /// Only which objects are found there.
    Found,
    /// The namespaces. Not every policy looks at them.
    Namespaces,
    /// Placeholders and labels of objects.
    Little,
    /// The images of a kustomization.
    Images,
}

/// A folder from the root of a repository, the origin of the repository, and which files there count.
struct Way {
    path: String,
    source: Value,
    /// The namespace for objects without one.
    namespace: Option<String>,
    /// How the object names the cluster. `null` means the cluster with the object.
    cluster: Value,
}

#[derive(Default)]
struct Declared {
    object: String,
    /// Its kind, namespace and name.
    id: String,
    /// A folder, from the root of the repository.
    path: String,
    is_release: bool,
    /// Whether the only unsupported field is about a folder of manifests.
    is_directory: bool,
    /// From the root of the repository if the path begins with a slash, otherwise from the chart.
    files: Vec<String>,
    skips_missing: bool,
    /// The files in the folder that override the object.
    overrides: Vec<PathBuf>,
    inline: Option<String>,
    name: String,
    namespace: Option<String>,
    cluster: Option<String>,
    flags: Vec<String>,
    /// Why the repository alone does not show what is applied.
    why_not: Option<String>,
    /// Its changes that setguard may not follow.
    rest: Option<String>,
    /// Whether the Applications that it makes say why they are not rendered.
    is_made: bool,
    /// The namespace in which Argo CD puts objects without one.
    destination: Option<String>,
    changes: Changes,
    /// The folders that it applies. An ApplicationSet can apply several.
    ways: Vec<Way>,
    /// The ConfigMaps and Secrets with values.
    from: Vec<String>,
    /// Everything in a Flux object that affects what is applied.
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

/// A file from a different source of the same Application begins with that source's name.
fn value_file(file: &str) -> String {
    match file.strip_prefix('$').and_then(|it| it.split_once('/')) {
        Some((name, file)) if !name.contains("ARGOCD_") => format!("/{file}"),
        _ => file.to_owned(),
    }
}

fn label(kind: &str, object: &Value) -> String {
    format!("{kind} {}", object["metadata"]["name"].as_str().unwrap_or_default())
}

/// Returns an object without these fields, and without null fields, because the API server drops them.
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

/// The order of keys has no meaning.
fn sorted(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
}

fn is_jsonnet(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "jsonnet" || it == "libsonnet")
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

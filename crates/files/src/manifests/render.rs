//! Charts and kustomizations, rendered by the user's own programs. A rendered text is checked like any other, and each
//! position in it leads back to the file that people edit.

mod applied;
mod fence;
mod gitops;
mod helm;
mod kustomize;
mod place;
mod program;
mod repeat;
pub mod root;

use std::{
    collections::{HashMap, HashSet},
    ffi::OsStr,
    num::NonZero,
    ops::Range,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use serde_json::{Map, Value};
use setguard_core::policy::{ChartRelease, FolderNames};

pub(super) use self::{
    applied::{Applied, not_compared},
    gitops::{Releases, describes},
    helm::local_dependencies,
};
use self::{
    fence::Fence,
    gitops::{NotRead, named},
    place::Part,
    root::{Kind, Root, Taker},
};
pub use self::{
    helm::recorded,
    place::{Files, Rendered},
    repeat::settle,
};
use super::{
    document::{Manifest, sets},
    exclude::whole,
    files, folder,
    git::checkout::Checkout,
    id::ObjectId,
    kustomization::{Kustomization, may_build_set},
    layout::clean,
    not_checked,
};
use crate::prelude::*;

/// The roots and folders to render, and the settings.
#[derive(Debug)]
pub struct Rendering {
    pub(super) roots: Vec<Root>,
    /// The folders to search for more roots.
    pub(super) folders: Vec<PathBuf>,
    /// How to render.
    pub settings: Settings,
    /// The releases of charts in a policy, and the base folder of its paths.
    pub releases: (Vec<ChartRelease>, PathBuf),
    /// Whether to render a chart as an upgrade too, if that can make a difference.
    pub upgrades_too: bool,
}

/// The name of a file, and its path.
type NamedFile = (PathBuf, PathBuf);

/// The most rounds of rendering: the output of a root can contain a release of a chart, and that chart's output the
/// next one.
const ROUNDS: usize = 8;

/// How to render.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of a release.
    pub namespace: Option<String>,
    /// The name of a release; by default, the name of the chart's folder, or of the chart in the working folder.
    pub release: Option<String>,
    /// The release of Kubernetes to render charts for.
    pub kube_version: Option<String>,
    /// The time limit for each root.
    pub timeout: Duration,
    /// Whether a root may render to nothing.
    pub may_be_empty: bool,
    /// Whether to render charts only as upgrades.
    pub is_upgrade: bool,
}

impl Rendering {
    /// Lists the folders, and renders all roots, now or at a commit. Calls `done` with the number of roots after each.
    pub fn read(
        &self,
        at: Option<&Checkout>,
        exclude: &Exclude,
        names: &FolderNames,
        done: &mut dyn FnMut(usize),
    ) -> Listing {
        let (mut listing, mut taken, mut files) = (Listing::default(), Vec::new(), Vec::new());
        let mut foreign = Vec::new();
        let find = |path: &Path| at.map_or_else(|| path.to_owned(), |at| at.find(path));
        let roots = self.roots.iter().map(|root| root.moved(&find));
        let mut roots: Vec<_> = roots.filter(|it| at.is_none() || it.exists()).collect();
        for folder in &self.folders {
            let there = find(folder);
            if at.is_some() && !there.exists() {
                continue;
            }
            let exclude = &exclude.in_copy(&there, folder);
            let mut found = match there.is_dir() {
                true => folder::list(&there, exclude, names, true),
                false => listing::list(std::slice::from_ref(&there), exclude, names),
            };
            roots.extend(found.roots.drain(..).map(|it| it.shown_in(folder, &there)));
            let inner = found.inner.iter_mut();
            for root in inner.flat_map(|(it, takers)| takers.iter_mut().chain([it])) {
                *root = root.clone().shown_in(folder, &there);
            }
            let left_out = std::mem::take(&mut found.foreign).into_iter();
            foreign.extend(left_out.map(|it| (named(&it, &there, folder), it)));
            let all = found.sources.iter().flatten().chain(&found.taken);
            let all = all.filter_map(Source::file);
            files.extend(all.map(|(_, file)| (named(&file, &there, folder), file)));
            let first = taken.len();
            taken.extend(found.taken.drain(..).filter_map(|it| {
                let path = it.path_in_folder().filter(|it| not_checked::file_may_have_set(it))?;
                Some((whole(&path), it))
            }));
            if let Some(at) = at {
                let contexts = std::mem::take(&mut found.contexts);
                let taken = taken.iter_mut().skip(first).map(|(_, source)| source);
                for source in found.sources.iter_mut().flatten().chain(taken) {
                    let before = source.file().and_then(|(name, _)| contexts.get(&name));
                    *source = at.read(std::mem::replace(source, Source::Stdin), folder, &there);
                    found.contexts.extend(before.map(|it| (source.name().to_owned(), it.clone())));
                }
            }
            listing.extend(found);
        }
        if at.is_none() {
            listing.sources.extend(self.lacking(&roots).map(Err));
        }
        let unread = |chart: &Path| {
            let mut folders = self.folders.iter().map(|it| (it, whole(&find(it))));
            let found = folders.find(|(_, there)| chart.starts_with(there));
            let (folder, there) = found?;
            let mut above = chart.ancestors().take_while(|it| it.starts_with(&there));
            let by = above.find_map(|it| exclude.excludes(&named(it, &there, folder), it, true));
            Some(if by.is_some() { NotRead::Excluded } else { NotRead::Foreign })
        };
        let rendered =
            self.render_found(&mut roots, (&files, &foreign), at, &unread, &mut listing, done);
        self.record(&roots, rendered, at, &mut listing);
        let applied: HashSet<_> = listing.applied.iter().map(Applied::folder).collect();
        for it in listing.sources.iter_mut().flatten().filter_map(Source::rendered_mut) {
            it.is_applied = it.folder.ancestors().any(|it| applied.contains(it));
        }
        let as_it_is = applied::as_it_is(&listing.applied);
        let (plain, taken): (Vec<_>, Vec<_>) = taken.into_iter().partition(|(it, _)| as_it_is(it));
        listing.sources.extend(plain.into_iter().map(|(_, source)| Ok(source)));
        listing.add_not_rendered(taken, &roots);
        let listed = listing.not_checked.iter().flat_map(|it| it.of.iter().cloned());
        let used = roots.iter().flat_map(Root::parts).chain(listed);
        let used: HashSet<_> = used.map(|it| whole(&it)).collect();
        let by_folder = roots.iter().rev().map(|it| (&*it.at, it)).collect();
        let mut values = HashMap::new();
        for (name, file) in files.iter().filter(|(name, _)| !used.contains(&whole(name))) {
            let entry = unused(name, file, &by_folder, &listing.overrides, &mut values);
            listing.not_checked.extend(entry);
        }
        listing.roots = roots;
        listing
    }

    /// Returns an error for each release of the policy in a rendered folder that has no such chart.
    fn lacking(&self, roots: &[Root]) -> impl Iterator<Item = FileError> {
        let (releases, folder) = &self.releases;
        let folder = whole(folder);
        let charts: HashSet<_> =
            roots.iter().filter(|it| it.is_default_chart()).map(|it| whole(&it.folder)).collect();
        let lacks = move |chart: &str| {
            let chart = clean(&folder.join(chart));
            let is_here = self.folders.iter().any(|it| chart.starts_with(whole(it)));
            is_here && !charts.contains(&chart)
        };
        let lacking = releases.iter().filter(move |it| lacks(&it.chart));
        lacking.map(|it| {
            let why = "the policy renders this chart, and no chart is there".to_owned();
            FileError::Render { roots: vec![it.chart.clone()], why }
        })
    }

    /// Renders the roots of the other side of a change that exist on this side, but not as roots: a change must not
    /// hide a root by a kustomization that takes it.
    pub fn also(&self, others: &[Root], at: Option<&Checkout>, known: &mut Listing) {
        let find = |path: &Path| at.map_or_else(|| path.to_owned(), |at| at.find(path));
        let installed = |it: &Root| {
            let name = it.is_upgrade.then(|| it.for_upgrade(false).name())?;
            known.roots.iter().find(|own| own.name() == name).map(|own| own.for_upgrade(true))
        };
        let roots = missing(others, &known.roots);
        let roots = roots.filter_map(|it| installed(it).or_else(|| it.on_other_side(&find)));
        let roots: Vec<_> = roots.collect();
        let rendered = all(&roots, &self.settings, at, &mut || {});
        self.record(&roots, rendered, at, known);
        known.roots.extend(roots);
    }

    /// Renders the kustomizations that the change adds and that others use, if one prints an object of a removed root,
    /// and no root prints it the same way: a change must not hide a root by renaming it.
    pub fn also_moved<'s>(
        &self,
        commit: &Commit,
        old: impl Iterator<Item = &'s Source>,
        known: &mut Listing,
    ) {
        let namespace = self.settings.namespace.as_deref();
        let is_gone = |it: &Root| !it.is_chart() && !Root::kustomization(&it.folder).exists();
        let gone = old.filter(|it| it.rendered().is_some_and(|it| is_gone(&it.root)));
        let gone = gone.flat_map(|it| sets(it, namespace)).map(|it| ObjectId::of(&it.node));
        let gone: HashSet<_> = gone.collect();
        let is_new = |it: &&Root| {
            !known.roots.iter().any(|root| root.folder == it.folder) && !commit.had(&it.file())
        };
        let roots = known.inner.iter().map(|(it, _)| it).filter(|_| !gone.is_empty());
        let roots: Vec<_> = roots.filter(is_new).cloned().collect();
        let objects = |it: &Source| -> Vec<_> {
            sets(it, namespace).map(|it| (ObjectId::of(&it.node), it.node.to_json())).collect()
        };
        let printed = known.sources.iter().flatten().filter(|it| it.rendered().is_some());
        let printed: HashSet<_> = printed.filter(|_| !roots.is_empty()).flat_map(objects).collect();
        let all = all(&roots, &self.settings, None, &mut || {});
        for (root, source) in roots.into_iter().zip(all) {
            let Ok(source) = source else { continue };
            let objects = objects(&source);
            if objects.iter().any(|it| gone.contains(&it.0) && !printed.contains(it)) {
                known.sources.push(Ok(source));
                known.roots.push(root);
            }
        }
    }

    /// Adds what was rendered.
    fn record(
        &self,
        roots: &[Root],
        rendered: Vec<Result<Source, String>>,
        at: Option<&Checkout>,
        listing: &mut Listing,
    ) {
        for (root, rendered) in roots.iter().zip(rendered) {
            let empty = |why| NotChecked::at(&root.file(), Cause::Empty, why);
            match rendered {
                // It need not render alone.
                Err(_) if root.is_part() => {}
                // A chart with values for tests may lack defaults. At a commit, its objects aren't known then.
                Err(why) if root.may_fail && at.is_none() && program::find(&["helm"]).is_some() => {
                    let why = format!(
                        "it does not render with its default values, so only its other values are checked: {why}"
                    );
                    listing.empty.push((root.name(), empty(why)));
                }
                Err(why) => {
                    let why = at.map_or(why.clone(), |at| at.without_folder(&why));
                    // A change of the dependencies must not decide whether setguard has something to compare with.
                    if at.is_some() && why.contains(helm::MISSING) {
                        let why = format!("at the commit, {why}");
                        let entry = NotChecked::at(&root.file(), Cause::Chart, why);
                        listing.not_compared.push(entry.of(root.parts()));
                    }
                    let known = listing.sources.iter_mut().find_map(|it| match it {
                        Err(FileError::Render { roots, why: known }) if *known == why => {
                            Some(roots)
                        }
                        _ => None,
                    });
                    match known {
                        Some(known) => known.push(root.name()),
                        None => {
                            let roots = vec![root.name()];
                            listing.sources.push(Err(FileError::Render { roots, why }));
                        }
                    }
                }
                Ok(source) => {
                    let note = source.rendered().and_then(|it| it.note.clone());
                    listing.notes.extend(note.filter(|_| at.is_none()));
                    if source.rendered().is_some_and(Rendered::is_empty) {
                        let why = format!("{} renders to nothing", root.name());
                        listing.empty.push((root.name(), empty(why)));
                    }
                    listing.sources.push(Ok(source));
                }
            }
        }
    }

    /// Renders the roots, then the releases of charts that a policy and `files` describe, and then the releases in
    /// rendered output. If a chart has a release, its default values need not suffice. `files` has names and paths.
    /// `foreign` has files that a walk leaves out, but that objects may take values from.
    fn render_found(
        &self,
        roots: &mut Vec<Root>,
        (files, foreign): (&[NamedFile], &[NamedFile]),
        at: Option<&Checkout>,
        unread: &dyn Fn(&Path) -> Option<NotRead>,
        listing: &mut Listing,
        done: &mut dyn FnMut(usize),
    ) -> Vec<Result<Source, String>> {
        let find = &|path: &Path| at.map_or_else(|| path.to_owned(), |at| at.find(path));
        let known: Vec<_> = roots.iter().filter(|it| it.is_found).cloned().collect();
        // The others are roots already.
        let is_root = |it: &Root| known.iter().any(|root| root.folder == it.folder);
        let inner = listing.inner.iter().map(|(it, _)| it).filter(|it| !is_root(it));
        let inner: Vec<_> = inner.cloned().collect();
        let (of_layout, mut rendered) = (roots.len(), Vec::new());
        let (releases, folder) = &self.releases;
        let charts = known.iter().filter(|it| it.is_default_chart());
        roots.extend(charts.flat_map(|root| {
            releases.iter().filter_map(|it| root.released(it, folder, find)).collect::<Vec<_>>()
        }));
        let mut releases = Releases::of((&known, inner), unread);
        for round in 0..ROUNDS {
            let first = rendered.len();
            if self.upgrades_too {
                let upgraded = roots.iter().skip(first).filter_map(Root::upgraded);
                roots.extend(upgraded.collect::<Vec<_>>());
            }
            let (count, new) = (roots.len(), roots.split_off(first));
            let all = all(&new, &self.settings, at, &mut || done(count));
            // At a commit, the installation remains, for comparison.
            let is_now = |root: &Root| find(&root.folder) == root.folder;
            let failed = new.iter().zip(&all).filter(|(it, _)| it.is_upgrade && is_now(it));
            listing.not_checked.extend(failed.filter_map(|(root, it)| {
                let why = format!("{} does not render: {}", root.name(), it.as_ref().err()?);
                Some(NotChecked::at(&root.file(), Cause::Chart, why).of(root.parts()))
            }));
            let (kept, all) = differing(new, all);
            roots.extend(kept);
            rendered.extend(all);
            let new: Vec<_> = rendered.iter().skip(first).flatten().collect();
            releases.see(&new);
            if round == 0 {
                let new = new.iter().filter_map(|it| it.rendered());
                let origins: HashSet<_> = new.flat_map(Rendered::origins).collect();
                // The output of a root is applied instead of its file.
                let left = files.iter().filter(|(_, it)| !origins.contains(&whole(it)));
                left.for_each(|(name, file)| releases.add_file(name, file));
                foreign.iter().for_each(|it| releases.add_foreign(it));
            }
            roots.append(&mut releases.take());
            if rendered.len() == roots.len() {
                break;
            }
        }
        listing.not_checked.extend(roots.drain(rendered.len()..).map(|root| {
            let why = format!(
                "{} is not rendered: too many charts print each other's objects",
                root.name()
            );
            NotChecked::at(&root.file(), Cause::Chart, why).of(root.parts())
        }));
        releases.finish(listing);
        let (layout, added) = roots.split_at_mut(of_layout);
        for root in layout.iter_mut().filter(|it| it.is_default_chart()) {
            root.may_fail |= added.iter().any(|it| it.at == root.at);
        }
        rendered
    }
}

/// Returns the roots that the other roots lack.
pub fn missing<'r>(roots: &'r [Root], others: &[Root]) -> impl Iterator<Item = &'r Root> {
    let others: HashSet<_> = others.iter().map(Root::name).collect();
    roots.iter().filter(move |it| !others.contains(&it.name()))
}

/// The values of a chart, by folder. `None` for a root that builds no set.
type Values = HashMap<PathBuf, Option<Rc<Value>>>;

/// Returns the entry for a file with values, or with overrides of Argo CD, that no root takes.
fn unused(
    name: &Path,
    file: &Path,
    roots: &HashMap<&Path, &Root>,
    overrides: &HashSet<PathBuf>,
    known: &mut Values,
) -> Option<NotChecked> {
    let folder = file.parent()?;
    let file_name = file.file_name()?.to_string_lossy();
    let mut values_of = |at: &Path| {
        let values = || files::text(&at.join("values.yaml")).ok().and_then(|it| json(&it));
        let values = || may_build_set(at).then(|| Rc::new(values().unwrap_or_default()));
        known.entry(at.to_owned()).or_insert_with(values).clone()
    };
    let (why, says) = if file_name.starts_with(".argocd-source") {
        if overrides.contains(&whole(file)) {
            return None;
        }
        roots.get(folder).and_then(|_| values_of(folder))?;
        let text = files::text(file).ok();
        let says = text.filter(|it| !json(it).is_some_and(|it| has_images(&it)));
        ("setguard knows no Application that reads it; an ApplicationSet may make one", says)
    } else {
        let mut of = |at: &Path| {
            let values = roots.get(at).filter(|it| it.is_chart()).and_then(|_| values_of(at))?;
            values_for(at, file, values.as_object())
        };
        let chart = folder.ancestors().find(|it| it.join("Chart.yaml").is_file());
        let says = match chart {
            Some(chart) => of(chart),
            None => about(name, roots).find_map(of),
        };
        ("nothing renders its chart with these values; add them to `render` in the policy", says)
    };
    let object = Some(format!("{} {}", name.display(), says?));
    Some(NotChecked { object, ..NotChecked::at(name, Cause::Chart, why) })
}

/// Returns the charts that a file outside may have values for, by its name.
fn about<'r>(name: &Path, roots: &'r HashMap<&Path, &Root>) -> impl Iterator<Item = &'r Path> {
    let path = name.to_string_lossy().to_lowercase();
    let is_of = move |chart: &Path| {
        let chart = chart.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        path.contains("values") || path.split(['/', '\\', '.']).any(|it| it == chart)
    };
    let charts = roots.iter().filter(|(_, it)| it.is_default_chart());
    let mut charts: Vec<_> = charts.map(|(at, _)| *at).filter(|it| is_of(it)).collect();
    charts.sort();
    charts.into_iter()
}

fn json(text: &str) -> Option<Value> {
    let first = kube_yaml::documents(text).next()?.ok()?;
    serde_json::from_str(&first.root.to_json()).ok()
}

/// Returns whether overrides only choose the versions of images, as Argo CD Image Updater writes them.
fn has_images(overrides: &Value) -> bool {
    let is_only = |of: &Value, key: &str| {
        of.as_object().is_some_and(|it| !it.is_empty() && it.keys().all(|it| it == key))
    };
    is_only(overrides, "kustomize") && is_only(&overrides["kustomize"], "images")
}

/// Returns the content of a file that may have values for a chart: it shares a key with the chart's values. Outside the
/// chart, it must have no other keys.
fn values_for(chart: &Path, file: &Path, known: Option<&Map<String, Value>>) -> Option<String> {
    let of_helm = "Chart.yaml values.yaml values.schema.json requirements.yaml templates crds charts ci tests";
    let inside = file.strip_prefix(chart).ok();
    if inside.is_some_and(|inside| of_helm.split(' ').any(|it| inside.starts_with(it))) {
        return None;
    }
    let text = files::text(file).ok()?;
    let known = known.filter(|it| !it.is_empty());
    let is_known = |key: &str| known.map_or(inside.is_some(), |it| it.contains_key(key));
    let Some(mut values) = json(&text) else {
        let mut keys = text.lines().filter_map(|it| it.split_once(':'));
        return (inside.is_some() && keys.any(|(key, _)| is_known(key))).then_some(text);
    };
    let fields = values.as_object()?;
    let is_object = ["apiVersion", "kind"].iter().all(|key| fields.contains_key(*key));
    let mut keys = fields.keys();
    // Programs have settings in JSON too, such as dashboards.
    let has_values = match inside.is_none() || file.extension().is_some_and(|it| it == "json") {
        true => !fields.is_empty() && keys.all(|it| is_known(it)),
        false => keys.any(|it| is_known(it)),
    };
    values.sort_all_objects();
    (!is_object && has_values).then(|| values.to_string())
}

/// Returns the names of charts with their default values beside a release of them: nobody installs these.
pub fn samples(sources: &[Result<Source, FileError>]) -> HashSet<String> {
    let all = || sources.iter().flatten();
    let released: HashSet<_> = all().filter_map(|it| it.group().released()).collect();
    let is_sample = |it: &&Source| it.group().default_of().is_some_and(|it| released.contains(it));
    all().filter(is_sample).map(|it| it.name().to_owned()).collect()
}

impl Listing {
    /// Returns the kustomizations that a change adds to an existing one. The existing one must not hide them.
    pub fn added(&self, at: &Checkout) -> Vec<Root> {
        let was = |root: &Root| root.moved(&|it| at.find(it)).exists();
        let added = self.inner.iter().filter_map(|(root, takers)| {
            let taker = takers.iter().rfind(|it| was(it))?;
            let namespace = || Kustomization::of_folder(&taker.folder)?.namespace;
            let part_of = || Some(Taker { folder: taker.folder.clone(), namespace: namespace() });
            (!was(root)).then(|| Root { part_of: part_of(), ..root.clone() })
        });
        added.collect()
    }

    /// Adds the files of a root that none renders, such as a patch without a target or a file in `.helmignore`: kubectl
    /// can apply them. Does nothing if a required root fails, because that ends the run with an error.
    fn add_not_rendered(&mut self, taken: Vec<(PathBuf, Source)>, roots: &[Root]) {
        let may_fail = |name: &String| roots.iter().any(|it| it.may_fail && it.name() == *name);
        let has_failed = |it: &Result<_, _>| matches!(it, Err(FileError::Render { roots, .. }) if !roots.iter().all(may_fail));
        if self.sources.iter().any(has_failed) {
            return;
        }
        let rendered = self.sources.iter().flatten().filter_map(Source::rendered);
        let origins: HashSet<_> = rendered.flat_map(Rendered::origins).collect();
        let unknown = self.sources.iter().flatten().filter_map(|it| Some((it, it.rendered()?)));
        let unknown: Vec<_> = unknown.flat_map(|(it, of)| of.without_origin(it.text())).collect();
        let is_built = |path: &Path, source: &Source| {
            let is_unknown = |it: &Manifest<'_>| {
                let ObjectId { kind, name, .. } = ObjectId::of(&it.node);
                // kustomize may extend the name.
                unknown.iter().any(|it| it.kind == kind && it.name.contains(&name))
            };
            let has_all = || {
                let source = source.unread().map(Source::reread);
                let mut sets = source.iter().flat_map(|it| sets(it, None)).peekable();
                sets.peek().is_some() && sets.all(|it| is_unknown(&it))
            };
            let is_resource = || {
                let folder = path.parent()?;
                let of = Kustomization::of_folder(folder)?;
                Some(of.resources.iter().any(|it| clean(&folder.join(it)) == *path))
            };
            origins.contains(path)
                || !unknown.is_empty() && is_resource() == Some(true) && has_all()
        };
        let (built, others): (Vec<_>, Vec<_>) =
            taken.into_iter().partition(|(path, source)| is_built(path, source));
        let built = built.into_iter().filter(|(path, _)| not_checked::has_whole_set(path));
        self.taken = built.map(|(_, source)| source).collect();
        for (path, source) in others {
            let is_named = |name: &OsStr| name.as_encoded_bytes().starts_with(b"_");
            let is_template = path.iter().any(|it| it == "templates");
            let holds = |it: &NotChecked| {
                let chart = Path::new(&it.file).parent().map(whole);
                chart.is_some_and(|it| path.starts_with(it))
            };
            let is_template = is_template && !self.empty.iter().any(|(_, it)| holds(it));
            if not_checked::has_whole_set(&path) {
                self.sources.push(Ok(source));
            } else if is_template && !path.file_name().is_some_and(is_named) {
                let why = "it is not in the output of its chart; add values for it to `ci/`, or a release to `render` in the policy";
                let file = source.file().map(|(_, it)| it).unwrap_or(path);
                self.not_checked.push(NotChecked::at(&file, Cause::Empty, why));
            }
        }
    }
}

/// Leaves out an upgrade that prints the same as the installation, or nothing.
fn differing(
    roots: Vec<Root>,
    rendered: Vec<Result<Source, String>>,
) -> (Vec<Root>, Vec<Result<Source, String>>) {
    // A file can describe two releases of one name.
    let text = |root: &Root| {
        let at = roots.iter().position(|it| it == root)?;
        Some(rendered.get(at)?.as_ref().ok()?.text())
    };
    let is_kept = |(root, it): (&Root, &Result<Source, _>)| {
        let differs = |it: &Source| text(&root.for_upgrade(false)) != Some(it.text());
        !root.is_upgrade || it.as_ref().is_ok_and(differs)
    };
    let kept: Vec<_> = roots.iter().zip(&rendered).map(is_kept).collect();
    let all = roots.into_iter().zip(rendered).zip(kept).filter(|(_, is_kept)| *is_kept);
    all.map(|(it, _)| it).unzip()
}

/// Renders all roots in parallel. Calls `done` after each.
fn all(
    roots: &[Root],
    settings: &Settings,
    at: Option<&Checkout>,
    done: &mut dyn FnMut(),
) -> Vec<Result<Source, String>> {
    // Only into a copy, because variants of a chart share its folder.
    let copied = roots.iter().filter(|it| at.is_some() && it.is_chart());
    copied.for_each(|it| helm::add_dependencies(&it.at, &it.folder, helm::LEVELS));
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(roots.len());
    let open = Mutex::new(roots.iter().enumerate());
    let work = |send: &Sender<_>| {
        loop {
            let next = open.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((i, root)) = next else { return };
            let _ = send.send((i, one(root, settings)));
        }
    };
    let mut rendered: Vec<_> = thread::scope(|scope| {
        let (send, received) = mpsc::channel();
        for _ in 0..threads {
            let (send, work) = (send.clone(), &work);
            scope.spawn(move || work(&send));
        }
        drop(send);
        received.iter().inspect(|_| done()).collect()
    });
    rendered.sort_by_key(|(i, _)| *i);
    rendered.into_iter().map(|(_, it)| it).collect()
}

/// What a renderer prints.
struct Output {
    text: String,
    parts: Vec<Part>,
    /// Checks that the renderer skips.
    note: Option<String>,
}

fn one(root: &Root, settings: &Settings) -> Result<Source, String> {
    let folder = dunce::canonicalize(&root.at).map_err(|error| error.to_string())?;
    let fence = Fence::around(root, &folder);
    let Output { text, parts, note } = match &root.kind {
        Kind::Kustomization => kustomize::build(root, &folder, &fence, settings),
        Kind::Chart(release) => helm::template(root, &folder, &fence, release, settings),
    }?;
    let top = fence.top;
    // A chart found in a folder may render to nothing by default.
    if parts.is_empty() && !settings.may_be_empty && !root.is_found {
        return Err("it renders to nothing (--allow-empty accepts this)".to_owned());
    }
    let (name, release) = (root.name(), root.release());
    let cluster = root.cluster();
    // Its objects are not duplicates of that kustomization's.
    let of = root.part_of.as_ref().map_or(&root.folder, |it| &it.folder).clone();
    let group = Group::Rendered { name, folder: of, release, cluster };
    let random = Vec::new();
    let rendered =
        Rendered { root: root.clone(), folder, top, parts, note, is_applied: false, random };
    Ok(Source::of(root.name(), text, group).with_rendered(Arc::new(rendered)))
}

/// Returns the path from a folder to a file, both without links. `None` between drives of Windows.
fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    if common == 0 {
        return None;
    }
    let up = from.components().skip(common).map(|_| "..");
    Some(up.collect::<PathBuf>().join(to.components().skip(common).collect::<PathBuf>()))
}

/// Returns the path of a file as a user who wrote the root's folder would write it.
fn shown(root: &Root, folder: &Path, file: &Path) -> PathBuf {
    relative(folder, file).map_or_else(|| file.to_owned(), |way| clean(&root.folder.join(way)))
}

/// Returns the ranges of the documents, each with the number of lines before it.
fn documents(text: &str) -> Vec<(usize, Range<usize>)> {
    let (mut all, mut at, mut first) = (Vec::new(), 0, (0, 0));
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with("---") {
            all.push((first.0, first.1..at));
            first = (i + 1, at + line.len());
        }
        at += line.len();
    }
    all.push((first.0, first.1..at));
    let has_object = |text: &str| {
        text.lines().any(|it| !it.trim().is_empty() && !it.trim_start().starts_with('#'))
    };
    all.retain(|(_, range)| text.get(range.clone()).is_some_and(has_object));
    all
}

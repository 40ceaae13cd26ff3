//! Files that build or test something else: templates of charts, parts of kustomizations, and test cases.

use std::collections::BTreeMap;

use kube_yaml::{Document, Problem};
use setguard_core::{finding::Path as FieldPath, policy::file_patterns};

use super::{
    files::is_manifest,
    kustomization::{self, Kustomization},
    not_checked::{Cause, NotChecked, has_set_for_kustomize},
    patches::Patch,
    path_context::MaybePart,
};
use crate::manifests::prelude::*;

/// The charts, kustomizations and test cases in some folders.
#[derive(Debug, Default)]
pub struct Layout {
    charts: BTreeSet<PathBuf>,
    /// Charts that only have templates for other charts, and that Helm doesn't render.
    libraries: BTreeSet<PathBuf>,
    kustomizations: BTreeMap<PathBuf, Kustomization>,
    /// The files that change the resources of a kustomization, with the folder of the kustomization.
    parts: BTreeMap<PathBuf, PathBuf>,
    /// The faults of kustomizations, each with the missing file.
    pub(super) wrong: Vec<(PathBuf, Wrong)>,
    /// The files that kustomizations list as resources, with the folders of the kustomizations.
    resources: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// The changes that kustomizations make to their resources, by folder.
    patches: BTreeMap<PathBuf, Vec<Patch>>,
    tests: BTreeSet<PathBuf>,
}

/// A fault of a kustomization, and its file.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The file of the kustomization.
    pub file: PathBuf,
    pub problem: Problem,
}

impl Layout {
    /// The file names of kustomizations.
    pub const KUSTOMIZATIONS: [&str; 3] = kustomization::NAMES;

    /// Returns whether the layout depends on the content of a file.
    pub fn is_about(path: &Path) -> bool {
        is_chart(path) || is_kustomization(path) || Layout::is_of_test(path)
    }

    /// Returns whether a file marks its folder as a test case: the steps of Chainsaw, or a KUTTL assertion such as
    /// `00-assert.yaml`.
    pub(super) fn is_of_test(path: &Path) -> bool {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|it| CHAINSAW.contains(&it)) || is_step(path, &["-assert"])
    }

    pub(crate) fn of<'p>(
        files: impl Iterator<Item = &'p Path>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Self {
        let mut layout = Layout::default();
        for file in files {
            let folder = file.parent().unwrap_or(file);
            if is_chart(file) {
                layout.charts.insert(folder.to_owned());
                let text = read(file).unwrap_or_default();
                let of = kube_yaml::documents(&text).next().and_then(Result::ok);
                let of = of.as_ref().and_then(|it| it.root.get("type")).and_then(Node::as_str);
                if of == Some("library") {
                    layout.libraries.insert(folder.to_owned());
                }
            } else if Layout::is_of_test(file) {
                layout.tests.insert(folder.to_owned());
            } else if is_kustomization(file) {
                layout.add(folder, file, read);
            }
        }
        layout
    }

    fn add(&mut self, folder: &Path, file: &Path, read: &dyn Fn(&Path) -> Option<String>) {
        let text = read(file).unwrap_or_default();
        let document = kustomization::first(&text);
        let of = Kustomization::of(file, &text, document.as_ref());
        for resource in of.resources.iter().chain(&of.components) {
            let users = self.resources.entry(clean(&folder.join(resource)));
            users.or_default().insert(folder.to_owned());
        }
        if let Some(other) = self.kustomizations.insert(folder.to_owned(), of) {
            // kustomize refuses two in one folder.
            self.kustomizations.insert(folder.to_owned(), Kustomization::unknown(&other.file));
        }
        let Some(Document { root, .. }) = document else { return };
        for (path, mark) in parts(&root) {
            self.parts.insert(clean(&folder.join(path)), folder.to_owned());
            let is_remote = path.contains("://");
            let patch = folder.join(path);
            if !is_remote && read(&patch).is_none() {
                let (file, problem) = (file.to_owned(), no_such_patch(path, mark));
                self.wrong.push((patch, Wrong { file, problem }));
            }
        }
        let patches = Patch::all(folder, &root, read);
        self.patches.entry(clean(folder)).or_default().extend(patches);
    }

    pub(super) fn is_kustomization(&self, folder: &Path) -> bool {
        self.kustomizations.contains_key(folder)
    }

    /// Returns the chart that a file belongs to, as a template or as values.
    pub(super) fn chart_of<'f>(&self, file: &'f Path) -> Option<&'f Path> {
        let chart = file.ancestors().skip(1).find(|folder| self.charts.contains(*folder))?;
        let inside = file.strip_prefix(chart).ok()?;
        let first = inside.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_values = name.starts_with("values") || name.ends_with("values.yaml");
        let is_of_chart = match inside.iter().count() {
            1 => is_values,
            2 if first == "ci" => is_values,
            _ => matches!(first, "templates" | "charts"),
        };
        is_of_chart.then_some(chart)
    }

    /// Returns the reason why a set in a file may be only a part.
    pub(super) fn part(&self, file: &Path) -> Option<MaybePart> {
        let part = |why| Some(MaybePart { why, of_test: None });
        let folder = (!self.parts.is_empty()).then(|| self.parts.get(&clean(file))).flatten();
        if let Some(folder) = folder {
            let folder = shown(folder).display();
            return part(format!("it is a part of {folder}: setguard check -k {folder}"));
        }
        let mut above = file.ancestors().skip(1);
        if !self.tests.is_empty()
            && let Some(folder) = above.find(|folder| self.tests.contains(*folder))
        {
            let folder = shown(folder).display();
            let why = format!("it seems to be what the test case {folder} expects");
            let of_test = Some(is_step(file, &["-assert", "-errors"]));
            return Some(MaybePart { why, of_test });
        }
        part("without a selector and labels, this seems to be a patch".to_owned())
            .filter(|_| self.may_be_patch(file))
    }

    /// Returns the kustomizations and charts whose objects differ from their files. `read` has all files that are read.
    pub(super) fn not_built(&self, read: &HashSet<PathBuf>, is_rendered: bool) -> Vec<NotChecked> {
        if is_rendered {
            // Only a different kustomization can build a component.
            let roots = self.tops();
            let built = self.taken_by(roots.iter().copied());
            let unused = self.kustomizations.iter();
            let unused = unused.filter(|(folder, it)| it.is_component && !built.contains(*folder));
            let why = "no kustomization takes this component";
            return unused
                .map(|(folder, it)| {
                    NotChecked::at(&it.file, Cause::Kustomization, why).of([folder.clone()])
                })
                .collect();
        }
        let folders: BTreeSet<_> = self.kustomizations.keys().map(|it| clean(it)).collect();
        let is_read = |folder: &Path, resource: &String| {
            let path = clean(&folder.join(resource));
            let is_same = || read.contains(&path) && !has_set_for_kustomize(shown(&path));
            let is_read = folders.contains(&path) || is_manifest(&path) && is_same();
            // kustomize follows links before it looks for `..`.
            is_read && leads_to(folder, resource, &path)
        };
        let kustomizations = self.kustomizations.iter().flat_map(|(folder, it)| {
            let changes = it.changes || !it.resources.iter().all(|it| is_read(folder, it));
            let why = format!("a kustomization is checked as {}", build(folder));
            let entry = NotChecked::at(&it.file, Cause::Kustomization, why).of([folder.clone()]);
            let by_namespace = !changes;
            // `counts` chooses the ones that matter to the run.
            let renews =
                by_namespace.then(|| NotChecked { renews: Some(Vec::new()), ..entry.clone() });
            let is_listed = changes || it.namespace.is_some();
            is_listed.then_some(NotChecked { by_namespace, ..entry }).into_iter().chain(renews)
        });
        let charts = self.outer_charts().map(|chart| {
            NotChecked::at(&chart.join(CHART), Cause::Chart, render(chart)).of([chart.clone()])
        });
        kustomizations.chain(charts).collect()
    }

    /// Returns the kustomizations and charts of a commit that change their files, if the work tree still has some of
    /// these files. `place` returns a path there.
    pub(super) fn built_before(&self, place: &dyn Fn(&Path) -> PathBuf) -> Vec<NotChecked> {
        let why = |folder: &Path| {
            let folder = shown(folder).display();
            format!(
                "it changed the objects of its files before; compare both: setguard check --render {folder}"
            )
        };
        let entry = |file: &Path, cause| {
            let file = place(file);
            let folder = file.parent().unwrap_or(&file);
            NotChecked::at(&file, cause, why(folder))
        };
        let kustomizations = self.kustomizations.iter().filter(|(folder, it)| {
            let inside = it.resources.iter().map(|it| folder.join(it));
            let mut left = inside.filter(|it| clean(it).starts_with(clean(folder)));
            let is_left = place(&it.file).is_file() || left.any(|it| place(&it).is_file());
            it.changes && is_left
        });
        let kustomizations = kustomizations.map(|(_, it)| entry(&it.file, Cause::Kustomization));
        let charts = self.outer_charts().filter(|it| place(&it.join("templates")).is_dir());
        kustomizations.chain(charts.map(|it| entry(&it.join(CHART), Cause::Chart))).collect()
    }

    fn outer_charts(&self) -> impl Iterator<Item = &PathBuf> {
        self.charts.iter().filter(|chart| !self.is_inner(chart))
    }

    /// Returns whether Helm renders a chart as a part of a different one.
    ///
    /// Upstream: `LoadDir` and `LoadFiles` in helm.sh/helm/v3/pkg/chart/loader.
    fn is_inner(&self, chart: &Path) -> bool {
        let mut outer = chart;
        // Part of an application, or of a library that is part of one.
        let mut is_rendered = false;
        while let Some(next) = self.chart_around(outer) {
            is_rendered |= !self.libraries.contains(next);
            outer = next;
        }
        is_rendered && !leaves_out(outer, chart)
    }

    fn chart_around(&self, chart: &Path) -> Option<&Path> {
        let (name, charts) = (chart.file_name()?.to_str()?, chart.parent()?);
        let is_dependency = charts.file_name()? == "charts" && !name.starts_with(['.', '_']);
        self.charts.get(charts.parent()?).filter(|_| is_dependency).map(PathBuf::as_path)
    }

    /// Returns the folders of the kustomizations to build. No other kustomization takes these. No kustomization builds
    /// a component on its own, and none takes itself, so one of a cycle is a root too.
    fn tops(&self) -> Vec<&PathBuf> {
        let is_root = |(folder, it): (_, &Kustomization)| (!it.is_component).then_some(folder);
        let all: Vec<_> = self.kustomizations.iter().filter_map(is_root).collect();
        let taken = self.taken_by(self.kustomizations.keys());
        let mut roots: Vec<_> = all.iter().copied().filter(|it| !taken.contains(it)).collect();
        let mut built = self.taken_by(roots.iter().copied());
        built.extend(&roots);
        for folder in all {
            if built.insert(folder) {
                roots.push(folder);
                built.extend(self.taken_by([folder].into_iter()));
            }
        }
        roots.sort_unstable();
        roots
    }

    /// Returns the kustomizations that these use, directly or through others.
    fn taken_by<'l>(&'l self, folders: impl Iterator<Item = &'l PathBuf>) -> BTreeSet<&'l PathBuf> {
        let (mut taken, mut open) = (BTreeSet::new(), folders.collect::<Vec<_>>());
        let by_path: BTreeMap<_, _> =
            self.kustomizations.keys().map(|folder| (clean(folder), folder)).collect();
        while let Some(folder) = open.pop() {
            let Some(it) = self.kustomizations.get(folder) else { continue };
            for resource in it.resources.iter().chain(&it.components) {
                let path = clean(&folder.join(resource));
                // kustomize takes no folder above, and follows links before it looks for `..`.
                if let Some(next) = by_path.get(&path)
                    && !clean(folder).starts_with(&path)
                    && leads_to(folder, resource, next)
                    && taken.insert(*next)
                {
                    open.push(next);
                }
            }
        }
        taken
    }

    /// Returns the kustomizations that take a file, or its kustomization: the file of each, and what it takes. The
    /// kustomization of the file itself does not count.
    pub(super) fn takers(&self, file: &Path) -> Vec<(PathBuf, PathBuf)> {
        let (mut takers, mut open) = (Vec::new(), vec![clean(file)]);
        while let Some(part) = open.pop() {
            for folder in self.resources.get(&part).into_iter().flatten() {
                let Some(taker) = self.kustomizations.get(folder) else { continue };
                let taker = (taker.file.clone(), part.clone());
                if !takers.contains(&taker) {
                    takers.push(taker);
                    open.push(clean(folder));
                }
            }
        }
        let is_own = |taker: &Path, part: &Path| {
            is_manifest(part) && taker.parent().is_some_and(|it| part.starts_with(clean(it)))
        };
        takers.retain(|(taker, part)| !is_own(taker, part));
        takers
    }

    /// Returns the kustomizations, except components, each with the ones that use it.
    pub(super) fn taken(&self) -> Vec<(Root, Vec<Root>)> {
        let all = self.kustomizations.iter().filter(|(_, it)| !it.is_component);
        let root = |folder: &Path| Root::kustomization(shown(folder));
        let takers = |it: &Path| {
            let takers = self.takers(it).into_iter();
            takers.filter_map(|(file, _)| file.parent().map(root)).collect()
        };
        all.map(|(folder, _)| (root(folder), takers(folder))).collect()
    }

    pub(super) fn roots(&self) -> Vec<Root> {
        let kustomizations = self.tops().into_iter().map(|it| Root::kustomization(shown(it)));
        let charts = self.outer_charts().filter(|it| !self.libraries.contains(*it));
        kustomizations.chain(charts.flat_map(|it| Root::variants(shown(it)))).collect()
    }

    /// Returns whether a root uses a file.
    pub(super) fn takes(&self, file: &Path) -> bool {
        let path = clean(file);
        self.resources.contains_key(&path)
            || self.parts.contains_key(&path)
            || self.chart_of(file).is_some()
            || is_chart(file)
            || is_kustomization(file)
    }

    pub(crate) fn group(&self, file: &Path, named: &Path) -> Group {
        let users = self.users(file);
        // Several kustomizations with the same resource are alternatives.
        match users.collect::<Vec<_>>()[..] {
            [folder] => Group::Kustomization(folder.clone()),
            [] if file.parent() == Some(named) => Group::Folder(named.to_owned()),
            _ => Group::Alone,
        }
    }

    /// Returns the changes that kustomizations make to a file, directly or through other kustomizations.
    pub(crate) fn patches(&self, file: &Path) -> Vec<Patch> {
        let mut patches = Vec::new();
        let mut seen = BTreeSet::new();
        let mut built = if self.resources.is_empty() { Vec::new() } else { vec![clean(file)] };
        while let Some(part) = built.pop() {
            for folder in self.resources.get(&part).into_iter().flatten() {
                if !seen.insert(folder) {
                    continue;
                }
                patches.extend(self.own_patches(folder).map(|patch| patch.used_by(folder)));
                built.push(clean(folder));
            }
        }
        patches
    }

    /// Returns the changes of a kustomization and of its components.
    fn own_patches(&self, folder: &Path) -> impl Iterator<Item = &Patch> {
        let own = self.kustomizations.get(folder).into_iter();
        let components = own.flat_map(|it| &it.components).map(|it| folder.join(it));
        let all = [folder.to_owned()].into_iter().chain(components);
        all.flat_map(|of| self.patches.get(&clean(&of)).into_iter().flatten())
    }

    /// Returns a kustomization that gives the sets of a file their selector and labels, if everything that takes the
    /// file leads to one.
    pub(super) fn completed_by(&self, file: &Path) -> Option<&PathBuf> {
        let (mut found, mut seen, mut open) = (None, BTreeSet::new(), vec![clean(file)]);
        while let Some(part) = open.pop() {
            for folder in self.resources.get(&part)? {
                if self.own_patches(folder).any(|it| it.completes) {
                    found = Some(folder);
                } else if seen.insert(folder) {
                    open.push(clean(folder));
                }
            }
        }
        found
    }

    /// Returns whether a file can be a patch that no kustomization lists: a kustomization is in its folder or the
    /// folder above, or the file or one of these folders has a name for patches.
    pub(super) fn may_be_patch(&self, file: &Path) -> bool {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_called_so = stem.split(['-', '_', '.']).any(|it| matches!(it, "patch" | "patches"));
        let is_near = |folder: &Path| {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.is_kustomization(folder) || matches!(name, "patch" | "patches")
        };
        (is_called_so || file.ancestors().skip(1).take(2).any(is_near))
            && self.users(file).next().is_none()
    }

    fn users(&self, file: &Path) -> impl Iterator<Item = &PathBuf> {
        let has_resources = !self.resources.is_empty();
        let users = has_resources.then(|| self.resources.get(&clean(file))).flatten();
        users.into_iter().flatten()
    }
}

/// Returns how to check the output of a chart.
pub fn render(chart: &Path) -> String {
    let chart = shown(chart).display();
    format!("a chart is checked as `helm template` renders it: setguard check --chart {chart}")
}

fn build(folder: &Path) -> String {
    let folder = shown(folder).display();
    format!("`kubectl kustomize {folder}` builds it: setguard check -k {folder}")
}

fn leads_to(folder: &Path, resource: &str, path: &Path) -> bool {
    let real = |path: &Path| dunce::canonicalize(shown(path)).ok();
    real(folder).is_some_and(|it| real(&it.join(resource)) == real(path))
}

/// Returns whether the `.helmignore` of a chart matches a file of a chart in it. Helm takes `!` for all other files.
fn leaves_out(outer: &Path, chart: &Path) -> bool {
    let Ok(text) = files::text(&outer.join(".helmignore")) else { return false };
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let patterns = file_patterns::patterns(outer, &lines);
    let is_left_out = |path: &Path, is_folder: bool| {
        patterns.matched_path_or_any_parents(path, is_folder).is_ignore()
    };
    let entries = ["Chart.yaml", "values.yaml", "templates"].map(|it| WalkDir::new(chart.join(it)));
    let entries = entries.into_iter().flatten().flatten();
    let mut entries = entries.filter(|it| {
        let is_template = it.path().extension().is_some_and(|it| it == "tpl");
        it.file_type().is_dir() || is_template || is_manifest(it.path())
    });
    lines.iter().any(|line| line.trim().starts_with('!'))
        || entries.any(|it| is_left_out(it.path(), it.file_type().is_dir()))
}

/// Returns a folder in the form for people: an empty path is the working folder.
pub fn shown(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

fn no_such_patch(path: &str, mark: Mark) -> Problem {
    Problem {
        field: FieldPath::new("patches").to_field(),
        mark,
        message: format!("kustomize cannot build this: there is no file {path}"),
        help: Some("add the file, or remove it from the kustomization".to_owned()),
    }
}

const CHART: &str = "Chart.yaml";
/// The steps of a Chainsaw test.
const CHAINSAW: [&str; 2] = ["chainsaw-test.yaml", "chainsaw-test.yml"];

/// Returns whether a file has the name of a step of KUTTL, such as `00-assert.yaml`, with one of these ends.
fn is_step(path: &Path, ends: &[&str]) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml")).unwrap_or_default();
    let step = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or_default();
    !step.is_empty() && step.bytes().all(|it| it.is_ascii_digit())
}

fn is_chart(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == CHART)
}

pub(super) fn is_kustomization(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Layout::KUSTOMIZATIONS.iter().any(|it| name == *it))
}

/// Returns the files that a kustomization uses to change its resources, and their positions.
fn parts<'n>(root: &'n Node<'_>) -> Vec<(&'n str, Mark)> {
    let mut parts = Vec::new();
    // An inline patch is text of several lines.
    let mut add = |node: &'n Node<'_>| {
        let path = node.as_str().filter(|text| !text.contains(['\n', '{']));
        parts.extend(path.map(|path| (path, node.mark)));
    };
    items(root.get("patchesStrategicMerge")).for_each(&mut add);
    for key in ["patches", "patchesJson6902", "replacements"] {
        // Old kustomizations list the files themselves.
        items(root.get(key)).for_each(|node| add(node.get("path").unwrap_or(node)));
    }
    parts
}

/// Returns a path without `.` and `..`, as far as possible without reading the file system.
pub fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if clean
                    .components()
                    .next_back()
                    .is_some_and(|last| matches!(last, Component::Normal(_))) =>
            {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

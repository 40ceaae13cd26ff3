//! Files for building or testing something else: templates of charts, parts of kustomizations, and test cases.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use kube_yaml::{Mark, Node, Problem};
use setguard_core::finding::Path as FieldPath;

use super::{
    group::Group,
    not_checked::{Cause, NotChecked},
    patches::{Patch, items},
    render::root::Root,
};

/// The charts, kustomizations and test cases in some folders.
#[derive(Debug, Default)]
pub struct Layout {
    charts: BTreeSet<PathBuf>,
    /// Charts that only have templates for other charts, and that Helm doesn't render.
    libraries: BTreeSet<PathBuf>,
    kustomizations: BTreeMap<PathBuf, Kustomization>,
    /// The files that change the resources of a kustomization, with the folder of the kustomization.
    parts: BTreeMap<PathBuf, PathBuf>,
    pub(super) wrong: Vec<Wrong>,
    /// The files that kustomizations list as resources, with the folders of the kustomizations.
    resources: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// The changes that kustomizations make to their resources, by folder.
    patches: BTreeMap<PathBuf, Vec<Patch>>,
    /// The folders of the components of each kustomization, by its folder. Every kustomization has an entry.
    components: BTreeMap<PathBuf, Vec<PathBuf>>,
    tests: BTreeSet<PathBuf>,
}

#[derive(Debug)]
struct Kustomization {
    file: PathBuf,
    /// Whether it makes different objects of its resources.
    changes: bool,
    is_component: bool,
}

/// A fault of a kustomization, and its file.
#[derive(Clone, Debug)]
pub struct Wrong {
    /// The file of the kustomization.
    pub file: PathBuf,
    /// The fault.
    pub problem: Problem,
}

/// The keys of a kustomization that change its resources or add objects.
const CHANGES: [&str; 14] = [
    "commonLabels",
    "components",
    "generators",
    "helmCharts",
    "helmChartInflationGenerator",
    "labels",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "replicas",
    "transformers",
    "validators",
    "vars",
];

impl Layout {
    /// The file names of kustomizations.
    pub const KUSTOMIZATIONS: [&str; 3] =
        ["kustomization.yaml", "kustomization.yml", "Kustomization"];

    /// Returns whether the layout depends on the content of a file.
    pub fn is_about(path: &Path) -> bool {
        is_chart(path) || is_kustomization(path) || Layout::is_of_test(path)
    }

    /// Returns whether a file marks its folder as a test case: the steps of Chainsaw, or a KUTTL assertion such as
    /// `00-assert.yaml`.
    pub(super) fn is_of_test(path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let assert = name.strip_suffix("-assert.yaml").or_else(|| name.strip_suffix("-assert.yml"));
        CHAINSAW.contains(&name)
            || assert
                .is_some_and(|step| !step.is_empty() && step.bytes().all(|it| it.is_ascii_digit()))
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
                let of = kube_yaml::documents(&text).flatten().next();
                let of = of.as_ref().and_then(|it| it.root.get("type")).and_then(Node::as_str);
                if of == Some("library") {
                    layout.libraries.insert(folder.to_owned());
                }
            } else if Layout::is_of_test(file) {
                layout.tests.insert(folder.to_owned());
            } else if is_kustomization(file) {
                let text = read(file).unwrap_or_default();
                for document in kube_yaml::documents(&text).flatten() {
                    let changes = CHANGES.iter().any(|key| document.root.get(key).is_some());
                    let kind = document.root.get("kind").and_then(Node::as_str);
                    let is_component = kind == Some("Component");
                    let of = Kustomization { file: file.to_owned(), changes, is_component };
                    layout.kustomizations.insert(folder.to_owned(), of);
                    for (path, mark) in parts(&document.root) {
                        layout.parts.insert(clean(&folder.join(path)), folder.to_owned());
                        let is_remote = path.contains("://");
                        if !is_remote && read(&folder.join(path)).is_none() {
                            layout.wrong.push(Wrong {
                                file: file.to_owned(),
                                problem: no_such_patch(path, mark),
                            });
                        }
                    }
                    let listed = ["resources", "bases"].map(|key| paths(&document.root, key));
                    for resource in listed.into_iter().flatten() {
                        let users = layout.resources.entry(clean(&folder.join(resource)));
                        users.or_default().insert(folder.to_owned());
                    }
                    let components = paths(&document.root, "components");
                    let components = components.map(|it| clean(&folder.join(it))).collect();
                    layout.components.insert(folder.to_owned(), components);
                    let patches = Patch::all(folder, &document.root, read);
                    layout.patches.insert(clean(folder), patches);
                }
            }
        }
        layout
    }

    pub(super) fn is_kustomization(&self, folder: &Path) -> bool {
        self.kustomizations.contains_key(folder)
    }

    /// Returns the chart to which a file belongs, as a template or as values.
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
    pub(super) fn part(&self, file: &Path) -> Option<String> {
        let folder = (!self.parts.is_empty()).then(|| self.parts.get(&clean(file))).flatten();
        if let Some(folder) = folder {
            let folder = shown(folder).display();
            return Some(format!("it is a part of {folder}: setguard check -k {folder}"));
        }
        let mut above = file.ancestors().skip(1);
        if !self.tests.is_empty()
            && let Some(folder) = above.find(|folder| self.tests.contains(*folder))
        {
            let folder = shown(folder).display();
            return Some(format!("it seems to be what the test case {folder} expects"));
        }
        self.may_be_patch(file)
            .then(|| "without a selector and labels, this seems to be a patch".to_owned())
    }

    /// Returns the kustomizations and charts whose objects differ from their files.
    pub(super) fn not_built(&self, named: &Path, is_rendered: bool) -> Vec<NotChecked> {
        if is_rendered {
            // Only a different kustomization can build a component.
            let unused = self.tops().filter(|(_, it)| it.is_component);
            let why = "no kustomization takes this component";
            let unused = unused.map(|(_, it)| it.file.display().to_string());
            return unused.map(|it| NotChecked::file(it, Cause::Kustomization, why)).collect();
        }
        let takes_others = |folder: &Path| {
            let of = |(resource, users): (&PathBuf, &BTreeSet<PathBuf>)| {
                users.contains(folder) && !resource.starts_with(clean(named))
            };
            self.resources.iter().any(of)
        };
        let changing = self.kustomizations.iter();
        let changing = changing.filter(|(folder, it)| it.changes || takes_others(folder));
        let kustomizations = changing.map(|(folder, Kustomization { file, .. })| {
            let why = format!("a kustomization is checked as {}", build(folder));
            NotChecked::file(file.display().to_string(), Cause::Kustomization, why)
        });
        let charts = self.outer_charts().map(|chart| {
            let file = chart.join(CHART).display().to_string();
            NotChecked::file(file, Cause::Chart, render(chart))
        });
        kustomizations.chain(charts).collect()
    }

    fn outer_charts(&self) -> impl Iterator<Item = &PathBuf> {
        self.charts
            .iter()
            .filter(|chart| !chart.ancestors().skip(1).any(|folder| self.charts.contains(folder)))
    }

    /// Returns the kustomizations that no other uses, by folder.
    fn tops(&self) -> impl Iterator<Item = (&PathBuf, &Kustomization)> {
        let components: BTreeSet<_> = self.components.values().flatten().collect();
        self.kustomizations.iter().filter(move |(folder, _)| {
            let path = clean(folder);
            self.users(folder).next().is_none() && !components.contains(&path)
        })
    }

    pub(super) fn roots(&self) -> Vec<Root> {
        let kustomizations = self.tops().filter(|(_, it)| !it.is_component);
        let kustomizations = kustomizations.map(|(folder, _)| Root::kustomization(shown(folder)));
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
                let path = clean(folder);
                let components = self.components.get(folder).into_iter().flatten();
                for of in [&path].into_iter().chain(components) {
                    let found = self.patches.get(of).into_iter().flatten();
                    patches.extend(found.map(|patch| patch.used_by(folder)));
                }
                built.push(path);
            }
        }
        patches
    }

    /// Returns whether a file can be a patch that no kustomization lists: a kustomization is in its folder or the
    /// folder above, or the file or one of these folders is named after patches.
    pub(super) fn may_be_patch(&self, file: &Path) -> bool {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let is_called_so = stem.split(['-', '_', '.']).any(|it| matches!(it, "patch" | "patches"));
        let is_near = |folder: &Path| {
            let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            self.components.contains_key(folder) || matches!(name, "patch" | "patches")
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

fn shown(folder: &Path) -> &Path {
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

fn is_chart(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == CHART)
}

pub(super) fn is_kustomization(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Layout::KUSTOMIZATIONS.iter().any(|it| name == *it))
}

/// Returns the files with which a kustomization changes its resources, and their positions.
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

fn paths<'n>(root: &'n Node<'_>, key: &str) -> impl Iterator<Item = &'n str> {
    items(root.get(key)).filter_map(Node::as_str)
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

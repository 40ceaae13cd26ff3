//! YAML files in folders that aren't manifests: the templates of Helm charts, the parts from which a
//! `kustomization.yaml` builds manifests, and the cases of tests that run in a cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use super::{
    group::Group,
    patches::{Patch, items},
};
use crate::yaml::{self, Node};

/// The files of some folders that aren't manifests.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The folders of charts.
    charts: BTreeSet<PathBuf>,
    /// The folders of kustomizations with files that are not checked, and those files.
    kustomizations: BTreeSet<PathBuf>,
    parts: BTreeSet<PathBuf>,
    /// The files that kustomizations list as resources, with the folders of these.
    resources: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// The changes that kustomizations make to their resources, by their folders.
    patches: BTreeMap<PathBuf, Vec<Patch>>,
    /// The folders of the components of kustomizations, by the folders of these: of all kustomizations.
    components: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// The folders of test cases.
    tests: BTreeSet<PathBuf>,
}

/// The maximum number of charts that are named.
const MAX_NAMED: usize = 5;

impl Layout {
    /// The names of kustomizations.
    pub(crate) const KUSTOMIZATIONS: [&str; 3] =
        ["kustomization.yaml", "kustomization.yml", "Kustomization"];

    /// Returns whether the layout depends on the content of a file.
    pub(crate) fn is_about(path: &Path) -> bool {
        is_chart(path) || is_kustomization(path) || Layout::is_of_test(path)
    }

    /// Returns whether a file says that its folder is a case of a test in a cluster: the steps of Chainsaw, or what
    /// KUTTL expects after a step, such as `00-assert.yaml`.
    pub(super) fn is_of_test(path: &Path) -> bool {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
        let assert = name.strip_suffix("-assert.yaml").or_else(|| name.strip_suffix("-assert.yml"));
        CHAINSAW.contains(&name)
            || assert
                .is_some_and(|step| !step.is_empty() && step.bytes().all(|it| it.is_ascii_digit()))
    }

    /// Returns the files of a folder on which the layout may depend.
    pub(crate) fn files_of(folder: &Path) -> impl Iterator<Item = PathBuf> {
        let names = [CHART].into_iter().chain(Layout::KUSTOMIZATIONS).chain(CHAINSAW);
        names.map(|name| folder.join(name))
    }

    /// Returns the layout of these files. `read` returns the text of a file.
    pub(crate) fn of<'p>(
        files: impl Iterator<Item = &'p Path>,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> Self {
        let mut layout = Layout::default();
        for file in files {
            let folder = file.parent().unwrap_or(file);
            if is_chart(file) {
                layout.charts.insert(folder.to_owned());
            } else if Layout::is_of_test(file) {
                layout.tests.insert(folder.to_owned());
            } else if is_kustomization(file) {
                let text = read(file).unwrap_or_default();
                for document in yaml::documents(&text).flatten() {
                    for part in parts(&document.root) {
                        layout.parts.insert(clean(&folder.join(part)));
                        layout.kustomizations.insert(folder.to_owned());
                    }
                    for resource in paths(&document.root, "resources") {
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

    /// Returns whether a file in a folder isn't a manifest.
    pub(crate) fn skips(&self, file: &Path) -> bool {
        if !self.parts.is_empty() && self.parts.contains(&clean(file)) {
            return true;
        }
        let mut folders = file.ancestors().skip(1);
        if !self.tests.is_empty() && folders.clone().any(|folder| self.tests.contains(folder)) {
            return true;
        }
        let inside = folders.find(|folder| self.charts.contains(*folder));
        inside.and_then(|chart| file.strip_prefix(chart).ok()).is_some_and(is_of_chart)
    }

    /// Returns the files to which a file belongs, of those below a folder that the user named.
    pub(crate) fn group(&self, file: &Path, named: &Path) -> Group {
        let users = self.users(file);
        // Several kustomizations with the same resource are alternatives.
        match users.collect::<Vec<_>>()[..] {
            [folder] => Group::Kustomization(folder.clone()),
            [] if file.parent() == Some(named) => Group::Folder(named.to_owned()),
            _ => Group::Alone,
        }
    }

    /// Returns the changes that kustomizations make to a file, also those that build on another one.
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

    /// Returns whether a file can be a patch that no kustomization lists: there is one in its folder or in
    /// the folder above, or the file or one of these is named after patches.
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

    /// Returns the folders of the kustomizations that have a file among their resources.
    fn users(&self, file: &Path) -> impl Iterator<Item = &PathBuf> {
        let has_resources = !self.resources.is_empty();
        let users = has_resources.then(|| self.resources.get(&clean(file))).flatten();
        users.into_iter().flatten()
    }

    /// Tells people how to check the files that are not read.
    pub(crate) fn notes(&self) -> Vec<String> {
        let is_inner = |chart: &&PathBuf| {
            let inner = chart.ancestors().skip(1).find(|folder| self.charts.contains(*folder));
            inner.is_some()
        };
        let charts: Vec<_> = self.charts.iter().filter(|chart| !is_inner(chart)).collect();
        let mut notes: Vec<_> = charts
            .iter()
            .take(MAX_NAMED)
            .map(|chart| {
                let chart = if chart.as_os_str().is_empty() { Path::new(".") } else { chart };
                let chart = chart.display();
                format!(
                    "{chart} is a Helm chart, whose templates are not read; check what it renders to: \
                     helm template {chart} | setguard check -"
                )
            })
            .collect();
        if charts.len() > MAX_NAMED {
            notes.push(match charts.len() - MAX_NAMED {
                1 => "1 other folder is a Helm chart too".to_owned(),
                others => format!("{others} other folders are Helm charts too"),
            });
        }
        match &self.tests.iter().collect::<Vec<_>>()[..] {
            [] => {}
            [folder] => notes.push(format!(
                "{} is a test case, whose files are not read; name them to check them",
                folder.display()
            )),
            [first, ..] => notes.push(format!(
                "{} folders are test cases, whose files are not read (name them to check them), such as {}",
                self.tests.len(),
                first.display()
            )),
        }
        if let Some(first) = self.kustomizations.first() {
            let first = if first.as_os_str().is_empty() { Path::new(".") } else { first };
            let (count, first) = (self.parts.len(), first.display());
            let (files, are) =
                if count == 1 { ("file is", "it is") } else { ("files are", "they are") };
            notes.push(format!(
                "{count} {files} part of a kustomization, such as {first}, and {are} not checked alone; \
                 check what it builds: kubectl kustomize {first} | setguard check -"
            ));
        }
        notes
    }
}

const CHART: &str = "Chart.yaml";
/// The names of the file with the steps of a test by Chainsaw.
const CHAINSAW: [&str; 2] = ["chainsaw-test.yaml", "chainsaw-test.yml"];

fn is_chart(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == CHART)
}

fn is_kustomization(path: &Path) -> bool {
    path.file_name().is_some_and(|name| Layout::KUSTOMIZATIONS.iter().any(|it| name == *it))
}

/// Returns whether Helm reads a file of a chart, given by its path in the chart, and the file isn't
/// a plain manifest.
fn is_of_chart(path: &Path) -> bool {
    let first = path.iter().next().and_then(|name| name.to_str()).unwrap_or_default();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_values = name.starts_with("values") || name.ends_with("values.yaml");
    match path.iter().count() {
        1 => name == "Chart.yaml" || is_values,
        2 if first == "ci" => is_values,
        _ => matches!(first, "templates" | "charts"),
    }
}

/// Returns the files from which a kustomization builds its output, which need not be whole objects.
fn parts(root: &Node<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    let mut add = |node: Option<&Node<'_>>| {
        // An inline patch is text of several lines.
        let path = node.and_then(Node::as_str).filter(|text| !text.contains('\n'));
        parts.extend(
            path.map(|path| path.split_once('=').map_or(path, |(_, path)| path).to_owned()),
        );
    };
    for key in ["patchesStrategicMerge", "configurations"] {
        items(root.get(key)).for_each(|node| add(Some(node)));
    }
    for key in ["patches", "patchesJson6902", "replacements"] {
        // Old kustomizations list the files themselves.
        items(root.get(key)).for_each(|node| add(node.get("path").or(Some(node))));
    }
    for chart in items(root.get("helmCharts")) {
        add(chart.get("valuesFile"));
        items(chart.get("additionalValuesFiles")).for_each(|node| add(Some(node)));
    }
    for key in ["configMapGenerator", "secretGenerator"] {
        for generator in items(root.get(key)) {
            items(generator.get("files")).for_each(|node| add(Some(node)));
        }
    }
    parts
}

fn paths<'n>(root: &'n Node<'_>, key: &str) -> impl Iterator<Item = &'n str> {
    items(root.get(key)).filter_map(Node::as_str)
}

/// Returns a path without `.` and `..`, as far as possible without access to the files.
pub(crate) fn clean(path: &Path) -> PathBuf {
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

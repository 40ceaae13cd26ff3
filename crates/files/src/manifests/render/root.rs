//! The roots to render: kustomizations, and charts with some values.

use std::path::{Path, PathBuf};

use crate::manifests::layout::{Layout, clean};

/// A kustomization or a chart.
#[derive(Clone, Debug)]
pub struct Root {
    /// The folder, or the archive of a chart, as the user wrote it.
    pub(super) folder: PathBuf,
    /// The folder to read: the same, or its copy from a commit.
    pub(super) at: PathBuf,
    pub(super) kind: Kind,
    /// Whether the chart has values for tests: its default values alone need not suffice.
    pub(super) may_fail: bool,
    /// Whether the user named only a folder above it.
    pub(super) is_found: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Kustomization,
    /// With the files of its values, as the user wrote them and where to read them.
    Chart(Vec<(PathBuf, PathBuf)>),
}

impl Root {
    /// Returns a kustomization.
    pub fn kustomization(folder: &Path) -> Self {
        Root::of(folder, Kind::Kustomization)
    }

    /// Returns a chart with files of values.
    pub fn chart(folder: &Path, values: &[PathBuf]) -> Self {
        let values = values.iter().map(|file| (file.clone(), file.clone())).collect();
        Root::of(folder, Kind::Chart(values))
    }

    fn of(folder: &Path, kind: Kind) -> Self {
        let (folder, at) = (folder.to_owned(), folder.to_owned());
        Root { folder, at, kind, may_fail: false, is_found: false }
    }

    /// Returns a chart with its default values, and with each file of values for tests, as chart-testing does.
    ///
    /// Upstream: `Chart.ValuesFilePathsForCI` in github.com/helm/chart-testing/pkg/chart.
    pub(crate) fn variants(folder: &Path) -> Vec<Self> {
        let files = std::fs::read_dir(folder.join("ci")).into_iter().flatten().flatten();
        let files = files.map(|it| it.path());
        let mut files: Vec<_> =
            files.filter(|it| it.to_string_lossy().ends_with("-values.yaml")).collect();
        files.sort();
        let default = Root { may_fail: !files.is_empty(), ..Root::chart(folder, &[]) };
        let variants = files.iter().map(|file| Root::chart(folder, std::slice::from_ref(file)));
        std::iter::once(default).chain(variants).collect()
    }

    /// Returns the root at a different place. `find` returns the path there.
    #[must_use]
    pub fn moved(&self, find: &dyn Fn(&Path) -> PathBuf) -> Self {
        let mut moved = Root { at: find(&self.folder), ..self.clone() };
        if let Kind::Chart(values) = &mut moved.kind {
            values.iter_mut().for_each(|(name, at)| *at = find(name));
        }
        moved
    }

    /// Returns a root that was found in `found_in`, with its name in `folder`.
    #[must_use]
    pub(super) fn shown_in(mut self, folder: &Path, found_in: &Path) -> Self {
        let named = |path: &Path| {
            path.strip_prefix(found_in)
                .map_or_else(|_| path.to_owned(), |it| clean(&folder.join(it)))
        };
        self.is_found = true;
        self.folder = named(&self.folder);
        if let Kind::Chart(values) = &mut self.kind {
            values.iter_mut().for_each(|(name, _)| *name = named(name));
        }
        self
    }

    /// Returns whether the root exists.
    pub fn exists(&self) -> bool {
        self.at.exists()
    }

    /// Returns the name: the folder, and the values of a chart.
    pub fn name(&self) -> String {
        let folder = self.folder.display();
        match &self.kind {
            Kind::Chart(values) if !values.is_empty() => {
                let short = |(file, _): &(PathBuf, PathBuf)| {
                    file.strip_prefix(&self.folder).unwrap_or(file).display().to_string()
                };
                let values: Vec<_> = values.iter().map(short).collect();
                format!("{folder} with {}", values.join(", "))
            }
            _ => folder.to_string(),
        }
    }

    /// Returns the file that represents the root in reports.
    pub fn file(&self) -> PathBuf {
        let names = match self.kind {
            Kind::Kustomization => &Layout::KUSTOMIZATIONS[..],
            Kind::Chart(_) => &["Chart.yaml"],
        };
        let mut files = names.iter().map(|name| self.folder.join(name));
        files.find(|it| it.is_file()).unwrap_or_else(|| self.folder.clone())
    }
}

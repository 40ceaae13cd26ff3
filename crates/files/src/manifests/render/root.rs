//! The roots to render: kustomizations, and charts with some values.

use std::path::{Path, PathBuf};

use setguard_core::policy::ChartRelease;

use super::{gitops::named, shown};
use crate::manifests::{
    edits::has,
    exclude::whole,
    files,
    layout::{self, Layout, clean},
};

/// The end of the name of a root that is rendered as for an update of its release.
pub(in crate::manifests) const AS_UPGRADE: &str = " as an upgrade";

/// A kustomization or a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder, or the archive of a chart, as the user wrote it.
    pub(super) folder: PathBuf,
    /// The folder to read: the same, or its copy from a commit.
    pub(super) at: PathBuf,
    pub(super) kind: Kind,
    /// Whether the chart has values for tests, so its default values alone need not suffice.
    pub(super) may_fail: bool,
    /// Whether the user named only a folder above it.
    pub(super) is_found: bool,
    /// Whether to render it as for an update of its release.
    pub(super) is_upgrade: bool,
    /// The kustomization that takes it.
    pub(super) part_of: Option<Taker>,
}

/// A kustomization that takes others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taker {
    pub(super) folder: PathBuf,
    /// The namespace that it sets for what it takes.
    pub(super) namespace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Kustomization,
    Chart(Release),
}

/// How to render a chart. The flags fill in whatever is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Release {
    /// The files of values, as the user wrote them and where to read them.
    pub(super) values: Vec<(PathBuf, PathBuf)>,
    /// Values inside an object of Argo CD or Flux. They override the files.
    pub(super) inline: Option<String>,
    /// The object of Argo CD or Flux, with its file or root.
    pub(super) object: Option<String>,
    /// The files and folders of the root or file with the object.
    pub(super) of: Vec<PathBuf>,
    /// The cluster that the object names: `server` and its address, or `name` and its name.
    pub(super) cluster: Option<String>,
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
    /// More flags of Helm. They override the earlier ones.
    pub(super) flags: Vec<String>,
}

impl Root {
    pub fn kustomization(folder: &Path) -> Self {
        Root::of(folder, Kind::Kustomization)
    }

    /// Returns a chart with files of values.
    pub fn chart(folder: &Path, values: &[PathBuf]) -> Self {
        let values = values.iter().map(|file| (file.clone(), file.clone())).collect();
        Root::of(folder, Kind::Chart(Release { values, ..Release::default() }))
    }

    fn of(folder: &Path, kind: Kind) -> Self {
        let (folder, at) = (folder.to_owned(), folder.to_owned());
        Root {
            folder,
            at,
            kind,
            may_fail: false,
            is_found: false,
            is_upgrade: false,
            part_of: None,
        }
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

    /// Returns the chart of this root as a release of a policy in `folder`, if it is the same chart. `find` returns the
    /// path of a file to read.
    pub(super) fn released(
        &self,
        release: &ChartRelease,
        folder: &Path,
        find: &dyn Fn(&Path) -> PathBuf,
    ) -> Option<Self> {
        let policy = whole(folder);
        let chart = whole(&self.folder);
        if clean(&policy.join(&release.chart)) != chart {
            return None;
        }
        let named = |file: &String| {
            let name = shown(self, &chart, &clean(&policy.join(file)));
            let at = find(&name);
            (name, at)
        };
        let version = release.kube_version.iter().map(|it| format!("--kube-version={it}"));
        let apis = release.api_versions.iter().map(|it| format!("--api-versions={it}"));
        Some(self.with(Release {
            values: release.values.iter().map(named).collect(),
            name: release.release.clone(),
            namespace: release.namespace.clone(),
            flags: version.chain(apis).collect(),
            ..Release::default()
        }))
    }

    pub(super) fn with(&self, release: Release) -> Self {
        Root { kind: Kind::Chart(release), may_fail: false, ..self.clone() }
    }

    pub(super) const fn is_chart(&self) -> bool {
        matches!(self.kind, Kind::Chart(_))
    }

    /// Returns whether a chart has values besides its own.
    pub(in crate::manifests) fn has_values(&self) -> bool {
        matches!(&self.kind, Kind::Chart(it) if !it.values.is_empty() || it.inline.is_some() || !it.flags.is_empty())
    }

    pub(super) fn is_default_chart(&self) -> bool {
        matches!(&self.kind, Kind::Chart(it) if it.values.is_empty())
    }

    /// Returns the root at a different place. `find` returns the path there.
    #[must_use]
    pub fn moved(&self, find: &dyn Fn(&Path) -> PathBuf) -> Self {
        let mut moved = Root { at: find(&self.folder), ..self.clone() };
        if let Kind::Chart(Release { values, .. }) = &mut moved.kind {
            values.iter_mut().for_each(|(name, at)| *at = find(name));
        }
        moved
    }

    /// Returns a root that was found in `found_in`, with its name in `folder`.
    #[must_use]
    pub(super) fn shown_in(mut self, folder: &Path, found_in: &Path) -> Self {
        let named = |path: &Path| named(path, found_in, folder);
        self.is_found = true;
        self.folder = named(&self.folder);
        if let Kind::Chart(Release { values, .. }) = &mut self.kind {
            values.iter_mut().for_each(|(name, _)| *name = named(name));
        }
        self
    }

    /// Returns the root on the other side of a change. `None` if it does not exist there, or if an object describes it,
    /// because the other side has its own object.
    pub(super) fn on_other_side(&self, find: &dyn Fn(&Path) -> PathBuf) -> Option<Self> {
        let moved = self.moved(find);
        let is_there = match &moved.kind {
            Kind::Kustomization => true,
            Kind::Chart(it) => it.object.is_none() && it.values.iter().all(|(_, at)| at.exists()),
        };
        (is_there && moved.exists()).then_some(moved)
    }

    /// Returns the root as for an update of its release, if that can make a difference. Argo CD updates none.
    pub(super) fn upgraded(&self) -> Option<Self> {
        let Kind::Chart(Release { object, values, inline, .. }) = &self.kind else { return None };
        let is_of_argo = object.as_ref().is_some_and(|it| it.starts_with("Application "));
        // A chart may read its values as templates, and `.Release` as a whole.
        let words =
            ["IsUpgrade", "IsInstall", "range .Release", ":= .Release }", "toYaml .Release "];
        let is_asked = |text: &str| words.iter().any(|it| text.contains(it));
        let may_differ = || {
            inline.as_deref().is_some_and(is_asked)
                || values.iter().any(|(_, at)| files::text(at).is_ok_and(|it| is_asked(&it)))
                || has(&self.at, &words)
                || self.at.is_file()
                || packs(&self.at)
        };
        (!is_of_argo && !self.is_upgrade && may_differ()).then(|| self.for_upgrade(true))
    }

    pub(super) fn for_upgrade(&self, is_upgrade: bool) -> Self {
        Root { is_upgrade, ..self.clone() }
    }

    /// Returns whether a different kustomization uses it.
    pub(super) const fn is_part(&self) -> bool {
        self.part_of.is_some()
    }

    /// Returns whether there is something to render.
    pub fn exists(&self) -> bool {
        match self.kind {
            Kind::Kustomization => {
                Layout::KUSTOMIZATIONS.iter().any(|it| self.at.join(it).exists())
            }
            Kind::Chart(_) => self.at.is_file() || self.at.join("Chart.yaml").exists(),
        }
    }

    /// Returns the name: the folder, and how a chart is rendered.
    pub fn name(&self) -> String {
        let mut name = layout::shown(&self.folder).display().to_string();
        name.push_str(if self.is_upgrade { AS_UPGRADE } else { "" });
        let Kind::Chart(release) = &self.kind else { return name };
        if let Some(object) = &release.object {
            return format!("{name} for {object}");
        }
        let short = |(file, _): &(PathBuf, PathBuf)| {
            file.strip_prefix(&self.folder).unwrap_or(file).display().to_string()
        };
        let values: Vec<_> = release.values.iter().map(short).collect();
        let settings = [
            ("with", (!values.is_empty()).then(|| values.join(", "))),
            ("as", release.name.clone()),
            ("in", release.namespace.clone()),
            ("and", (!release.flags.is_empty()).then(|| release.flags.join(" "))),
        ];
        for (word, value) in settings {
            name.extend(value.map(|value| format!(" {word} {value}")));
        }
        name
    }

    /// Returns the name and the namespace of a release that an object describes.
    pub(super) fn release(&self) -> Option<(String, Option<String>)> {
        let Kind::Chart(Release { object: Some(_), name, namespace, .. }) = &self.kind else {
            return None;
        };
        Some((name.clone()?, namespace.clone()))
    }

    /// Returns the cluster of a release that an object describes.
    pub(super) fn cluster(&self) -> Option<String> {
        match &self.kind {
            Kind::Chart(release) => release.cluster.clone(),
            Kind::Kustomization => None,
        }
    }

    /// Returns the folders and files that the root is made of.
    pub(in crate::manifests) fn parts(&self) -> Vec<PathBuf> {
        let mut parts = vec![self.folder.clone()];
        if let Kind::Chart(Release { values, of, .. }) = &self.kind {
            parts.extend(values.iter().map(|(name, _)| name.clone()));
            parts.extend(of.iter().cloned());
        }
        parts
    }

    /// Returns the file that decides where the root is deployed: the object of a release, the last file of values, or
    /// the root's own.
    pub(in crate::manifests) fn deployed_by(&self) -> PathBuf {
        self.parts().into_iter().skip(1).next_back().unwrap_or_else(|| self.file())
    }

    /// Returns the file that represents the root in reports.
    pub fn file(&self) -> PathBuf {
        let names = match self.kind {
            Kind::Kustomization => &Layout::KUSTOMIZATIONS[..],
            Kind::Chart(_) => &["Chart.yaml"],
        };
        let mut files = names.iter().map(|name| self.folder.join(name));
        let first = files.clone().next().filter(|_| !self.folder.is_file());
        // It may no longer exist.
        files.find(|it| it.is_file()).or(first).unwrap_or_else(|| self.folder.clone())
    }
}

/// Returns whether a chart has packed dependencies. setguard doesn't search them.
pub(in crate::manifests) fn packs(chart: &Path) -> bool {
    let entries = std::fs::read_dir(chart.join("charts")).into_iter().flatten().flatten();
    entries.map(|it| it.path()).any(|it| it.extension().is_some_and(|it| it == "tgz"))
}

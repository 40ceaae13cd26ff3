//! The objects that are applied together. Only these are neighbors, because a repository also has the manifests of many
//! clusters, alternatives, and examples.

use super::{
    edits::has,
    layout::shown,
    render::root::{AS_UPGRADE, packs},
};
use crate::manifests::prelude::*;

/// The policy assigns the cluster.
pub(super) const ASSIGNED: &str = "policy";

/// The files whose objects are applied together with the objects of a file.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub enum Group {
    /// Files that the user named, and standard input.
    Named,
    /// The files directly in a folder that the user named, as `kubectl apply -f FOLDER` applies them.
    Folder(PathBuf),
    /// The resources of the kustomization in a folder.
    Kustomization(PathBuf),
    /// The objects that a kustomization or a chart renders to.
    Rendered {
        /// The name of the root.
        name: String,
        /// Its folder. A chart has a root for each file of values.
        folder: PathBuf,
        /// The name and the namespace of a release that an object of Argo CD or Flux describes.
        release: Option<(String, Option<String>)>,
        /// The cluster, from the policy or the object, after a word for its origin.
        cluster: Option<String>,
    },
    /// The files that the policy assigns to a cluster, by its name.
    Cluster(String),
    /// No other file.
    #[default]
    Alone,
}

impl Group {
    /// Returns whether the user meant every object in the files: they named the files, or a program wrote them.
    pub const fn is_meant(&self) -> bool {
        matches!(self, Group::Named | Group::Rendered { .. })
    }

    /// Returns whether the group is complete. Everything else that its objects need must then be in the cluster.
    pub const fn is_whole(&self) -> bool {
        // Files that several clusters share belong to none of them.
        !matches!(self, Group::Cluster(_) | Group::Alone)
    }

    /// Returns whether its templates may choose an API version by what the cluster serves. `helm template` does not
    /// know that.
    pub fn asks_cluster(&self) -> bool {
        let asks = ["Capabilities.APIVersions", "helmCharts:"];
        matches!(self, Group::Rendered { folder, .. } if has(folder, &asks) || packs(folder))
    }

    /// Returns whether the policy or the objects say that the groups are in different clusters, or one is a release of a
    /// chart, and the other its default values.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        let is_release_of = |it: &Self, chart: &Self| {
            it.released().is_some_and(|it| Some(it) == chart.default_of())
        };
        self.cluster()
            .zip(other.cluster())
            .is_some_and(|((by, one), (by_other, other))| by == by_other && one != other)
            || is_release_of(self, other)
            || is_release_of(other, self)
    }

    /// Returns the folder of the chart of a release that an object describes.
    pub(super) fn released(&self) -> Option<&PathBuf> {
        let Group::Rendered { folder, release: Some(_), .. } = self else { return None };
        Some(folder)
    }

    /// Returns the folder of a chart with its default values, or of a kustomization.
    pub(super) fn default_of(&self) -> Option<&PathBuf> {
        let Group::Rendered { name, folder, release: None, .. } = self else { return None };
        let name = name.strip_suffix(AS_UPGRADE).unwrap_or(name);
        (Path::new(name) == shown(folder)).then_some(folder)
    }

    /// Returns the cluster, after a word for its origin.
    fn cluster(&self) -> Option<(&str, &str)> {
        match self {
            Group::Cluster(name) => Some((ASSIGNED, name)),
            Group::Rendered { cluster: Some(cluster), .. } => cluster.split_once(' '),
            _ => None,
        }
    }

    /// Returns whether the objects are applied as they are.
    pub const fn is_final(&self) -> bool {
        !matches!(self, Group::Kustomization(_))
    }
}

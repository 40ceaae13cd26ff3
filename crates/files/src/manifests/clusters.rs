//! The files that a policy assigns to clusters. Objects in the files of one cluster are applied together.

use setguard_core::policy::{Policy, file_patterns::FilePatterns};

use super::group::ASSIGNED;
use crate::manifests::prelude::*;

/// The clusters of a policy, each with the patterns of its files.
#[derive(Debug, Default)]
pub struct Clusters(Vec<(String, FilePatterns)>);

impl Clusters {
    /// Takes the file patterns of a policy's clusters. The patterns are relative to `root`; an empty path is the
    /// working folder. Ignores invalid patterns: the policy has reported them.
    pub fn of(policy: &Policy, root: &Path) -> Self {
        let root = whole(root);
        let clusters = policy.clusters.iter();
        Clusters(
            clusters.map(|it| (it.name.clone(), FilePatterns::new(&it.paths, &root))).collect(),
        )
    }

    /// Returns the cluster of a file, given by its path without links. A file of several clusters belongs to none,
    /// because its objects would relate to the objects of all of them.
    pub(crate) fn group(&self, file: &Path) -> Option<Group> {
        let mut of = self.0.iter().filter(|(_, patterns)| patterns.matches(file));
        let (name, _) = of.next()?;
        Some(if of.next().is_some() { Group::Alone } else { Group::Cluster(name.clone()) })
    }

    /// Assigns a file in a folder, or a root, to its cluster. Files that the user named stay together.
    pub fn assign(&self, mut source: Source) -> Source {
        let path = match &source {
            Source::File(path, _) => Some(path.clone()),
            _ => source.rendered().map(|it| it.root.deployed_by()),
        };
        let path = path.or_else(|| source.place().map(Path::to_owned));
        let Some(path) = path.filter(|_| !self.0.is_empty()) else { return source };
        // A file from earlier may be gone.
        let path =
            dunce::canonicalize(&path).unwrap_or_else(|_| clean(&whole(Path::new("")).join(path)));
        let Some(of_cluster) = self.group(&path) else { return source };
        if let Source::File(_, group) | Source::Text { group, .. } = &mut source {
            match (group, of_cluster) {
                (Group::Named, _) => {}
                (Group::Rendered { cluster, .. }, Group::Cluster(name)) => {
                    *cluster = Some(format!("{ASSIGNED} {name}"));
                }
                (Group::Rendered { .. }, _) => {}
                (group, of_cluster) => *group = of_cluster,
            }
        }
        source
    }
}

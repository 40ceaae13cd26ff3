//! Facts about a file from the folders around it: a kustomization changes it, or it runs in no cluster
//! that lasts.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{layout::Layout, patches::Patch};
use crate::{finding::Reason, yaml::Node};

/// Facts about a file from the folders around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// The changes that kustomizations make to it.
    pub(crate) patches: Vec<Patch>,
    /// Whether it can be a patch that no kustomization lists.
    pub(crate) may_be_patch: bool,
    /// The reason why a warning about it is only a note, such as "the folder tests is for tests".
    pub(crate) aside: Option<String>,
}

/// A folder, as far as it says something about the files in it.
#[derive(Debug)]
pub(crate) struct Around {
    pub(super) folder: PathBuf,
    pub(super) layout: Layout,
    /// All folders with files.
    pub(super) folders: BTreeSet<PathBuf>,
}

/// The names of folders with manifests for tests. These run in clusters without full nodes, drains and
/// upgrades, which warnings are about.
const TESTS: [&str; 3] = ["test", "testing", "tests"];

/// The name of a folder with what only developers of the repository use.
const DEVELOPMENT: &str = "hack";

/// The names of folders with manifests that are kept, but no longer used.
const RETIRED: [&str; 5] = ["archived", "attic", "deprecated", "obsolete", "unused"];

/// The names of folders for the environments of an application. Next to these, `test` is an environment.
const ENVIRONMENTS: [&str; 16] = [
    "acc",
    "acceptance",
    "base",
    "dev",
    "develop",
    "development",
    "int",
    "live",
    "preprod",
    "prod",
    "production",
    "qa",
    "stage",
    "staging",
    "stg",
    "uat",
];

/// The names of folders that contain a folder for each environment.
const PER_ENVIRONMENT: [&str; 8] =
    ["cluster", "clusters", "env", "environment", "environments", "envs", "overlays", "stages"];

impl Around {
    /// Returns what the folders say about a file, if it is below the folder.
    pub(crate) fn facts(&self, file: &Path) -> Option<Surroundings> {
        let patches = self.layout.patches(file);
        let may_be_patch = self.layout.may_be_patch(file);
        let aside = aside(file, &self.folder, &self.folders);
        let is_telling = !patches.is_empty() || may_be_patch || aside.is_some();
        is_telling.then_some(Surroundings { patches, may_be_patch, aside })
    }
}

impl Surroundings {
    /// Returns why a fault in a field of an object may be none in the object that is applied, and how to check
    /// that one with a command.
    pub(crate) fn excuse(
        &self,
        (kind, name): (&str, &str),
        node: &Node<'_>,
        (reason, field): (Reason, &str),
        command: &str,
    ) -> Option<String> {
        // A name that is missing here can be defined anywhere.
        let field = if reason == Reason::NotFound { "spec" } else { field };
        let patch = self.patches.iter().find(|patch| patch.reaches(kind, name, field));
        if let Some(patch) = patch {
            let folder = patch.folder.display();
            return Some(format!(
                "{folder} changes this; {command} what it builds: kubectl kustomize {folder} | setguard \
                 {command} -"
            ));
        }
        let is_patch = self.may_be_patch && is_partial(node);
        is_patch.then(|| "without a selector and labels, this seems to be a patch".to_owned())
    }
}

/// Returns whether an object is only a part of one: it has no selector, and its template has no labels.
fn is_partial(node: &Node<'_>) -> bool {
    let spec = node.get("spec");
    let labels = ["template", "metadata", "labels"];
    let labels = labels.iter().fold(spec, |at, key| at.and_then(|it| it.get(key)));
    spec.and_then(|spec| spec.get("selector")).is_none() && labels.is_none()
}

fn aside(file: &Path, named: &Path, folders: &BTreeSet<PathBuf>) -> Option<String> {
    let below = file.ancestors().skip(1).take_while(|folder| *folder != named);
    below.filter(|folder| folder.starts_with(named)).find_map(|folder| {
        let name = name_of(folder)?;
        let says = match name.trim_start_matches('_').to_ascii_lowercase().as_str() {
            word if RETIRED.contains(&word) => "is no longer used",
            "test" if is_environment(folder, named, folders) => return None,
            word if TESTS.contains(&word) => "is for tests",
            DEVELOPMENT => "is for development",
            _ => return None,
        };
        Some(format!("the folder {name} {says}"))
    })
}

/// Returns whether a folder that is named `test` is for an environment of that name.
fn is_environment(folder: &Path, named: &Path, folders: &BTreeSet<PathBuf>) -> bool {
    let above = folder.ancestors().skip(1).take_while(|it| it.starts_with(named));
    let is_listed = |it: &Path, words: &[&str]| {
        name_of(it).is_some_and(|name| words.contains(&name.to_ascii_lowercase().as_str()))
    };
    let is_next_to = |name: &&str| {
        let path = folder.with_file_name(name);
        folders.range(path.clone()..).next().is_some_and(|next| next.starts_with(&path))
    };
    above.into_iter().any(|it| is_listed(it, &PER_ENVIRONMENT))
        || ENVIRONMENTS.iter().any(is_next_to)
}

fn name_of(folder: &Path) -> Option<&str> {
    folder.file_name().and_then(|name| name.to_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_below_the_one_that_is_named_set_a_file_aside() {
        let folders = ["", "apps/prod/shop", "apps/test/shop", "test/agent"].map(PathBuf::from);
        let folders = BTreeSet::from(folders);
        let found = |file: &str, named: &str| aside(Path::new(file), Path::new(named), &folders);
        let tests = Some("the folder test is for tests".to_owned());
        assert_eq!(found("test/agent/set.yaml", ""), tests);
        assert_eq!(found("./test/agent/set.yaml", "."), tests);
        assert_eq!(found("test/agent/set.yaml", "test"), None);
        assert_eq!(found("/tests/repo/set.yaml", "/tests/repo"), None);
        assert_eq!(found("test.yaml", ""), None);
        // An environment, by its neighbor and by what is above it.
        assert_eq!(found("apps/test/shop/set.yaml", ""), None);
        assert_eq!(found("deploy/overlays/test/set.yaml", ""), None);
        let old = Some("the folder _archived is no longer used".to_owned());
        assert_eq!(found("_archived/storage/set.yaml", ""), old);
    }
}

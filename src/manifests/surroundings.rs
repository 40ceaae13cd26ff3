//! Facts about a file from the folders around it: a kustomization changes it, or it runs in no cluster
//! that lasts.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{layout::Layout, patches::Patch, versions::Versions};
use crate::{
    finding::{Premise, Reason},
    yaml::Node,
};

/// Facts about a file from the folders around it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// The changes that kustomizations make to it.
    pub(crate) patches: Vec<Patch>,
    /// Whether it can be a patch that no kustomization lists.
    pub(crate) may_be_patch: bool,
    /// The reason why a warning about it is only a note, such as "the folder tests is for tests".
    pub(crate) aside: Option<String>,
    /// The properties that the cluster lacks for which it is, and the reasons, such as "the folder kind is for
    /// a local cluster".
    pub(crate) lacks: Vec<(Premise, String)>,
}

/// A folder, as far as it says something about the files in it.
#[derive(Debug)]
pub(crate) struct Around {
    pub(super) folder: PathBuf,
    pub(super) layout: Layout,
    /// All folders with files.
    pub(super) folders: BTreeSet<PathBuf>,
    /// The newest releases of what is kept for each release.
    pub(super) versions: Versions,
}

/// The characters between the words of a name.
const BREAKS: [char; 3] = ['-', '_', '.'];

/// The names of folders with manifests for tests. These run in clusters without full nodes, drains and
/// upgrades, which warnings are about.
const TESTS: [&str; 5] = ["benchmark", "benchmarks", "test", "testing", "tests"];

/// The name of a folder with what only developers of the repository use.
const DEVELOPMENT: &str = "hack";

/// The names of folders with manifests that are kept, but no longer used.
const RETIRED: [&str; 5] = ["archived", "attic", "deprecated", "obsolete", "unused"];

/// The programs that run a cluster on the machine of a developer. A folder that is named after one, such as `kind`
/// or `kind-sriov`, is for a cluster that nothing else runs in.
const LOCAL: [&str; 4] = ["k3d", "kind", "minikube", "tilt"];

/// The names of folders with the clusters of KubeVirt's tests, which many repositories copy.
const KUBEVIRT: [&str; 2] = ["cluster-provision", "cluster-up"];

/// The managed clusters whose control plane has no nodes, as words in the names of folders and files.
const MANAGED: [&str; 3] = ["aks", "eks", "gke"];

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
        let aside = aside(file, &self.folder, &self.folders)
            .or_else(|| self.versions.older(file, &self.folder));
        let lacks = lacks(file, &self.folder);
        let says_nothing = patches.is_empty() && !may_be_patch && aside.is_none();
        let is_telling = !says_nothing || !lacks.is_empty();
        is_telling.then_some(Surroundings { patches, may_be_patch, aside, lacks })
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

/// Returns the properties that the cluster lacks for which a file is, by the names of folders and of the file.
fn lacks(file: &Path, named: &Path) -> Vec<(Premise, String)> {
    let below = file.ancestors().skip(1).take_while(|folder| *folder != named);
    let below: Vec<_> = below.filter(|it| it.starts_with(named)).filter_map(name_of).collect();
    let local = below.iter().find(|name| {
        let name = name.to_ascii_lowercase();
        KUBEVIRT.contains(&&*name)
            || name.split(BREAKS).next().is_some_and(|it| LOCAL.contains(&it))
    });
    let is_managed =
        |name: &&str| name.to_ascii_lowercase().split(BREAKS).any(|it| MANAGED.contains(&it));
    let managed = match name_of(file).filter(|name| file != named && is_managed(name)) {
        Some(name) => Some(format!("the file {name}")),
        None => below.iter().find(|name| is_managed(name)).map(|name| format!("the folder {name}")),
    };
    let local =
        local.map(|it| (Premise::FullNodes, format!("the folder {it} is for a local cluster")));
    let managed = managed.map(|it| {
        let why = format!("{it} is for a managed cluster, whose control plane has no nodes");
        (Premise::ControlPlaneNodes, why)
    });
    local.into_iter().chain(managed).collect()
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

    #[test]
    fn the_cluster_that_a_file_is_for_may_lack_nodes() {
        let found = |file: &str| lacks(Path::new(file), Path::new(""));
        let local = |folder: &str| {
            vec![(Premise::FullNodes, format!("the folder {folder} is for a local cluster"))]
        };
        assert_eq!(found("cluster-up/k8s-1.36/set.yaml"), local("cluster-up"));
        assert_eq!(found("deploy/kind-sriov/set.yaml"), local("kind-sriov"));
        assert_eq!(found("deploy/minikube/set.yaml"), local("minikube"));
        let managed = |place: &str| {
            let why = format!("{place} is for a managed cluster, whose control plane has no nodes");
            vec![(Premise::ControlPlaneNodes, why)]
        };
        assert_eq!(found("gke-costs/set.yaml"), managed("the folder gke-costs"));
        assert_eq!(found("deploy/agent_eks.yaml"), managed("the file agent_eks.yaml"));
        for file in ["kinds/set.yaml", "mankind/set.yaml", "kind.yaml", "seeks/set.yaml"] {
            assert_eq!(found(file), [], "{file}");
        }
        // Folders above the one that is named, and files that are named themselves.
        assert_eq!(lacks(Path::new("/kind/repo/set.yaml"), Path::new("/kind/repo")), []);
        assert_eq!(lacks(Path::new("eks/agent-eks.yaml"), Path::new("eks/agent-eks.yaml")), []);
    }
}

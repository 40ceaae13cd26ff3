//! Facts about a file from its path and the folders around it: kustomizations change it, it is a template of a chart,
//! or its cluster doesn't last.
//!
//! Such facts lower warnings, but never a denial, unless a kustomization completes the object. `PLACES` has all names
//! that count.

use setguard_core::finding::{ClusterAssumption, Finding};

use super::{
    document::Manifest, layout::Layout, patches::Patch, release_names, versions::Versions,
};
use crate::manifests::prelude::*;

/// Facts about a file.
#[derive(Clone, Debug, Default)]
pub struct PathContext {
    pub(crate) patches: Vec<Patch>,
    /// The folder of a kustomization that gives its sets their selector and labels.
    pub(super) completed_by: Option<PathBuf>,
    /// The reason why a set in it may be only a part, such as a patch.
    pub(super) part: Option<MaybePart>,
    /// The chart that has it as a template, or as values.
    pub chart: Option<PathBuf>,
    /// The reasons why warnings about its objects are only notes.
    pub lowered: Vec<Lowered>,
    /// The files of the kustomizations that take its own, each with what it takes.
    pub takers: Vec<(PathBuf, PathBuf)>,
}

impl PathContext {
    /// Returns why a set in the file is only a part, if it is one.
    pub fn partial(&self, set: &Manifest<'_>) -> Option<&String> {
        let MaybePart { why, of_test } = self.part.as_ref()?;
        let is_part = match of_test {
            Some(is_expected) => set.is_part_of_test(*is_expected),
            None => set.is_partial(),
        };
        is_part.then_some(why)
    }
}

/// A reason why sets in a file may be only parts.
#[derive(Clone, Debug)]
pub(super) struct MaybePart {
    pub(super) why: String,
    /// In the folder of a test: whether the test expects what is in the file.
    pub(super) of_test: Option<bool>,
}

/// A reason why warnings are only notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    about: About,
    /// The reason, such as "the folder tests is for tests".
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    All,
    /// Findings that do no damage in a cluster without this property.
    ClusterAssumption(ClusterAssumption),
    /// Findings about faults that begin after this minor release of Kubernetes.
    Release(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The whole name of a folder, without underscores before it.
    Whole,
    /// The first word in the name of a folder, such as `kind` in `kind-sriov`.
    First,
    /// Any word in the name of a folder or file.
    Any,
}

struct Place {
    words: &'static [&'static str],
    part: Part,
    about: About,
    says: &'static str,
}

/// All names that lower warnings. A policy changes them with `folderNames`. `benches/data` counts their benefit.
const PLACES: &[Place] = &[
    Place {
        words: &["benchmark", "benchmarks", "test", "testing", "tests"],
        part: Part::Whole,
        about: About::All,
        says: "is for tests",
    },
    Place { words: &["hack"], part: Part::Whole, about: About::All, says: "is for development" },
    Place {
        words: &["archived", "attic", "deprecated", "obsolete", "unused"],
        part: Part::Whole,
        about: About::All,
        says: "is no longer used",
    },
    // Nothing else runs in a local cluster, or in the clusters of KubeVirt's tests.
    Place {
        words: &["k3d", "kind", "minikube", "tilt"],
        part: Part::First,
        about: About::ClusterAssumption(ClusterAssumption::FullNodes),
        says: "is for a local cluster",
    },
    Place {
        words: &["cluster-provision", "cluster-up"],
        part: Part::Whole,
        about: About::ClusterAssumption(ClusterAssumption::FullNodes),
        says: "is for a local cluster",
    },
    Place {
        words: &["aks", "eks", "gke"],
        part: Part::Any,
        about: About::ClusterAssumption(ClusterAssumption::ControlPlaneNodes),
        says: "is for a managed cluster, whose control plane has no nodes",
    },
];

/// Words in the names of images that only show or imitate something.
const SAMPLES: [&str; 5] = ["dummy", "example", "fake", "mock", "sample"];

const BREAKS: [char; 3] = ['-', '_', '.'];

/// A folder that was walked.
#[derive(Debug)]
pub struct FolderContext {
    folder: PathBuf,
    pub(super) layout: Layout,
    environments: Environments,
    versions: Versions,
}

impl FolderContext {
    /// Takes all files of the folder.
    pub(super) fn new<'p>(
        folder: &Path,
        layout: Layout,
        files: impl Iterator<Item = &'p Path> + Clone,
    ) -> Self {
        let (environments, versions) = (Environments::of(files.clone()), Versions::of(files));
        FolderContext { folder: folder.to_owned(), layout, environments, versions }
    }

    /// Returns the facts about a file below the folder. `None` if there are none.
    pub fn facts(&self, file: &Path, names: &FolderNames) -> Option<PathContext> {
        let mut lowered = self.lowered(file, names);
        let older = self.versions.older(file, &self.folder);
        lowered.extend(older.map(|why| Lowered { about: About::All, why }));
        let below = file.strip_prefix(&self.folder).unwrap_or(file);
        let release = release_names::of(below).filter(|_| file != self.folder);
        lowered.extend(release.map(|(minor, why)| Lowered { about: About::Release(minor), why }));
        let facts = PathContext {
            patches: self.layout.patches(file),
            completed_by: self.layout.completed_by(file).cloned(),
            part: self.layout.part(file),
            chart: self.layout.chart_of(file).map(Path::to_owned),
            lowered,
            takers: self.layout.takers(file),
        };
        let is_telling = !facts.patches.is_empty()
            || facts.part.is_some()
            || facts.chart.is_some()
            || !facts.lowered.is_empty()
            || !facts.takers.is_empty();
        is_telling.then_some(facts)
    }

    fn lowered(&self, file: &Path, names: &FolderNames) -> Vec<Lowered> {
        let mut found: Vec<Lowered> = Vec::new();
        let below = file.ancestors().take_while(|path| *path != self.folder);
        for path in below.filter(|path| path.starts_with(&self.folder)) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let (what, is_file) =
                if path == file { ("the file", true) } else { ("the folder", false) };
            for (about, says) in lowers(name, is_file, names) {
                let is_environment = || self.environments.has(path, file, &self.layout);
                if found.iter().any(|it| it.about == about) || is_environment() {
                    continue;
                }
                found.push(Lowered { about, why: format!("{what} {name} {says}") });
            }
        }
        found
    }
}

/// The folders named `test`, each with the relative paths of the files in the folders next to it.
#[derive(Debug, Default)]
struct Environments(HashMap<PathBuf, HashSet<PathBuf>>);

/// A folder with this name is for tests, unless it is an environment like `dev` and `prod` next to it.
const TEST: &str = "test";

impl Environments {
    fn of<'p>(files: impl Iterator<Item = &'p Path> + Clone) -> Self {
        let is_test = |path: &&Path| path.file_name().is_some_and(|name| name == TEST);
        let folders = files.clone().flat_map(|file| file.ancestors().skip(1).filter(is_test));
        let mut found: HashMap<_, _> =
            folders.map(|folder| (folder.to_owned(), HashSet::new())).collect();
        if found.is_empty() {
            return Environments::default();
        }
        for file in files {
            for next in file.ancestors().skip(1).filter(|next| !is_test(next)) {
                if let Some(inside) = found.get_mut(&next.with_file_name(TEST))
                    && let Ok(path) = file.strip_prefix(next)
                {
                    inside.insert(path.to_owned());
                }
            }
        }
        Environments(found)
    }

    /// Returns whether a folder is for an environment: a folder next to it has the same file, or both have a
    /// kustomization.
    fn has(&self, folder: &Path, file: &Path, layout: &Layout) -> bool {
        let Some(inside) = self.0.get(folder) else { return false };
        let is_same = file.strip_prefix(folder).is_ok_and(|it| inside.contains(it));
        let has_kustomization =
            || Layout::KUSTOMIZATIONS.iter().any(|it| inside.contains(Path::new(it)));
        is_same || layout.is_kustomization(folder) && has_kustomization()
    }
}

fn lowers(name: &str, is_file: bool, names: &FolderNames) -> Vec<(About, &'static str)> {
    let name = name.to_ascii_lowercase();
    let whole = name.trim_start_matches('_');
    match names.get(whole).filter(|_| !is_file) {
        Some(true) => return vec![(About::All, "is set aside by the policy")],
        Some(false) => return Vec::new(),
        None => {}
    }
    let has = |place: &&Place| {
        place.words.iter().any(|word| match place.part {
            Part::Whole => !is_file && whole == *word,
            Part::First => !is_file && name.split(BREAKS).next() == Some(word),
            Part::Any => name.split(BREAKS).any(|it| it == *word),
        })
    };
    PLACES.iter().filter(has).map(|place| (place.about, place.says)).collect()
}

impl Lowered {
    /// Returns whether a warning is only a note.
    pub fn covers(&self, finding: &Finding) -> bool {
        match self.about {
            About::All => true,
            About::ClusterAssumption(assumption) => finding.assumption == Some(assumption),
            About::Release(minor) => finding.since.is_some_and(|since| minor < since),
        }
    }

    /// Returns the reason why faults that need full nodes are only notes, if an image of the set is a sample.
    pub fn by_image(set: &Node<'_>) -> Option<Lowered> {
        let image = sample_image(set)?;
        let why = format!("the image {image} is a sample, which no other pod needs");
        Some(Lowered { about: About::ClusterAssumption(ClusterAssumption::FullNodes), why })
    }
}

fn sample_image<'n>(set: &'n Node<'_>) -> Option<&'n str> {
    let path = ["spec", "template", "spec", "containers"];
    let containers = path.iter().try_fold(set, |at, key| at.get(key))?;
    let Value::Seq(items) = &containers.value else { return None };
    let images = items.iter().filter_map(|item| item.get("image")?.as_str());
    let names = images.map(|image| {
        let name = image.rsplit('/').next().unwrap_or(image);
        name.split([':', '@']).next().unwrap_or(name)
    });
    let mut samples = names
        .filter(|name| name.to_ascii_lowercase().split(BREAKS).any(|word| SAMPLES.contains(&word)));
    samples.next()
}

impl PathContext {
    /// Returns the reason why a warning about a field is only a note: a kustomization sets the field.
    pub fn patched(
        &self,
        (kind, name): (&str, &str),
        node: Option<&Node<'_>>,
        finding: &Finding,
    ) -> Option<String> {
        let patch = self.patches.iter().find(|patch| patch.sets(kind, name, node, finding))?;
        let folder = patch.folder.display();
        Some(format!("{folder} sets this; check what it builds: setguard check -k {folder}"))
    }

    /// Returns the kustomization that gives a set its selector and labels, if the set has neither. kustomize labels only
    /// sets of Kubernetes itself.
    pub fn completed(&self, set: &Manifest<'_>, command: &str) -> Option<String> {
        let is_labelled = set.resource.is_some_and(|it| it.group == "apps") && set.is_partial();
        let folder = self.completed_by.as_ref().filter(|_| is_labelled)?.display();
        Some(format!(
            "{folder} adds a selector and labels; {command} what it builds: setguard {command} -k {folder}"
        ))
    }

    /// Returns how to check or plan the objects that kustomizations make of an object, if any.
    pub fn built(&self, (kind, name): (&str, &str), command: &str) -> Option<String> {
        let patch = self.patches.iter().find(|patch| patch.is_of(kind, name))?;
        let folder = patch.folder.display();
        Some(format!(
            "{folder} changes this object; {command} what it builds: setguard {command} -k {folder}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(folder: &str, files: &[&str]) -> FolderContext {
        FolderContext::new(Path::new(folder), Layout::default(), files.iter().map(Path::new))
    }

    fn found(folder: &str, file: &str) -> Vec<String> {
        let files = ["apps/prod/shop/set.yaml", "apps/test/shop/set.yaml", "test/agent/set.yaml"];
        let facts = context(folder, &files).facts(Path::new(file), &FolderNames::new());
        facts.unwrap_or_default().lowered.into_iter().map(|it| it.why).collect()
    }

    #[test]
    fn names_below_the_folder_that_is_named_lower_warnings() {
        let none = [""; 0];
        let managed = "is for a managed cluster, whose control plane has no nodes";
        for (folder, file, wanted) in [
            ("", "test/agent/set.yaml", "the folder test is for tests"),
            (".", "./test/agent/set.yaml", "the folder test is for tests"),
            ("", "_archived/storage/set.yaml", "the folder _archived is no longer used"),
            ("", "cluster-up/set.yaml", "the folder cluster-up is for a local cluster"),
            ("", "deploy/kind-sriov/set.yaml", "the folder kind-sriov is for a local cluster"),
            ("", "gke-costs/set.yaml", &format!("the folder gke-costs {managed}")),
            ("", "deploy/agent_eks.yaml", &format!("the file agent_eks.yaml {managed}")),
            ("", "k8s-1.22/set.yaml", "the folder k8s-1.22 is named after an older release"),
        ] {
            assert_eq!(found(folder, file), [wanted], "{file}");
        }
        for (folder, file) in [
            ("test", "test/agent/set.yaml"),
            ("/tests/repo", "/tests/repo/set.yaml"),
            ("", "test.yaml"),
            ("", "kinds/set.yaml"),
            ("", "kind.yaml"),
            ("", "seeks/set.yaml"),
            ("/kind/repo", "/kind/repo/set.yaml"),
            ("eks/agent-eks.yaml", "eks/agent-eks.yaml"),
            ("", "v1.9/set.yaml"),
            // An environment.
            ("", "apps/test/shop/set.yaml"),
        ] {
            assert_eq!(found(folder, file), none, "{file}");
        }
    }
}

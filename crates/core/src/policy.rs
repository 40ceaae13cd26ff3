//! The policy: modes, exceptions, injection, and the cluster that objects are meant for.
//!
//! [`PolicyFile`] is the file as the user writes it; [`Policy`] is its validated form.

mod exception;
mod file;
pub mod file_patterns;
pub mod limit;
mod pattern;
mod schema;
mod weakening;

use std::collections::BTreeMap;

pub use exception::Exception;
pub use file::{
    API_VERSION, ChartRelease, ClusterFiles, ExceptionEntry, InFolder, KIND, Kubernetes,
    PolicyFile, PolicyMetadata, json_schema,
};

use kube_yaml::Problem;

use self::limit::{Limit, LimitEntry};
use crate::rules::{
    node_pin_conflict::NODE_PIN_CONFLICT, unpaired_node_annotation::UNPAIRED_NODE_ANNOTATION,
};
use crate::{
    catalogue,
    finding::{Field, Meta, Mode, Path},
    inject::settings::{Settings, TolerationEntry, UnpairedAnnotation},
    kubernetes::{
        cluster::{self, ApiServer, Cluster, Version},
        names,
    },
    rules::policy_weakened::POLICY_WEAKENED,
};

/// Folder names that override the built-in ones, with whether warnings below such a folder are notes.
pub type FolderNames = BTreeMap<String, bool>;

/// A validated policy.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Only modes that differ from the rules' defaults.
    pub(crate) modes: BTreeMap<&'static Meta, Mode>,
    /// The exceptions, in the order of the file.
    pub exceptions: Vec<Exception>,
    /// Limits on changes, in the order of the file.
    pub limits: Vec<Limit>,
    /// The injections, and the controllers that get them.
    pub injection: Settings,
    /// The cluster that objects are meant for.
    pub cluster: Cluster,
    /// Whether the file or a flag specifies the release of the cluster.
    pub names_release: bool,
    /// Whether this is the fallback for an unusable policy.
    pub is_fallback: bool,
    /// The file that the policy was read from, if any.
    pub file: Option<String>,
    /// Patterns of files and folders that `check` skips in folders.
    pub exclude: Vec<String>,
    /// Names of folders below which `check` lowers warnings, or does not.
    pub folder_names: FolderNames,
    /// The files of each cluster, whose objects `check` relates to each other.
    pub clusters: Vec<ClusterFiles>,
    /// The releases of charts that `--render` renders.
    pub render: Vec<ChartRelease>,
}

impl Policy {
    /// Reads a policy file. The error is all problems of the file, each with its field and line.
    pub fn parse(text: &str) -> Result<Policy, Vec<Problem>> {
        let (file, root) = kube_yaml::read_one::<PolicyFile>(text)?;
        let mut problems = Problems { root: &root, list: Vec::new() };
        let policy = problems.check(file);
        if problems.list.is_empty() { Ok(policy) } else { Err(problems.list) }
    }

    /// Returns the fallback for an unusable policy: the defaults, but rules only warn if a policy may change their
    /// mode.
    pub fn fallback() -> Policy {
        let mut policy = Policy { is_fallback: true, ..Policy::default() };
        let adjustable = catalogue::all().iter().filter(|rule| rule.meta.adjustable);
        for rule in adjustable.filter(|rule| rule.meta.mode == Mode::Deny) {
            policy.set_mode(&rule.meta, Mode::Warn);
        }
        policy
    }

    /// Returns the mode of a rule.
    pub fn mode(&self, rule: &Meta) -> Mode {
        self.modes.get(rule).copied().unwrap_or(rule.mode)
    }

    /// Returns the ids of the rules whose mode is below the default.
    pub fn weakened(&self) -> Vec<&'static str> {
        let lowered = self.modes.iter().filter(|(rule, mode)| **mode < rule.mode);
        lowered.map(|(rule, _)| rule.id).collect()
    }

    /// Returns this policy for a cluster with a known release and feature gates. The policy's own settings take
    /// precedence.
    #[must_use]
    pub fn in_cluster(mut self, version: Version, gates: &BTreeMap<String, bool>) -> Self {
        if !self.names_release {
            self.cluster = self.cluster.known_as(version, gates);
        }
        self
    }

    /// Returns whether an exception or a limit is about some namespaces only.
    pub fn looks_at_namespaces(&self) -> bool {
        let exceptions = self.exceptions.iter().map(|it| &it.namespaces);
        exceptions.chain(self.limits.iter().map(|it| &it.namespaces)).any(|it| !it.is_empty())
    }

    /// Returns whether a limit is about the pods that a rollout replaces.
    pub fn limits_rollouts(&self) -> bool {
        let mut limits = self.limits.iter().map(|it| &it.limits);
        limits.any(|it| it.at_most_unavailable.is_some() || !it.never_ends || !it.replaces_all)
    }

    /// Records that the API server reported its release, and whether it is newer than the newest that setguard knows. A
    /// release in the policy takes precedence.
    #[must_use]
    pub const fn seen(mut self, is_newer: bool) -> Self {
        let is_newer = is_newer && !self.names_release;
        self.cluster.api_server = if is_newer { ApiServer::Newer } else { ApiServer::Known };
        self
    }

    /// Applies the exceptions for files to the files of a run. The patterns must match all paths of a file. They are
    /// relative to `root`, a path without links.
    pub fn assign_files(
        &mut self,
        root: &std::path::Path,
        files: impl Iterator<Item = (String, Vec<std::path::PathBuf>)>,
    ) {
        exception::assign_files(&mut self.exceptions, root, files);
    }

    /// Sets the mode of a rule.
    pub fn set_mode(&mut self, rule: &'static Meta, mode: Mode) {
        self.modes.insert(rule, mode);
    }
}

struct Problems<'a, 'y> {
    root: &'a kube_yaml::Node<'y>,
    list: Vec<Problem>,
}

impl Problems<'_, '_> {
    fn push(&mut self, path: &Path<'_>, message: String, help: Option<String>) {
        let field: Field = path.to_field();
        let mark = self.root.locate(&field);
        self.list.push(Problem { field, mark, message, help });
    }

    /// If the name is a key, the report marks the key.
    fn push_name(&mut self, path: &Path<'_>, message: String, help: Option<String>) {
        let field: Field = path.to_field();
        let mark = self.root.locate_key(&field);
        self.list.push(Problem { field, mark, message, help });
    }

    fn check(&mut self, file: PolicyFile) -> Policy {
        let mut policy = Policy::default();
        if file.api_version != API_VERSION {
            let message = format!("expected {API_VERSION:?}, got {:?}", file.api_version);
            self.push(&Path::new("apiVersion"), message, None);
        }
        if file.kind != KIND {
            let message = format!("expected {KIND:?}, got {:?}", file.kind);
            self.push(&Path::new("kind"), message, None);
        }
        let rules = Path::new("rules");
        for (id, mode) in file.rules {
            if let Some(id) = self.rule(&rules.key(&id), &id) {
                policy.set_mode(id, mode);
            }
        }
        let exceptions = Path::new("exceptions");
        for (i, entry) in file.exceptions.into_iter().enumerate() {
            let exception = self.exception(&exceptions.index(i), entry);
            policy.exceptions.push(exception);
        }
        for (i, entry) in file.limits.into_iter().enumerate() {
            policy.limits.push(self.limit(&Path::new("limits").index(i), entry));
        }
        self.tolerations(&file.injection.tolerations);
        policy.injection = file.injection;
        if policy.injection.unpaired_annotation == UnpairedAnnotation::Deny
            && policy.mode(UNPAIRED_NODE_ANNOTATION) == Mode::Warn
        {
            policy.set_mode(UNPAIRED_NODE_ANNOTATION, Mode::Deny);
        }
        self.patterns(&Path::new("exclude"), &file.exclude);
        policy.exclude = file.exclude;
        let names = file.folder_names.into_iter();
        policy.folder_names =
            names.map(|(name, it)| (name.to_ascii_lowercase(), it == InFolder::Note)).collect();
        self.clusters(&file.clusters);
        policy.clusters = file.clusters;
        for (i, release) in file.render.iter().enumerate() {
            if release.chart.trim().is_empty() {
                let message = "the folder of the chart is missing".to_owned();
                self.push(&Path::new("render").index(i).child("chart"), message, None);
            }
        }
        policy.render = file.render;
        policy.names_release = file.kubernetes.version.is_some();
        policy.cluster = self.cluster(file.kubernetes);
        policy
    }

    fn limit(&mut self, path: &Path<'_>, entry: LimitEntry) -> Limit {
        let (limit, problems) = entry.validate();
        for (field, message) in problems {
            let path = if field.is_empty() { *path } else { path.child(field) };
            self.push(&path, message, None);
        }
        limit
    }

    fn cluster(&mut self, file: Kubernetes) -> Cluster {
        let path = Path::new("kubernetes");
        let version = file.version.as_ref().map_or(Ok(Version::NEWEST), |text| text.parse());
        let version = version.unwrap_or_else(|message| {
            self.push(&path.child("version"), message, None);
            Version::NEWEST
        });
        for gate in file.feature_gates.keys() {
            if let Some(near) = cluster::suggest_gate(gate) {
                let help = Some(format!("did you mean {near}?"));
                let message = format!("there is no gate {gate:?}");
                self.push(&path.child("featureGates").child(gate), message, help);
            }
        }
        let mut cluster = Cluster::new(version, file.feature_gates);
        cluster.pod_security = file.pod_security;
        cluster
    }

    fn clusters(&mut self, clusters: &[ClusterFiles]) {
        let root = Path::new("clusters");
        for (i, cluster) in clusters.iter().enumerate() {
            let path = root.index(i);
            if cluster.name.trim().is_empty() {
                self.push(&path.child("name"), "a cluster needs a name".to_owned(), None);
            } else if clusters.iter().take(i).any(|other| other.name == cluster.name) {
                self.push(&path.child("name"), "another cluster has this name".to_owned(), None);
            }
            let paths = path.child("paths");
            if cluster.paths.is_empty() {
                self.push(&paths, "a cluster needs a pattern of its files".to_owned(), None);
            }
            self.patterns(&paths, &cluster.paths);
        }
    }

    fn patterns(&mut self, path: &Path<'_>, patterns: &[String]) {
        for (i, pattern) in patterns.iter().enumerate() {
            if let Err(why) = file_patterns::check(pattern) {
                self.push(&path.index(i), why, None);
            }
        }
    }

    fn rule(&mut self, path: &Path<'_>, id: &str) -> Option<&'static Meta> {
        match catalogue::find(id) {
            Some(rule) if rule.meta.adjustable => Some(&rule.meta),
            Some(rule) => {
                // A conflicting pin must stay denied too. Otherwise the pod would run on the wrong node.
                let why = if rule.meta == *NODE_PIN_CONFLICT {
                    "a pod whose pin cannot be written would run on another node"
                } else if rule.meta == *POLICY_WEAKENED {
                    "a policy does not hide what it weakens"
                } else {
                    "the API server refuses what it finds anyway"
                };
                let message = format!("{} cannot be changed: {why}", rule.meta.id);
                self.push_name(path, message, None);
                None
            }
            None => {
                let help = catalogue::nearest(id).map(|near| format!("did you mean {near}?"));
                self.push_name(path, format!("there is no rule {id:?}"), help);
                None
            }
        }
    }

    fn exception(&mut self, path: &Path<'_>, entry: ExceptionEntry) -> Exception {
        let rules_path = path.child("rules");
        if entry.rules.is_empty() {
            self.push(&rules_path, "names no rule, so it has no effect".to_owned(), None);
        }
        if entry.reason.trim().is_empty() {
            self.push(&path.child("reason"), "an exception needs a reason".to_owned(), None);
        }
        let rules = entry
            .rules
            .iter()
            .enumerate()
            .filter_map(|(i, id)| self.rule(&rules_path.index(i), id))
            .collect();
        let expires = entry.expires.as_ref().and_then(|text| match text.parse() {
            Ok(date) => Some(date),
            Err(_) => {
                let message = format!("{text:?} is not a date such as 2027-03-31");
                self.push(&path.child("expires"), message, None);
                None
            }
        });
        self.patterns(&path.child("files"), &entry.files);
        Exception {
            namespaces: entry.namespaces,
            names: entry.names,
            files: entry.files,
            rules,
            reason: entry.reason,
            expires,
            ..Exception::default()
        }
    }

    /// An invalid toleration would prevent the creation of every new daemon pod.
    fn tolerations(&mut self, tolerations: &[TolerationEntry]) {
        let injection = Path::new("injection");
        for (i, entry) in tolerations.iter().enumerate() {
            let path = injection.item("tolerations", i);
            if !matches!(entry.operator.as_str(), "Exists" | "Equal") {
                let message = format!("{:?} is neither Exists nor Equal", entry.operator);
                self.push(&path.child("operator"), message, None);
            }
            if entry.operator == "Exists" && entry.value.as_deref().is_some_and(|v| !v.is_empty()) {
                let message = "must be empty when `operator` is 'Exists'".to_owned();
                self.push(&path.child("value"), message, None);
            }
            if !entry.key.is_empty() {
                for message in names::label_key(&entry.key) {
                    self.push(&path.child("key"), message.to_owned(), None);
                }
            } else if entry.operator != "Exists" {
                let message = "operator must be Exists when `key` is empty".to_owned();
                self.push(&path.child("operator"), message, None);
            }
            if entry.operator == "Equal" {
                for message in names::label_value(entry.value.as_deref().unwrap_or_default()) {
                    self.push(&path.child("value"), message.to_owned(), None);
                }
            }
            let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            if let Some(effect) = &entry.effect
                && !effects.contains(&effect.as_str())
            {
                let message = format!("{effect:?} is not one of {}", effects.join(", "));
                self.push(&path.child("effect"), message, None);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fallback_denies_only_what_no_policy_allows() {
        let policy = Policy::fallback();
        let denied = catalogue::all().iter().filter(|rule| policy.mode(&rule.meta) == Mode::Deny);
        let (mut some, mut all) = (0, denied);
        assert!(all.all(|rule| {
            some += 1;
            !rule.meta.adjustable
        }));
        assert!(some > 0);
        assert!(policy.is_fallback && !Policy::default().is_fallback);
    }
}

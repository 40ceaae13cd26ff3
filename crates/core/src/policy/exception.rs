//! The exceptions of a policy: objects and files that are exempt from rules.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use jiff::civil::Date;

use super::pattern::any;
use crate::{finding::Meta, policy::file_patterns::FilePatterns};

/// A validated exception.
#[derive(Clone, Debug, Default)]
pub struct Exception {
    /// The patterns of namespaces. Empty: every namespace.
    pub namespaces: Vec<String>,
    /// The patterns of names. Empty: every name.
    pub names: Vec<String>,
    /// Empty: every file.
    pub(super) files: Vec<String>,
    /// The names of a run's files that match the patterns; see [`assign_files`].
    pub(super) matched: BTreeSet<String>,
    pub(super) rules: Vec<&'static Meta>,
    /// Why the exception exists.
    pub reason: String,
    /// The last day of the exception.
    pub expires: Option<Date>,
}

impl Exception {
    /// Returns whether the exception covers a rule.
    pub fn is_about(&self, rule: &Meta) -> bool {
        self.rules.contains(&rule)
    }

    /// Returns whether the exception covers only certain files, and so no object in a cluster.
    pub const fn names_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Returns the patterns of the exception's files, relative to `root`.
    pub fn patterns(&self, root: &Path) -> FilePatterns {
        FilePatterns::new(&self.files, root)
    }

    /// Returns whether the exception covers this rule for this object and its file, even if it has expired.
    pub fn covers(&self, rule: &Meta, namespace: &str, name: &str, file: Option<&str>) -> bool {
        self.rules.contains(&rule)
            && any(&self.namespaces, namespace)
            && any(&self.names, name)
            && (self.files.is_empty() || file.is_some_and(|file| self.matched.contains(file)))
    }
}

/// See [`super::Policy::assign_files`].
pub(super) fn assign_files(
    exceptions: &mut [Exception],
    root: &Path,
    files: impl Iterator<Item = (String, Vec<PathBuf>)>,
) {
    if !exceptions.iter().any(Exception::names_files) {
        return;
    }
    let patterns: Vec<_> = exceptions.iter().map(|it| it.patterns(root)).collect();
    for (name, paths) in files {
        for (exception, patterns) in exceptions.iter_mut().zip(&patterns) {
            if exception.names_files() && paths.iter().all(|it| patterns.matches(it)) {
                exception.matched.insert(name.clone());
            }
        }
    }
}

//! Patterns of files and folders that are left out of folders, like those of `.gitignore`.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Files and folders that are left out of folders.
#[derive(Debug)]
pub(crate) struct Exclude {
    /// The patterns of `--exclude`, for paths from the working folder.
    flags: Gitignore,
    /// The patterns of the policy, for paths without links.
    policy: Gitignore,
}

impl Default for Exclude {
    fn default() -> Self {
        Exclude { flags: Gitignore::empty(), policy: Gitignore::empty() }
    }
}

/// The place of a pattern that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excluded {
    ByFlag,
    ByPolicy,
}

/// Checks a pattern.
///
/// # Errors
/// Returns the reason why it isn't a pattern.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    let added = GitignoreBuilder::new("").add_line(None, pattern).map(|_| ());
    added.map_err(|error| error.to_string())
}

impl Exclude {
    /// Takes the patterns of `--exclude`, and those of a policy with the folder from which they are meant;
    /// an empty path is the working folder. Invalid patterns were reported before, and are ignored.
    pub(crate) fn new(flags: &[String], policy: &[String], root: &Path) -> Self {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let root = dunce::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Exclude { flags: patterns(Path::new(""), flags), policy: patterns(&root, policy) }
    }

    /// Returns whether there are no patterns.
    pub(super) fn is_empty(&self) -> bool {
        self.flags.is_empty() && self.policy.is_empty()
    }

    /// Returns which patterns match an entry of a folder: `path` as the user would write it, and `whole`
    /// without links.
    pub(super) fn excludes(&self, path: &Path, whole: &Path, is_folder: bool) -> Option<Excluded> {
        let path = path.strip_prefix(".").unwrap_or(path);
        if self.flags.matched(path, is_folder).is_ignore() {
            return Some(Excluded::ByFlag);
        }
        let is_inside = whole.starts_with(self.policy.path());
        // A folder above that matches doesn't count: the walk began below it, because the user named it.
        let by_policy = is_inside && self.policy.matched(whole, is_folder).is_ignore();
        by_policy.then_some(Excluded::ByPolicy)
    }
}

/// Patterns of files, like those of `.gitignore`.
#[derive(Debug)]
pub(crate) struct FilePatterns(Gitignore);

impl FilePatterns {
    /// Takes patterns and the folder from which they are meant; an empty path is the working folder.
    /// Invalid patterns were reported before, and are ignored.
    pub(crate) fn new(lines: &[String], root: &Path) -> Self {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let root = dunce::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        FilePatterns(patterns(&root, lines))
    }

    /// Returns whether the patterns match a file or a folder above it, given by its path without links.
    pub(crate) fn matches(&self, file: &Path) -> bool {
        let inside = file.strip_prefix(self.0.path());
        inside.is_ok_and(|it| self.0.matched_path_or_any_parents(it, false).is_ignore())
    }
}

/// Returns patterns that are meant from a folder. Invalid ones are ignored.
pub(super) fn patterns(root: &Path, lines: &[String]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for pattern in lines {
        let _ = builder.add_line(None, pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

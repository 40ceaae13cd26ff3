//! Patterns of files and folders that are left out of folders, like those of `.gitignore`.

use std::path::{Path, PathBuf};

use ignore::gitignore::Gitignore;
use setguard_core::policy::{Policy, file_patterns::patterns};

/// Files and folders that are left out of folders.
#[derive(Debug)]
pub struct Exclude {
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

impl Exclude {
    /// Takes the patterns of `--exclude`, and those of a policy with the folder from which they are meant;
    /// an empty path is the working folder. Invalid patterns were reported before, and are ignored.
    pub fn new(flags: &[String], policy: &[String], root: &Path) -> Self {
        Exclude { flags: patterns(Path::new(""), flags), policy: patterns(&whole(root), policy) }
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

/// Applies the exceptions of a policy that name files to the files of a run, each given by its name and its path.
/// `root` is the folder from which the patterns are meant.
pub fn exempt_files(
    policy: &mut Policy,
    root: &Path,
    files: impl Iterator<Item = (String, PathBuf)>,
) {
    let files = files.filter_map(|(name, path)| Some((name, dunce::canonicalize(path).ok()?)));
    policy.assign_files(&whole(root), files);
}

/// Returns a folder without links; an empty path is the working folder.
pub fn whole(folder: &Path) -> PathBuf {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    dunce::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

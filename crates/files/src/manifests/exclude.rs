//! Patterns of files and folders to leave out of folders, as in `.gitignore`.

use ignore::gitignore::Gitignore;
use setguard_core::policy::{Policy, file_patterns::patterns};

use super::layout::shown;
use crate::manifests::prelude::*;

/// Files and folders to leave out of folders.
#[derive(Clone, Debug)]
pub struct Exclude {
    /// From `--exclude`, for paths relative to the working folder.
    flags: Gitignore,
    /// From the policy, for paths without links.
    policy: Gitignore,
    /// A copy of a folder, and the path of that folder as the user writes it and without links.
    copy: Option<[PathBuf; 3]>,
    /// Whether to keep the files of a copy that the folder no longer has.
    keeps_gone: bool,
}

impl Default for Exclude {
    fn default() -> Self {
        Exclude {
            flags: Gitignore::empty(),
            policy: Gitignore::empty(),
            copy: None,
            keeps_gone: false,
        }
    }
}

impl Exclude {
    /// Takes the patterns of `--exclude` and of a policy. The policy's are relative to `root`; an empty path is the
    /// working folder. Ignores invalid patterns: the policy has reported them.
    pub fn new(flags: &[String], policy: &[String], root: &Path) -> Self {
        let (flags, policy) = (patterns(Path::new(""), flags), patterns(&whole(root), policy));
        Exclude { flags, policy, ..Exclude::default() }
    }

    /// Returns the same patterns for a copy of a folder.
    #[must_use]
    pub fn in_copy(&self, there: &Path, folder: &Path) -> Self {
        let copy = Some([there.to_owned(), folder.to_owned(), whole(folder)]);
        Exclude { copy, ..self.clone() }
    }

    /// Returns the same patterns, except for the files of a copy that the folder no longer has, and the folders around
    /// them: a change may have moved the files elsewhere.
    #[must_use]
    pub fn keeping_gone(&self) -> Self {
        Exclude { keeps_gone: true, ..self.clone() }
    }

    /// Returns whether it excludes a file, or a folder around it in a folder that the user named. The file need not
    /// exist.
    pub(super) fn has(&self, named: &Path, file: &Path) -> bool {
        if self.is_empty() {
            return false;
        }
        let base = whole(named);
        let excludes = |it: &Path| {
            let inside = it.strip_prefix(named).ok().filter(|it| *it != Path::new(""));
            inside.is_some_and(|inside| self.excludes(it, &base.join(inside), it != file).is_some())
        };
        file.ancestors().any(excludes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.flags.is_empty() && self.policy.is_empty()
    }

    /// Returns what excludes a path. `path` is as the user would write it, `whole` is without links.
    pub(super) fn excludes(
        &self,
        path: &Path,
        whole: &Path,
        is_folder: bool,
    ) -> Option<&'static str> {
        let here = self.copy.as_ref().and_then(|[there, folder, base]| {
            let inside = path.strip_prefix(there).ok()?;
            Some([folder.join(inside), base.join(inside)])
        });
        let Some([shown, here]) = &here else { return self.matches(path, whole, is_folder) };
        let mut above = shown.ancestors().zip(here.ancestors()).skip(1);
        let by = self.matches(shown, here, is_folder);
        if !self.keeps_gone {
            return by;
        }
        // The walk may have gone into an excluded folder.
        let base = self.copy.as_ref().map(|[.., base]| base);
        let is_below = |it: &Path| base.is_some_and(|base| it != base && it.starts_with(base));
        let by = by.or_else(|| {
            above.find_map(|(shown, here)| {
                self.matches(shown, here, true).filter(|_| is_below(here))
            })
        });
        by.filter(|_| if is_folder { !has_lost(path, here) } else { here.exists() })
    }

    fn matches(&self, path: &Path, whole: &Path, is_folder: bool) -> Option<&'static str> {
        let path = path.strip_prefix(".").unwrap_or(path);
        if self.flags.matched(path, is_folder).is_ignore() {
            return Some("--exclude");
        }
        let is_inside = whole.starts_with(self.policy.path());
        // A matching folder above doesn't count, because the user named a folder below it.
        let by_policy = is_inside && self.policy.matched(whole, is_folder).is_ignore();
        by_policy.then_some("the policy")
    }
}

/// Returns whether a folder no longer has a file that its copy has.
fn has_lost(copy: &Path, folder: &Path) -> bool {
    let entries = std::fs::read_dir(copy).into_iter().flatten().flatten();
    let mut entries = entries.map(|it| (it.path(), folder.join(it.file_name())));
    entries.any(|(copy, here)| match copy.is_dir() && !copy.is_symlink() {
        true => has_lost(&copy, &here),
        false => !here.exists(),
    })
}

/// Applies the policy's exceptions for files to the files of a run. Each file has a name and paths: its own, and the
/// paths of kustomizations that newly take it. The patterns are relative to `root`, and must match all paths. For a
/// link, they must match its own path and its target.
pub fn exempt_files(
    policy: &mut Policy,
    root: &Path,
    files: impl Iterator<Item = (String, Vec<PathBuf>)>,
) {
    let (here, root) = (whole(Path::new("")), whole(root));
    let files = files.filter_map(|(name, paths)| {
        let mut all = Vec::new();
        for path in paths {
            all.push(unfollowed(&clean(&here.join(&path)), &root));
            all.push(dunce::canonicalize(path).ok()?);
        }
        Some((name, all))
    });
    policy.assign_files(&root, files);
}

/// Returns a path without the links that lead to `root`. The links in `root` stay.
fn unfollowed(path: &Path, root: &Path) -> PathBuf {
    let above: Vec<_> = path.ancestors().collect();
    let inside = above.into_iter().rev().find_map(|at| {
        let real = dunce::canonicalize(at).ok().filter(|it| it.starts_with(root))?;
        Some(real.join(path.strip_prefix(at).ok()?))
    });
    inside.unwrap_or_else(|| path.to_owned())
}

/// Applies these exceptions to the files of an earlier version too, each by its path at that time.
pub fn exempt_earlier<'a>(
    policy: &mut Policy,
    root: &Path,
    files: impl Iterator<Item = &'a Source>,
) {
    let here = whole(Path::new(""));
    let files = files.filter_map(|it| {
        let root = it.rendered().map(|it| it.root.file());
        let path = it.place().map(Path::to_owned).or(root)?;
        Some((it.name().to_owned(), vec![clean(&here.join(path))]))
    });
    policy.assign_files(&whole(root), files);
}

/// Returns a folder without links. An empty path is the working folder.
pub fn whole(folder: &Path) -> PathBuf {
    let folder = shown(folder);
    dunce::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())
}

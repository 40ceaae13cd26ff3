//! The search for the policy file of a repository.

use std::path::{Path, PathBuf};

use crate::{
    error::FileError,
    manifests::{files::Fence, repository::Repository},
};

/// The names of a policy in each folder; the first one counts.
const NAMES: [&str; 3] = ["setguard.yaml", ".setguard.yaml", ".github/setguard.yaml"];

/// Returns the nearest policy file, from the working folder up to the root of the repository. The path is relative to
/// the working folder if the file is in it. Fails if the policy isn't a regular file of the repository: a link may lead
/// to a secret.
pub fn discover(repository: &Repository) -> Result<Option<PathBuf>, FileError> {
    let is_there = |path: &PathBuf| path.symlink_metadata().is_ok_and(|about| !about.is_dir());
    let Some(found) = candidates(repository).find(is_there) else { return Ok(None) };
    let fence = repository.upwards().last().map(Fence::around);
    if !found.is_file() || !fence.is_some_and(|it| it.has(&found, &[".setguard.yaml", ".github"])) {
        return Err(FileError::PolicyOutside(found));
    }
    let here = repository.upwards().next().and_then(|here| found.strip_prefix(here).ok());
    Ok(Some(here.map_or_else(|| found.clone(), Path::to_owned)))
}

/// Returns every possible path of the policy, the nearest first.
pub fn candidates(repository: &Repository) -> impl Iterator<Item = PathBuf> {
    let folders = repository.upwards().filter(|folder| !is_writable_by_all(folder));
    folders.flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)))
}

/// Returns the folder where the patterns of a discovered policy file start.
pub fn folder_of(policy: &Path) -> PathBuf {
    let folder = policy.parent().unwrap_or_else(|| Path::new(""));
    let is_of_github = folder.file_name().is_some_and(|name| name == ".github");
    let folder = if is_of_github { folder.parent().unwrap_or(folder) } else { folder };
    folder.to_owned()
}

/// Returns whether a file has the name of a policy.
pub fn has_name(path: &Path) -> bool {
    NAMES.iter().any(|name| path.ends_with(name))
}

/// Returns whether everyone may put files into a folder, such as `/tmp`. Files there may belong to other users.
#[cfg(unix)]
fn is_writable_by_all(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    const STICKY_AND_WRITABLE: u32 = 0o1002;
    std::fs::metadata(folder)
        .is_ok_and(|about| about.permissions().mode() & STICKY_AND_WRITABLE == STICKY_AND_WRITABLE)
}

#[cfg(not(unix))]
fn is_writable_by_all(_: &Path) -> bool {
    false
}

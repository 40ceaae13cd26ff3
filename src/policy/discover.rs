//! Finds the policy file of a repository.

#![expect(clippy::disallowed_methods, reason = "the folders of the repository are looked at here")]

use std::path::{Path, PathBuf};

use crate::manifests::repository::Repository;

/// Where a policy is looked for in each folder; the first one counts.
const NAMES: [&str; 3] = ["setguard.yaml", ".setguard.yaml", ".github/setguard.yaml"];

/// The nearest policy file from the working folder up to the root of the repository, as a path
/// relative to the working folder if it is in it.
pub(crate) fn discover(repository: &Repository) -> Option<PathBuf> {
    let mut folders = repository.upwards().filter(|folder| !is_for_everybody(folder));
    let found = folders.find_map(|folder| {
        NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
    })?;
    let here = repository.upwards().next().and_then(|here| found.strip_prefix(here).ok());
    Some(here.map_or_else(|| found.clone(), Path::to_owned))
}

/// Whether everybody may put files into a folder that they share, such as `/tmp`. What is found there
/// may be somebody else's.
#[cfg(unix)]
fn is_for_everybody(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    const STICKY_AND_WRITABLE: u32 = 0o1002;
    std::fs::metadata(folder)
        .is_ok_and(|about| about.permissions().mode() & STICKY_AND_WRITABLE == STICKY_AND_WRITABLE)
}

#[cfg(not(unix))]
fn is_for_everybody(_: &Path) -> bool {
    false
}

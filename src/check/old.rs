//! The previous manifests of `--against` and `--against-ref`.

use std::path::PathBuf;

use crate::{
    manifests::{git::Commit, listing, source::Source},
    report,
};

/// Reads the manifests below `against`, or those below `paths` as they were at a commit. Calls
/// `complain` for manifests that cannot be read.
pub(super) fn read(
    against: &[PathBuf],
    commit: Option<Result<Commit<'_>, String>>,
    paths: &[PathBuf],
    complain: &mut dyn FnMut(String),
) -> Vec<Source> {
    let sources: Vec<_> = match commit.map(|commit| commit?.manifests(paths)) {
        Some(Ok(old)) => {
            for note in old.notes {
                report::note(&note);
            }
            old.sources
        }
        Some(Err(message)) => vec![Err(message)],
        None => listing::sources(against).map(|source| source?.read()).collect(),
    };
    sources.into_iter().filter_map(|source| source.map_err(&mut *complain).ok()).collect()
}

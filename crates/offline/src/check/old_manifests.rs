//! The previous manifests of `--against` and `--against-ref`.

use std::path::PathBuf;

use super::old_objects::OldObjects;
pub(super) use setguard_files::{
    manifests::{clusters::Clusters, git::Commit, listing, source::Source},
    report,
};

/// Finds the commit of `--against-ref`, and prints a note if it isn't the start of the change.
pub(super) fn commit(reference: &str) -> Result<Commit, String> {
    let (commit, note) = Commit::find_start("--against-ref", reference)?;
    note.iter().for_each(|note| report::note(note));
    Ok(commit)
}

/// Adds the manifests below `against` to the previous ones, or those below `paths` as they were at a
/// commit. Calls `complain` for manifests that cannot be read, unless they were at a commit: a change
/// that fixes such a file must not fail because of it.
pub(super) fn read(
    against: &[PathBuf],
    commit: Option<Result<Commit, String>>,
    (paths, clusters): (&[PathBuf], &Clusters),
    previous: &mut OldObjects,
    complain: &mut dyn FnMut(String),
) -> Vec<Source> {
    let is_commit = commit.is_some();
    let mut notes = Vec::new();
    let sources = match commit.map(|commit| commit?.manifests(paths, clusters)) {
        Some(Ok(old)) => {
            notes = old.notes;
            old.sources
        }
        Some(Err(message)) => {
            complain(message);
            Vec::new()
        }
        None => listing::sources(against).map(|source| source?.read()).collect(),
    };
    let mut unreadable = |message: String| match is_commit {
        true => notes.push(format!("{message}; its objects are checked as new ones")),
        false => complain(message),
    };
    let sources: Vec<_> =
        sources.into_iter().filter_map(|it| it.map_err(&mut unreadable).ok()).collect();
    for source in &sources {
        previous.add(source).into_iter().for_each(&mut unreadable);
    }
    notes.iter().for_each(|note| report::note(note));
    sources
}

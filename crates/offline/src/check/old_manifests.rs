//! The previous manifests of `--against` and `--against-ref`.

use std::path::PathBuf;

use super::old_objects::OldObjects;
pub(super) use setguard_files::{
    error::FileError,
    manifests::{clusters::Clusters, git::Commit, listing, namespaces::Namespaces, source::Source},
    report,
};

/// The previous manifests. By default there are none, and every object is new.
#[derive(Debug, Default)]
pub(super) struct OldManifests {
    pub(super) sources: Vec<Source>,
    pub(super) objects: OldObjects,
    /// The namespaces that requested the control-plane tolerations.
    pub(super) namespaces: Namespaces,
    /// The reasons why manifests cannot be read.
    pub(super) failures: Vec<String>,
}

/// Finds the commit of `--against-ref`, and prints a note if it isn't the start of the change.
pub(super) fn commit(reference: &str) -> Result<Commit, FileError> {
    let (commit, note) = Commit::find_start("--against-ref", reference)?;
    note.iter().for_each(|note| report::note(note));
    Ok(commit)
}

impl OldManifests {
    /// Reads the manifests below `against`, or those below `paths` as they were at a commit. A manifest of a
    /// commit that cannot be read is only a note: a change that fixes such a file must not fail because of it.
    pub(super) fn read(
        against: &[PathBuf],
        commit: Option<Result<Commit, FileError>>,
        (paths, clusters): (&[PathBuf], &Clusters),
        namespace: Option<&str>,
    ) -> Self {
        let objects = OldObjects::of_namespace(namespace);
        let mut read = OldManifests { objects, ..OldManifests::default() };
        let (is_commit, mut notes, mut unreadable) = (commit.is_some(), Vec::new(), Vec::new());
        let sources = match commit.map(|commit| commit?.manifests(paths, clusters)) {
            Some(Ok(old)) => {
                notes = old.notes;
                old.sources
            }
            Some(Err(error)) => {
                read.failures.push(error.to_string());
                Vec::new()
            }
            None => listing::sources(against).map(|source| source?.read()).collect(),
        };
        for source in sources {
            match source {
                Ok(source) => {
                    unreadable.extend(read.objects.add(&source));
                    read.namespaces.add(source.text());
                    read.sources.push(source);
                }
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        match is_commit {
            true => notes.extend(
                unreadable.iter().map(|it| format!("{it}; its objects are checked as new ones")),
            ),
            false => read.failures.extend(unreadable),
        }
        notes.iter().for_each(|note| report::note(note));
        read
    }
}

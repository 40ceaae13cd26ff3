//! The sources below the paths of a command: files, folders and standard input.

#![expect(clippy::disallowed_methods, reason = "paths are looked at here")]

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
};

use super::{
    exclude::Exclude,
    folder,
    source::Source,
    surroundings::{Around, Surroundings},
};

/// Returns all sources below these paths, in order. `look` first sees the text of every source;
/// then the sources are read again one at a time. Each comes with an unread copy of itself, unless
/// it can be read only once, such as standard input; the text of such a source is kept in memory.
pub(crate) fn scan_then_read<'a>(
    paths: &'a [PathBuf],
    look: &mut dyn FnMut(&str),
) -> impl Iterator<Item = Result<(Source, Option<Source>), String>> + use<'a> {
    let mut kept = VecDeque::new();
    for source in sources(paths).flatten() {
        let is_kept = source.again().is_none();
        let source = source.read();
        if let Ok(source) = &source {
            look(source.text());
        }
        if is_kept {
            kept.push_back(source);
        }
    }
    sources(paths).map(move |source| {
        let source = source?;
        Ok(match source.again() {
            None => (kept.pop_front().unwrap_or_else(|| source.read())?, None),
            again => (source.read()?, again),
        })
    })
}

/// Returns all sources below these paths, in order.
pub(crate) fn sources(paths: &[PathBuf]) -> impl Iterator<Item = Result<Source, String>> {
    list(paths, &Exclude::default()).sources.into_iter()
}

/// The files below some paths.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// All sources, in order.
    pub(crate) sources: Vec<Result<Source, String>>,
    /// The files that are not read, and how to check them.
    pub(crate) notes: Vec<String>,
    /// Facts about a file from the folders around it, by its name.
    pub(crate) surroundings: HashMap<String, Surroundings>,
}

/// Lists the files below some paths, except files in folders that match a pattern of `exclude`. Only files that determine which files aren't manifests
/// are read.
pub(crate) fn list(paths: &[PathBuf], exclude: &Exclude) -> Listing {
    let mut listing = Listing::default();
    for path in paths {
        if path.as_os_str() == "-" {
            listing.sources.push(Ok(Source::Stdin));
        } else if path.is_dir() {
            let folder::Contents { sources, notes, surroundings } = folder::list(path, exclude);
            listing.sources.extend(sources);
            listing.notes.extend(notes);
            listing.surroundings.extend(surroundings);
        } else {
            // A file that the user named is read, whatever its extension.
            listing.sources.push(Ok(Source::File(path.clone())));
        }
    }
    listing
}

/// Returns what a folder says about the files in it, if it is the root of a repository. Other folders are not
/// walked, since they may be as large as a disk.
pub(crate) fn around(root: &Path, exclude: &Exclude) -> Option<Around> {
    root.join(".git").exists().then(|| folder::around(root, exclude))
}

/// Returns whether the list of a folder would not have this file, because it is part of a chart or of a
/// kustomization, or because the policy leaves it out.
pub(crate) fn leaves_out(file: &Path, folder: &Path, exclude: &Exclude) -> bool {
    folder::leaves_out(file, folder, exclude)
}

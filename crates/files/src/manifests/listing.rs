//! The sources below the paths of a command: files, folders and standard input.

use std::{cell::LazyCell, collections::VecDeque};

use serde_json::Value;

use super::{folder, id::ObjectId, layout::Wrong, path_context::FolderContext, render::Applied};
use crate::manifests::prelude::*;
use crate::prelude::*;

/// Returns all sources below these paths, in order. `look` sees every text first; then each source is read again, one
/// at a time. Keeps the text of a source that can be read only once, such as standard input.
pub fn scan_then_read<'a>(
    paths: &'a [PathBuf],
    look: &mut dyn FnMut(&str),
) -> impl Iterator<Item = Result<Source, FileError>> + use<'a> {
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
        let kept = if source.again().is_none() { kept.pop_front() } else { None };
        kept.unwrap_or_else(|| source.read())
    })
}

/// Returns all sources below these paths, in order.
pub fn sources(paths: &[PathBuf]) -> impl Iterator<Item = Result<Source, FileError>> {
    list(paths, &Exclude::default(), &FolderNames::new()).sources.into_iter()
}

/// Returns the paths, except deleted ones that had manifests at a commit.
pub fn remaining(paths: &[PathBuf], commit: Option<&Commit>) -> Vec<PathBuf> {
    let had = |commit: &Commit, path: &PathBuf| {
        let path = std::slice::from_ref(path);
        let old =
            commit.manifests(path, &Exclude::default(), &Clusters::default(), &FolderNames::new());
        old.is_ok_and(|old| !old.sources.is_empty())
    };
    let is_deleted = |path: &PathBuf| {
        path.as_os_str() != "-"
            && path.symlink_metadata().is_err_and(|it| it.kind() == io::ErrorKind::NotFound)
            && commit.is_some_and(|commit| had(commit, path))
    };
    paths.iter().filter(|path| !is_deleted(path)).cloned().collect()
}

/// The files below some paths.
#[derive(Debug, Default)]
pub struct Listing {
    /// All sources, in order.
    pub sources: Vec<Result<Source, FileError>>,
    /// Notes about files without a manifest.
    pub notes: Vec<String>,
    /// Unread files that may have a set.
    pub not_checked: Vec<NotChecked>,
    /// The faults of kustomizations.
    pub wrong: Vec<Wrong>,
    /// The facts from the path of a file, by file name.
    pub contexts: HashMap<String, PathContext>,
    /// The charts and kustomizations in the folders to render.
    pub roots: Vec<Root>,
    /// The kustomizations there, each with the ones that use it.
    pub inner: Vec<(Root, Vec<Root>)>,
    /// The files of `roots`. Once these are rendered, those with a set in their output.
    pub(super) taken: Vec<Source>,
    /// Files that a walk leaves out, but that objects may take values from.
    pub(super) foreign: Vec<PathBuf>,
    /// The roots that render to nothing, by name.
    pub empty: Vec<(String, NotChecked)>,
    /// At a commit: roots that lack files outside git, or that now come from a different repository, and kustomizations
    /// and charts whose objects differed from their files.
    pub not_compared: Vec<NotChecked>,
    /// What the objects of Argo CD and Flux apply.
    pub(super) applied: Vec<Applied>,
    /// The files where Argo CD overrides Applications.
    pub(super) overrides: HashSet<PathBuf>,
    /// At a commit: the deleted files that a walk left out. An object that moved out of one continues the object there.
    pub moved_out: Vec<Source>,
}

impl Listing {
    /// Appends a listing.
    pub fn extend(&mut self, other: Listing) {
        self.sources.extend(other.sources);
        self.notes.extend(other.notes);
        self.not_checked.extend(other.not_checked);
        self.wrong.extend(other.wrong);
        self.contexts.extend(other.contexts);
        self.roots.extend(other.roots);
        self.inner.extend(other.inner);
        self.taken.extend(other.taken);
        self.foreign.extend(other.foreign);
        self.empty.extend(other.empty);
        self.not_compared.extend(other.not_compared);
        self.applied.extend(other.applied);
        self.overrides.extend(other.overrides);
        self.moved_out.extend(other.moved_out);
    }

    /// Reads files of roots as they are too, if they were read so at a commit and are edited: a new root must not hide
    /// an edit, unless it prints the same. The file may have a new name.
    pub fn take_again<'s>(&mut self, commit: &Commit, old: impl Iterator<Item = &'s Source>) {
        let old = old.filter(|it| it.rendered().is_none());
        let old = old.filter_map(|it| Some((it, clean(it.place()?))));
        let (left, gone): (Vec<_>, Vec<_>) = old.partition(|it| it.1.exists());
        let left: HashSet<_> = left.into_iter().map(|it| it.1).collect();
        let ids =
            |it: &Source| -> Vec<_> { sets(it, None).map(|it| ObjectId::of(&it.node)).collect() };
        let gone: HashSet<_> = gone.into_iter().flat_map(|it| ids(it.0)).collect();
        let json = |it: &Source| -> Vec<_> {
            let json = |it: &str| serde_json::from_str::<Value>(it).ok();
            sets(it, None).map(|it| json(&it.node.to_json())).collect()
        };
        let rendered = LazyCell::new(|| {
            let rendered = self.sources.iter().flatten().filter(|it| it.rendered().is_some());
            rendered.flat_map(json).collect::<Vec<_>>()
        });
        let is_it = |it: &mut Source| {
            let Some(path) = it.path_in_folder() else { return false };
            if !commit.has_edited(&path).unwrap_or(true) {
                return false;
            }
            let Some(now) = it.unread().map(Source::reread) else { return false };
            (left.contains(&clean(&path)) || ids(&now).iter().any(|it| gone.contains(it)))
                && !json(&now).iter().all(|it| rendered.contains(it))
        };
        let again: Vec<_> = self.taken.extract_if(.., is_it).map(Ok).collect();
        self.sources.extend(again);
    }

    /// Returns the entries that were not read or not rendered.
    pub fn all_not_checked(&self) -> impl Iterator<Item = &NotChecked> {
        self.not_checked.iter().chain(self.empty.iter().map(|(_, it)| it))
    }

    /// Returns the notes for a command that reports nothing else about files.
    pub fn all_notes(&self) -> impl Iterator<Item = String> {
        let all = self.all_not_checked().filter(|it| it.counts(false, false));
        let not_read = all.map(|it| {
            let NotChecked { file, why, .. } = it;
            format!("{file} is not read: {why}")
        });
        self.notes.iter().cloned().chain(not_read)
    }
}

/// Lists the files below some paths, except files in folders that match `exclude`. Reads only the files that determine
/// which files are manifests, and the files that are left out.
pub fn list(paths: &[PathBuf], exclude: &Exclude, names: &FolderNames) -> Listing {
    let mut listing = Listing::default();
    for path in paths {
        if path.as_os_str() == "-" {
            listing.sources.push(Ok(Source::Stdin));
        } else if path.is_dir() {
            listing.extend(folder::list(path, exclude, names, false));
        } else {
            // A file that the user named is read, whatever its extension.
            listing.sources.push(Ok(Source::named_file(path)));
        }
    }
    listing
}

/// Notes where the sources below a path would be if the path were `new`, if each has exactly one source.
pub fn place<'a>(sources: impl Iterator<Item = &'a mut Source>, old: &[PathBuf], new: &[PathBuf]) {
    let ([old], [new]) = (old, new) else { return };
    for source in sources {
        let path = source.path_in_folder();
        let place = path.and_then(|it| Some(new.join(it.strip_prefix(old).ok()?)));
        if let Some(place) = place {
            *source = std::mem::replace(source, Source::Stdin).at(place);
        }
    }
}

/// Returns the facts about the files in a folder, if it is the root of a repository. A different folder may be as large
/// as a disk, so it is not walked.
pub fn context(root: &Path, exclude: &Exclude) -> Option<FolderContext> {
    root.join(".git").exists().then(|| folder::walk(root, exclude).1)
}

/// Returns whether a check of the folder leaves out a file. The file need not exist. Outside the folder, only the
/// policy leaves out files.
pub fn leaves_out(folder: &Path, file: &Path, exclude: &Exclude) -> bool {
    if file.starts_with(folder) && folder::leaves_out(folder, file, exclude) {
        return true;
    }
    let whole = whole(file);
    whole.ancestors().any(|at| exclude.excludes(at, at, at != whole).is_some())
}

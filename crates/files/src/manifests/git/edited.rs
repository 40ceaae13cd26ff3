//! The paths that differ between a commit and the work tree.

use std::time::SystemTime;

use super::{Commit, FileError, LARGEST_IN_FOLDER, PathBuf, command::Git, tree::path_of};
use crate::manifests::prelude::*;
use crate::manifests::{
    edits::{Edits, Extent},
    kustomization::{self, Kustomization, Version},
};

/// Without it, `.gitmodules` decides whether a new commit of a submodule is listed.
const SUBMODULES: &str = "--ignore-submodules=none";

impl Commit {
    /// Returns the files that the work tree adds, edits or lacks, except ignored ones. Runs no filters that attributes
    /// name.
    pub(in crate::manifests) fn edits(&self) -> Result<&Edits, FileError> {
        if let Some(edits) = self.edits.get() {
            return Ok(edits);
        }
        let filters = self.without_filters()?;
        let filters: Vec<_> = filters.iter().flat_map(|it| ["-c", it]).collect();
        let list = |args: &[&str]| {
            let listed = self
                .git
                .output(&[&filters, args].concat())
                .map_err(|it| self.incomplete(&it.to_string()))?;
            let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            let path = |name| self.git.top.join(path_of(name));
            Ok::<_, FileError>(names.map(path).collect::<Vec<PathBuf>>())
        };
        // The work tree may equal the commit, whatever is staged.
        let mut touched = list(&[
            "diff-index", "--cached", "--name-only", "--no-renames", "-z", SUBMODULES, &self.id,
        ])?;
        let mut edited = list(&["ls-files", "--others", "--exclude-standard", "-z"])?;
        // These may differ only in their times.
        let mut unstaged = list(&["diff-files", "--name-only", "-z", SUBMODULES])?;
        if !filters.is_empty() && !unstaged.is_empty() {
            let filtered = self.filtered()?;
            unstaged.retain(|it| !filtered.contains(it));
        }
        touched.extend(unstaged);
        let names: Vec<_> = touched.iter().map(PathBuf::as_path).collect();
        let changed = self.changed(&names)?;
        // A folder is a submodule.
        let touched = touched.into_iter().zip(changed).filter(|it| it.1 || it.0.is_dir());
        edited.extend(touched.map(|it| it.0));
        Ok(self.edits.get_or_init(|| Edits(edited.into_iter().collect())))
    }

    /// Returns the settings that keep git from running filters. It would run them to compare a file that is as new as
    /// the index.
    fn without_filters(&self) -> Result<Vec<String>, FileError> {
        let all = self.git.output(&["config", "-z", "--name-only", "--list"])?;
        let all = String::from_utf8_lossy(&all).into_owned();
        let all = all.split('\0').filter(|it| it.starts_with("filter."));
        let without =
            all.map(|it| match it.contains('=') {
                true => Err(self
                    .error(format!("setguard cannot switch off {it:?}, because its name has a ="))),
                false if it.ends_with(".required") => Ok(format!("{it}=false")),
                false => Ok(format!("{it}=")),
            });
        without.collect()
    }

    /// Returns the files with a filter that are unchanged since git wrote them. Without the filter, git can't compare a
    /// file that is as new as the index.
    fn filtered(&self) -> Result<HashSet<PathBuf>, FileError> {
        let args = ["ls-files", "--debug", "-z", "--", ":(exclude,attr:!filter)"];
        let mut command = self.git.command(&args);
        let listed = Git::output_of(command.env("GIT_LITERAL_PATHSPECS", "0"))?;
        // A path, then five lines about it and the next path.
        let mut parts = listed.split(|byte| *byte == 0);
        let (mut path, mut same) = (parts.next().unwrap_or_default(), HashSet::new());
        for part in parts {
            let mut lines = part.splitn(6, |byte| *byte == b'\n');
            let head = lines.by_ref().take(5).map(String::from_utf8_lossy).collect::<String>();
            let file = self.git.top.join(path_of(path));
            if stamp(&file).is_some_and(|it| head.contains(&it.0) && head.contains(&it.1)) {
                same.insert(file);
            }
            path = lines.next().unwrap_or_default();
        }
        Ok(same)
    }

    /// Takes kustomizations with the file that each takes. Returns the ones that did not take it at the commit. Fails
    /// if git cannot read an object.
    pub fn new_takers<'t>(
        &self,
        takers: &BTreeSet<&'t (PathBuf, PathBuf)>,
    ) -> Result<BTreeSet<&'t (PathBuf, PathBuf)>, FileError> {
        let files: Vec<_> = takers.iter().map(|(taker, _)| taker.as_path()).collect();
        let (changed, mut new) = (self.changed(&files)?, BTreeSet::new());
        for (it, _) in takers.iter().zip(changed).filter(|(_, changed)| *changed) {
            let (taker, part) = it;
            let folder = taker.parent().unwrap_or(taker);
            let takes = |it: &String| clean(&folder.join(it)) == *part;
            let has_taken =
                |it: Kustomization| it.resources.iter().chain(&it.components).any(takes);
            if !self.kustomization(taker)?.is_some_and(has_taken) {
                new.insert(*it);
            }
        }
        Ok(new)
    }

    /// Returns whether the change edits a file, or a file of a folder. Fails if git cannot list what it edits.
    pub fn has_edited(&self, path: &Path) -> Result<bool, FileError> {
        Ok(self.edits()?.touch(path, Extent::Usual))
    }

    /// Returns a kustomization as of the commit.
    fn kustomization(&self, file: &Path) -> Result<Option<Kustomization>, FileError> {
        let old = self.first(&[self.resolve(file)?], LARGEST_IN_FOLDER)?;
        let of = |text: &str| Kustomization::of(file, text, kustomization::first(text).as_ref());
        Ok(old.map(|(_, old)| of(old.text())))
    }

    /// Returns the files with sets whose versions a kustomization has changed since the commit.
    pub(super) fn renewed(&self, file: &Path, edits: &Edits) -> Result<Vec<PathBuf>, FileError> {
        let folder = file.parent().unwrap_or(file);
        let old = self.kustomization(file)?.map(|it| it.versions).unwrap_or_default();
        let new = Kustomization::of_folder(folder).map(|it| it.versions).unwrap_or_default();
        let is_edited = |file: &String| {
            let file = folder.join(file);
            file.is_file() && edits.touch(&file, Extent::Usual)
        };
        let is_new = |it: &&Version| !old.contains(it) || it.files.iter().any(is_edited);
        let gone = old.iter().filter(|it| !new.contains(it));
        let changed: Vec<_> = new.iter().filter(is_new).chain(gone).collect();
        Ok(Version::users(&changed, folder))
    }
}

/// Returns the time and the size of a file as git prints them.
fn stamp(file: &Path) -> Option<(String, String)> {
    let metadata = file.symlink_metadata().ok()?;
    let time = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let time = format!("  mtime: {}:{}  ", time.as_secs(), time.subsec_nanos());
    Some((time, format!("  size: {}\t", metadata.len())))
}

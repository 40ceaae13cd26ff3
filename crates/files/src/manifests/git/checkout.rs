//! A copy of all files at a commit, for programs that read files.

use tempfile::TempDir;

use super::{BATCH, Commit, Entry, LARGEST_IN_FOLDER, SUBMODULE, below};
use crate::error::FileError;
use crate::manifests::prelude::*;

/// A temporary folder with the files, deleted on drop. Git itself would run the programs that attributes name.
#[derive(Debug)]
pub struct Checkout {
    folder: TempDir,
    commit: Commit,
}

impl Commit {
    /// Copies all files of the commit. Fails if git cannot read an object, or a file cannot be written.
    pub fn check_out(&self) -> Result<Checkout, FileError> {
        let failed = |error: io::Error| self.error(format!("the commit cannot be copied: {error}"));
        let folder = tempfile::Builder::new().prefix("setguard-").tempdir().map_err(failed)?;
        // This makes the folder a repository, and no link may lead out of it.
        fs::create_dir(folder.path().join(".git")).map_err(failed)?;
        let is_name = |part: Component<'_>| match part {
            Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
            _ => false,
        };
        let mut entries: Vec<_> = self.tree()?.entries.values().collect();
        entries.retain(|it| it.mode != SUBMODULE && it.blob.path.components().all(is_name));
        // Links come last, so that no file is written through one.
        let (links, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|it| !it.is_regular());
        for batch in files.chunks(BATCH).chain(links.chunks(BATCH)) {
            let blobs: Vec<_> = batch.iter().map(|it| &it.blob).collect();
            for (entry, bytes) in batch.iter().zip(self.cat(&blobs, LARGEST_IN_FOLDER)?) {
                // A file this large is no manifest.
                let Ok(bytes) = bytes else { continue };
                write(folder.path(), entry, &bytes).map_err(failed)?;
            }
        }
        Ok(Checkout { folder, commit: self.clone() })
    }
}

fn write(folder: &Path, entry: &Entry, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(&entry.blob.path);
    let parent = path.parent().unwrap_or(folder);
    if entry.is_regular() {
        fs::create_dir_all(parent)?;
        return fs::write(path, bytes);
    }
    let is_inside = |parent: &Path| {
        let [parent, folder] = [parent, folder].map(dunce::canonicalize);
        parent.is_ok_and(|it| folder.is_ok_and(|folder| it.starts_with(folder)))
    };
    fs::create_dir_all(parent)?;
    if is_inside(parent) { link(bytes, &path) } else { Ok(()) }
}

#[cfg(unix)]
fn link(target: &[u8], path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(super::tree::path_of(target), path)
}

#[cfg(not(unix))]
fn link(target: &[u8], path: &Path) -> io::Result<()> {
    fs::write(path, target)
}

impl Checkout {
    /// Returns the path in the copy of a file of the work tree. A file outside the repository keeps its path.
    pub fn find(&self, path: &Path) -> PathBuf {
        // The file may be gone from the work tree.
        let inside = self.commit.locate(path).ok().or_else(|| self.commit.git.inside(path));
        inside.map_or_else(|| whole(path), |it| self.folder.path().join(it))
    }

    pub(in crate::manifests) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(in crate::manifests) fn without_folder(&self, text: &str) -> String {
        let real = dunce::canonicalize(self.folder.path()).unwrap_or_default();
        text.replace(&format!("{}/", real.display()), "")
    }

    /// Reads a file below `there` in the copy, under the name that git gives it. `path` leads to `there` in the work tree.
    pub(in crate::manifests) fn read(&self, source: Source, path: &Path, there: &Path) -> Source {
        let Some((_, file)) = source.file() else { return source };
        let name = self.commit.name(file.strip_prefix(self.folder.path()).unwrap_or(&file));
        let source = source.reread();
        Source::of(name, source.text().to_owned(), source.group().clone())
            .at(below(path, &file, there))
    }
}

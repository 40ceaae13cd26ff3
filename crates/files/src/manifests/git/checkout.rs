//! A copy of all files at a commit, for programs that read files.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use tempfile::TempDir;

use super::{Commit, Entry, LARGEST_IN_FOLDER};
use crate::{
    error::FileError,
    manifests::{layout::clean, source::Source},
};

/// The maximum number of files in memory.
const BATCH: usize = 64;

/// A temporary folder with the files, deleted on drop. Git itself would run the programs that attributes name.
#[derive(Debug)]
pub struct Checkout {
    folder: TempDir,
    /// The folder of the repository.
    top: PathBuf,
    label: String,
}

impl Commit {
    /// Copies all files of the commit.
    ///
    /// # Errors
    /// Returns an error if git cannot read an object, or a file cannot be written.
    pub fn check_out(&self) -> Result<Checkout, FileError> {
        let failed = |error: io::Error| self.error(format!("the commit cannot be copied: {error}"));
        let folder = tempfile::Builder::new().prefix("setguard-").tempdir().map_err(failed)?;
        // With this, the folder is a repository, and no link may lead out of it.
        fs::create_dir(folder.path().join(".git")).map_err(failed)?;
        let is_name = |part: Component<'_>| match part {
            Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
            _ => false,
        };
        let mut entries = self.entries(&[Path::new("")])?;
        entries.retain(|it| it.mode != "160000" && it.blob.path.components().all(is_name));
        // Links come last, so that no file is written through one.
        let (links, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|it| !it.is_regular());
        for batch in files.chunks(BATCH).chain(links.chunks(BATCH)) {
            let blobs: Vec<_> = batch.iter().map(|it| &it.blob).collect();
            for (entry, bytes) in batch.iter().zip(self.cat(&blobs, LARGEST_IN_FOLDER)?) {
                // A file that is too large is no manifest.
                let Ok(bytes) = bytes else { continue };
                write(folder.path(), entry, &bytes).map_err(failed)?;
            }
        }
        let (top, label) = (self.git.top.clone(), self.label.clone());
        Ok(Checkout { folder, top, label })
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
    std::os::unix::fs::symlink(String::from_utf8_lossy(target).as_ref(), path)
}

#[cfg(not(unix))]
fn link(target: &[u8], path: &Path) -> io::Result<()> {
    fs::write(path, target)
}

impl Checkout {
    /// Returns the path in the copy of a file of the work tree. A file outside the repository keeps its path.
    pub fn find(&self, path: &Path) -> PathBuf {
        let here = std::env::current_dir().and_then(dunce::canonicalize).unwrap_or_default();
        // The file may be gone from the work tree.
        let whole = dunce::canonicalize(path).unwrap_or_else(|_| clean(&here.join(path)));
        whole.strip_prefix(&self.top).map_or(whole.clone(), |it| self.folder.path().join(it))
    }

    pub(in crate::manifests) fn without_folder(&self, text: &str) -> String {
        let real = dunce::canonicalize(self.folder.path()).unwrap_or_default();
        text.replace(&format!("{}/", real.display()), "")
    }

    /// Reads a file in the copy under the name that git gives it.
    pub(in crate::manifests) fn read(&self, source: Source) -> Source {
        let name = source.file().map(|(_, path)| {
            let inside = path.strip_prefix(self.folder.path()).unwrap_or(&path);
            format!("{}:{}", self.label, inside.display())
        });
        let mut source = source.reread();
        source.rename(&name.unwrap_or_default());
        source
    }
}

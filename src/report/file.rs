//! Files that reports are written to.

#![expect(clippy::disallowed_methods, reason = "files are created here")]

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

/// A file that is complete when it appears: it is written beside its place and then moved there. If
/// the run fails, an older report stays as it was.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    /// Where it is written. `None` for what is no regular file, such as a pipe.
    beside: Option<PathBuf>,
    file: fs::File,
}

impl ReportFile {
    /// Prepares it, so that nothing is judged in vain if it cannot be written.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        if path.is_dir() {
            return Err(io::Error::other("this is a folder; name a file in it"));
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
            && !parent.is_dir()
        {
            let message = format!("there is no folder {}; create it first", parent.display());
            return Err(io::Error::other(message));
        }
        if path.exists() && !path.is_file() {
            let file = fs::File::options().write(true).open(&path)?;
            return Ok(ReportFile { path, beside: None, file });
        }
        // A link stays a link.
        let path = path.canonicalize().unwrap_or(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = path.with_file_name(format!(".{name}.{}", process::id()));
        let file = fs::File::create(&beside)?;
        Ok(ReportFile { path, beside: Some(beside), file })
    }

    /// Where it will be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, for writing.
    pub(crate) fn writer(&self) -> io::Result<fs::File> {
        self.file.try_clone()
    }

    /// Moves it to its place.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.beside.take() {
            Some(beside) => fs::rename(beside, &self.path),
            None => Ok(()),
        }
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

/// Opens a file to add text to its end.
pub(super) fn append(path: &Path) -> io::Result<fs::File> {
    fs::File::options().append(true).create(true).open(path)
}

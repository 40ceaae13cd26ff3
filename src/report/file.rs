//! The files that reports are written to.

#![expect(clippy::disallowed_methods, reason = "files are created here")]

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
};

/// A file that is complete when it appears: the report is written to a temporary file next to its
/// path, which is then renamed. If the run fails, an older report stays as it was.
#[derive(Debug)]
pub(crate) struct ReportFile {
    path: PathBuf,
    /// The path of the temporary file. `None` if the target isn't a regular file, such as a pipe.
    temporary: Option<PathBuf>,
    file: fs::File,
}

impl ReportFile {
    /// Prepares the file, so that an unwritable file is reported before any evaluation.
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
            return Ok(ReportFile { path, temporary: None, file });
        }
        // A link stays a link.
        let path = dunce::canonicalize(&path).unwrap_or(path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}", process::id()));
        let file = fs::File::create(&temporary)?;
        Ok(ReportFile { path, temporary: Some(temporary), file })
    }

    /// Returns the final path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file, for writing.
    pub(crate) fn writer(&self) -> io::Result<fs::File> {
        self.file.try_clone()
    }

    /// Moves the file to its final path.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.temporary.take() {
            Some(temporary) => fs::rename(temporary, &self.path),
            None => Ok(()),
        }
    }
}

impl Drop for ReportFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Opens a file to add text to its end.
pub(super) fn append(path: &Path) -> io::Result<fs::File> {
    fs::File::options().append(true).create(true).open(path)
}

//! The output files of reports.

use std::fs;

use tempfile::TempPath;

use crate::manifests::replace::{next_to, refuse_links};
use crate::report::prelude::*;

/// The system's links to the open files of the process.
const SYSTEM: [&str; 4] = ["/dev/fd", "/dev/stderr", "/dev/stdout", "/proc/self/fd"];

/// A file that is complete when it appears: a temporary file next to its path is renamed at the end. If the run fails,
/// an older report stays as it was.
#[derive(Debug)]
pub struct ReportFile {
    path: PathBuf,
    /// `None` if the target isn't a regular file, such as a pipe.
    temporary: Option<TempPath>,
    file: fs::File,
}

impl ReportFile {
    /// Prepares the file, to report an unwritable file before any evaluation. Fails if the file cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        let of_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
        if !of_system {
            refuse_links(path)?;
        }
        if path.is_dir() {
            return Err(io::Error::other("this is a folder; name a file in it"));
        }
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
            && !parent.is_dir()
        {
            let message = format!("there is no folder {}; create it first", parent.display());
            return Err(io::Error::other(message));
        }
        let path = path.to_owned();
        if of_system || path.exists() && !path.is_file() {
            let file = append(&path)?;
            return Ok(ReportFile { path, temporary: None, file });
        }
        let (file, temporary) = next_to(&path)?.into_parts();
        Ok(ReportFile { path, temporary: Some(temporary), file })
    }

    /// Returns the final path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file, for writing, or an error if it cannot be written.
    pub fn writer(&self) -> io::Result<fs::File> {
        self.file.try_clone()
    }

    /// Moves the file to its final path. Fails if the file cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.temporary.take().map_or(Ok(()), |it| fs::rename(&it, &self.path))
    }
}

pub(super) fn append(path: &Path) -> io::Result<fs::File> {
    fs::File::options().append(true).create(true).open(path)
}

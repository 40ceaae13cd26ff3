//! Reasons why a file cannot be used.

use std::{io, path::PathBuf};

/// The reason why a file, a folder or a commit cannot be used, in a sentence that names it.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A file or standard input cannot be read.
    #[error("{name}: cannot be read: {error}")]
    Read {
        /// The display name.
        name: String,
        /// The system's error, or the limit.
        error: io::Error,
    },
    /// An entry of a folder cannot be read.
    #[error("cannot be read: {0}")]
    Folder(#[from] walkdir::Error),
    /// A path cannot be followed.
    #[error("{}: {error}", path.display())]
    Path {
        /// The path as the user wrote it.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A manifest is not UTF-8.
    #[error("{name}:{line}: this is not UTF-8; manifests must be UTF-8")]
    NotUtf8 {
        /// The display name.
        name: String,
        /// The first line that is not UTF-8, from 1.
        line: usize,
    },
    /// A link or a submodule at a commit is in the place of a file. The name is git's.
    #[error("{0} isn't a regular file")]
    NotRegular(String),
    /// Git does not start, or has no repository here.
    #[error("{0}")]
    Git(String),
    /// The commit that a flag names cannot be used.
    #[error("{flag}: {why}")]
    Commit {
        /// The flag, such as `--against-ref`.
        flag: &'static str,
        why: String,
    },
    /// A chart or a kustomization cannot be rendered.
    #[error("{}: {why}", named(roots))]
    Render {
        /// The roots with this error.
        roots: Vec<String>,
        /// The program's error, or the reason why the program printed none.
        why: String,
    },
    /// A file cannot be replaced.
    #[error("{}: cannot be written: {error}; {rest}", path.display())]
    Write {
        path: PathBuf,
        /// The system's error.
        error: io::Error,
        /// The state of the other files.
        rest: String,
    },
    /// A file has changed since it was read.
    #[error("{} has changed since it was read; no file was changed", .0.display())]
    Changed(PathBuf),
    /// The discovered policy may lead out of the repository.
    #[error(
        "{} isn't used as the policy, because it isn't a regular file in the repository; name the file with \
         --policy, or give --no-config",
        .0.display()
    )]
    PolicyOutside(PathBuf),
}

fn named(roots: &[String]) -> String {
    let more = roots.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first: Vec<_> = roots.iter().take(MOST_NAMES).map(String::as_str).collect();
    format!("{}{more}", first.join(", "))
}

const MOST_NAMES: usize = 3;

//! Files that are read: how large they may be, and where links may lead.
//!
//! A pull request decides about every name in a folder. A link in it can lead to a secret, whose lines
//! an error would show, or to a device without an end.

#![expect(clippy::disallowed_methods, reason = "files are read here")]

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// The largest file that a user names, and the largest standard input: 256 MiB.
pub(crate) const LARGEST: u64 = 256 << 20;
/// The largest file in a folder: 32 MiB.
pub(crate) const LARGEST_IN_FOLDER: u64 = 32 << 20;
/// The largest policy: 1 MiB.
pub(crate) const LARGEST_POLICY: u64 = 1 << 20;

/// Reads a file that the user names: it may be a pipe or a device.
///
/// # Errors
/// When it can't be read, or has more than `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    at_most(File::open(path)?, most)
}

/// Reads a file that somebody else chose: it has to be a regular one.
///
/// # Errors
/// When it isn't regular, can't be read, or has more than `most` bytes.
pub(crate) fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // A pipe is not even opened: that waits for somebody who writes.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it isn't a regular file"));
    }
    read(path, most)
}

/// Reads to the end.
///
/// # Errors
/// When it can't be read, or has more than `most` bytes.
pub(super) fn at_most(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let most = most >> 20;
        return Err(io::Error::other(format!("it has more than {most} MiB, which is the limit")));
    }
    Ok(bytes)
}

/// A folder that links may not lead out of.
#[derive(Debug)]
pub(crate) struct Fence(PathBuf);

impl Fence {
    /// The fence around a folder.
    pub(crate) fn around(folder: &Path) -> Self {
        Fence(fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()))
    }

    /// Returns whether a path leads to something in the folder that isn't hidden. `visible` are
    /// hidden names that may be read all the same.
    pub(crate) fn has(&self, path: &Path, visible: &[&str]) -> bool {
        let is_visible = |name: &OsStr| {
            !name.as_encoded_bytes().starts_with(b".") || visible.iter().any(|it| name == *it)
        };
        fs::canonicalize(path).is_ok_and(|target| {
            target.strip_prefix(&self.0).is_ok_and(|inside| inside.iter().all(is_visible))
        })
    }
}

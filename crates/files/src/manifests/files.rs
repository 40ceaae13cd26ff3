//! Reads files, with limits for their size and for the targets of links.
//!
//! The author of a pull request chooses every name in a folder. A link can lead to a secret, whose lines an error
//! message would show, or to an endless device.

use std::{ffi::OsStr, fs::File, io::Read};

use super::encoding;
use crate::manifests::prelude::*;

/// The size limit for a file that the user names, and for standard input: 256 MiB.
pub const LARGEST: u64 = 256 << 20;
/// The size limit for a file in a folder: 32 MiB.
pub const LARGEST_IN_FOLDER: u64 = 32 << 20;
/// The size limit for a policy: 1 MiB.
pub const LARGEST_POLICY: u64 = 1 << 20;

/// The user names the file, so it may be a pipe or a device.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    at_most(File::open(path)?, most)
}

/// The number of bytes to reserve beyond the expected size. With less, the last bytes of a file would take more reads.
const SPARE: u64 = 64;

/// Reads a regular file that the user did not choose. Fails if the file isn't regular, can't be read, or has more than
/// `most` bytes.
pub fn read_regular(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    // Opening a pipe would block until there is a writer.
    if !metadata.is_file() {
        return Err(io::Error::other("it isn't a regular file"));
    }
    to_end(File::open(path)?, metadata.len(), most)
}

/// Reads the text of a regular file in a folder, with invalid bytes replaced. Fails like [`read_regular`].
pub(super) fn text(path: &Path) -> io::Result<String> {
    read_regular(path, LARGEST_IN_FOLDER).map(encoding::lossy)
}

/// A copy of a commit has an empty `.git`.
pub(super) fn has_entries(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut it| it.next().is_some())
}

pub(super) fn at_most(from: impl Read, most: u64) -> io::Result<Vec<u8>> {
    to_end(from, 0, most)
}

/// `size` is the expected number of bytes.
fn to_end(from: impl Read, size: u64, most: u64) -> io::Result<Vec<u8>> {
    let size = size.min(most).saturating_add(SPARE);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    from.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

pub(super) fn too_large(most: u64) -> io::Error {
    io::Error::other(format!("it is larger than the limit of {} MiB", most >> 20))
}

/// A folder that links must not lead out of.
#[derive(Debug)]
pub(crate) struct Fence(PathBuf);

impl Fence {
    pub(crate) fn around(folder: &Path) -> Self {
        Fence(whole(folder))
    }

    /// Returns whether a path leads to a file in the folder that isn't hidden. `visible` has hidden names that may be
    /// read.
    pub(crate) fn has(&self, path: &Path, visible: &[&str]) -> bool {
        let is_visible = |name: &OsStr| {
            !name.as_encoded_bytes().starts_with(b".") || visible.iter().any(|it| name == *it)
        };
        dunce::canonicalize(path).is_ok_and(|target| {
            target.strip_prefix(&self.0).is_ok_and(|inside| inside.iter().all(is_visible))
        })
    }
}

/// Folders to skip unless the user names them: dependencies, and tests with partial or faulty objects.
const FOREIGN: &str = "e2e e2e-tests e2e_tests fixtures integration-tests integration_tests node_modules test-data \
                       test_data testdata vendor";

pub(super) fn is_foreign(name: &OsStr) -> bool {
    FOREIGN.split(' ').any(|foreign| name == foreign)
}

/// Like `filepath.Ext` in Go, also takes the whole name `.yaml` for an extension.
pub(super) fn is_manifest(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let mut extensions = ["yaml", "yml", "json"].iter();
    let dot = name.iter().rposition(|byte| *byte == b'.');
    let extension = dot.and_then(|dot| name.get(dot + 1..)).unwrap_or_default();
    extensions.any(|it| extension.eq_ignore_ascii_case(it.as_bytes()))
}

/// Returns whether a file is a pointer that Git LFS replaces by the real file. A pointer has less than 1024 bytes.
pub(super) fn is_lfs_pointer(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.len() < 1024) && text(path).is_ok_and(|it| is_pointer(&it))
}

/// Returns whether a text is a pointer of Git LFS.
///
/// Upstream: `DecodePointer` in github.com/git-lfs/git-lfs/lfs/pointer.go.
pub(super) fn is_pointer(text: &str) -> bool {
    text.trim_start().starts_with("version http")
}

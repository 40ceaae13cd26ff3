//! Reads the files that setguard watches.

use std::{fs, io, path::Path};

/// The most that a watched file may have, in bytes. A ConfigMap or a Secret has no more.
///
/// Kubernetes: `MaxSecretSize` in `pkg/apis/core/types.go`.
const MAX_FILE: u64 = 1 << 20;

/// Checks that a file, or what a symlink points to, can be read to its end and in little memory.
///
/// # Errors
/// If there is no such file, it is too large, or it is a pipe or a device: a pipe that nobody
/// writes to would block every later look at any file, and `/dev/zero` never ends.
pub(super) fn check(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > MAX_FILE {
        return Err(io::Error::other(format!("it is larger than {MAX_FILE} bytes")));
    }
    Ok(())
}

/// Reads such a file.
///
/// # Errors
/// Those of [`check`], and if it cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    check(path)?;
    fs::read(path)
}

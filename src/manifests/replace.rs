//! Replaces a file as a whole.

#![expect(clippy::disallowed_methods, reason = "files are written here")]

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

/// Replaces what a file contains, or creates it. Whoever reads it at the same time gets the old or the
/// new text, never a part. A symbolic link stays, and its target is replaced; permissions stay.
///
/// # Errors
/// When the file, or another one beside it, cannot be written. Then the file is as before.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let permissions = fs::metadata(&target).ok().map(|metadata| metadata.permissions());
    if permissions.as_ref().is_some_and(fs::Permissions::readonly) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let beside = target.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = File::create_new(&beside).and_then(|mut file| {
        file.write_all(text)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        fs::rename(&beside, &target)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

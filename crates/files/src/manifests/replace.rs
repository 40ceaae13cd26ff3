//! Replaces whole files.
//!
//! The author of a pull request chooses every name in the working folder. A link in the place of an output, or of its
//! temporary file, would lead to any file that the user may write.

use std::{
    env,
    fs::{self, File, Metadata},
    io::{self, Write},
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempPath};

use crate::error::FileError;

/// Creates a file with a random name next to the file that it will replace.
pub(crate) fn next_to(target: &Path) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // No other user could read a file that tempfile itself creates.
    tempfile::Builder::new().prefix(".setguard-").make_in(folder, |it| File::create_new(it))
}

/// Returns an error if an output is a link, or is in a linked folder whose name is in the working folder. The error is
/// a sentence that names the link.
pub fn refuse_links(output: &Path) -> io::Result<()> {
    let here = env::current_dir()?;
    let whole = here.join(output);
    let chosen = whole.ancestors().take_while(|it| it.starts_with(&here) && *it != here);
    let Some(link) = std::iter::once(&*whole).chain(chosen).find(|it| it.is_symlink()) else {
        return Ok(());
    };
    let link = link.strip_prefix(&here).unwrap_or(link).display();
    Err(io::Error::other(format!(
        "{link} is a link, and outputs don't follow links; name the file itself"
    )))
}

/// A new text for a file, in a temporary file next to it that takes its place.
#[derive(Debug)]
pub struct Replacement {
    target: PathBuf,
    /// The old text, if it was read.
    old: Option<Vec<u8>>,
    temporary: TempPath,
}

impl Replacement {
    /// Writes the new text. The file stays as it is until `commit`. For a symbolic link, the target is replaced. Fails
    /// if the file isn't regular, has a second hard link, is read-only, or has an owner that this process can't create
    /// files for; or if the new text can't be written.
    pub fn new(path: &Path, old: Option<&[u8]>, text: &[u8]) -> io::Result<Self> {
        let target = match dunce::canonicalize(path) {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(error),
        };
        let about = fs::metadata(&target).ok();
        about.as_ref().map_or(Ok(()), is_replaceable)?;
        let (mut file, temporary) = next_to(&target)?.into_parts();
        file.write_all(text)?;
        if let Some(about) = about {
            keep_owner(&temporary, &about)?;
            file.set_permissions(about.permissions())?;
        }
        file.sync_all()?;
        Ok(Replacement { target, old: old.map(<[u8]>::to_owned), temporary })
    }

    /// Returns the file that is replaced.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Moves the new text into place. A reader gets the old or the new text, never a part.
    pub(crate) fn commit(&self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.target)
    }

    fn is_current(&self) -> bool {
        self.old.as_ref().is_none_or(|old| fs::read(&self.target).is_ok_and(|now| now == *old))
    }
}

/// Replaces all files or none. Fails if a file has changed since it was read or can't be replaced.
pub fn replace_all(replacements: &[Replacement]) -> Result<(), FileError> {
    if let Some(changed) = replacements.iter().find(|it| !it.is_current()) {
        return Err(FileError::Changed(changed.target.clone()));
    }
    for (done, replacement) in replacements.iter().enumerate() {
        let Err(error) = replacement.commit() else { continue };
        let kept: Vec<_> = replacements.iter().take(done).filter(|it| !restore(it)).collect();
        let kept: Vec<_> = kept.iter().map(|it| it.target.display().to_string()).collect();
        let rest = match kept.as_slice() {
            [] => "no file was changed".to_owned(),
            some => format!("these have the new text: {}", some.join(", ")),
        };
        return Err(FileError::Write { path: replacement.target.clone(), error, rest });
    }
    Ok(())
}

/// Replaces the text of a file, or creates it. Fails like [`Replacement::new`].
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    Replacement::new(path, None, text)?.commit()
}

/// Puts the old text back. Returns whether that worked.
fn restore(done: &Replacement) -> bool {
    done.old.as_ref().is_some_and(|old| replace(&done.target, old).is_ok())
}

fn is_replaceable(about: &Metadata) -> io::Result<()> {
    if !about.is_file() {
        return Err(io::Error::other("it isn't a regular file"));
    }
    if about.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    if hard_links(about) > 1 {
        return Err(io::Error::other("it has another hard link, which would keep the old text"));
    }
    Ok(())
}

#[cfg(unix)]
fn hard_links(about: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::nlink(about)
}

#[cfg(not(unix))]
fn hard_links(_: &Metadata) -> u64 {
    1
}

#[cfg(unix)]
fn keep_owner(new: &Path, about: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, chown};
    let own = fs::metadata(new)?;
    if (own.uid(), own.gid()) == (about.uid(), about.gid()) {
        return Ok(());
    }
    chown(new, Some(about.uid()), Some(about.gid()))
        .map_err(|error| io::Error::new(error.kind(), format!("its owner can't be kept: {error}")))
}

#[cfg(not(unix))]
fn keep_owner(_: &Path, _: &Metadata) -> io::Result<()> {
    Ok(())
}

//! Files at a commit, read by the `git` command.

pub mod checkout;
mod command;

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::Stdio,
};

use self::command::{Git, cannot_run};
use super::{
    clusters::Clusters,
    encoding,
    files::{self, LARGEST_IN_FOLDER, is_foreign, is_manifest},
    group::Group,
    layout::Layout,
    not_checked::NotChecked,
    source::Source,
};
use crate::error::FileError;

/// The manifests below some paths at a commit.
#[derive(Debug, Default)]
pub struct Old {
    /// In the order of the paths and of the names.
    pub sources: Vec<Result<Source, FileError>>,
    /// Notes about parts that are not read.
    pub notes: Vec<String>,
}

struct Blob {
    id: String,
    /// Relative to the repository.
    path: PathBuf,
    /// Whether this path was requested, rather than a folder above it.
    is_named: bool,
}

struct Entry {
    /// Type and permissions, as git writes them: `100644`.
    mode: String,
    blob: Blob,
}

impl Entry {
    fn is_regular(&self) -> bool {
        self.mode == "100644" || self.mode == "100755"
    }
}

/// A commit of the repository of the working folder.
#[derive(Clone, Debug)]
pub struct Commit {
    git: Git,
    /// The flag that names the commit, for messages.
    flag: &'static str,
    /// The commit in the names of its files: as the user wrote it, or the start of its id.
    label: String,
    id: String,
}

/// Returns the absolute paths of the files that git tracks although a pattern ignores them; none without git.
pub(super) fn tracked_although_ignored() -> Vec<PathBuf> {
    let list = || {
        let git = Git::find()?;
        let args = ["ls-files", "-z", "--cached", "--ignored", "--exclude-standard"];
        let listed = git.output(&args)?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let paths = names.map(|name| git.top.join(&*String::from_utf8_lossy(name)));
        Ok::<_, FileError>(paths.collect())
    };
    list().unwrap_or_default()
}

/// Returns the content as git stores it. For a link, that is its target.
fn current(file: &Path) -> Option<Vec<u8>> {
    if file.is_symlink() {
        return fs::read_link(file).ok().map(|it| it.into_os_string().into_encoded_bytes());
    }
    files::read_regular(file, LARGEST_IN_FOLDER).ok()
}

/// The change may have deleted the path, and folders above it.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match (dunce::canonicalize(path), path.parent(), path.file_name()) {
        (Err(error), Some(folder), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            without_links(folder).map(|it| it.join(name))
        }
        (whole, ..) => whole,
    }
}

/// Git may change line endings in the work tree.
fn without_returns(bytes: &[u8]) -> impl PartialEq {
    bytes.iter().filter(|byte| **byte != b'\r').copied().collect::<Vec<u8>>()
}

impl Commit {
    /// Finds the commit that a flag names, in any form that git accepts.
    ///
    /// # Errors
    /// Returns an error without git, outside a repository, and if the reference names no commit.
    pub fn find(flag: &'static str, reference: &str) -> Result<Self, FileError> {
        if reference.is_empty() || reference.starts_with('-') {
            let why = format!("{reference:?} isn't the name of a commit");
            return Err(FileError::Commit { flag, why });
        }
        let git = Git::find().map_err(|error| {
            let why = format!("this needs a git repository: {error}");
            FileError::Commit { flag, why }
        })?;
        let commit = format!("{reference}^{{commit}}");
        let id = git.output(&["rev-parse", "--verify", "--quiet", &commit]).map_err(|_| {
            let why = format!(
                "git knows no commit {reference:?} here. A clone that is shallow or of one branch must \
                 fetch it first (actions/checkout: fetch-depth: 0)"
            );
            FileError::Commit { flag, why }
        })?;
        let id = String::from_utf8_lossy(&id).into_owned();
        Ok(Commit { git, flag, label: reference.to_owned(), id })
    }

    /// Finds the start of a change: the last commit that the work tree and the named commit have in common. Otherwise
    /// the change would be blamed for faults that were fixed on the other side since. As in `git diff`, `REF...` means
    /// the same, and `REF..` the named commit itself. Also returns a note if the common commit is unknown.
    ///
    /// # Errors
    /// See [`Commit::find`].
    pub fn find_start(
        flag: &'static str,
        reference: &str,
    ) -> Result<(Self, Option<String>), FileError> {
        let (name, is_exact) = match (reference.strip_suffix("..."), reference.strip_suffix("..")) {
            (Some(name), _) => (name, false),
            (None, Some(name)) => (name, true),
            (None, None) => (reference, false),
        };
        let mut commit = Commit::find(flag, name)?;
        if is_exact {
            return Ok((commit, None));
        }
        let Ok(start) = commit.git.output(&["merge-base", "HEAD", &commit.id]) else {
            let note = format!(
                "{flag}: this clone has no commit that {name:?} and the work tree have in common, so \
                 the manifests are compared with {name:?} itself. If the clone is shallow, fetch more \
                 of it (actions/checkout: fetch-depth: 0)"
            );
            return Ok((commit, Some(note)));
        };
        let start = String::from_utf8_lossy(&start).into_owned();
        if start != commit.id {
            commit.label = start.chars().take(12).collect();
            commit.id = start;
        }
        Ok((commit, None))
    }

    /// Reads the manifests below paths. A path that did not exist at the commit has none.
    ///
    /// # Errors
    /// Returns an error for standard input, for a path outside the repository, and if git cannot read an object.
    pub fn manifests(&self, paths: &[PathBuf], clusters: &Clusters) -> Result<Old, FileError> {
        let mut old = Old::default();
        for path in paths {
            let inside = self.inside(path)?;
            let blobs = self.list(&inside, &mut old.notes)?;
            self.read_all(&blobs, &inside, clusters, &mut old)?;
        }
        Ok(old)
    }

    /// Returns the absolute path of a file in the repository. The file need not exist.
    ///
    /// # Errors
    /// Returns an error if the file is outside the repository.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, FileError> {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let whole =
            dunce::canonicalize(folder).map(|it| it.join(path.file_name().unwrap_or_default()));
        let whole = whole.map_err(|error| FileError::Path { path: path.to_owned(), error })?;
        if whole.starts_with(&self.git.top) { Ok(whole) } else { Err(self.outside(path)) }
    }

    fn outside(&self, path: &Path) -> FileError {
        let (name, top) = (path.display(), self.git.top.display());
        self.error(format!("{name} is outside of the repository {top}"))
    }

    const fn error(&self, why: String) -> FileError {
        FileError::Commit { flag: self.flag, why }
    }

    /// Reads the first of these absolute paths that exists at the commit, and returns the path too. Skips paths outside
    /// the repository.
    ///
    /// # Errors
    /// Returns an error if the file isn't regular, has more than `most` bytes, or isn't UTF-8.
    pub fn first(
        &self,
        paths: &[PathBuf],
        most: u64,
    ) -> Result<Option<(PathBuf, Source)>, FileError> {
        let inside = paths.iter().filter_map(|path| path.strip_prefix(&self.git.top).ok());
        let inside: Vec<&Path> = inside.collect();
        // Without a path, git lists everything.
        if inside.is_empty() {
            return Ok(None);
        }
        let entries = self.entries(&inside)?;
        let found = inside.iter().find_map(|path| entries.iter().find(|it| it.blob.path == *path));
        let Some(entry) = found else { return Ok(None) };
        if !entry.is_regular() {
            return Err(FileError::NotRegular(self.name(&entry.blob.path)));
        }
        let bytes = self.cat(&[&entry.blob], most)?.pop();
        let source =
            bytes.map(|bytes| self.source(&entry.blob, bytes, Group::Named)).transpose()?;
        Ok(source.map(|source| (self.git.top.join(&entry.blob.path), source)))
    }

    /// Returns for each file of the work tree whether it differs from the commit or is missing there.
    fn changed(&self, files: &[&Path]) -> Result<Vec<bool>, FileError> {
        let inside = files.iter().map(|file| {
            let whole = self.resolve(file).ok()?;
            whole.strip_prefix(&self.git.top).ok().map(Path::to_owned)
        });
        let inside: Vec<_> = inside.collect();
        let known: Vec<&Path> = inside.iter().flatten().map(PathBuf::as_path).collect();
        if known.is_empty() {
            return Ok(vec![false; files.len()]);
        }
        let blobs: Vec<Blob> = self.entries(&known)?.into_iter().map(|it| it.blob).collect();
        let texts = self.cat(&blobs.iter().collect::<Vec<_>>(), LARGEST_IN_FOLDER)?;
        let old: HashMap<_, _> = blobs.iter().map(|it| &it.path).zip(texts).collect();
        let is_changed = |(file, inside): (&&Path, &Option<PathBuf>)| {
            // A file outside of the repository is no part of the change.
            let Some(inside) = inside else { return false };
            let Some(Ok(old)) = old.get(inside) else { return true };
            current(file).is_none_or(|new| without_returns(&new) != without_returns(old))
        };
        Ok(files.iter().zip(&inside).map(is_changed).collect())
    }

    /// Marks the entries that the change adds or edits. `excludes_more` is whether the change itself excludes files in
    /// the policy.
    ///
    /// # Errors
    /// Returns an error if git cannot read an object.
    pub fn compare(
        &self,
        not_checked: &mut [NotChecked],
        excludes_more: bool,
    ) -> Result<(), FileError> {
        let open = not_checked.iter_mut().filter(|it| it.must_be_checked(excludes_more));
        let open: Vec<&mut NotChecked> = open.collect();
        let paths: Vec<_> = open.iter().map(|it| PathBuf::from(&it.file)).collect();
        let changed = self.changed(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        open.into_iter().zip(changed).for_each(|(it, changed)| it.is_changed = changed);
        Ok(())
    }

    fn name(&self, inside: &Path) -> String {
        format!("{}:{}", self.label, inside.display())
    }

    fn inside(&self, path: &Path) -> Result<PathBuf, FileError> {
        if path.as_os_str() == "-" {
            let why = "standard input has no older version in git; use --against";
            return Err(self.error(why.to_owned()));
        }
        let whole = without_links(path)
            .map_err(|error| FileError::Path { path: path.to_owned(), error })?;
        let inside = whole.strip_prefix(&self.git.top);
        inside.map(Path::to_owned).map_err(|_| self.outside(path))
    }

    fn entries(&self, inside: &[&Path]) -> Result<Vec<Entry>, FileError> {
        let args = ["ls-tree", "-r", "-z", "--full-tree", &self.id, "--"].map(OsStr::new);
        // The empty path is the whole repository, for which git takes no name.
        let paths = inside.iter().map(|path| path.as_os_str()).filter(|path| !path.is_empty());
        let args: Vec<_> = args.into_iter().chain(paths).collect();
        let listed = self.git.output(&args).map_err(|error| self.incomplete(&error.to_string()))?;
        // <mode> SP <type> SP <id> TAB <path> NUL
        let lines = listed.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        let entries = lines.filter_map(|line| {
            let line = String::from_utf8_lossy(line);
            let (head, path) = line.split_once('\t')?;
            let mut words = head.split(' ');
            let (mode, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
            let path = PathBuf::from(path);
            let is_named = inside.contains(&path.as_path());
            Some(Entry { mode: mode.to_owned(), blob: Blob { id: id.to_owned(), path, is_named } })
        });
        Ok(entries.collect())
    }

    /// Of a folder, returns the manifests that would be read in it today.
    fn list(&self, inside: &Path, notes: &mut Vec<String>) -> Result<Vec<Blob>, FileError> {
        let mut blobs = Vec::new();
        for entry in self.entries(&[inside])? {
            let path = &entry.blob.path;
            let below = path.strip_prefix(inside).unwrap_or(path);
            // A file can have the name of such a folder.
            let is_foreign = below.parent().is_some_and(|it| it.iter().any(is_foreign));
            if entry.mode == "160000" {
                let (path, flag) = (path.display(), self.flag);
                notes.push(format!("{path} is a submodule, of which {flag} reads no old files"));
            }
            // A link is not followed, because its target is read in its own place.
            if entry.is_regular() && (entry.blob.is_named || !is_foreign) {
                blobs.push(entry.blob);
            }
        }
        Ok(blobs)
    }

    fn read_all(
        &self,
        blobs: &[Blob],
        named: &Path,
        clusters: &Clusters,
        old: &mut Old,
    ) -> Result<(), FileError> {
        let of_layout = |blob: &&Blob| !blob.is_named && Layout::is_about(&blob.path);
        let about: Vec<_> = blobs.iter().filter(of_layout).collect();
        let texts = self.cat(&about, LARGEST_IN_FOLDER)?;
        let layout = Layout::of(about.iter().map(|blob| blob.path.as_path()), &|path| {
            let index = about.iter().position(|blob| blob.path == path)?;
            String::from_utf8(texts.get(index)?.as_ref().ok()?.clone()).ok()
        });
        let blobs: Vec<_> =
            blobs.iter().filter(|blob| blob.is_named || is_manifest(&blob.path)).collect();
        for (blob, bytes) in blobs.iter().zip(self.cat(&blobs, LARGEST_IN_FOLDER)?) {
            let group = match blob.is_named {
                true => Group::Named,
                false => clusters
                    .group(&self.git.top.join(&blob.path))
                    .unwrap_or_else(|| layout.group(&blob.path, named)),
            };
            old.sources.push(self.source(blob, bytes, group));
        }
        Ok(())
    }

    /// `bytes` is the result of [`Commit::cat`].
    fn source(
        &self,
        blob: &Blob,
        bytes: io::Result<Vec<u8>>,
        group: Group,
    ) -> Result<Source, FileError> {
        let name = self.name(&blob.path);
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return Err(FileError::Read { name, error }),
        };
        match encoding::decode(bytes) {
            Ok(text) => Ok(Source::of(name, text, group)),
            Err((line, _)) => Err(FileError::NotUtf8 { name, line }),
        }
    }

    /// Returns the contents of files. A file with more than `most` bytes gets an error of its own.
    fn cat(&self, blobs: &[&Blob], most: u64) -> Result<Vec<io::Result<Vec<u8>>>, FileError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let mut child = self
            .git
            .command(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_run(&error))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let texts = std::thread::scope(|scope| {
            // A thread writes while this one reads, because a pipe does not hold everything.
            scope.spawn(move || {
                let mut stdin = stdin?;
                blobs.iter().try_for_each(|blob| writeln!(stdin, "{}", blob.id)).ok()
            });
            let out = stdout.ok_or_else(|| FileError::Git("git cat-file: no output".to_owned()))?;
            let mut out = BufReader::new(out);
            blobs.iter().map(|blob| self.next(&mut out, blob, most)).collect()
        });
        let _ = child.wait();
        texts
    }

    fn next(
        &self,
        out: &mut impl BufRead,
        blob: &Blob,
        most: u64,
    ) -> Result<io::Result<Vec<u8>>, FileError> {
        let broken = |error: io::Error| FileError::Git(format!("git cat-file: {error}"));
        // <id> SP <type> SP <size> LF <bytes> LF, or <id> SP missing LF
        let mut head = String::new();
        out.read_line(&mut head).map_err(broken)?;
        let head = head.trim_end();
        let size = head.rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
        let path = blob.path.display();
        let size = size.ok_or_else(|| self.incomplete(&format!("{path}: {head}")))?;
        let mut rest = out.by_ref().take(size);
        let content = match size > most {
            true => {
                io::copy(&mut rest, &mut io::sink()).map_err(broken)?;
                Err(files::too_large(most))
            }
            false => {
                let mut bytes = Vec::new();
                rest.read_to_end(&mut bytes).map_err(broken)?;
                Ok(bytes)
            }
        };
        out.read_exact(&mut [0]).map_err(broken)?;
        Ok(content)
    }

    fn incomplete(&self, error: &str) -> FileError {
        self.error(format!(
            "{error}. A partial clone lacks objects, and setguard fetches nothing: clone without \
             --filter"
        ))
    }
}

//! Files as they were at a commit, read by the `git` command.

mod command;

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::Stdio,
};

use self::command::{Git, cannot_run};
use super::{
    encoding,
    layout::Layout,
    source::{Source, is_manifest},
};

/// The manifests below paths, as they were at a commit.
#[derive(Debug, Default)]
pub(crate) struct Old {
    /// In order of the paths, and of their names.
    pub(crate) sources: Vec<Result<Source, String>>,
    /// What could not be read, and need not be.
    pub(crate) notes: Vec<String>,
}

/// A file at a commit.
struct Blob {
    id: String,
    /// Relative to the repository.
    path: PathBuf,
    is_named: bool,
}

/// Reads the manifests below paths as they were at `reference`, which is anything that names a commit.
/// A path that did not exist then has no manifests.
///
/// # Errors
/// Without git, outside a repository, for standard input, for a path outside of the repository of the
/// working folder, and if the reference names no commit of it.
pub(crate) fn read(reference: &str, paths: &[PathBuf]) -> Result<Old, String> {
    if reference.is_empty() || reference.starts_with('-') {
        return Err(format!("--against-ref: {reference:?} is no name of a commit"));
    }
    let git =
        Git::find().map_err(|error| format!("--against-ref needs a git repository: {error}"))?;
    let commit = format!("{reference}^{{commit}}");
    let commit = git.output(&["rev-parse", "--verify", "--quiet", &commit]).map_err(|_| {
        format!(
            "--against-ref: git knows no commit {reference:?} here. A clone that is shallow or of one \
             branch must fetch it first (actions/checkout: fetch-depth: 0)"
        )
    })?;
    let commit = String::from_utf8_lossy(&commit);
    let mut old = Old::default();
    for path in paths {
        let inside = inside(path, &git.top)?;
        let blobs = list(&git, &commit, &inside, &mut old.notes)?;
        read_all(&git, reference, &blobs, &mut old)?;
    }
    Ok(old)
}

/// A path relative to the repository.
fn inside(path: &Path, top: &Path) -> Result<PathBuf, String> {
    if path.as_os_str() == "-" {
        let why = "standard input has no older version in git; use --against";
        return Err(format!("--against-ref: {why}"));
    }
    let name = path.display();
    let whole = fs::canonicalize(path).map_err(|error| format!("{name}: {error}"))?;
    let inside = whole.strip_prefix(top);
    inside.map(Path::to_owned).map_err(|_| {
        let top = top.display();
        format!("--against-ref: {name} is outside of the repository {top}")
    })
}

/// The manifests below a path. Of a folder, those that would be read in it today.
fn list(
    git: &Git,
    commit: &str,
    inside: &Path,
    notes: &mut Vec<String>,
) -> Result<Vec<Blob>, String> {
    let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", commit]
        .into_iter()
        .map(OsStr::new)
        .collect::<Vec<_>>();
    if !inside.as_os_str().is_empty() {
        args.extend([OsStr::new("--"), inside.as_os_str()]);
    }
    let listed = git.output(&args).map_err(|error| incomplete(&error))?;
    let mut blobs = Vec::new();
    // <mode> SP <type> SP <id> TAB <path> NUL
    for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let line = String::from_utf8_lossy(line);
        let Some((head, path)) = line.split_once('\t') else { continue };
        let mut words = head.split(' ');
        let (mode, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
        let (path, id) = (PathBuf::from(path), id.to_owned());
        let is_named = path == inside;
        let below = path.strip_prefix(inside).unwrap_or(&path);
        let is_hidden = below.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
        match mode {
            "160000" if !is_hidden => notes.push(format!(
                "{} is a submodule, of which --against-ref reads no old files",
                path.display()
            )),
            "100644" | "100755" if is_named || !is_hidden => {
                blobs.push(Blob { id, path, is_named });
            }
            // A link is not followed: what it points to is read at its own place.
            _ => {}
        }
    }
    Ok(blobs)
}

/// Reads those files that are manifests.
fn read_all(git: &Git, reference: &str, blobs: &[Blob], old: &mut Old) -> Result<(), String> {
    let of_layout = |blob: &&Blob| !blob.is_named && Layout::is_about(&blob.path);
    let about: Vec<_> = blobs.iter().filter(of_layout).collect();
    let texts = cat(git, &about)?;
    let layout = Layout::of(about.iter().map(|blob| blob.path.as_path()), &|path| {
        let index = about.iter().position(|blob| blob.path == path)?;
        String::from_utf8(texts.get(index)?.clone()).ok()
    });
    let blobs: Vec<_> = blobs
        .iter()
        .filter(|blob| blob.is_named || is_manifest(&blob.path) && !layout.skips(&blob.path))
        .collect();
    for (blob, bytes) in blobs.iter().zip(cat(git, &blobs)?) {
        let name = format!("{reference}:{}", blob.path.display());
        old.sources.push(match encoding::decode(bytes) {
            Ok(text) => Ok(Source::of(name, text, blob.is_named)),
            Err(line) => Err(format!("{name}:{line}: this is not UTF-8")),
        });
    }
    Ok(())
}

/// What files contain.
fn cat(git: &Git, blobs: &[&Blob]) -> Result<Vec<Vec<u8>>, String> {
    if blobs.is_empty() {
        return Ok(Vec::new());
    }
    let broken = |error: std::io::Error| format!("git cat-file: {error}");
    let mut child = git
        .command(&["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| cannot_run(&error))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let texts = std::thread::scope(|scope| {
        // It is written while it is read, since a pipe does not hold everything.
        scope.spawn(move || {
            let mut stdin = stdin?;
            blobs.iter().try_for_each(|blob| writeln!(stdin, "{}", blob.id)).ok()
        });
        let mut out = BufReader::new(stdout.ok_or_else(|| "git cat-file: no output".to_owned())?);
        let mut texts = Vec::with_capacity(blobs.len());
        for blob in blobs {
            // <id> SP <type> SP <size> LF <bytes> LF, or <id> SP missing LF
            let mut head = String::new();
            out.read_line(&mut head).map_err(broken)?;
            let size = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
            let size = size.ok_or_else(|| {
                incomplete(&format!("{}: {}", blob.path.display(), head.trim_end()))
            })?;
            let mut bytes = Vec::new();
            out.by_ref().take(size).read_to_end(&mut bytes).map_err(broken)?;
            out.read_exact(&mut [0]).map_err(broken)?;
            texts.push(bytes);
        }
        Ok(texts)
    });
    let _ = child.wait();
    texts
}

/// The message for an object that git cannot read.
fn incomplete(error: &str) -> String {
    format!(
        "--against-ref: {error}. A partial clone lacks objects, and setguard fetches nothing: clone \
         without --filter"
    )
}

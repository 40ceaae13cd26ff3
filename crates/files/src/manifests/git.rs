//! Files at a commit, read by the `git` command.

pub mod checkout;
mod command;
mod edited;
mod tree;

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    process::Stdio,
    sync::OnceLock,
};

use sha2::{Digest as _, Sha256};

use self::{
    command::{Git, cannot_run},
    tree::{Tree, path_of},
};
use super::{
    edits::{Edits, Extent},
    encoding,
    files::{LARGEST_IN_FOLDER, is_foreign, is_manifest},
    folder,
    layout::Layout,
    not_checked::file_may_have_set,
    path_context::FolderContext,
    render::{Releases, Rendering, not_compared},
};
use crate::manifests::prelude::*;
use crate::prelude::*;

#[derive(Clone, Debug)]
struct Blob {
    id: String,
    /// Relative to the repository.
    path: PathBuf,
    /// Whether the caller asked for this path, not for a folder above it.
    is_named: bool,
    /// Whether a walk leaves it out: it is excluded, a dependency or test data.
    is_foreign: bool,
}

#[derive(Clone, Debug)]
struct Entry {
    /// Type and permissions, as git writes them: `100644`.
    mode: String,
    blob: Blob,
}

impl Entry {
    fn is_link(&self) -> bool {
        self.mode == "120000"
    }

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
    /// Read on the first use.
    tree: Arc<OnceLock<Tree>>,
    /// Listed on the first use.
    edits: Arc<OnceLock<Edits>>,
}

/// Returns the paths of the files and links that git tracks in a folder without links, also in submodules there. Fails
/// without git, and outside a repository.
pub(super) fn tracked(folder: &Path) -> Result<BTreeSet<PathBuf>, FileError> {
    let (mut paths, mut open) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(next) = open.pop() {
        let git = match Git::around(&next) {
            // git may refuse a submodule, for example because of its owner. All of it counts as tracked.
            Err(_) if next != folder => {
                paths.insert(next);
                continue;
            }
            git => git?,
        };
        let inside = next.strip_prefix(&git.top).unwrap_or(Path::new(""));
        let listed = staged(&git, inside)?;
        // The head is <mode> SP <id> SP <stage>.
        for (head, path) in tree::listed(&listed) {
            let path = git.top.join(path);
            let is_submodule = head.starts_with(SUBMODULE) && path.join(".git").exists();
            // A link could lead back to the folder.
            if is_submodule && dunce::canonicalize(&path).is_ok_and(|it| it == path) {
                open.push(path);
            } else {
                paths.insert(path);
            }
        }
    }
    Ok(paths)
}

/// Returns what git lists below a path in the repository.
fn staged(git: &Git, inside: &Path) -> Result<Vec<u8>, FileError> {
    let args = ["ls-files", "-z", "--stage", "--"].map(OsStr::new).into_iter();
    // Without a path, git lists everything.
    let path = Some(inside.as_os_str()).filter(|it| !it.is_empty());
    git.output(&args.chain(path).collect::<Vec<_>>())
}

/// Returns the submodules below a folder of the repository, each with its commit.
fn submodules(git: &Git, inside: &Path) -> Result<Vec<(PathBuf, String)>, FileError> {
    let listed = staged(git, inside)?;
    let all = tree::listed(&listed).filter(|(head, _)| head.starts_with(SUBMODULE));
    let all = all.map(|(head, path)| (path, head.split(' ').nth(1).unwrap_or_default().to_owned()));
    Ok(all.collect())
}

/// Returns the submodules in a folder, including nested ones, that are not checked out.
pub(super) fn absent_submodules(folder: &Path) -> Vec<PathBuf> {
    let base = whole(folder);
    let (mut absent, mut open) = (Vec::new(), vec![base.clone()]);
    while let Some(next) = open.pop() {
        let Ok(git) = Git::around(&next) else { continue };
        if !git.top.join(".gitmodules").exists() {
            continue;
        }
        let inside = next.strip_prefix(&git.top).unwrap_or(Path::new(""));
        let all = submodules(&git, inside).unwrap_or_default().into_iter();
        let all = all.map(|(path, _)| git.top.join(path));
        let (there, others) = all.partition::<Vec<_>, _>(|it| it.join(".git").exists());
        // Through a link, it could lead to itself.
        open.extend(there.into_iter().filter(|it| whole(it) == *it));
        absent.extend(others.iter().map(|it| below(folder, it, &base)));
    }
    absent
}

/// Where git looks for a name, with the word for each.
const NAMED_IN: [(&str, &str, &str); 4] = [
    ("refs/tags/", "", "tag"),
    ("refs/heads/", "", "branch"),
    ("refs/remotes/", "", "branch"),
    ("refs/remotes/", "/HEAD", "branch"),
];

const SUBMODULE: &str = "160000";

/// The maximum length of a link's target, as in Linux.
const LONGEST_TARGET: u64 = 4096;

/// The maximum number of files in memory.
const BATCH: usize = 64;

/// Returns the path below `path` of what is at `file` below `folder`.
fn below(path: &Path, file: &Path, folder: &Path) -> PathBuf {
    let rest = file.strip_prefix(folder).unwrap_or(file);
    if rest.as_os_str().is_empty() { path.to_owned() } else { path.join(rest) }
}

/// Returns whether a walk through a folder leaves out the path `inside` it: it is excluded, a dependency or test data.
fn is_left_out(inside: &Path, exclude: &Exclude, folder: &Path) -> bool {
    // A file can have the name of such a folder.
    inside.parent().is_some_and(|it| it.iter().any(is_foreign))
        || exclude.has(folder, &below(folder, inside, Path::new("")))
}

/// Git may change line endings in the work tree. A CR alone is a line break in YAML.
fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\r\n");
        hash.update(text.unwrap_or(line));
        hash.update(if text.is_some() { "\n" } else { "" });
    }
    hash.finalize().into()
}

impl Commit {
    /// Finds the commit that a flag names, in any form that git accepts. Fails without git, outside a repository, or if
    /// the reference names no commit.
    pub fn find(flag: &'static str, reference: &str) -> Result<Self, FileError> {
        if reference.is_empty() || reference.starts_with('-') {
            let why = format!("{reference:?} isn't the name of a commit");
            return Err(FileError::Commit { flag, why });
        }
        let git = Git::find().map_err(|error| {
            let why = format!("this needs a git repository: {error}");
            FileError::Commit { flag, why }
        })?;
        let id = git.commit(reference).ok_or_else(|| {
            let why = format!(
                "git knows no commit {reference:?} here. A clone that is shallow or of one branch must \
                 fetch it first (actions/checkout: fetch-depth: 0)"
            );
            FileError::Commit { flag, why }
        })?;
        let (label, tree, edits) = (reference.to_owned(), Arc::default(), Arc::default());
        let commit = Commit { git, flag, label, id, tree, edits };
        commit.is_only_one_named(reference).map(|()| commit)
    }

    /// Returns an error if a tag and a branch (or the start of an id) have this name but are different commits. git
    /// would take the tag, and people who may not push to the branch may push tags.
    fn is_only_one_named(&self, reference: &str) -> Result<(), FileError> {
        let name = reference.split(['^', '~', ':']).next().unwrap_or_default();
        let name = name.split("@{").next().unwrap_or_default();
        let is_id = name.bytes().all(|it| it.is_ascii_hexdigit());
        // git takes these names literally, even if a tag or branch has the same name.
        let is_whole = name.starts_with("refs/") || is_id && name.len() >= 40;
        if name.is_empty() || is_whole || matches!(name, "@" | "HEAD" | "FETCH_HEAD") {
            return Ok(());
        }
        let named = NAMED_IN.iter().filter_map(|(start, end, word)| {
            let whole = format!("{start}{name}{end}");
            Some((self.git.commit(&whole)?, format!("the {word} {whole}")))
        });
        let ids = is_id.then(|| self.git.output(&["rev-parse", &format!("--disambiguate={name}")]));
        let ids = ids.and_then(Result::ok).unwrap_or_default();
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let ids =
            ids.lines().filter_map(|id| Some((self.git.commit(id)?, format!("the commit {id}"))));
        let mut all = named.chain(ids);
        let Some((first, what)) = all.next() else { return Ok(()) };
        match all.find(|(id, _)| *id != first) {
            None => Ok(()),
            Some((_, other)) => Err(self.error(format!(
                "{name:?} names different commits: {what} and {other}; write the one that is meant in full"
            ))),
        }
    }

    /// Finds the start of a change: the last commit that the work tree and the named commit have in common. Otherwise
    /// setguard would blame the change for faults that the other side has fixed since. As in `git diff`, `REF...` means
    /// the same, and `REF..` the named commit itself. Prints a note if the common commit is unknown. Fails like
    /// [`Commit::find`].
    pub fn find_start(flag: &'static str, reference: &str) -> Result<Self, FileError> {
        let (name, is_exact) = match (reference.strip_suffix("..."), reference.strip_suffix("..")) {
            (Some(name), _) => (name, false),
            (None, Some(name)) => (name, true),
            (None, None) => (reference, false),
        };
        let mut commit = Commit::find(flag, name)?;
        if is_exact {
            return Ok(commit);
        }
        let Ok(start) = commit.git.output(&["merge-base", "HEAD", &commit.id]) else {
            report::note(&format!(
                "{flag}: this clone has no commit that {name:?} and the work tree have in common, so \
                 the manifests are compared with {name:?} itself. If the clone is shallow, fetch more \
                 of it (actions/checkout: fetch-depth: 0)"
            ));
            return Ok(commit);
        };
        let start = String::from_utf8_lossy(&start).into_owned();
        if start != commit.id {
            commit.label = start.chars().take(12).collect();
            commit.id = start;
        }
        Ok(commit)
    }

    /// Reads the manifests below paths. A path that did not exist at the commit has none. `names` has the policy's
    /// decisions about folder names. Excluded files count only if the change moves them. Fails for standard input, for
    /// a path outside the repository, and if git cannot read an object.
    pub fn manifests(
        &self,
        paths: &[PathBuf],
        exclude: &Exclude,
        clusters: &Clusters,
        names: &FolderNames,
    ) -> Result<Listing, FileError> {
        let mut old = Listing::default();
        for path in paths {
            if path.as_os_str() == "-" {
                let why = "standard input has no older version in git; use --against";
                return Err(self.error(why.to_owned()));
            }
            let inside = self.locate(path)?;
            let blobs = self.list((path, &inside), exclude, &mut old.notes)?;
            self.read_all(&blobs, (path, &inside), (clusters, names), &mut old)?;
        }
        let not_compared = self.not_compared(paths, exclude, &old)?;
        old.not_compared.extend(not_compared);
        let replaced = old.sources.iter().flatten().filter(|it| is_replaced(it.text()));
        let places = replaced.filter_map(Source::place).filter(|it| file_may_have_set(it));
        let why =
            "git has no readable text of its earlier version, so this change of it is not checked";
        let entry = |it: &Path| NotChecked::at(it, Cause::Unreadable, why).of([it.to_owned()]);
        old.not_compared.extend(places.map(entry));
        Ok(old)
    }

    /// Reads the manifests that the change moves out of folders of dependencies and test data. A walk through the
    /// folders to render leaves these out. Fails like [`Commit::manifests`].
    pub fn moved_out(
        &self,
        rendering: &Rendering,
        clusters: &Clusters,
        names: &FolderNames,
    ) -> Result<Vec<Source>, FileError> {
        let mut old = Listing::default();
        for path in &rendering.folders {
            let inside = self.locate(path)?;
            let mut blobs = self.list((path, &inside), &Exclude::default(), &mut old.notes)?;
            blobs.retain(|it| it.is_foreign);
            self.read_all(&blobs, (path, &inside), (clusters, names), &mut old)?;
        }
        Ok(old.moved_out)
    }

    /// Returns the objects of Argo CD and Flux below these paths that now apply a different part of the repository.
    fn not_compared(
        &self,
        paths: &[PathBuf],
        exclude: &Exclude,
        old: &Listing,
    ) -> Result<Vec<NotChecked>, FileError> {
        let marks = ["argoproj.io/", "toolkit.fluxcd.io/"];
        let describes = |it: &Source| marks.iter().any(|mark| it.text().contains(mark));
        if !old.sources.iter().flatten().any(describes) {
            return Ok(Vec::new());
        }
        let edits = self.edits()?;
        let is_edited = |it: &Path| self.resolve(it).is_ok_and(|it| edits.0.contains(&clean(&it)));
        let before = old.sources.iter().flatten();
        let before = before.filter_map(|it| Some((it.place()?, it.text())));
        let (gone, left): (Vec<_>, Vec<_>) = before.partition(|(file, _)| is_edited(file));
        let mut new = Vec::new();
        for path in paths {
            let top = clean(&self.resolve(path)?);
            let files = edits.0.iter().filter(|it| it.starts_with(&top) && is_manifest(it));
            let files =
                files.filter(|it| !is_left_out(it.strip_prefix(&top).unwrap_or(it), exclude, path));
            let files = files.map(|it| below(path, it, &top));
            new.extend(files.filter_map(|it| Some((files::text(&it).ok()?, it))));
        }
        let new: Vec<_> = new.iter().map(|(text, file)| (&**file, &**text)).collect();
        let top = &self.git.top;
        let has = |it: &[(&Path, &str)]| !Releases::applied(it.iter().copied(), top).is_empty();
        // Copying the commit takes time.
        if !has(&new) {
            return Ok(Vec::new());
        }
        let copy = self.check_out()?;
        let before = Releases::applied(left.iter().chain(&gone).copied(), copy.path());
        Ok(not_compared(&Releases::applied(left.into_iter().chain(new), top), &before))
    }

    /// Returns where a path of the work tree leads at the commit, from the folder of the repository. Only the links of
    /// the commit count, unless it has nothing at this path: then the path may be a link that the pipeline has made.
    fn locate(&self, path: &Path) -> Result<PathBuf, FileError> {
        let tree = self.tree()?;
        let way = self.git.inside(path);
        if let Some(itself) = way.as_deref().and_then(|it| tree.unfollowed(it))
            && tree.has(&itself)
        {
            return Ok(tree.follow(&itself).unwrap_or(itself));
        }
        let whole = dunce::canonicalize(path)
            .map_err(|error| FileError::Path { path: path.to_owned(), error })?;
        let inside = whole.strip_prefix(&self.git.top);
        inside.map(Path::to_owned).map_err(|_| self.outside(path))
    }

    /// Returns the absolute path of a file in the repository, as it is written. The file need not exist. Fails if the
    /// file is outside the repository.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, FileError> {
        let way = self.git.inside(path).ok_or_else(|| self.outside(path));
        way.map(|way| self.git.top.join(way))
    }

    /// Returns whether there was anything at a path.
    pub(super) fn had(&self, path: &Path) -> bool {
        self.git.inside(path).is_some_and(|it| self.tree().is_ok_and(|tree| tree.has(&it)))
    }

    fn outside(&self, path: &Path) -> FileError {
        let (name, top) = (path.display(), self.git.top.display());
        self.error(format!("{name} is outside of the repository {top}"))
    }

    const fn error(&self, why: String) -> FileError {
        FileError::Commit { flag: self.flag, why }
    }

    /// Reads the first of these absolute paths that exists at the commit, and returns the path too. Skips paths outside
    /// the repository. Fails if the file isn't regular, has more than `most` bytes, or isn't UTF-8.
    pub fn first(
        &self,
        paths: &[PathBuf],
        most: u64,
    ) -> Result<Option<(PathBuf, Source)>, FileError> {
        let tree = self.tree()?;
        let ways = paths.iter().filter_map(|path| path.strip_prefix(&self.git.top).ok());
        let found = ways.filter_map(|way| {
            let itself = tree.unfollowed(way)?;
            let target = tree.follow(way).unwrap_or_else(|| itself.clone());
            let entry = tree.entries.get(&target).or_else(|| tree.entries.get(&itself))?;
            Some((self.git.top.join(itself), entry))
        });
        let Some((path, entry)) = found.into_iter().next() else { return Ok(None) };
        if !entry.is_regular() {
            return Err(FileError::NotRegular(self.name(&entry.blob.path)));
        }
        let bytes = self.cat(&[&entry.blob], most)?.pop();
        let source =
            bytes.map(|bytes| self.source(&entry.blob, bytes, Group::Named)).transpose()?;
        Ok(source.map(|source| (path, source)))
    }

    /// Returns for each file of the work tree whether it differs from the commit or is missing there. A link differs if
    /// its target does.
    fn changed(&self, files: &[&Path]) -> Result<Vec<bool>, FileError> {
        // Callers often ask once for each object of a file.
        let all: Vec<_> = files.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        let changed: HashMap<_, _> = all.iter().copied().zip(self.changed_of(&all)?).collect();
        Ok(files.iter().filter_map(|it| changed.get(it).copied()).collect())
    }

    fn changed_of(&self, files: &[&Path]) -> Result<Vec<bool>, FileError> {
        let tree = self.tree()?;
        let pairs: Vec<_> = files.iter().map(|file| self.versions(tree, file)).collect();
        let blobs: Vec<_> = pairs.iter().flatten().flatten().map(|(blob, _)| *blob).collect();
        let mut texts = Vec::new();
        for batch in blobs.chunks(BATCH) {
            let old = self.cat(batch, LARGEST_IN_FOLDER)?.into_iter();
            texts.extend(old.map(|old| old.ok().map(|old| hash(&old))));
        }
        let mut texts = texts.into_iter();
        let is_changed = |(file, pairs): (&&Path, Option<Vec<(&Blob, PathBuf)>>)| {
            let Some(pairs) = pairs else { return !self.is_same_in_submodule(tree, file) };
            let olds: Vec<_> = texts.by_ref().take(pairs.len()).flatten().collect();
            olds.len() < pairs.len()
                || pairs.iter().zip(olds).any(|((_, new), old)| {
                    let new = files::read_regular(new, LARGEST_IN_FOLDER);
                    new.map_or(true, |new| hash(&new) != old)
                })
        };
        Ok(files.iter().zip(pairs).map(is_changed).collect())
    }

    /// Returns whether a file differs from the commit only because git converts it: a filter such as git-crypt's, or
    /// `ident`. Fails if git cannot list what the change edits.
    fn is_converted(&self, file: &Path) -> Result<bool, FileError> {
        let way = self.git.inside(file).map(|it| clean(&it));
        let is_file = file.symlink_metadata().is_ok_and(|it| it.is_file());
        let Some(way) = way.filter(|it| is_file && self.tree().is_ok_and(|tree| tree.has(it)))
        else {
            return Ok(false);
        };
        Ok(!self.edits()?.0.contains(&self.git.top.join(way)))
    }

    /// Returns whether a file in a submodule is the same as in the commit that the submodule had.
    fn is_same_in_submodule(&self, tree: &Tree, file: &Path) -> bool {
        let Some(way) = self.git.inside(file).map(|it| clean(&it)) else { return false };
        let itself = self.git.top.join(&way);
        // A link into the submodule may be new.
        if dunce::canonicalize(file).is_ok_and(|it| it != itself) {
            return false;
        }
        let above = way.ancestors().find_map(|it| tree.entries.get(it));
        let Some(submodule) = above.filter(|it| it.mode == SUBMODULE) else { return false };
        let top = self.git.top.join(&submodule.blob.path);
        let git = Git::around(&top).ok().filter(|it| it.top == top);
        let (id, tree, edits) = (submodule.blob.id.clone(), Arc::default(), Arc::default());
        let Some(git) = git else {
            // Without the submodule's files, git knows only its current commit.
            let now = submodules(&self.git, &submodule.blob.path).unwrap_or_default();
            return itself == top && now.iter().any(|(_, it)| *it == id);
        };
        let commit = Commit { git, id, tree, edits, ..self.clone() };
        commit.changed(&[file]).is_ok_and(|it| it == [false])
    }

    /// Returns the files that a path leads to at the commit, each with the file of the work tree that must be the same.
    /// `None` if they differ anyway. A file outside the repository is never part of a change.
    fn versions<'t>(&self, tree: &'t Tree, path: &Path) -> Option<Vec<(&'t Blob, PathBuf)>> {
        let Some(way) = self.git.inside(path) else { return Some(Vec::new()) };
        let itself = tree.unfollowed(&way)?;
        let target = fs::read_link(path).ok();
        if tree.links.get(&itself) != target.as_ref() || !tree.has(&itself) {
            return None;
        }
        let Some(there) = tree.follow(&itself) else { return Some(Vec::new()) };
        let old = tree.below(&there).filter(|it| it.is_regular());
        let old: Vec<_> = old.map(|it| (&it.blob, below(path, &it.blob.path, &there))).collect();
        // For a folder, the list must include new files.
        let known: BTreeSet<_> = old.iter().map(|(_, new)| new.as_path()).collect();
        let is_new = |it: &walkdir::DirEntry| match it.path_is_symlink() && it.depth() > 0 {
            true => {
                let earlier = it.path().strip_prefix(path).ok();
                let earlier = earlier.and_then(|it| tree.links.get(&there.join(it)));
                fs::read_link(it.path()).ok().as_ref() != earlier
            }
            false => it.file_type().is_file() && !known.contains(it.path()),
        };
        let has_more =
            path.is_dir() && WalkDir::new(path).into_iter().flatten().any(|it| is_new(&it));
        // A link that leads nowhere, then and now, has not changed.
        let is_same = !has_more && (!old.is_empty() || !path.exists());
        is_same.then_some(old)
    }

    /// Marks the entries that the change adds or edits. `excludes_more` is whether the change itself excludes files in
    /// the policy. Fails if git cannot read an object.
    pub fn compare(
        &self,
        not_checked: &mut [NotChecked],
        excludes_more: bool,
    ) -> Result<(), FileError> {
        let open = not_checked.iter_mut().filter(|it| it.must_be_checked(excludes_more));
        let open: Vec<&mut NotChecked> = open.collect();
        let path = |it: &&mut NotChecked| it.path.clone().unwrap_or_else(|| (&it.file).into());
        let paths: Vec<PathBuf> = open.iter().map(path).collect();
        let changed = self.changed(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        let edits =
            if open.iter().any(|it| !it.of.is_empty()) { Some(self.edits()?) } else { None };
        // Entries often share files.
        let mut touched = HashMap::new();
        for (it, changed) in open.into_iter().zip(changed) {
            // A base outside the test's folder is checked there.
            let extent = if it.cause == Cause::Foreign { Extent::Inside } else { Extent::Usual };
            let touched: &mut HashMap<PathBuf, bool> = touched.entry(extent).or_default();
            let mut touches = |of: &PathBuf| {
                touched.get(of).copied().unwrap_or_else(|| {
                    let is_touched = edits.is_some_and(|edits| edits.touch(of, extent));
                    touched.insert(of.clone(), is_touched);
                    is_touched
                })
            };
            let is_edited = !(changed && self.is_converted(&path(&it))?);
            it.is_changed &= is_edited;
            it.is_changed |=
                changed && is_edited && it.object.is_none() || it.of.iter().any(&mut touches);
            if let (Some(renews), Some(edits), true) = (&mut it.renews, &edits, it.is_changed) {
                *renews = self.renewed(Path::new(&it.file), edits)?;
                it.is_changed = !renews.is_empty();
            }
        }
        Ok(())
    }

    /// Adds kustomizations and charts of the commit if the change edits them so that they no longer change their files,
    /// unless a walk of the paths leaves them out. Fails like [`Commit::compare`].
    pub fn add_built(
        &self,
        mut built: Vec<NotChecked>,
        (paths, exclude): (&[PathBuf], &Exclude),
        not_checked: &mut Vec<NotChecked>,
    ) -> Result<(), FileError> {
        // Other entries may not count. An unchanged object's own reason is the same as before.
        let known = not_checked.iter().filter(|it| it.counts(false, false));
        let known = known.filter(|it| it.is_changed || it.object.is_none());
        let known: BTreeSet<_> = known.map(|it| clean(Path::new(&it.file))).collect();
        built.retain(|it| !known.contains(&clean(Path::new(&it.file))));
        self.compare(&mut built, false)?;
        let is_left_out = |file: &Path| {
            let mut folders = paths.iter().filter(|it| file.starts_with(it));
            folders.any(|folder| folder::leaves_out(folder, file, exclude))
        };
        built.retain(|it| it.is_changed && !is_left_out(Path::new(&it.file)));
        not_checked.append(&mut built);
        Ok(())
    }

    fn name(&self, inside: &Path) -> String {
        format!("{}:{}", self.label, inside.display())
    }

    fn tree(&self) -> Result<&Tree, FileError> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let args = ["ls-tree", "-r", "-z", "--full-tree", &self.id];
        let listed = self.git.output(&args).map_err(|error| self.incomplete(&error.to_string()))?;
        // The head is <mode> SP <type> SP <id>.
        let entries = tree::listed(&listed).map(|(head, path)| {
            let mut words = head.split(' ');
            let (mode, id) = (words.next().unwrap_or_default(), words.nth(1).unwrap_or_default());
            let blob =
                Blob { id: id.to_owned(), path: path.clone(), is_named: false, is_foreign: false };
            (path, Entry { mode: mode.to_owned(), blob })
        });
        let mut tree = Tree { entries: entries.collect(), ..Tree::default() };
        let links = tree.entries.values().filter(|it| it.is_link()).map(|it| &it.blob);
        let links: Vec<_> = links.collect();
        let targets = self.cat(&links, LONGEST_TARGET)?.into_iter();
        let targets = links.iter().zip(targets);
        tree.links = targets
            .filter_map(|(link, target)| Some((link.path.clone(), path_of(&target.ok()?))))
            .collect();
        Ok(self.tree.get_or_init(|| tree))
    }

    /// Returns the manifests of a folder that a run would read today.
    fn list(
        &self,
        (named, inside): (&Path, &Path),
        exclude: &Exclude,
        notes: &mut Vec<String>,
    ) -> Result<Vec<Blob>, FileError> {
        let (tree, mut blobs) = (self.tree()?, Vec::new());
        for entry in tree.below(inside) {
            let path = &entry.blob.path;
            let below = path.strip_prefix(inside).unwrap_or(path);
            let is_foreign = is_left_out(below, exclude, named);
            if entry.mode == SUBMODULE {
                let (path, flag) = (path.display(), self.flag);
                notes.push(format!("{path} is a submodule; {flag} doesn't read its old files"));
            }
            let is_named = path == inside;
            // In a folder, a link must lead to a visible file there, as in the work tree.
            let now = || fs::symlink_metadata(self.git.top.join(path));
            let target = tree.follow(path).filter(|it| {
                let below = it.strip_prefix(inside).ok();
                let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
                let is_outside = below.is_none_or(|it| it.iter().any(is_hidden));
                // The change may have put a file in its place.
                !(entry.is_link() && is_outside) || now().is_ok_and(|it| !it.is_symlink())
            });
            let file = target.and_then(|it| tree.entries.get(&it)).filter(|it| it.is_regular());
            // The change may have moved it out.
            let is_foreign = is_foreign && !is_named;
            if let Some(file) = file.filter(|_| !is_foreign || now().is_err()) {
                let (id, path) = (file.blob.id.clone(), path.clone());
                blobs.push(Blob { id, path, is_named, is_foreign });
            }
        }
        Ok(blobs)
    }

    fn read_all(
        &self,
        blobs: &[Blob],
        (path, named): (&Path, &Path),
        (clusters, names): (&Clusters, &FolderNames),
        old: &mut Listing,
    ) -> Result<(), FileError> {
        let of_layout =
            |blob: &&Blob| !blob.is_named && !blob.is_foreign && Layout::is_about(&blob.path);
        let about: Vec<_> = blobs.iter().filter(of_layout).collect();
        let texts = self.cat(&about, LARGEST_IN_FOLDER)?.into_iter();
        let texts: HashMap<_, _> = about.iter().map(|it| it.path.as_path()).zip(texts).collect();
        let layout = Layout::of(about.iter().map(|blob| blob.path.as_path()), &|path| {
            Some(encoding::lossy(texts.get(path)?.as_ref().ok()?.clone()))
        });
        old.not_compared.extend(layout.built_before(&|it| below(path, it, named)));
        let paths = blobs.iter().map(|it| it.path.as_path());
        let context = FolderContext::new(named, layout, paths);
        let blobs: Vec<_> =
            blobs.iter().filter(|blob| blob.is_named || is_manifest(&blob.path)).collect();
        for (blob, bytes) in blobs.iter().zip(self.cat(&blobs, LARGEST_IN_FOLDER)?) {
            let group = match blob.is_named {
                true => Group::Named,
                false => clusters
                    .group(&self.git.top.join(&blob.path))
                    .unwrap_or_else(|| context.layout.group(&blob.path, named)),
            };
            if let Some(facts) = context.facts(&blob.path, names).filter(|_| !blob.is_named) {
                old.contexts.insert(self.name(&blob.path), facts);
            }
            // This is how kubectl applied it.
            let bytes = bytes.map(|it| encoding::lossy(it).into_bytes());
            let source = self.source(blob, bytes, group);
            let source = source.map(|it| it.at(below(path, &blob.path, named)));
            if blob.is_foreign {
                old.moved_out.extend(source);
            } else {
                old.sources.push(source);
            }
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

    /// Returns the contents of files. A file with more than `most` bytes gets its own error.
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

/// Returns whether Git LFS or git-crypt replaces a text when git checks it out.
fn is_replaced(text: &str) -> bool {
    files::is_pointer(text) || text.starts_with("\0GITCRYPT\0")
}

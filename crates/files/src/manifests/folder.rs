//! The manifests in a folder. A repository also has dependencies, test data, ignored files and templates.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use ignore::gitignore::Gitignore;
use setguard_core::policy::file_patterns;
use walkdir::DirEntry;

use super::{
    files::{Fence, LARGEST_POLICY, has_entries, is_foreign, is_manifest},
    git,
    kustomization::may_build_set,
    layout::Layout,
    not_a_manifest::mentions_an_object,
    not_checked,
    path_context::FolderContext,
    render::describes,
};
use crate::manifests::prelude::*;
use crate::prelude::*;

const GIT: &str = ".git";

/// A policy counts only in the working folder and above.
const POLICY: &str = "setguard.yaml";

/// Returns the manifests in a folder. `names` has the policy's decisions about folder names. With `is_rendered`, leaves
/// out the files that charts and kustomizations use.
pub(super) fn list(
    folder: &Path,
    exclude: &Exclude,
    names: &FolderNames,
    is_rendered: bool,
) -> Listing {
    let (files, context, walk) = walk(folder, exclude);
    let layout = &context.layout;
    let read: HashSet<_> = files.iter().flatten().map(|it| clean(it)).collect();
    let not_built = layout.not_built(&read, is_rendered);
    // If git ignores a missing file, the user makes it before kustomize runs.
    let wrong = layout.wrong.iter().filter(|(missing, _)| !walk.is_made(missing));
    let wrong = wrong.map(|(_, wrong)| wrong.clone()).collect();
    let mut contents = Listing { wrong, ..Listing::default() };
    let (notes, mut not_checked) = walk.left_out(&mut contents.foreign);
    let is_source = |it: &Result<PathBuf, _>| it.as_ref().map_or(true, |path| is_manifest(path));
    for file in files.into_iter().filter(is_source) {
        contents.sources.push(file.map(|path| {
            if let Some(facts) = context.facts(&path, names) {
                contents.contexts.insert(path.display().to_string(), facts);
            }
            let group = layout.group(&path, folder);
            Source::File(path, group)
        }));
    }
    if is_rendered {
        let is_taken = |it: &mut Result<Source, FileError>| matches!(it, Ok(Source::File(path, _)) if layout.takes(path));
        contents.taken = contents.sources.extract_if(.., is_taken).flatten().collect();
        contents.roots = layout.roots();
        contents.inner = layout.taken();
        // The program that builds a kustomization reports its faults itself.
        contents.wrong.clear();
    }
    not_checked.extend(not_built);
    let absent = git::absent_submodules(folder).into_iter();
    let absent = absent.filter(|it| !leaves_out(folder, it, exclude));
    let why = "it is a submodule that is not checked out";
    not_checked.extend(absent.map(|it| NotChecked::at(&it, Cause::Unreadable, why)));
    contents.notes = notes;
    contents.not_checked = not_checked;
    contents
}

/// Returns whether a walk through a folder would leave out this file, or the folders above a file that does not exist.
pub(super) fn leaves_out(folder: &Path, file: &Path, exclude: &Exclude) -> bool {
    let walk = Walk::new(folder, exclude);
    let deepest = file.ancestors().find(|it| it.exists()).unwrap_or(folder);
    let entries = WalkDir::new(folder).follow_links(true).into_iter();
    let on_the_way = entries.filter_entry(|it| deepest.starts_with(it.path()) && walk.enters(it));
    !on_the_way.flatten().any(|it| it.path() == deepest)
}

/// The files in a folder, facts about it, and the walk through it.
pub(super) type Walked<'a> = (Vec<Result<PathBuf, FileError>>, FolderContext, Walk<'a>);

pub(super) fn walk<'a>(folder: &'a Path, exclude: &'a Exclude) -> Walked<'a> {
    let walk = Walk::new(folder, exclude);
    let files = WalkDir::new(folder)
        .follow_links(true)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| walk.enters(entry))
        .filter_map(|entry| match entry {
            Ok(entry) => walk.takes(entry).map(Ok),
            Err(error) => walk.fails(error).map(Err),
        });
    let files: Vec<_> = files.collect();
    let paths = || files.iter().flatten().map(PathBuf::as_path);
    // A test case that the user names is read as it is.
    let about = paths().filter(|path| {
        Layout::is_about(path) && (!Layout::is_of_test(path) || path.parent() != Some(folder))
    });
    let layout = Layout::of(about, &|path| files::text(path).ok());
    let context = FolderContext::new(folder, layout, paths());
    (files, context, walk)
}

#[derive(Debug, Default)]
struct LeftOut {
    notes: Vec<String>,
    not_checked: Vec<NotChecked>,
    /// Files and folders to list but not to check, with the reasons.
    unread: Vec<(PathBuf, Cause, String)>,
    /// The paths that git ignores, and whether each is a folder.
    ignored: Vec<(PathBuf, bool)>,
}

#[derive(Debug, Default)]
struct Ignores {
    /// The patterns in effect in a folder, the nearest file first.
    by_folder: HashMap<PathBuf, Rc<[Rc<Gitignore>]>>,
    /// The files without effect, with the reasons.
    unread: Vec<(PathBuf, String)>,
}

impl Ignores {
    /// Returns the patterns in effect in a folder, the nearest first. Folders above the root of the repository don't
    /// count.
    fn of(&mut self, folder: &Path) -> Rc<[Rc<Gitignore>]> {
        if let Some(known) = self.by_folder.get(folder) {
            return Rc::clone(known);
        }
        let patterns = self.patterns(folder);
        let own = (!patterns.is_empty()).then(|| Rc::new(patterns));
        let above = folder.parent().filter(|_| !folder.join(".git").exists());
        let above = above.map(|above| self.of(above));
        let all: Rc<[_]> =
            own.into_iter().chain(above.iter().flat_map(|it| it.iter().cloned())).collect();
        self.by_folder.insert(folder.to_owned(), Rc::clone(&all));
        all
    }

    /// Like git, does not follow a link.
    fn patterns(&mut self, folder: &Path) -> Gitignore {
        let path = folder.join(".gitignore");
        let text = match path.symlink_metadata() {
            Err(_) => return Gitignore::empty(),
            Ok(about) if about.is_symlink() => Err("it is a link".to_owned()),
            Ok(_) => files::read_regular(&path, LARGEST_POLICY).map_err(|it| it.to_string()),
        };
        match text {
            Ok(text) => {
                let lines: Vec<_> =
                    String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
                file_patterns::patterns(folder, &lines)
            }
            Err(why) => {
                self.unread.push((path, why));
                Gitignore::empty()
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct Walk<'a> {
    folder: &'a Path,
    /// The folder without links.
    base: PathBuf,
    fence: Fence,
    exclude: &'a Exclude,
    /// `None` outside a repository.
    ignores: Option<RefCell<Ignores>>,
    /// The files that git tracks, or why that is unknown. Read on the first use.
    tracked: OnceCell<Result<BTreeSet<PathBuf>, String>>,
    /// Ignored folders with tracked files. Git ignores everything else in them.
    entered: RefCell<HashSet<PathBuf>>,
    left_out: RefCell<LeftOut>,
}

impl<'a> Walk<'a> {
    fn new(folder: &'a Path, exclude: &'a Exclude) -> Self {
        let base = whole(folder);
        // In the copy of a commit, whose `.git` is empty, every file is tracked.
        let git = base.ancestors().map(|at| at.join(GIT)).find(|it| it.exists());
        let is_in_repository = git.is_some_and(|it| !it.is_dir() || has_entries(&it));
        Walk {
            folder,
            fence: Fence::around(folder),
            exclude,
            ignores: is_in_repository.then(RefCell::default),
            tracked: OnceCell::new(),
            entered: RefCell::default(),
            left_out: RefCell::default(),
            base,
        }
    }

    fn enters(&self, entry: &DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        let (path, is_folder) = (entry.path(), entry.file_type().is_dir());
        if entry.file_name() == GIT || self.leaves_out(path, is_folder) {
            return false;
        }
        let leads_out = entry.path_is_symlink() && !self.fence.has(path, &[]);
        if is_folder && !leads_out && is_foreign(entry.file_name()) {
            let name = entry.file_name().display();
            let why =
                format!("folders named {name} have dependencies or test data; name it to check it");
            self.leave_out(path, Cause::Foreign, why);
            return false;
        }
        if leads_out && (is_folder || is_read(path)) {
            let why = "the link leads out of the folder; name it to check it";
            self.not_read(path, Cause::Link, why);
        }
        !leads_out
    }

    /// Returns whether a flag, the policy or git leaves a path out.
    fn leaves_out(&self, path: &Path, is_folder: bool) -> bool {
        if !self.exclude.is_empty()
            && let Some(by) = self.exclude.excludes(path, &self.whole(path), is_folder)
        {
            self.leave_out(path, Cause::Excluded, format!("{by} excludes it"));
            return true;
        }
        let is_ignored = self.is_ignored(path, is_folder);
        if is_ignored && (is_folder || is_manifest(path)) {
            self.left_out.borrow_mut().ignored.push((path.to_owned(), is_folder));
        }
        is_ignored
    }

    fn takes(&self, entry: DirEntry) -> Option<PathBuf> {
        if entry.file_type().is_dir() {
            return None;
        }
        let is_read = is_read(entry.path());
        let is_regular = entry.file_type().is_file();
        if is_read && !is_regular {
            self.not_read(entry.path(), Cause::Link, "it isn't a regular file");
        }
        if is_read && is_regular && files::is_lfs_pointer(entry.path()) {
            let why = "it is a pointer of Git LFS; run `git lfs pull` first";
            self.not_read(entry.path(), Cause::Unreadable, why);
            return None;
        }
        let is_of_github =
            entry.depth() == 2 && entry.path().parent().is_some_and(|it| it.ends_with(".github"));
        if is_read && entry.depth() > 1 && !is_of_github && entry.file_name() == POLICY {
            let why = "a policy counts only in the working folder and above; use --policy";
            self.note(entry.path(), why);
        }
        (is_read && is_regular).then(|| entry.into_path())
    }

    /// Returns the error about an unreadable entry, unless it is a link that leads nowhere.
    fn fails(&self, error: walkdir::Error) -> Option<FileError> {
        let is_gone = error.io_error().is_some_and(|it| it.kind() == std::io::ErrorKind::NotFound);
        let path = error.path().filter(|path| error.depth() > 0 && path.is_symlink());
        match path {
            Some(path) if error.loop_ancestor().is_some() => {
                self.note(path, "the link leads to a folder above it");
                None
            }
            // It may lead to a file by the time it is applied.
            Some(path) => {
                let why = if is_gone { "leads to nothing" } else { "cannot be followed" };
                if is_read(path) && !self.leaves_out(path, false) {
                    self.not_read(path, Cause::Link, &format!("the link {why}"));
                }
                None
            }
            _ => Some(error.into()),
        }
    }

    fn note(&self, path: &Path, why: &str) {
        let note = format!("{} is not read: {why}", path.display());
        self.left_out.borrow_mut().notes.push(note);
    }

    fn not_read(&self, path: &Path, cause: Cause, why: &str) {
        let entry = NotChecked::at(path, cause, why);
        self.left_out.borrow_mut().not_checked.push(entry);
    }

    fn leave_out(&self, path: &Path, cause: Cause, why: String) {
        self.left_out.borrow_mut().unread.push((path.to_owned(), cause, why));
    }

    /// Returns a path without the links that lead to the folder.
    fn whole(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.folder).map_or_else(|_| path.to_owned(), |it| self.base.join(it))
    }

    /// Returns whether git ignores a path. It ignores no file that it tracks, whatever a pattern matches.
    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let Some(ignores) = &self.ignores else { return false };
        let path = self.whole(path);
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return false };
        let patterns = ignores.borrow_mut().of(folder);
        // The nearest `.gitignore` with a matching pattern decides.
        let mut matches = patterns.iter().map(|patterns| patterns.matched(&path, is_folder));
        let is_matched = matches.find(|it| !it.is_none()).is_some_and(|it| it.is_ignore());
        if !is_matched && !self.entered.borrow().contains(folder) {
            return false;
        }
        let tracked =
            self.tracked.get_or_init(|| git::tracked(&self.base).map_err(|it| it.to_string()));
        let has = |path: &Path| {
            let mut from = tracked.iter().flat_map(|it| it.range(path.to_owned()..));
            from.next().is_some_and(|it| it.starts_with(path))
                || tracked.iter().any(|all| path.ancestors().any(|it| all.contains(it)))
        };
        // A link may lead to the folder.
        let whole = dunce::canonicalize(folder).map(|it| it.join(name));
        let is_tracked = has(&path) || whole.is_ok_and(|it| has(&it));
        if is_tracked && is_folder {
            self.entered.borrow_mut().insert(path);
        }
        !is_tracked
    }

    /// Returns whether git ignores a missing file, or a folder around it.
    fn is_made(&self, file: &Path) -> bool {
        let file = clean(&self.whole(file));
        let mut inside = file.ancestors().take_while(|it| it.starts_with(&self.base));
        inside.any(|it| *it != *self.base && self.is_ignored(it, it != file))
    }

    /// Returns the notes, and what is not read. Adds the files that objects may take values from.
    fn left_out(self, values: &mut Vec<PathBuf>) -> (Vec<String>, Vec<NotChecked>) {
        let unread = self.ignores.iter().flat_map(|it| it.take().unread);
        for (path, why) in unread {
            let path =
                path.strip_prefix(&self.base).map_or(path.clone(), |it| self.folder.join(it));
            self.note(&path, &why);
        }
        let LeftOut { notes, mut not_checked, unread, ignored } = self.left_out.into_inner();
        for (path, cause, why) in unread {
            not_checked.extend(match cause {
                Cause::Foreign => foreign(&path, &why, self.exclude, &self.fence, values),
                _ => with_sets(&path).map(|it| NotChecked::at(&it, cause, &*why)).collect(),
            });
        }
        // An ignored folder can be large, and is never part of a change.
        let ignored = ignored.into_iter();
        let ignored =
            ignored.filter(|(path, is_folder)| *is_folder || not_checked::file_may_have_set(path));
        let (cause, why) = match self.tracked.get() {
            Some(Err(error)) => (
                Cause::Unreadable,
                format!(
                    "a .gitignore matches it, and it is unknown whether git tracks it ({error}); name it to check it"
                ),
            ),
            _ => (Cause::Ignored, "git ignores it; name it to check it".to_owned()),
        };
        let ignored = ignored.map(|(path, _)| NotChecked::at(&path, cause, &*why));
        not_checked.extend(ignored);
        (notes, not_checked)
    }
}

fn is_read(path: &Path) -> bool {
    is_manifest(path) || Layout::is_about(path)
}

/// Returns the files of a folder of dependencies or test data that may have a set. A link into the folder of `fence`
/// does not count, because its target is read there.
fn foreign(
    folder: &Path,
    why: &str,
    exclude: &Exclude,
    fence: &Fence,
    values: &mut Vec<PathBuf>,
) -> Vec<NotChecked> {
    let (files, context, walk) = walk(folder, exclude);
    let read = files.iter().flatten().map(|it| clean(it)).collect();
    let built = context.layout.not_built(&read, false).into_iter();
    let built = built.filter(|it| it.renews.is_none() && it.of.iter().any(|it| may_build_set(it)));
    let built = built.map(|it| NotChecked { cause: Cause::Foreign, why: why.to_owned(), ..it });
    let mut parts = Vec::new();
    let files = files.into_iter().flatten().filter(|it| is_manifest(it));
    let files: Vec<_> = files
        .filter_map(|it| {
            let Ok(text) = files::text(&it) else { return Some((it, false)) };
            let describes = describes(&text);
            let is_listed = describes || not_checked::may_have_set(&text);
            let has_values = ["ConfigMap", "Secret"].iter().any(|kind| text.contains(kind));
            if has_values || !is_listed && !mentions_an_object(&text) {
                parts.push(it.clone());
            }
            is_listed.then_some((it, describes))
        })
        .collect();
    // An object of Argo CD or Flux can take values from any other file.
    values.extend_from_slice(&parts);
    let parts: Arc<[PathBuf]> = parts.into();
    let files = files.into_iter().map(|(it, describes)| {
        let of = if describes { parts.clone() } else { Arc::default() };
        NotChecked { of, ..NotChecked::at(&it, Cause::Foreign, why) }
    });
    let is_elsewhere = |it: &NotChecked| {
        let target = dunce::canonicalize(&it.file).ok().filter(|it| fence.has(it, &[]));
        it.cause == Cause::Link && target.is_some_and(|it| it.is_dir() || is_manifest(&it))
    };
    let (_, inside) = walk.left_out(values);
    built.chain(files).chain(inside.into_iter().filter(|it| !is_elsewhere(it))).collect()
}

/// Returns the files that may have a set: `path`, or the files in it.
fn with_sets(path: &Path) -> impl Iterator<Item = PathBuf> {
    let is_folder = path.is_dir();
    let files = WalkDir::new(path).sort_by_file_name().into_iter();
    let files = files.filter_entry(|entry| entry.file_name() != GIT).flatten();
    let files = files.filter(move |it| it.file_type().is_file() || !is_folder);
    let files = files.map(DirEntry::into_path).filter(|it| is_manifest(it));
    files.filter(|it| not_checked::file_may_have_set(it))
}

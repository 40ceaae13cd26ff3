//! The manifests in a folder. A repository has much else: dependencies, test data, files that git
//! ignores, templates.

#![expect(clippy::disallowed_methods, reason = "folders are read here")]

use std::{
    cell::RefCell,
    collections::HashMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    rc::Rc,
};

use ignore::gitignore::Gitignore;
use walkdir::{DirEntry, WalkDir};

use super::{
    exclude::{self, Exclude, Excluded},
    files::{self, Fence, LARGEST_IN_FOLDER, LARGEST_POLICY},
    layout::Layout,
    source::Source,
    surroundings::{Around, Surroundings},
    versions::Versions,
};

/// The folders that are not entered unless they are named: other people's files, and tests. Tests have
/// parts of objects to compare with, and objects with faults.
const FOREIGN: [&str; 11] = [
    "e2e",
    "e2e-tests",
    "e2e_tests",
    "fixtures",
    "integration-tests",
    "integration_tests",
    "node_modules",
    "test-data",
    "test_data",
    "testdata",
    "vendor",
];

/// The name of a policy, which counts only in the working folder and above.
const POLICY: &str = "setguard.yaml";

/// The manifests in a folder.
#[derive(Debug)]
pub(super) struct Contents {
    /// The files, in order.
    pub(super) sources: Vec<Result<Source, String>>,
    /// Notes about what is not read.
    pub(super) notes: Vec<String>,
    /// Facts about a file from the folders around it, by its name.
    pub(super) surroundings: HashMap<String, Surroundings>,
}

/// Returns the manifests in a folder.
pub(super) fn list(folder: &Path, exclude: &Exclude) -> Contents {
    let (files, around, notes) = walk(folder, exclude);
    let layout = &around.layout;
    let read = files
        .iter()
        .filter(|file| file.as_ref().map_or(true, |path| is_manifest(path) && !layout.skips(path)));
    let mut surroundings = HashMap::new();
    let mut of_group = |path: &PathBuf| {
        if let Some(facts) = around.facts(path) {
            surroundings.insert(path.display().to_string(), facts);
        }
        Source::FileInFolder(path.clone(), layout.group(path, folder))
    };
    let sources = read.map(|file| file.as_ref().map(&mut of_group).map_err(String::clone));
    let sources = sources.collect();
    Contents { sources, notes, surroundings }
}

/// Returns what a folder says about the files in it.
pub(super) fn around(folder: &Path, exclude: &Exclude) -> Around {
    walk(folder, exclude).1
}

type Walked = (Vec<Result<PathBuf, String>>, Around, Vec<String>);

/// Returns the files in a folder, what it says about them, and notes about what is not read.
fn walk(folder: &Path, exclude: &Exclude) -> Walked {
    let walk = Walk::new(folder, exclude);
    let files: Vec<_> = WalkDir::new(folder)
        .follow_links(true)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| walk.enters(entry))
        .filter_map(|entry| match entry {
            Ok(entry) => walk.takes(entry).map(Ok),
            Err(error) => walk.fails(&error).map(Err),
        })
        .collect();
    // A test case that the user names is read.
    let about = files.iter().flatten().map(PathBuf::as_path).filter(|path| {
        Layout::is_about(path) && (!Layout::is_of_test(path) || path.parent() != Some(folder))
    });
    let layout = Layout::of(about, &read);
    let mut notes = walk.notes();
    notes.extend(layout.notes());
    let mut folders: Vec<_> = files.iter().flatten().filter_map(|path| path.parent()).collect();
    folders.dedup();
    let folders = folders.into_iter().map(Path::to_owned).collect();
    let versions = Versions::of(files.iter().flatten().map(PathBuf::as_path));
    (files, Around { folder: folder.to_owned(), layout, folders, versions }, notes)
}

/// Returns whether a file in a folder, or below it, isn't a manifest or is left out by the policy.
pub(super) fn leaves_out(file: &Path, folder: &Path, exclude: &Exclude) -> bool {
    let whole = dunce::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folders = file.ancestors().skip(1).take_while(|at| at.starts_with(folder));
    let about: Vec<_> = folders.flat_map(Layout::files_of).filter(|path| path.is_file()).collect();
    Layout::of(about.iter().map(PathBuf::as_path), &read).skips(file)
        || whole.ancestors().any(|at| exclude.excludes(at, at, at != whole).is_some())
}

fn read(path: &Path) -> Option<String> {
    let bytes = files::read_regular(path, LARGEST_IN_FOLDER).ok()?;
    String::from_utf8(bytes).ok()
}

/// The files and folders below a folder that are left out.
#[derive(Debug, Default)]
struct LeftOut {
    notes: Vec<String>,
    /// The folders of [`FOREIGN`].
    foreign: Vec<PathBuf>,
    /// The files and folders that git ignores.
    ignored: Vec<PathBuf>,
    /// The files and folders that the policy excludes.
    excluded: Vec<PathBuf>,
}

/// The patterns of the files `.gitignore`.
#[derive(Debug, Default)]
struct Ignores {
    /// By folder, the patterns of its file and of those above it, the nearest first.
    by_folder: HashMap<PathBuf, Rc<[Rc<Gitignore>]>>,
    /// The files that have no effect, each with the reason.
    unread: Vec<(PathBuf, String)>,
}

impl Ignores {
    /// Returns the patterns that count in a folder, the nearest first. The folders above the root of the repository
    /// have no effect.
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

    /// Returns the patterns of the `.gitignore` in a folder. Like git, this doesn't follow a link.
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
                exclude::patterns(folder, &lines)
            }
            Err(why) => {
                self.unread.push((path, why));
                Gitignore::empty()
            }
        }
    }
}

/// A walk through a folder.
#[derive(Debug)]
struct Walk<'a> {
    folder: &'a Path,
    /// The folder without links.
    base: PathBuf,
    fence: Fence,
    exclude: &'a Exclude,
    /// The files that git ignores; none outside of a repository.
    ignores: Option<RefCell<Ignores>>,
    left_out: RefCell<LeftOut>,
}

impl<'a> Walk<'a> {
    fn new(folder: &'a Path, exclude: &'a Exclude) -> Self {
        let base = dunce::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let is_in_repository = base.ancestors().any(|at| at.join(".git").exists());
        Walk {
            folder,
            fence: Fence::around(folder),
            exclude,
            ignores: is_in_repository.then(RefCell::default),
            left_out: RefCell::default(),
            base,
        }
    }

    /// Returns whether an entry is a file to look at, or a folder to enter.
    fn enters(&self, entry: &DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        let (path, is_folder) = (entry.path(), entry.file_type().is_dir());
        let matters = is_folder || is_manifest(path);
        if is_hidden(entry.file_name()) {
            return false;
        }
        if !self.exclude.is_empty()
            && let Some(by) = self.exclude.excludes(path, &self.whole(path), is_folder)
        {
            if by == Excluded::ByPolicy && matters {
                self.left_out.borrow_mut().excluded.push(path.to_owned());
            }
            return false;
        }
        if is_folder && is_foreign(entry.file_name()) {
            self.left_out.borrow_mut().foreign.push(path.to_owned());
            return false;
        }
        if self.is_ignored(path, is_folder) {
            if matters {
                self.left_out.borrow_mut().ignored.push(path.to_owned());
            }
            return false;
        }
        let leads_out = entry.path_is_symlink() && !self.fence.has(path, &[]);
        if leads_out && matters {
            self.leave_out(path, "the link leads out of the folder, or to a hidden file");
        }
        !leads_out
    }

    /// Returns the path of a file, if it is to be read.
    fn takes(&self, entry: DirEntry) -> Option<PathBuf> {
        if entry.file_type().is_dir() {
            return None;
        }
        let is_read = is_manifest(entry.path()) || Layout::is_about(entry.path());
        let is_regular = entry.file_type().is_file();
        if is_read && !is_regular {
            self.leave_out(entry.path(), "it isn't a regular file");
        }
        if is_read && entry.depth() > 1 && entry.file_name() == POLICY {
            let why = "a policy counts only in the working folder and above; use --policy";
            self.leave_out(entry.path(), why);
            return None;
        }
        (is_read && is_regular).then(|| entry.into_path())
    }

    /// Returns the message about an entry that cannot be read, if that is an error. A link to nothing
    /// has no content to check.
    fn fails(&self, error: &walkdir::Error) -> Option<String> {
        let is_gone = error.io_error().is_some_and(|it| it.kind() == std::io::ErrorKind::NotFound);
        let path = error.path().filter(|path| error.depth() > 0 && path.is_symlink());
        match path {
            Some(path) if error.loop_ancestor().is_some() => {
                self.leave_out(path, "the link leads to a folder above it");
                None
            }
            // A link to itself, or to links that lead back to it, has no content either.
            Some(path) => {
                let why = if is_gone { "leads to nothing" } else { "cannot be followed" };
                if is_manifest(path) {
                    self.leave_out(path, &format!("the link {why}"));
                }
                None
            }
            _ => Some(format!("cannot be read: {error}")),
        }
    }

    fn leave_out(&self, path: &Path, why: &str) {
        let note = format!("{} is not read: {why}", path.display());
        self.left_out.borrow_mut().notes.push(note);
    }

    /// Returns the path of an entry without the links that lead to the folder.
    fn whole(&self, path: &Path) -> PathBuf {
        path.strip_prefix(self.folder).map_or_else(|_| path.to_owned(), |it| self.base.join(it))
    }

    /// Returns whether git ignores a path. The nearest `.gitignore` with a matching pattern decides.
    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        let Some(ignores) = &self.ignores else { return false };
        let path = self.whole(path);
        let Some(folder) = path.parent() else { return false };
        let patterns = ignores.borrow_mut().of(folder);
        let mut matches = patterns.iter().map(|patterns| patterns.matched(&path, is_folder));
        matches.find(|it| !it.is_none()).is_some_and(|nearest| nearest.is_ignore())
    }

    fn notes(self) -> Vec<String> {
        let unread = self.ignores.iter().flat_map(|it| it.take().unread);
        for (path, why) in unread {
            let path =
                path.strip_prefix(&self.base).map_or(path.clone(), |it| self.folder.join(it));
            self.leave_out(&path, &why);
        }
        let LeftOut { mut notes, foreign, ignored, excluded } = self.left_out.into_inner();
        let mut say = |paths: &[PathBuf], one: &str, many: &str| match paths {
            [] => {}
            [path] => notes.push(format!("{} {one}", path.display())),
            [first, ..] => {
                notes.push(format!("{} {many}, such as {}", paths.len(), first.display()));
            }
        };
        let name = "name them to check them";
        say(
            &foreign,
            "is not entered; name it to check it",
            &format!("folders of dependencies and tests are not entered ({name})"),
        );
        say(
            &ignored,
            "is not read: git ignores it; name it to check it",
            &format!("files and folders are not read, because git ignores them ({name})"),
        );
        say(
            &excluded,
            "is not read: the policy excludes it; name it to check it",
            &format!("files and folders are not read, because the policy excludes them ({name})"),
        );
        notes
    }
}

/// Returns whether a folder with this name is not entered.
pub(super) fn is_foreign(name: &OsStr) -> bool {
    FOREIGN.iter().any(|foreign| name == *foreign)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns whether a file in a folder is read.
pub(super) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().map(|it| it.to_ascii_lowercase());
    let extension = extension.as_ref().and_then(|it| it.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

//! The sources of manifests: files, folders and standard input.

#![expect(clippy::disallowed_methods, reason = "files are read here")]

use std::{
    cell::{OnceCell, RefCell},
    collections::VecDeque,
    path::{Path, PathBuf},
};

use walkdir::{DirEntry, WalkDir};

use super::{
    encoding,
    excerpt::{Excerpt, Lines},
    files::{self, Fence, LARGEST, LARGEST_IN_FOLDER},
    group::Group,
    layout::Layout,
};
use crate::yaml::Mark;

/// The name of standard input.
pub(crate) const STDIN: &str = "<stdin>";

/// A file or standard input, before or after it has been read.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file that the user named, not read yet.
    File(PathBuf),
    /// A file in a folder that the user named, not read yet.
    FileInFolder(PathBuf, Group),
    /// Standard input that has not been read yet.
    Stdin,
    /// A source that has been read.
    Text {
        /// The name to display.
        name: String,
        /// The text of the source.
        text: String,
        /// The files to which this one belongs.
        group: Group,
        /// The positions of its lines; computed on first use.
        lines: OnceCell<Lines>,
    },
}

impl Source {
    /// Creates a source whose text is known.
    pub(crate) const fn of(name: String, text: String, group: Group) -> Source {
        Source::Text { name, text, group, lines: OnceCell::new() }
    }

    /// Creates a source that the user named and whose text is known.
    pub(crate) const fn named(name: String, text: String) -> Source {
        Source::of(name, text, Group::Named)
    }

    /// Reads the source. An error names the file, the problem and the remedy.
    pub(crate) fn read(self) -> Result<Source, String> {
        self.read_at_most(LARGEST)
    }

    /// Reads the source if it has at most this many bytes.
    pub(crate) fn read_at_most(self, most: u64) -> Result<Source, String> {
        let group = self.group().clone();
        let (name, bytes) = match self {
            Source::File(path) => (path.display().to_string(), files::read(&path, most)),
            Source::FileInFolder(path, _) => {
                (path.display().to_string(), files::read_regular(&path, LARGEST_IN_FOLDER))
            }
            Source::Stdin => (STDIN.to_owned(), files::at_most(std::io::stdin(), most)),
            text @ Source::Text { .. } => return Ok(text),
        };
        let bytes = bytes.map_err(|error| format!("{name}: cannot be read: {error}"))?;
        let text = encoding::decode(bytes)
            .map_err(|line| format!("{name}:{line}: this is not UTF-8; save the file as UTF-8"))?;
        Ok(Source::of(name, text, group))
    }

    /// Returns an unread copy of the source. `None` if it can be read only once.
    pub(crate) fn again(&self) -> Option<Source> {
        match self {
            Source::File(path) | Source::FileInFolder(path, _) if !path.is_file() => None,
            _ => self.unread(),
        }
    }

    /// Returns an unread copy of the file. `None` if the source isn't a file, or has been read.
    pub(crate) fn unread(&self) -> Option<Source> {
        match self {
            Source::File(path) => Some(Source::File(path.clone())),
            Source::FileInFolder(path, group) => {
                Some(Source::FileInFolder(path.clone(), group.clone()))
            }
            Source::Stdin | Source::Text { .. } => None,
        }
    }

    /// Reads the source again. If that fails now, its text is empty.
    pub(crate) fn reread(self) -> Source {
        let name = match &self {
            Source::File(path) | Source::FileInFolder(path, _) => path.display().to_string(),
            Source::Stdin | Source::Text { .. } => self.name().to_owned(),
        };
        let empty = Source::of(name, String::new(), self.group().clone());
        self.read().unwrap_or(empty)
    }

    /// Changes the name to display, if the source has been read.
    pub(crate) fn rename(&mut self, new: &str) {
        if let Source::Text { name, .. } = self {
            new.clone_into(name);
        }
    }

    /// Returns whether the user named the source itself, not only a folder above it.
    pub(crate) const fn is_named(&self) -> bool {
        matches!(self.group(), Group::Named)
    }

    /// Returns the files to which this one belongs.
    pub(crate) const fn group(&self) -> &Group {
        match self {
            Source::File(_) | Source::Stdin => &Group::Named,
            Source::FileInFolder(_, group) | Source::Text { group, .. } => group,
        }
    }

    /// Returns the name to display.
    pub(crate) fn name(&self) -> &str {
        match self {
            Source::Text { name, .. } => name,
            _ => "",
        }
    }

    /// Returns the line at a mark, or the part of a long line around it.
    pub(crate) fn excerpt(&self, mark: Mark) -> Option<Excerpt<'_>> {
        let Source::Text { text, lines, .. } = self else { return None };
        lines.get_or_init(|| Lines::of(text)).excerpt(text, mark)
    }

    /// Returns the text; empty if the source has not been read.
    pub(crate) fn text(&self) -> &str {
        match self {
            Source::Text { text, .. } => text,
            _ => "",
        }
    }
}

/// Returns all sources below these paths, in order. `look` first sees the text of every source;
/// then the sources are read again one at a time. Each comes with an unread copy of itself, unless
/// it can be read only once, such as standard input; the text of such a source is kept in memory.
pub(crate) fn scan_then_read<'a>(
    paths: &'a [PathBuf],
    look: &mut dyn FnMut(&str),
) -> impl Iterator<Item = Result<(Source, Option<Source>), String>> + use<'a> {
    let mut kept = VecDeque::new();
    for source in sources(paths).flatten() {
        let is_kept = source.again().is_none();
        let source = source.read();
        if let Ok(source) = &source {
            look(source.text());
        }
        if is_kept {
            kept.push_back(source);
        }
    }
    sources(paths).map(move |source| {
        let source = source?;
        Ok(match source.again() {
            None => (kept.pop_front().unwrap_or_else(|| source.read())?, None),
            again => (source.read()?, again),
        })
    })
}

/// Returns all sources below these paths, in order.
pub(crate) fn sources(paths: &[PathBuf]) -> impl Iterator<Item = Result<Source, String>> {
    list(paths).sources.into_iter()
}

/// The files below some paths.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// All sources, in order.
    pub(crate) sources: Vec<Result<Source, String>>,
    /// The files that are not read, and how to check them.
    pub(crate) notes: Vec<String>,
}

/// Lists the files below some paths. Only files that determine which files aren't manifests are
/// read.
pub(crate) fn list(paths: &[PathBuf]) -> Listing {
    let mut listing = Listing::default();
    for path in paths {
        if path.as_os_str() == "-" {
            listing.sources.push(Ok(Source::Stdin));
        } else if path.is_dir() {
            list_folder(path, &mut listing);
        } else {
            // A file that the user named is read, whatever its extension.
            listing.sources.push(Ok(Source::File(path.clone())));
        }
    }
    listing
}

fn list_folder(folder: &Path, listing: &mut Listing) {
    let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
    let (fence, left_out) = (Fence::around(folder), RefCell::new(Vec::new()));
    let leave_out = |path: &Path, why: &str| {
        left_out.borrow_mut().push(format!("{} is not read: {why}", path.display()));
    };
    let leads_out = |entry: &DirEntry| {
        let leads_out = entry.path_is_symlink() && !fence.has(entry.path(), &[]);
        if leads_out && (entry.file_type().is_dir() || is_manifest(entry.path())) {
            leave_out(entry.path(), "the link leads out of the folder, or to a hidden file");
        }
        leads_out
    };
    let files: Vec<_> = WalkDir::new(folder)
        .follow_links(true)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| {
            entry.depth() == 0 || !is_hidden(entry.file_name()) && !leads_out(entry)
        })
        .filter_map(|entry| match entry {
            Ok(entry) if entry.file_type().is_dir() => None,
            Ok(entry) => {
                let is_read = is_manifest(entry.path()) || Layout::is_about(entry.path());
                let is_regular = entry.file_type().is_file();
                if is_read && !is_regular {
                    leave_out(entry.path(), "it isn't a regular file");
                }
                (is_read && is_regular).then(|| Ok(entry.into_path()))
            }
            Err(error) => Some(Err(format!("cannot be read: {error}"))),
        })
        .collect();
    let about = files.iter().flatten().map(PathBuf::as_path).filter(|path| Layout::is_about(path));
    let layout = Layout::of(about, &|path| {
        let bytes = files::read_regular(path, LARGEST_IN_FOLDER).ok()?;
        String::from_utf8(bytes).ok()
    });
    listing.notes.append(&mut left_out.take());
    listing.notes.extend(layout.notes());
    let read = files
        .into_iter()
        .filter(|file| file.as_ref().map_or(true, |path| is_manifest(path) && !layout.skips(path)));
    let of_group = |path: PathBuf| {
        let group = layout.group(&path, folder);
        Source::FileInFolder(path, group)
    };
    listing.sources.extend(read.map(|file| file.map(of_group)));
}

/// Returns whether a file in a folder is read.
pub(super) fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().map(|it| it.to_ascii_lowercase());
    let extension = extension.as_ref().and_then(|it| it.to_str());
    matches!(extension, Some("yaml" | "yml" | "json"))
}

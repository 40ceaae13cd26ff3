//! The sources of manifests: files, folders and standard input.

use std::cell::OnceCell;

use super::{
    encoding,
    excerpt::{Excerpt, Lines},
    files::{LARGEST, LARGEST_IN_FOLDER},
};
use crate::manifests::prelude::*;
use crate::prelude::*;

pub(crate) const STDIN: &str = "<stdin>";

/// A file or standard input, before or after it has been read.
#[derive(Debug)]
pub enum Source {
    /// A file that the user named, or a file in a named folder, not read yet.
    File(PathBuf, Group),
    /// Standard input, not read yet.
    Stdin,
    /// A source that has been read.
    Text {
        /// The display name.
        name: String,
        /// The text of the source.
        text: String,
        /// The file with the text, if it can be read again.
        path: Option<PathBuf>,
        /// The group of the file.
        group: Group,
        /// The positions of its lines; computed on first use.
        lines: OnceCell<Lines>,
        /// The origin of a rendered text.
        rendered: Option<Arc<Rendered>>,
        /// The path in the work tree of a file from earlier, as the walk of a folder writes it.
        place: Option<PathBuf>,
    },
}

impl Source {
    /// Creates a source with a known text.
    pub fn of(name: String, text: String, group: Group) -> Source {
        let (path, lines, rendered, place) = (None, OnceCell::new(), None, None);
        Source::Text { name, text, path, group, lines, rendered, place }
    }

    /// Notes the path in the work tree of a file from earlier.
    #[must_use]
    pub fn at(mut self, path: PathBuf) -> Self {
        if let Source::Text { place, .. } = &mut self {
            *place = Some(path);
        }
        self
    }

    /// Returns the path in the work tree of a file from earlier.
    pub fn place(&self) -> Option<&Path> {
        match self {
            Source::Text { place, .. } => place.as_deref(),
            _ => None,
        }
    }

    /// Returns whether it may be output of a cluster. A file of a commit and a rendered text are not.
    pub const fn may_be_of_cluster(&self) -> bool {
        !matches!(
            self,
            Source::Text { path: None, place: Some(_), .. }
                | Source::Text { rendered: Some(_), .. }
        )
    }

    #[must_use]
    pub(super) fn with_rendered(mut self, from: Arc<Rendered>) -> Self {
        if let Source::Text { rendered, .. } = &mut self {
            *rendered = Some(from);
        }
        self
    }

    pub(super) fn rendered_mut(&mut self) -> Option<&mut Rendered> {
        match self {
            Source::Text { rendered, .. } => rendered.as_mut().and_then(Arc::get_mut),
            _ => None,
        }
    }

    /// Returns a copy of a rendered text.
    #[must_use]
    pub fn copy_of_rendered(&self) -> Source {
        let copy = Source::of(self.name().to_owned(), self.text().to_owned(), self.group().clone());
        match self {
            Source::Text { rendered: Some(from), .. } => copy.with_rendered(Arc::clone(from)),
            _ => copy,
        }
    }

    /// Returns the origin of a rendered text.
    pub fn rendered(&self) -> Option<&Rendered> {
        match self {
            Source::Text { rendered, .. } => rendered.as_deref(),
            _ => None,
        }
    }

    /// Returns the namespace of the release, or this one. Objects without a namespace go there.
    pub fn namespace<'a>(&'a self, otherwise: Option<&'a str>) -> Option<&'a str> {
        self.rendered().and_then(Rendered::namespace).or(otherwise)
    }

    /// Creates a source that the user named, with a known text.
    pub fn named(name: String, text: String) -> Source {
        Source::of(name, text, Group::Named)
    }

    /// Creates the source of a file that the user named.
    pub fn named_file(path: &Path) -> Source {
        Source::File(path.to_owned(), Group::Named)
    }

    /// Reads the source. An error names the file, the problem and the remedy. Fails if the source cannot be read.
    pub fn read(self) -> Result<Source, FileError> {
        self.read_at_most(LARGEST)
    }

    pub(crate) fn read_at_most(self, most: u64) -> Result<Source, FileError> {
        let (group, name) = (self.group().clone(), self.label());
        let bytes = match &self {
            Source::File(path, Group::Named) => files::read(path, most),
            Source::File(path, _) => files::read_regular(path, LARGEST_IN_FOLDER),
            Source::Stdin => files::at_most(std::io::stdin(), most),
            Source::Text { .. } => return Ok(self),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return Err(FileError::Read { name, error }),
        };
        let text = match encoding::decode(bytes) {
            Ok(text) => text,
            Err((line, text)) if Broken::of(&text, &group) == Broken::Error => {
                return Err(FileError::NotUtf8 { name, line });
            }
            // kubectl replaces the bytes too.
            Err((_, text)) => text,
        };
        let again = self.again();
        let mut source = Source::of(name, text, group);
        if let (Source::Text { path, .. }, Some(Source::File(known, _))) = (&mut source, again) {
            *path = Some(known);
        }
        Ok(source)
    }

    fn label(&self) -> String {
        match self {
            Source::File(path, _) => path.display().to_string(),
            Source::Stdin => STDIN.to_owned(),
            Source::Text { name, .. } => name.clone(),
        }
    }

    /// `None` if the source can be read only once. In folders, only regular files are read.
    pub(crate) fn again(&self) -> Option<Source> {
        match self {
            Source::File(path, Group::Named) if !path.is_file() => None,
            _ => self.unread(),
        }
    }

    /// Returns an unread copy of the file. `None` if the source isn't a file.
    pub fn unread(&self) -> Option<Source> {
        match self {
            Source::File(path, group) | Source::Text { path: Some(path), group, .. } => {
                Some(Source::File(path.clone(), group.clone()))
            }
            Source::Stdin | Source::Text { path: None, .. } => None,
        }
    }

    /// Reads the source again. If that fails now, its text is empty.
    pub fn reread(self) -> Source {
        let empty = Source::of(self.label(), String::new(), self.group().clone());
        self.read().unwrap_or(empty)
    }

    /// Changes the display name, if the source has been read.
    pub fn rename(&mut self, new: &str) {
        if let Source::Text { name, .. } = self {
            new.clone_into(name);
        }
    }

    /// Returns whether the user meant everything in it: they named it, not a folder above it, or a program rendered it.
    pub const fn is_named(&self) -> bool {
        self.group().is_meant()
    }

    /// Returns the group of the source.
    pub const fn group(&self) -> &Group {
        match self {
            Source::Stdin => &Group::Named,
            Source::File(_, group) | Source::Text { group, .. } => group,
        }
    }

    /// Returns the display name.
    pub fn name(&self) -> &str {
        match self {
            Source::Text { name, .. } => name,
            _ => "",
        }
    }

    /// Returns the path of a file that is read only because of its folder.
    pub fn path_in_folder(&self) -> Option<PathBuf> {
        match self.unread() {
            Some(Source::File(path, group)) if group != Group::Named => Some(path),
            _ => None,
        }
    }

    /// Returns the name and the path that the source has once it is read. The path of other texts is their name.
    pub fn file(&self) -> Option<(String, PathBuf)> {
        match self {
            Source::File(path, _) => Some((self.label(), path.clone())),
            Source::Text { name, path, rendered, .. } => {
                let root = rendered.as_ref().map(|it| it.root.file());
                let path = path.clone().or(root).unwrap_or_else(|| PathBuf::from(name));
                Some((name.clone(), path))
            }
            Source::Stdin => None,
        }
    }

    pub(crate) fn excerpt(&self, mark: Mark) -> Option<Excerpt<'_>> {
        let Source::Text { text, lines, .. } = self else { return None };
        lines.get_or_init(|| Lines::of(text)).excerpt(text, mark)
    }

    /// Returns the text; empty if the source has not been read.
    pub fn text(&self) -> &str {
        match self {
            Source::Text { text, .. } => text,
            _ => "",
        }
    }
}

//! The files of a commit, found by their paths there.

use std::{borrow::Cow, collections::BTreeMap};

use super::Entry;
use crate::manifests::prelude::*;

/// The maximum number of links that a path may lead through, as in Linux.
const MOST_LINKS: usize = 40;

/// The files, links and submodules of a commit, by their paths from the folder of the repository.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) entries: BTreeMap<PathBuf, Entry>,
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
}

impl Tree {
    /// Returns where a path leads. `None` if a link leads out of the repository, or back to itself.
    pub(super) fn follow<'a>(&'a self, path: &'a Path) -> Option<PathBuf> {
        let mut open: Vec<Component<'a>> = path.components().rev().collect();
        let (mut at, mut links) = (PathBuf::new(), 0);
        while let Some(part) = open.pop() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => at.pop().then_some(())?,
                Component::Normal(name) => at.push(name),
                Component::RootDir | Component::Prefix(_) => return None,
            }
            if let Some(target) = self.links.get(&at) {
                links += 1;
                at.pop();
                open.extend(target.components().rev());
            }
            if links > MOST_LINKS {
                return None;
            }
        }
        Some(at)
    }

    /// Returns the path itself. It may be a link, in a folder behind links.
    pub(super) fn unfollowed(&self, path: &Path) -> Option<PathBuf> {
        let Some((folder, name)) = path.parent().zip(path.file_name()) else {
            return self.follow(path);
        };
        self.follow(folder).map(|it| it.join(name))
    }

    /// Returns the file at a path, or the files below it.
    pub(super) fn below<'a, 'p>(
        &'a self,
        path: &'p Path,
    ) -> impl Iterator<Item = &'a Entry> + use<'a, 'p> {
        let from = self.entries.range(path.to_owned()..);
        from.take_while(move |(it, _)| it.starts_with(path)).map(|(_, entry)| entry)
    }

    /// Returns whether the commit has anything at a path.
    pub(super) fn has(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || self.below(path).next().is_some()
    }
}

/// Reads what git lists: HEAD TAB PATH NUL.
pub(super) fn listed(text: &[u8]) -> impl Iterator<Item = (Cow<'_, str>, PathBuf)> {
    text.split(|byte| *byte == 0).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = line.split_at(tab);
        Some((String::from_utf8_lossy(head), path_of(path.get(1..)?)))
    })
}

#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(&*String::from_utf8_lossy(bytes))
}

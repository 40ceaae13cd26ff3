//! A mapping under construction: no key occurs twice, and the last one wins, as with kubectl.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
};

use super::{
    node::{Key, Mark, Node},
    problem::Problem,
};
use crate::Path;

/// The number of keys that are searched one by one; an index holds the others.
const MANY: usize = 24;

/// A mapping under construction.
#[derive(Default)]
pub(super) struct Entries<'a> {
    list: Vec<(Key<'a>, Node<'a>)>,
    /// The positions of the entries that come from a merge key (`<<`), and so may be written once more.
    merged: BTreeSet<usize>,
    index: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Entries<'a> {
    /// Adds an entry. If the key was written before, returns it with its previous position.
    pub(super) fn insert(&mut self, key: Key<'a>, node: Node<'a>) -> Option<(Cow<'a, str>, Mark)> {
        let Some(i) = self.find(&key.name) else {
            self.push(key, node);
            return None;
        };
        let merged = self.merged.remove(&i);
        let entry = self.list.get_mut(i)?;
        let (before, _) = std::mem::replace(entry, (key, node));
        (!merged).then_some((before.name, before.mark))
    }

    /// Adds an entry of a merged mapping. The entry replaces an earlier one, as in kubectl,
    /// although YAML specifies otherwise.
    pub(super) fn merge(&mut self, key: Key<'a>, node: Node<'a>) {
        match self.find(&key.name).and_then(|i| self.list.get_mut(i)) {
            Some(entry) => entry.1 = node,
            None => {
                self.merged.insert(self.list.len());
                self.push(key, node);
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<(Key<'a>, Node<'a>)> {
        self.list
    }

    fn push(&mut self, key: Key<'a>, node: Node<'a>) {
        let i = self.list.len();
        if i >= MANY {
            self.index.insert(key.name.clone(), i);
        }
        self.list.push((key, node));
    }

    /// Searches the first few keys one by one, and the others in the index.
    fn find(&self, name: &str) -> Option<usize> {
        let first = self.list.iter().take(MANY).position(|(key, _)| key.name == name);
        first.or_else(|| self.index.get(name).copied())
    }
}

/// Returns the problem of a key that occurs twice in the mapping at `path`.
pub(super) fn duplicate(path: Option<&Path<'_>>, name: &str, before: Mark, mark: Mark) -> Problem {
    Problem {
        field: path.map_or_else(|| Path::new(name), |path| path.child(name)).to_field(),
        mark,
        message: if before.line == mark.line {
            format!("key {name:?} occurs twice on line {}", mark.line)
        } else {
            format!("key {name:?} occurs twice: on line {} and on line {}", before.line, mark.line)
        },
        help: Some("kubectl would drop the first one silently; keep only one".to_owned()),
    }
}

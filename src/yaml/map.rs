//! A mapping in the making: no key twice, the last one wins, as with kubectl.

use std::{borrow::Cow, collections::HashMap};

use super::{
    node::{Key, Mark, Node},
    problem::Problem,
};
use crate::finding::Field;

/// From this many keys on, an index is kept.
const MANY: usize = 24;

/// A mapping in the making.
#[derive(Default)]
pub(super) struct Entries<'a> {
    list: Vec<(Key<'a>, Node<'a>)>,
    /// Which of them came by a merge key (`<<`), and so may be there again.
    merged: Vec<bool>,
    index: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Entries<'a> {
    /// Puts an entry in. A key that was written before is returned with the place it had.
    pub(super) fn insert(&mut self, key: Key<'a>, node: Node<'a>) -> Option<(Cow<'a, str>, Mark)> {
        let Some(i) = self.find(&key.name) else {
            self.push(key, node, false);
            return None;
        };
        let merged = self.merged.get_mut(i).is_some_and(|merged| std::mem::replace(merged, false));
        let entry = self.list.get_mut(i)?;
        let (before, _) = std::mem::replace(entry, (key, node));
        (!merged).then_some((before.name, before.mark))
    }

    /// Puts an entry of a merged mapping in. It takes the place of one before it, which is not
    /// what YAML says and is what kubectl does.
    pub(super) fn merge(&mut self, key: Key<'a>, node: Node<'a>) {
        match self.find(&key.name).and_then(|i| self.list.get_mut(i)) {
            Some(entry) => entry.1 = node,
            None => self.push(key, node, true),
        }
    }

    pub(super) fn into_list(self) -> Vec<(Key<'a>, Node<'a>)> {
        self.list
    }

    fn push(&mut self, key: Key<'a>, node: Node<'a>, merged: bool) {
        let i = self.list.len();
        if i >= MANY {
            self.index.insert(key.name.clone(), i);
        }
        self.list.push((key, node));
        self.merged.push(merged);
    }

    /// The first few are looked through, the rest are in the index.
    fn find(&self, name: &str) -> Option<usize> {
        let first = self.list.iter().take(MANY).position(|(key, _)| key.name == name);
        first.or_else(|| self.index.get(name).copied())
    }
}

/// What is wrong with a key that is there twice.
pub(super) fn duplicate(field: Field, name: &str, before: Mark, mark: Mark) -> Problem {
    Problem {
        field,
        mark,
        message: if before.line == mark.line {
            format!("{name:?} is twice on line {}", mark.line)
        } else {
            format!("{name:?} is here twice: on line {} and on line {}", before.line, mark.line)
        },
        help: Some("the first is without effect; keep one of them".to_owned()),
    }
}

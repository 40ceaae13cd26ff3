//! The entries of lists and mappings.

use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess};

use super::{error::Error, reader::Reader};
use crate::{
    finding::{Path, nearest_of},
    yaml::{
        node::{Key, Node, Value},
        problem::Problem,
    },
};

/// The elements of a list.
pub(super) struct Seq<'r, 'a> {
    pub(super) reader: Reader<'r, 'a>,
    pub(super) items: std::iter::Enumerate<std::slice::Iter<'r, Node<'a>>>,
}

impl<'de> SeqAccess<'de> for Seq<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let progress = self.reader.progress;
        for (i, node) in self.items.by_ref() {
            let path = self.reader.path.map_or_else(|| Path::new(""), |path| path.index(i));
            let reader = Reader { node, path: Some(&path), progress };
            if !reader.is_broken() {
                return reader.remember(seed.deserialize(reader)).map(Some);
            }
        }
        Ok(None)
    }
}

/// The entries of a mapping.
pub(super) struct Map<'r, 'a> {
    pub(super) reader: Reader<'r, 'a>,
    pub(super) entries: std::slice::Iter<'r, (Key<'a>, Node<'a>)>,
    /// The known names, if it is read as a struct.
    pub(super) fields: Option<&'static [&'static str]>,
    /// The entry of the key that was read last.
    pub(super) value: Option<&'r (Key<'a>, Node<'a>)>,
    /// Required fields that are missing.
    pub(super) made_up: Vec<&'static str>,
}

impl<'r> Map<'r, '_> {
    fn path<'p>(&'p self, name: &'p str) -> Path<'p>
    where
        'r: 'p,
    {
        match self.reader.path {
            None => Path::new(name),
            Some(path) if self.fields.is_some() => path.child(name),
            Some(path) => path.key(name),
        }
    }

    fn unknown(&self, key: &Key<'_>, fields: &[&'static str]) {
        if self.reader.progress.unknown == super::progress::Unknown::Ignored {
            return;
        }
        let near = nearest_of(&key.name, fields.iter().copied());
        self.reader.progress.found.borrow_mut().push(Problem {
            field: self.path(&key.name).to_field(),
            mark: key.mark,
            message: format!("unknown field {:?}", key.name),
            help: match near {
                Some(near) => Some(format!("did you mean {near}?")),
                None if matches!(key.name.as_ref(), "true" | "false") => {
                    Some("YAML reads y, n, yes, no, on, off as booleans; quote the key".to_owned())
                }
                None => None,
            },
        });
    }
}

impl<'de> MapAccess<'de> for Map<'_, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let progress = self.reader.progress;
        while let Some(entry) = self.entries.next() {
            let (key, node) = entry;
            if let Some(fields) = self.fields
                && !fields.contains(&key.name.as_ref())
            {
                self.unknown(key, fields);
                continue;
            }
            if !(Reader { node, path: None, progress }).is_broken() {
                self.value = Some(entry);
                return seed.deserialize(key.name.as_ref().into_deserializer()).map(Some);
            }
        }
        self.made_up.pop().map(|name| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let progress = self.reader.progress;
        match self.value.take() {
            Some((key, node)) => {
                let path = self.path(&key.name);
                let reader = Reader { node, path: Some(&path), progress };
                reader.remember(seed.deserialize(reader))
            }
            None => {
                // A required field that is missing: null, which is read as its zero value.
                let node = Node { value: Value::Null, mark: self.reader.node.mark };
                let made_up = Reader { node: &node, path: None, progress };
                seed.deserialize(made_up).map_err(|_| {
                    progress.gave_up.set(true);
                    Error::Other("is incomplete".to_owned())
                })
            }
        }
    }
}

use std::fmt;

use serde::{
    Deserializer as _,
    de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor},
};

use super::{error::Error, progress::Unknown, reader::Reader};
use crate::{
    Path, nearest_of,
    node::{Key, Node, Value},
    problem::Problem,
};

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

#[derive(Clone, Copy)]
pub(super) struct Struct {
    pub(super) name: &'static str,
    pub(super) fields: &'static [&'static str],
}

pub(super) struct Map<'r, 'a> {
    pub(super) reader: Reader<'r, 'a>,
    pub(super) entries: std::slice::Iter<'r, (Key<'a>, Node<'a>)>,
    /// `None` if the type takes any key.
    pub(super) fields: Option<Struct>,
    /// The entry whose key serde has read; serde requests its value next.
    pub(super) value: Option<&'r (Key<'a>, Node<'a>)>,
    /// Missing required fields. They get null so that reading can continue.
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

    /// Returns the reason why a field is unknown; `None` for a valid field.
    fn absent(&self, field: &str, of: Struct) -> Option<String> {
        let progress = self.reader.progress;
        if progress.unknown == Unknown::Ignored {
            None
        } else {
            (progress.fields.absent)(of.name, field)
        }
    }

    fn unknown(&self, key: &Key<'_>, of: Struct) {
        if self.reader.progress.unknown == Unknown::Ignored {
            return;
        }
        self.reader.progress.found.borrow_mut().add(key.mark, || Problem {
            field: self.path(&key.name).to_field(),
            mark: key.mark,
            message: format!("unknown field {:?}", key.name),
            help: self.help_with(&key.name, of),
        });
    }

    fn help_with(&self, name: &str, of: Struct) -> Option<String> {
        let known = of.fields.iter().copied().filter(|field| self.absent(field, of).is_none());
        let near = || nearest_of(name, known).map(|near| format!("did you mean {near}?"));
        let boolean = || {
            let help = "YAML reads y, n, yes, no, on, off as booleans; quote the key";
            matches!(name, "true" | "false").then(|| help.to_owned())
        };
        self.absent(name, of).or_else(near).or_else(boolean)
    }

    /// Reads a field that the Rust type lacks: a mapping of texts with these keys.
    fn extra(
        &self,
        (key, node): &'r (Key<'_>, Node<'_>),
        fields: &'static [&'static str],
    ) -> Result<(), Error> {
        let path = self.path(&key.name);
        let reader = Reader { node, path: Some(&path), progress: self.reader.progress };
        if reader.is_broken() || matches!(node.value, Value::Null) {
            return Ok(());
        }
        reader.remember(reader.deserialize_struct("", fields, Texts))
    }
}

struct Texts;

impl<'de> Visitor<'de> for Texts {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<String, Option<String>>()?.is_some() {}
        Ok(())
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
                && (!fields.fields.contains(&key.name.as_ref())
                    || self.absent(&key.name, fields).is_some())
            {
                match (progress.fields.extra)(fields.name, &key.name) {
                    Some(extra) => self.extra(entry, extra)?,
                    None => self.unknown(key, fields),
                }
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
                // A missing required field: null becomes its zero value.
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

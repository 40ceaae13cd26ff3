//! Reads a tree into a type, and gathers what does not fit instead of stopping at it.
//!
//! - An unknown field is a problem (with the nearest known name) and is left out.
//! - A scalar, list or mapping of the wrong type is a problem, and the type gets its zero value.
//! - What fails in the type's own code (a wrong word, a missing field) cannot be replaced on the
//!   spot. It is remembered and the whole tree is read again without it.
//!
//! So all problems are found, and the type needs to know nothing of that. As for Kubernetes, null
//! is the same as absent, and the zero value where something must be.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
};

use serde::{
    Deserializer, de,
    de::{DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor},
};

use super::{Node, Problem, Value, json};
use crate::{
    field::{Field, Path},
    rule::nearest_of,
};

/// How often a tree is read again before the rest is given up.
const MAX_RUNS: usize = 50;

/// Looks at the nodes of a named newtype before they are read, such as `Quantity`.
pub(super) type Inspect = fn(&'static str, &Node<'_>) -> Result<Option<String>, String>;

/// What came of reading.
pub(super) struct Read<T> {
    /// The value, if there is one; not to be trusted while there are problems.
    pub(super) value: Option<T>,
    /// What is wrong, in the order of the text.
    pub(super) problems: Vec<Problem>,
    /// By the address of a node: the JSON that its type takes instead of it.
    pub(super) instead: HashMap<usize, String>,
}

/// Reads a tree into a type.
pub(super) fn read<T: DeserializeOwned>(root: &Node<'_>) -> Read<T> {
    read_with(root, |_, _| Ok(None))
}

/// Reads a tree into a type whose newtypes have rules of their own.
pub(super) fn read_with<T: DeserializeOwned>(root: &Node<'_>, inspect: Inspect) -> Read<T> {
    let cx = Context { inspect, ..Context::default() };
    let mut value = None;
    for _ in 0..MAX_RUNS {
        cx.found.borrow_mut().clear();
        cx.instead.borrow_mut().clear();
        let reader = Reader { node: root, path: None, cx: &cx };
        match T::deserialize(reader) {
            Ok(read) => {
                value = Some(read);
                break;
            }
            // One more obstacle is known now.
            Err(Error::Again) => {}
            Err(Error::Other(message)) => {
                reader.problem(message, None);
                break;
            }
            Err(Error::Missing(name)) => {
                reader.missing(name);
                if cx.gave_up.get() {
                    break;
                }
            }
        }
    }
    let mut problems = cx.found.into_inner();
    problems.extend(cx.broken.into_inner().into_values());
    problems.extend(cx.missing.into_inner().into_iter().filter_map(|missing| missing.problem));
    problems.sort_by_key(|problem| problem.mark);
    Read { value, problems, instead: cx.instead.into_inner() }
}

/// What is known of this reading. Nodes are told apart by their addresses: the tree stays put.
struct Context {
    inspect: Inspect,
    /// Found in this run.
    found: RefCell<Vec<Problem>>,
    instead: RefCell<HashMap<usize, String>>,
    /// Nodes that are left out, since no type came of them.
    broken: RefCell<HashMap<usize, Problem>>,
    /// Fields that are made up, since their type must have them.
    missing: RefCell<Vec<Missing>>,
    gave_up: Cell<bool>,
}

struct Missing {
    of: usize,
    name: &'static str,
    /// None where the node is no mapping, which is the problem then.
    problem: Option<Problem>,
}

impl Default for Context {
    fn default() -> Self {
        Context {
            inspect: |_, _| Ok(None),
            found: RefCell::default(),
            instead: RefCell::default(),
            broken: RefCell::default(),
            missing: RefCell::default(),
            gave_up: Cell::default(),
        }
    }
}

fn address(node: &Node<'_>) -> usize {
    std::ptr::from_ref(node).addr()
}

#[derive(Debug)]
enum Error {
    /// Remembered already: read again.
    Again,
    /// A field must be there.
    Missing(&'static str),
    /// In the type's own words.
    Other(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Again => f.write_str("could not be read"),
            Error::Missing(name) => write!(f, "{name} is missing"),
            Error::Other(message) => f.write_str(message),
        }
    }
}
impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Error::Other(message.to_string())
    }
    fn missing_field(field: &'static str) -> Self {
        Error::Missing(field)
    }
    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        use de::Unexpected as U;
        let got = match unexpected {
            U::Bool(_) => "true or false",
            U::Unsigned(_) | U::Signed(_) => "a whole number",
            U::Float(_) => "a number with a fraction",
            U::Char(_) | U::Str(_) => "text",
            U::Unit | U::Option => "nothing",
            U::Seq => "a list",
            _ => "a mapping",
        };
        Error::Other(format!("expected {}, got {got}", in_words(&expected.to_string())))
    }
    fn invalid_value(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Error::Other(format!("{unexpected} is not {}", in_words(&expected.to_string())))
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let near = nearest_of(variant, expected.iter().copied());
        let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        Error::Other(format!("{variant:?} is not one of {}{near}", expected.join(", ")))
    }
}

/// What types of others say of themselves.
fn in_words(expected: &str) -> &str {
    match expected {
        "IntOrString" => "a whole number or text",
        other => other,
    }
}

/// Reads one node.
#[derive(Clone, Copy)]
struct Reader<'r, 'a> {
    node: &'r Node<'a>,
    path: Option<&'r Path<'r>>,
    cx: &'r Context,
}

impl Reader<'_, '_> {
    fn field(&self) -> Field {
        self.path.map(Path::to_field).unwrap_or_default()
    }

    fn problem_here(&self, message: String, help: Option<String>) -> Problem {
        Problem { field: self.field(), mark: self.node.mark, message, help }
    }

    fn problem(&self, message: String, help: Option<String>) {
        let problem = self.problem_here(message, help);
        self.cx.found.borrow_mut().push(problem);
    }

    /// The node is of another type than this. Values are not repeated: they may be secrets.
    fn mismatch(&self, expected: &str) {
        let (got, help) = match &self.node.value {
            Value::Null => ("nothing", None),
            Value::Bool(_) if expected == "text" => (
                "true or false",
                Some("write it in quotes; without, YAML takes yes, no, on, off, y and n for these"),
            ),
            Value::Bool(_) => ("true or false", None),
            Value::Int(_) | Value::UInt(_) | Value::Float(_) if expected == "text" => {
                ("a number", Some("write it in quotes"))
            }
            Value::Int(_) | Value::UInt(_) => ("a whole number", None),
            Value::Float(_) => ("a number with a fraction", None),
            Value::Str(text) => (
                "text",
                match expected {
                    "true or false" if matches!(text.as_ref(), "true" | "false") => {
                        Some("write it without quotes")
                    }
                    _ if expected.contains("number") && text.parse::<f64>().is_ok() => {
                        Some("write it without quotes")
                    }
                    _ => None,
                },
            ),
            Value::Seq(_) => ("a list", None),
            Value::Map(_) => ("a mapping", None),
        };
        self.problem(format!("expected {expected}, got {got}"), help.map(str::to_owned));
    }

    /// In the JSON, the zero value of the type must stand here.
    fn zero(&self, json: &str) {
        self.cx.instead.borrow_mut().insert(address(self.node), json.to_owned());
    }

    /// The type must have a field that is not there.
    fn missing(&self, name: &'static str) {
        let path = self.path.map_or_else(|| Path::new(name), |path| path.child(name));
        let problem = matches!(self.node.value, Value::Map(_)).then(|| Problem {
            field: path.to_field(),
            mark: self.node.mark,
            message: "must be there".to_owned(),
            help: None,
        });
        let mut missing = self.cx.missing.borrow_mut();
        let of = address(self.node);
        let again = missing.iter().any(|missing| missing.of == of && missing.name == name);
        self.cx.gave_up.set(again);
        if !again {
            missing.push(Missing { of, name, problem });
        }
    }

    /// Remembers what became of reading this node, so that the next run can do without it.
    fn remember<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.map_err(|error| {
            match error {
                Error::Again => {}
                Error::Missing(name) => self.missing(name),
                Error::Other(message) => {
                    let problem = self.problem_here(message, None);
                    self.cx.broken.borrow_mut().insert(address(self.node), problem);
                }
            }
            if self.cx.gave_up.get() {
                Error::Other("is not complete".to_owned())
            } else {
                Error::Again
            }
        })
    }

    fn is_broken(&self) -> bool {
        self.cx.broken.borrow().contains_key(&address(self.node))
    }

    fn map<'de, V: Visitor<'de>>(
        self,
        fields: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let entries: &[_] = match &self.node.value {
            Value::Map(entries) => entries,
            Value::Null => {
                self.zero("{}");
                &[]
            }
            _ => {
                self.mismatch("a mapping");
                &[]
            }
        };
        let of = address(self.node);
        let missing = self.cx.missing.borrow();
        let made_up: Vec<_> = missing.iter().filter(|m| m.of == of).map(|m| m.name).collect();
        drop(missing);
        let entries = entries.iter();
        visitor.visit_map(Map { reader: self, entries, fields, value: None, made_up })
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items: &[_] = match &self.node.value {
            Value::Seq(items) => items,
            Value::Null => {
                self.zero("[]");
                &[]
            }
            _ => {
                self.mismatch("a list");
                &[]
            }
        };
        visitor.visit_seq(Seq { reader: self, items: items.iter().enumerate() })
    }

    /// A whole number in these bounds, or 0.
    fn integer(self, min: i128, max: i128) -> i128 {
        let number = match &self.node.value {
            Value::Int(number) => i128::from(*number),
            Value::UInt(number) => i128::from(*number),
            Value::Null => {
                self.zero("0");
                return 0;
            }
            _ => {
                self.mismatch("a whole number");
                return 0;
            }
        };
        if (min..=max).contains(&number) {
            return number;
        }
        self.problem(format!("{number} is not a whole number from {min} to {max}"), None);
        0
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Str(text) => visitor.visit_str(text),
            Value::Null => {
                self.zero("\"\"");
                visitor.visit_str("")
            }
            _ => {
                self.mismatch("text");
                visitor.visit_str("")
            }
        }
    }
}

macro_rules! integers {
    ($($deserialize:ident $visit:ident $type:ty,)*) => { $(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let number = self.integer(<$type>::MIN.into(), <$type>::MAX.into());
            visitor.$visit(<$type>::try_from(number).unwrap_or_default())
        }
    )* };
}

impl<'de> Deserializer<'de> for Reader<'_, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(on) => visitor.visit_bool(*on),
            Value::Int(number) => visitor.visit_i64(*number),
            Value::UInt(number) => visitor.visit_u64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Str(text) => visitor.visit_str(text),
            Value::Seq(_) => self.list(visitor),
            Value::Map(_) => self.map(None, visitor),
        }
    }

    integers! {
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Bool(on) => visitor.visit_bool(*on),
            Value::Null => {
                self.zero("false");
                visitor.visit_bool(false)
            }
            _ => {
                self.mismatch("true or false");
                visitor.visit_bool(false)
            }
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.map(Some(fields), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.map(None, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.list(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (self.cx.inspect)(name, self.node).map_err(Error::Other)? {
            None => visitor.visit_newtype_struct(self),
            Some(text) => {
                let mut json = String::new();
                json::string(&text, &mut json);
                self.zero(&json);
                visitor.visit_newtype_struct(text.into_deserializer())
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Str(text) => visitor.visit_enum(text.as_ref().into_deserializer()),
            _ => Err(Error::Other("expected one word".to_owned())),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct identifier
        ignored_any
    }
}

struct Seq<'r, 'a> {
    reader: Reader<'r, 'a>,
    items: std::iter::Enumerate<std::slice::Iter<'r, Node<'a>>>,
}

impl<'de> SeqAccess<'de> for Seq<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        let cx = self.reader.cx;
        for (i, node) in self.items.by_ref() {
            let path = self.reader.path.map_or_else(|| Path::new(""), |path| path.index(i));
            let reader = Reader { node, path: Some(&path), cx };
            if !reader.is_broken() {
                return reader.remember(seed.deserialize(reader)).map(Some);
            }
        }
        Ok(None)
    }
}

struct Map<'r, 'a> {
    reader: Reader<'r, 'a>,
    entries: std::slice::Iter<'r, (super::Key<'a>, Node<'a>)>,
    /// The names that are known, if it is a struct.
    fields: Option<&'static [&'static str]>,
    value: Option<&'r (super::Key<'a>, Node<'a>)>,
    made_up: Vec<&'static str>,
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

    fn unknown(&self, key: &super::Key<'_>, fields: &[&'static str]) {
        let near = nearest_of(&key.name, fields.iter().copied());
        self.reader.cx.found.borrow_mut().push(Problem {
            field: self.path(&key.name).to_field(),
            mark: key.mark,
            message: format!("unknown field {:?}", key.name),
            help: match near {
                Some(near) => Some(format!("did you mean {near}?")),
                None if matches!(key.name.as_ref(), "true" | "false") => {
                    Some("YAML takes y, n, yes, no, on and off for these; quote the key".to_owned())
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
        let cx = self.reader.cx;
        while let Some(entry) = self.entries.next() {
            let (key, node) = entry;
            if let Some(fields) = self.fields
                && !fields.contains(&key.name.as_ref())
            {
                self.unknown(key, fields);
                continue;
            }
            if !(Reader { node, path: None, cx }).is_broken() {
                self.value = Some(entry);
                return seed.deserialize(key.name.as_ref().into_deserializer()).map(Some);
            }
        }
        self.made_up.pop().map(|name| seed.deserialize(name.into_deserializer())).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let cx = self.reader.cx;
        match self.value.take() {
            Some((key, node)) => {
                let path = self.path(&key.name);
                let reader = Reader { node, path: Some(&path), cx };
                reader.remember(seed.deserialize(reader))
            }
            None => {
                // A field that must be there and is not: null, which reads as its zero value.
                let node = Node { value: Value::Null, mark: self.reader.node.mark };
                let made_up = Reader { node: &node, path: None, cx };
                seed.deserialize(made_up).map_err(|_| {
                    cx.gave_up.set(true);
                    Error::Other("is not complete".to_owned())
                })
            }
        }
    }
}

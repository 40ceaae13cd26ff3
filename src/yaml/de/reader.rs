//! Reads one node into whatever its type asks for.

use serde::{
    Deserializer,
    de::{IntoDeserializer, Visitor},
};

use super::{
    Context, Error, Missing,
    access::{Map, Seq},
    address,
};
use crate::{
    finding::{Field, Path},
    yaml::{Node, Problem, Value, json},
};

/// Reads one node.
#[derive(Clone, Copy)]
pub(super) struct Reader<'r, 'a> {
    pub(super) node: &'r Node<'a>,
    pub(super) path: Option<&'r Path<'r>>,
    pub(super) cx: &'r Context,
}

impl Reader<'_, '_> {
    fn field(&self) -> Field {
        self.path.map(Path::to_field).unwrap_or_default()
    }

    fn problem_here(&self, message: String, help: Option<String>) -> Problem {
        Problem { field: self.field(), mark: self.node.mark, message, help }
    }

    pub(super) fn problem(&self, message: String, help: Option<String>) {
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
    pub(super) fn missing(&self, name: &'static str) {
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
    pub(super) fn remember<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
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

    pub(super) fn is_broken(&self) -> bool {
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

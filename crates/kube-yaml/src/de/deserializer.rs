//! Reads one node into the type that serde requests.

use serde::{
    Deserializer,
    de::{IntoDeserializer, Visitor},
};

use serde_json::json;

use super::{
    access::{Map, Seq, Struct},
    error::Error,
    reader::Reader,
};
use crate::node::Value;

/// What does not depend on the type, so that it is compiled once.
impl<'r, 'a> Reader<'r, 'a> {
    fn map(self, fields: Option<Struct>) -> Map<'r, 'a> {
        let entries: &[_] = match &self.node.value {
            Value::Map(entries) => entries,
            _ => {
                self.instead(json!({}), "a mapping");
                &[]
            }
        };
        let of = self.node.address();
        let missing = self.progress.missing.borrow();
        let made_up: Vec<_> = missing.iter().filter(|m| m.of == of).map(|m| m.name).collect();
        drop(missing);
        Map { reader: self, entries: entries.iter(), fields, value: None, made_up }
    }

    fn seq(self) -> Seq<'r, 'a> {
        let items: &[_] = match &self.node.value {
            Value::Seq(items) => items,
            _ => {
                self.instead(json!([]), "a list");
                &[]
            }
        };
        Seq { reader: self, items: items.iter().enumerate() }
    }

    fn text(self) -> &'r str {
        match &self.node.value {
            Value::Str(text) => text,
            _ => {
                self.instead(json!(""), "text");
                ""
            }
        }
    }

    fn boolean(self) -> bool {
        match &self.node.value {
            Value::Bool(on) => *on,
            _ => {
                self.instead(json!(false), "true or false");
                false
            }
        }
    }

    fn integer(self, min: i128, max: i128) -> i128 {
        let number = match &self.node.value {
            Value::Int(number) => i128::from(*number),
            Value::UInt(number) => i128::from(*number),
            _ => {
                self.instead(json!(0), "a whole number");
                return 0;
            }
        };
        if (min..=max).contains(&number) {
            return number;
        }
        self.problem(format!("{number} is not a whole number from {min} to {max}"), None);
        0
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
            Value::Seq(_) => self.deserialize_seq(visitor),
            Value::Map(_) => self.deserialize_map(visitor),
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
        visitor.visit_bool(self.boolean())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(self.map(Some(Struct { name, fields })))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self.map(None))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.seq())
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (self.progress.inspect)(name, self.node).map_err(Error::Other)? {
            None => visitor.visit_newtype_struct(self),
            Some(text) => {
                self.zero(text.as_str().into());
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

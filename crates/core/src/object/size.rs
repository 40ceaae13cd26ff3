//! Estimates how much memory an object will take, before it is read.
//!
//! `{}` in a list of volumes is two bytes of JSON and three kilobytes in memory. So each object is measured first, and
//! one that is too large is never read.

use std::fmt;

use k8s_openapi::api::core::v1::{
    Container, EphemeralContainer, PersistentVolumeClaim, Volume, VolumeProjection,
};
use memchr::memchr_iter;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::metadata::Str;
use crate::finding::{Field, Path};

/// The most memory that an object may take, in bytes. The objects of real charts take less than 200 KiB.
///
/// A review has a body of up to 8 MiB and two objects, and rules need room to compare their parts: at most 32 MiB in
/// all.
pub const MAX: usize = 8 << 20;

/// A growing list takes up to twice the memory of its elements.
const GROWTH: usize = 2;
/// An entry of a map or an element of a list, with the allocation of its text.
const ITEM: usize = 160;
/// How often a text is in memory while it is read: unescaped, and copied.
const COPIES: usize = 3;
/// A list that is not empty.
const LIST: usize = 128;
/// A node of a `BTreeMap` of texts. It has room for eleven entries.
const MAP: usize = 600;

/// The memory that an object takes once it is read.
#[derive(Clone, Debug, Default)]
pub struct ObjectSize {
    /// An upper estimate of the object's memory, in bytes.
    pub bytes: usize,
    /// The list or map with the largest items.
    pub largest: Largest,
}

/// A list or map in an object.
#[derive(Clone, Debug, Default)]
pub struct Largest {
    /// The path of the list or map.
    pub field: Field,
    /// The number of items.
    pub items: usize,
    /// The size of the list or map with its items, without nested lists and maps.
    pub bytes: usize,
}

/// Returns the size of an object and its largest list or map, or `None` if the object is small enough to read. Fails if
/// an object that may be too large is not JSON.
pub fn too_large(json: &str) -> serde_json::Result<Option<ObjectSize>> {
    if is_certainly_small(json) {
        return Ok(None);
    }
    Ok(Some(ObjectSize::of(json)?).filter(|size| size.bytes > MAX))
}

impl ObjectSize {
    /// Measures an object. Fails if the text is not JSON.
    pub fn of(json: &str) -> serde_json::Result<ObjectSize> {
        let mut sum = ObjectSize::default();
        let mut reader = serde_json::Deserializer::from_str(json);
        Measured { sum: &mut sum, at: None, object: 0, element: 0 }.deserialize(&mut reader)?;
        Ok(sum)
    }

    /// Adds a list or map with its content, without nested lists and maps.
    fn add(&mut self, at: Option<Path<'_>>, items: usize, bytes: usize) {
        self.bytes += bytes;
        if bytes > self.largest.bytes {
            let field = at.map(|path| path.to_field()).unwrap_or_default();
            self.largest = Largest { field, items, bytes };
        }
    }
}

/// `false` if the braces and commas may be inside texts. Nearly all objects are small, and counting bytes takes a
/// hundredth of the time of measuring.
pub(crate) fn is_certainly_small(json: &str) -> bool {
    let count = |byte| memchr_iter(byte, json.as_bytes()).count();
    let objects = count(b'{') * (GROWTH * size_of::<Volume>() + MAP + ITEM);
    let is_small = |items: usize| objects + items * (LIST + ITEM) + COPIES * json.len() <= MAX;
    // An item takes at least two bytes.
    is_small(json.len() / 2) || is_small(count(b',') + count(b'['))
}

fn element_size(list: &str) -> usize {
    match list {
        "volumes" => size_of::<Volume>(),
        "containers" | "initContainers" | "ephemeralContainers" => {
            size_of::<Container>().max(size_of::<EphemeralContainer>())
        }
        "volumeClaimTemplates" => size_of::<PersistentVolumeClaim>(),
        // The largest of the other types.
        _ => size_of::<VolumeProjection>(),
    }
}

/// Deserializes a value into the size that it adds to the list or map around it.
struct Measured<'a> {
    sum: &'a mut ObjectSize,
    /// `None` for the object itself.
    at: Option<Path<'a>>,
    /// The size of the value if it is an object.
    object: usize,
    /// The size of each element if the value is a list of objects.
    element: usize,
}

impl<'de> DeserializeSeed<'de> for Measured<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<usize, D::Error> {
        reader.deserialize_any(self)
    }
}

/// These values take no memory of their own.
macro_rules! nothing {
    ($($name:ident($($type:ty)?),)*) => {
        $(fn $name<E>(self $(, _: $type)?) -> Result<usize, E> {
            Ok(0)
        })*
    };
}

impl<'de> Visitor<'de> for Measured<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    nothing! {
        visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_unit(),
    }

    fn visit_str<E>(self, text: &str) -> Result<usize, E> {
        Ok(COPIES * text.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let Measured { sum, at, element, .. } = self;
        let (mut items, mut size) = (0, LIST);
        loop {
            let path = at.as_ref().map(|path| path.index(items));
            let item = Measured { sum: &mut *sum, at: path, object: element, element: 0 };
            let Some(item) = list.next_element_seed(item)? else { break };
            size += ITEM + item;
            items += 1;
        }
        sum.add(at, items, size);
        Ok(0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<usize, A::Error> {
        let Measured { sum, at, object, .. } = self;
        let (mut items, mut size) = (0, MAP);
        while let Some(key) = map.next_key::<Str<'de>>()? {
            items += 1;
            // Often half of an object, and never read.
            if &*key == "fieldsV1" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let path = at.as_ref().map_or_else(|| Path::new(&key), |path| path.child(&key));
            let element = GROWTH * element_size(&key);
            let value = Measured { sum: &mut *sum, at: Some(path), object: 0, element };
            size += ITEM + COPIES * key.len() + map.next_value_seed(value)?;
        }
        sum.add(at, items, size);
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest(json: &str) -> Option<(String, usize)> {
        let too_large = too_large(json).unwrap()?;
        assert!(too_large.bytes > MAX);
        Some((too_large.largest.field.to_string(), too_large.largest.items))
    }

    fn set(field: &str, items: &str) -> String {
        format!(r#"{{"spec":{{"template":{{"spec":{{"{field}":[{items}]}}}}}}}}"#)
    }

    #[test]
    fn a_list_is_as_large_as_the_types_of_its_elements() {
        for (field, element, small, large) in [
            ("volumes", "{},", 1_000, 1_300),
            ("containers", "{},", 1_500, 2_000),
            ("tolerations", "{},", 4_000, 6_000),
            ("finalizers", "\"\",", 50_000, 60_000),
        ] {
            let with = |count| set(field, element.repeat(count).trim_end_matches(','));
            assert_eq!(largest(&with(small)), None, "{small} {field}");
            let field = format!("spec.template.spec.{field}");
            assert_eq!(largest(&with(large)), Some((field, large)));
        }
    }

    #[test]
    fn text_is_as_large_as_it_is_long() {
        let text = |length| format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "{".repeat(length));
        assert_eq!(largest(&text(MAX / COPIES - 10_000)), None);
        assert_eq!(largest(&text(MAX / COPIES)), Some(("metadata".to_owned(), 1)));
    }

    #[test]
    fn the_fields_of_a_manager_are_not_measured() {
        let fields = r#""f:a":{},"#.repeat(100_000);
        let entry = format!(r#"{{"fieldsV1":{{{fields}"f:b":{{}}}}}}"#);
        assert_eq!(largest(&format!(r#"{{"metadata":{{"managedFields":[{entry}]}}}}"#)), None);
        let entries = "{},".repeat(10_000);
        let json = format!(r#"{{"metadata":{{"managedFields":[{entries}{entry}]}}}}"#);
        assert_eq!(largest(&json), Some(("metadata.managedFields".to_owned(), 10_001)));
    }
}

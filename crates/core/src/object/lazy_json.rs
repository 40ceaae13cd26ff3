use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A part of an object that has not been read: absent, or JSON text. The text may not decode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LazyJson<'a>(Option<&'a str>);

impl<'a> LazyJson<'a> {
    #[cfg(test)]
    pub(crate) const fn new(json: &'a str) -> Self {
        LazyJson(Some(json))
    }

    /// Returns the text of the part. `None` if it is absent or null.
    pub const fn json(self) -> Option<&'a str> {
        self.0
    }

    /// Decodes the part. `None` if it is absent or does not decode.
    pub fn read<T: Deserialize<'a>>(self) -> Option<T> {
        serde_json::from_str(self.0?).ok()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LazyJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(LazyJson(Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get)))
    }
}

//! The user who sends an object.

use serde::Deserialize;

use super::metadata::Str;

/// The user who sent the object.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct User<'a> {
    /// User name.
    #[serde(borrow, default)]
    pub username: Str<'a>,
    /// Groups.
    #[serde(borrow, default)]
    pub groups: Option<Vec<Str<'a>>>,
}

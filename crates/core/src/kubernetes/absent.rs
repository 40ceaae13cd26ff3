//! Values that may be absent. The API server treats absent and empty alike.

/// Returns the text, or an empty one.
pub fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

pub(crate) fn list<T>(value: &Option<Vec<T>>) -> &[T] {
    value.as_deref().unwrap_or_default()
}

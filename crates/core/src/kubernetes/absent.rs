//! Values that may be absent. The API server treats absent and empty alike.

/// Returns a string that may be absent.
pub(crate) fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

/// Returns a list that may be absent.
pub(crate) fn list<T>(value: &Option<Vec<T>>) -> &[T] {
    value.as_deref().unwrap_or_default()
}

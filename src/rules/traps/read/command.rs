//! Commands for the reader, which are right when they are pasted.

use std::borrow::Cow;

use crate::object::Object;

/// `kubectl COMMAND -n NAMESPACE NAME`. Without a namespace in the object there is none in the
/// command: both then mean the namespace that kubectl is set to.
pub(crate) fn kubectl<T>(command: &str, object: &Object<'_, T>, name: &str) -> String {
    let namespace = object.metadata.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = namespace.map(|name| format!(" -n {}", quoted(name))).unwrap_or_default();
    let name = if name.is_empty() { String::new() } else { format!(" {}", quoted(name)) };
    format!("`kubectl {command}{namespace}{name}`")
}

/// The text as one word of a shell. Names that the API server accepts need no quotes.
fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if text.chars().all(is_plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_none_is_quoted() {
        assert_eq!(quoted("web-0.a_b"), "web-0.a_b");
        assert_eq!(quoted("a b; rm"), "'a b; rm'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}

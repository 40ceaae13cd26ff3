//! Texts of any length, shortened for messages.

use std::borrow::Cow;

/// Shortens a text of more bytes than this by cutting out its middle.
pub fn shorten(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text.into();
    }
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes / 2);
    format!("{} … {}", &text[..head], &text[tail..]).into()
}

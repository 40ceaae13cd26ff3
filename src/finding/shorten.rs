//! Texts that may be of any length.

use std::borrow::Cow;

/// Cuts the middle out of a text of more bytes than this.
pub(crate) fn shorten(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text.into();
    }
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes / 2);
    format!("{} … {}", &text[..head], &text[tail..]).into()
}

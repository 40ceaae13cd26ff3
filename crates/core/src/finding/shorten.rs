use std::borrow::Cow;

/// Cuts out the middle of a text that is longer than `bytes`.
pub fn shorten(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return text.into();
    }
    let head = text.floor_char_boundary(bytes / 2);
    let tail = text.ceil_char_boundary(text.len() - bytes / 2);
    format!("{} … {}", &text[..head], &text[tail..]).into()
}

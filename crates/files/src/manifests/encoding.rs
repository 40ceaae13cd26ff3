//! Decodes bytes to text, as kubectl does.

/// Decodes UTF-8, or UTF-16 with a byte order mark. kubectl replaces invalid bytes; here, only comments may have them.
/// Otherwise returns the first line with invalid bytes, and the text with these bytes replaced.
///
/// Upstream: `FileVisitor.Visit` in k8s.io/cli-runtime/pkg/resource.
pub(super) fn decode(bytes: Vec<u8>) -> Result<String, (usize, String)> {
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        _ => match String::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        },
    };
    match text.lines().position(is_damaged) {
        Some(line) => Err((line + 1, text)),
        None => Ok(text),
    }
}

/// Decodes bytes in the same way, with all invalid bytes replaced.
pub(super) fn lossy(bytes: Vec<u8>) -> String {
    decode(bytes).unwrap_or_else(|(_, text)| text)
}

/// Returns whether invalid bytes were replaced outside a comment.
fn is_damaged(line: &str) -> bool {
    line.find(char::REPLACEMENT_CHARACTER).is_some_and(|at| {
        let before = line.get(..at).unwrap_or_default();
        !before.trim_start().starts_with('#') && !before.contains(" #")
    })
}

fn utf_16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> String {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text: String = char::decode_utf16(pairs.iter().map(|pair| read(*pair)))
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !odd.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

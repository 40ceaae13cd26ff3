//! Finds the ends of JSON values, many bytes at a time.

use wide::u8x16;

/// Returns the length of the string at the beginning of a text, with its quotes. `None` if it does
/// not end.
pub(super) fn string_len(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        let rest = text.get(at..)?;
        let bytes = u8x16::new(rest.first_chunk().copied().unwrap_or_else(|| padded(rest)));
        let ends = bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\'));
        let ends = ends.to_bitmask();
        if ends == 0 {
            at += 16;
            continue;
        }
        at += ends.trailing_zeros() as usize;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        // The byte after a backslash ends nothing.
        at += 2;
    }
}

/// Returns the length of the object or list at the beginning of a text, with its brackets. `None`
/// if it does not end.
pub(super) fn container_len(text: &[u8]) -> Option<usize> {
    let mut depth = 0;
    let mut strings = Strings::default();
    for start in (0..text.len()).step_by(64) {
        let rest = text.get(start..)?;
        let [quotes, backslashes, opening, closing] = match rest.first_chunk() {
            Some(block) => masks(block),
            None => masks(&padded(rest)),
        };
        let inside = strings.next(quotes, backslashes);
        let (opening, closing) = (opening & !inside, closing & !inside);
        if closing.count_ones() < depth {
            depth += opening.count_ones();
            depth -= closing.count_ones();
            continue;
        }
        // The value may end in this block.
        let mut brackets = opening | closing;
        while brackets != 0 {
            let at = brackets.trailing_zeros();
            if opening >> at & 1 == 1 {
                depth += 1;
            } else if depth > 1 {
                depth -= 1;
            } else {
                return Some(start + at as usize + 1);
            }
            brackets &= brackets - 1;
        }
    }
    None
}

/// Returns a text that is shorter than N, padded with spaces.
fn padded<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut padded = [b' '; N];
    padded.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    padded
}

/// Returns the positions of quotes, backslashes, opening and closing brackets, with a bit for each
/// byte.
fn masks(block: &[u8; 64]) -> [u64; 4] {
    let mut masks = [0; 4];
    for (part, shift) in block.as_chunks().0.iter().zip((0..64).step_by(16)) {
        let bytes = u8x16::new(*part);
        // `[` and `]` become `{` and `}`, and no other byte does.
        let folded = bytes | u8x16::splat(0x20);
        let found = [(bytes, b'"'), (bytes, b'\\'), (folded, b'{'), (folded, b'}')];
        for (mask, (bytes, wanted)) in masks.iter_mut().zip(found) {
            *mask |= u64::from(bytes.simd_eq(u8x16::splat(wanted)).to_bitmask()) << shift;
        }
    }
    masks
}

/// The state that one block passes to the next.
#[derive(Default)]
struct Strings {
    /// All bits are set if the block begins within a string.
    inside: u64,
    /// Whether the first byte is escaped.
    escapes: bool,
}

impl Strings {
    /// Returns the bytes that are inside of strings, from the opening quote to the byte before the
    /// closing one.
    fn next(&mut self, quotes: u64, backslashes: u64) -> u64 {
        let quotes = quotes & !self.escaped(backslashes);
        // Each bit becomes the parity of the quotes up to it.
        let parity = [1, 2, 4, 8, 16, 32].iter().fold(quotes, |bits, shift| bits ^ bits << shift);
        let inside = parity ^ self.inside;
        self.inside = if inside >> 63 == 1 { u64::MAX } else { 0 };
        inside
    }

    fn escaped(&mut self, mut backslashes: u64) -> u64 {
        let mut escaped = 0;
        if std::mem::take(&mut self.escapes) {
            escaped = 1;
            backslashes &= !1;
        }
        while backslashes != 0 {
            let at = backslashes.trailing_zeros();
            self.escapes = at == 63;
            // The next byte is escaped. If that byte is a backslash, it escapes nothing.
            escaped |= 2 << at;
            backslashes &= !(3 << at);
        }
        escaped
    }
}

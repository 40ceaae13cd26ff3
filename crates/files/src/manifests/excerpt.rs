//! The lines that a report shows.

use std::ops::Range;

use kube_yaml::Mark;

/// Lines longer than this many bytes are cut to the part around the mark.
const LONG_LINE: usize = 300;
/// The number of characters to keep on each side of the mark.
const AROUND: usize = 60;

/// [`Lines`] counts the characters of a longer line at every multiple of this many bytes, because a whole document may
/// be on one line.
const STRIDE: usize = 1 << 10;

/// The positions of the lines of a text.
#[derive(Debug)]
pub struct Lines {
    /// The first byte of each line, and the end of the text.
    bounds: Vec<usize>,
    /// Positions in long lines, in order.
    milestones: Vec<Milestone>,
}

/// The bytes of the text before it, and the characters of the line before it.
type Milestone = (usize, usize);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Excerpt<'a> {
    /// The line without its ending, or the part of a long line around the mark.
    pub(crate) text: &'a str,
    pub(crate) marked: Range<usize>,
    pub(crate) is_cut: bool,
}

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1);
        let bounds: Vec<usize> = std::iter::once(0).chain(ends).chain([text.len()]).collect();
        let mut milestones = Vec::new();
        for line in bounds.windows(2).filter_map(|line| Some(*line.first()?..*line.last()?)) {
            let mut next = line.start + STRIDE;
            if next > line.end {
                continue;
            }
            let start = begin(text, line.start);
            let places = text.get(start..line.end).unwrap_or_default().char_indices();
            for (characters, (i, _)) in places.enumerate() {
                if start + i >= next {
                    milestones.push((start + i, characters));
                    next += STRIDE;
                }
            }
        }
        Lines { bounds, milestones }
    }

    pub(super) fn excerpt<'a>(&self, text: &'a str, mark: Mark) -> Option<Excerpt<'a>> {
        let number = mark.line.checked_sub(1)?;
        let (begin, end) = (*self.bounds.get(number)?, *self.bounds.get(number + 1)?);
        let ending = text.get(begin..end)?;
        let ending =
            ending.strip_suffix('\n').map_or(ending, |it| it.strip_suffix('\r').unwrap_or(it));
        let end = begin + ending.len();
        let begin = self::begin(text, begin);
        let line = text.get(begin..end)?;
        let is_long = line.len() > LONG_LINE;
        let width = if is_long { mark.width.clamp(1, AROUND) } else { mark.width.max(1) };
        let at = self.byte(text, begin..end, mark);
        let after = text.get(at..end)?;
        let to = |characters| after.char_indices().nth(characters).map_or(end, |(i, _)| at + i);
        let to_mark = to(width);
        let shown = if is_long {
            let before = text.get(begin..at)?.char_indices().rev();
            let from = before.take(AROUND).last().map_or(at, |(i, _)| begin + i);
            from..to(width + AROUND)
        } else {
            begin..end
        };
        Some(Excerpt {
            text: text.get(shown.clone())?,
            marked: at - shown.start..to_mark - shown.start,
            is_cut: shown.start > begin,
        })
    }

    fn byte(&self, text: &str, line: Range<usize>, mark: Mark) -> usize {
        let characters = mark.column.saturating_sub(1);
        let first = self.milestones.partition_point(|it| it.0 < line.start);
        let in_line = self.milestones.get(first..).unwrap_or_default();
        let passed = in_line.partition_point(|it| it.0 < line.end && it.1 <= characters);
        let last = passed.checked_sub(1).and_then(|last| in_line.get(last)).copied();
        let (byte, before) = last.unwrap_or((line.start, 0));
        let rest = text.get(byte..line.end).unwrap_or_default();
        let found = rest.char_indices().nth(characters - before);
        found.map_or(line.end, |(i, _)| byte + i)
    }
}

/// A byte order mark has no column.
fn begin(text: &str, line: usize) -> usize {
    let has_mark = text.get(line..).is_some_and(|line| line.starts_with('\u{feff}'));
    if has_mark { line + '\u{feff}'.len_utf8() } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt<'a>(lines: &Lines, text: &'a str, line: usize, column: usize) -> (&'a str, &'a str) {
        let found = lines.excerpt(text, Mark { line, column, width: 2 }).unwrap();
        (found.text, &found.text[found.marked])
    }

    #[test]
    fn a_line_is_shown_whole() {
        let text = "\u{feff}ab: cd\r\n\u{e9}f: gh\n\nlast";
        let lines = Lines::of(text);
        assert_eq!(excerpt(&lines, text, 1, 5), ("ab: cd", "cd"));
        assert_eq!(excerpt(&lines, text, 2, 1), ("éf: gh", "éf"));
        assert_eq!(excerpt(&lines, text, 3, 1), ("", ""));
        assert_eq!(excerpt(&lines, text, 4, 4), ("last", "t"));
        assert_eq!(excerpt(&lines, text, 4, 40), ("last", ""));
        assert_eq!(lines.excerpt(text, Mark { line: 5, column: 1, width: 1 }), None);
        assert_eq!(lines.excerpt(text, Mark::default()), None);
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let text = format!("first\n{}xy{}\nab: cd\n", "é".repeat(4000), "e".repeat(4000));
        let lines = Lines::of(&text);
        assert_eq!(excerpt(&lines, &text, 2, 4001).1, "xy");
        assert_eq!(excerpt(&lines, &text, 3, 5), ("ab: cd", "cd"));
        for (column, wanted) in [(1, "éé"), (4000, "éx"), (4002, "ye"), (8002, "e"), (9000, "")]
        {
            let (shown, marked) = excerpt(&lines, &text, 2, column);
            assert_eq!(marked, wanted, "{column}");
            assert!(shown.chars().count() <= 2 * AROUND + 2, "{column}");
        }
    }
}

//! A stream and its documents.
//!
//! The text is cut at the lines that begin a document (`---`) or end one (`...`) before anything
//! is parsed, as kubectl does. So an error in one document cannot affect the next, and only one
//! document is in memory at a time.

use super::{document::Document, json, node::Value, problem::Problem, tree};

/// Reads the documents of a stream one after the other; see [`super::parse`].
pub fn documents(text: &str) -> Documents<'_> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    Documents { rest, line: 0, json: None }
}

/// The documents of a stream.
#[derive(Debug)]
pub struct Documents<'a> {
    rest: &'a str,
    /// How many lines have been read.
    line: usize,
    /// A part of the stream that is JSON, which needs no separator between its documents.
    json: Option<std::vec::IntoIter<Result<Document<'a>, Problem>>>,
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Document<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(document) = self.json.as_mut().and_then(Iterator::next) {
                return Some(document);
            }
            let (line, chunk) = self.chunk()?;
            let (marker, body) = match chunk.split_once('\n') {
                Some((first, body)) if first.trim_end() == "---" => (1, body),
                _ => (0, chunk),
            };
            if body.trim_start().starts_with('{')
                && let Some(documents) = json::read(body, line + marker)
            {
                self.json = Some(documents.into_iter());
                continue;
            }
            match tree::read(chunk, line) {
                Ok(Document { root, problems })
                    if root.value == Value::Null && problems.is_empty() => {}
                document => return Some(document),
            }
        }
    }
}

impl<'a> Documents<'a> {
    /// The number of lines before the next document, and its text.
    fn chunk(&mut self) -> Option<(usize, &'a str)> {
        let (text, first) = (self.rest, self.line);
        let (mut end, mut lines, mut content) = (0, 0, false);
        for line in text.split_inclusive('\n') {
            if content && is_marker(line, "---") {
                break;
            }
            end += line.len();
            lines += 1;
            if is_marker(line, "...") {
                break;
            }
            // Comments and directives before a `---` belong to what follows it.
            content |= !matches!(line.trim_start().chars().next(), None | Some('#' | '%'));
        }
        self.rest = text.get(end..).unwrap_or_default();
        self.line += lines;
        (end > 0).then(|| (first, text.get(..end).unwrap_or_default()))
    }
}

/// Whether a line is `---` or `...`, alone or with something after a space.
fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &str) -> Vec<(usize, &str)> {
        let mut stream = documents(text);
        std::iter::from_fn(|| stream.chunk()).collect()
    }

    #[test]
    fn documents_are_cut_at_their_markers() {
        assert_eq!(chunks(""), []);
        assert_eq!(chunks("a\n---\nb\n"), [(0, "a\n"), (1, "---\nb\n")]);
        assert_eq!(chunks("---\r\na\r\n--- b\r\n"), [(0, "---\r\na\r\n"), (2, "--- b\r\n")]);
        assert_eq!(chunks("a: |\n  ---\n---x: 1\n"), [(0, "a: |\n  ---\n---x: 1\n")]);
        assert_eq!(chunks("a\n...\nb"), [(0, "a\n...\n"), (2, "b")]);
        assert_eq!(chunks("# c\n%YAML 1.2\n---\na\n"), [(0, "# c\n%YAML 1.2\n---\na\n")]);
        assert_eq!(chunks("---\n---\na\n"), [(0, "---\n"), (1, "---\na\n")]);
    }
}

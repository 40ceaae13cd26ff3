//! kubectl splits a stream at the lines that begin with `---` before it parses anything. So an error in a document
//! doesn't affect the next one, and only one document is in memory at a time. A stream that begins with `{` is JSON for
//! as long as it can be read as JSON.
//!
//! Upstream: `YAMLOrJSONDecoder` and `YAMLReader` in k8s.io/apimachinery/pkg/util/yaml.

use std::{iter, mem};

use memchr::memmem;

use super::{
    comment::Comment,
    document::Document,
    json::{self, Stop},
    node::{Mark, Value},
    problem::Problem,
    tree,
};

/// Reads the documents of a stream one by one; see [`super::parse`].
pub fn documents(text: &str) -> Documents<'_> {
    documents_after(0, text)
}

/// Works like [`documents`], for a part of a text after this many lines.
pub fn documents_after(lines: usize, text: &str) -> Documents<'_> {
    let documents = yaml_documents(text);
    let rest = documents.rest;
    let is_json = rest.trim_start().starts_with('{');
    let json = is_json.then(|| Json { reader: json::Reader::new(lines, rest), documents: 0 });
    Documents { line: lines, json, ..documents }
}

/// Works like [`documents`], but reads JSON as YAML too.
pub(super) fn yaml_documents(text: &str) -> Documents<'_> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    Documents { rest, line: 0, json: None, ignored: None, header: Vec::new() }
}

/// The iterator of [`documents`].
#[derive(Clone, Debug)]
pub struct Documents<'a> {
    rest: &'a str,
    line: usize,
    /// `None` once the stream is no longer JSON.
    json: Option<Json<'a>>,
    /// A problem with text after the previous document. kubectl ignores that text.
    ignored: Option<Problem>,
    /// The comments above the first `---`. They belong to the first document.
    header: Vec<Comment<'a>>,
}

#[derive(Clone, Debug)]
struct Json<'a> {
    reader: json::Reader<'a>,
    /// The number of documents read: after the first, the stream may still be YAML.
    documents: usize,
}

#[derive(Debug, PartialEq)]
pub(super) enum Chunk<'a> {
    Text(&'a str),
    /// A document that kubectl cannot separate from the previous one.
    BadSeparator,
}

impl Chunk<'_> {
    /// Returns whether this is only the comments above the first `---`. They belong to the first document.
    fn is_header(&self, line: usize) -> bool {
        let is_comment = |it: &str| {
            let it = it.trim_ascii_start();
            it.is_empty() || it.starts_with('#')
        };
        let is_it = |text: &str| text.trim_start_matches('\u{feff}').lines().all(is_comment);
        matches!(self, Chunk::Text(text) if line == 0 && is_it(text))
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Document<'a>, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let next = match self.ignored.take() {
                Some(ignored) => Err(ignored),
                None if self.json.is_some() => match self.next_json() {
                    Some(next) => next,
                    None => continue,
                },
                None => self.next_yaml()?,
            };
            // kubectl skips empty documents.
            if !next.as_ref().is_ok_and(is_empty) {
                return Some(next);
            }
        }
    }
}

impl<'a> Documents<'a> {
    /// Splits a long stream into parts of about this many bytes, with the same documents at the same lines. A JSON
    /// stream stays whole, because finding its documents means reading them.
    pub fn cut(mut self, bytes: usize) -> Vec<Self> {
        let mut parts = Vec::new();
        while self.json.is_none() && self.rest.len() > bytes {
            let (text, line) = (self.rest, self.line);
            while let Some((before, chunk)) = self.chunk() {
                if !chunk.is_header(before) && text.len() - self.rest.len() >= bytes {
                    break;
                }
            }
            let rest = text.get(..text.len() - self.rest.len()).unwrap_or_default();
            parts.push(Documents { rest, line, json: None, ignored: None, header: Vec::new() });
        }
        parts.push(self);
        parts
    }

    /// Returns the text to read, and the number of lines before it.
    pub const fn rest(&self) -> (&'a str, usize) {
        (self.rest, self.line)
    }

    /// `None` if the rest is YAML.
    fn next_json(&mut self) -> Option<Result<Document<'a>, Problem>> {
        let json = self.json.as_mut()?;
        let begin = json.reader.at();
        let next = json.reader.document();
        let problem = match next {
            None => {
                (self.rest, self.json) = ("", None);
                return None;
            }
            Some(Ok(document)) => {
                json.documents += 1;
                return Some(Ok(document));
            }
            Some(Err(Stop::NotJson)) if json.documents == 0 => {
                self.json = None;
                return None;
            }
            Some(Err(Stop::NotJson)) if json.documents == 1 && may_be_yaml(self.rest, begin) => {
                self.json = None;
                self.skip(begin);
                let spaces = self.rest.len() - self.rest.trim_start().len();
                let first_line = self.rest.find('\n').map_or(self.rest.len(), |i| i + 1);
                self.skip(spaces.min(first_line));
                return None;
            }
            Some(Err(Stop::NotJson)) => Problem::at(
                json.reader.mark(),
                "not JSON, unlike the previous documents; kubectl reads only JSON here",
            ),
            Some(Err(Stop::Wrong(problem))) => problem,
        };
        (self.rest, self.json) = ("", None);
        Some(Err(problem))
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    fn next_yaml(&mut self) -> Option<Result<Document<'a>, Problem>> {
        let (line, chunk) = self.chunk()?;
        // The comments belong to the next document, also if that is unreadable.
        let (header, is_header) = (mem::take(&mut self.header), chunk.is_header(line));
        let text = match chunk {
            Chunk::Text(text) => text,
            Chunk::BadSeparator => {
                let mark = Mark { line: line + 1, column: 4, width: 0 };
                let message =
                    "only a comment may follow --- on its line; kubectl rejects other text";
                return Some(Err(Problem::at(mark, message)));
            }
        };
        Some(tree::read(text, line).map(|(mut document, rest)| {
            self.ignored = rest.map(|mark| {
                let mut problem = Problem::at(mark, "kubectl ignores the text from here on");
                problem.help = Some("write --- on a line before the next document".to_owned());
                problem
            });
            document.comments.splice(0..0, header);
            if is_header {
                self.header = mem::take(&mut document.comments);
            }
            document
        }))
    }

    /// Returns the number of lines before the next chunk, and the chunk.
    pub(super) fn chunk(&mut self) -> Option<(usize, Chunk<'a>)> {
        let (text, first) = (self.rest, self.line);
        if text.is_empty() {
            return None;
        }
        let later = memmem::find_iter(text.as_bytes(), b"\n---").map(|newline| newline + 1);
        let (mut end, mut next) = (text.len(), text.len());
        for at in iter::once(0).filter(|_| text.starts_with("---")).chain(later) {
            let rest = text.get(at..).unwrap_or_default();
            let line = rest.split_inclusive('\n').next().unwrap_or_default();
            let after = line.get(3..).unwrap_or_default().trim_start();
            let is_separator = after.is_empty() || after.starts_with('#');
            if at == 0 && is_separator {
                continue;
            }
            end = at;
            next = if at == 0 || is_separator { at + line.len() } else { at };
            break;
        }
        let (read, rest) = text.split_at_checked(next).unwrap_or((text, ""));
        let is_cut = !read.ends_with('\n');
        self.line += memchr::memchr_iter(b'\n', read.as_bytes()).count() + usize::from(is_cut);
        self.rest = rest;
        let chunk = match text.get(..end) {
            None | Some("") => Chunk::BadSeparator,
            Some(text) => Chunk::Text(text),
        };
        Some((first, chunk))
    }
}

fn is_empty(document: &Document<'_>) -> bool {
    document.root.value == Value::Null && document.problems.is_empty()
}

/// Returns whether kubectl would continue with YAML after a first JSON document of `bytes` bytes. kubectl examines four
/// bytes, from the end of the line or from the first byte that isn't a space.
fn may_be_yaml(text: &str, bytes: usize) -> bool {
    let rest = text.get(bytes..).unwrap_or_default();
    let first = rest.find(|c: char| c == '\n' || !c.is_whitespace());
    first.is_some_and(|first| rest.len() - first >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(text: &str) -> Vec<(usize, &str)> {
        let mut stream = documents(text);
        std::iter::from_fn(|| stream.chunk())
            .map(|(line, chunk)| match chunk {
                Chunk::Text(text) => (line, text),
                Chunk::BadSeparator => (line, "bad"),
            })
            .collect()
    }

    #[test]
    fn the_parts_of_a_stream_have_its_documents() {
        let read = |documents: Documents<'_>| -> Vec<String> {
            documents.map(|it| format!("{it:?}")).collect()
        };
        let header = format!("# {}\n# setguard: ignore[x] why\n---\n", "-".repeat(50));
        let texts = [
            format!("{header}a: 1\n---\nb: [\n---\n---x\nc: 1\n"),
            format!("{header}a: [\n---\nb: 1\n"),
            "\u{feff}a: 1\n...\nb: 2\n---\n---\nc: 3\r\n---\r\nd: |\n  ---\n".to_owned(),
            "{\"a\": 1}\n{\"b\": 2}\n---\nc: 3\n".to_owned(),
            String::new(),
        ];
        for text in texts {
            for bytes in 0..=text.len() {
                let parts = documents(&text).cut(bytes);
                let all: Vec<_> = parts.into_iter().flat_map(read).collect();
                assert_eq!(all, read(documents(&text)), "{bytes} {text:?}");
            }
        }
    }

    #[test]
    fn documents_are_cut_at_their_separators() {
        assert_eq!(chunks(""), []);
        assert_eq!(chunks("a\n---\nb\n"), [(0, "a\n"), (2, "b\n")]);
        assert_eq!(chunks("---\r\na\r\n--- # c\r\nb"), [(0, "---\r\na\r\n"), (3, "b")]);
        assert_eq!(chunks("a\n---x: 1\nb\n"), [(0, "a\n"), (1, "bad"), (2, "b\n")]);
        assert_eq!(chunks("a: |\n  ---\n"), [(0, "a: |\n  ---\n")]);
        assert_eq!(chunks("a\n...\nb"), [(0, "a\n...\nb")]);
        assert_eq!(chunks("# c\n---\na\n"), [(0, "# c\n"), (2, "a\n")]);
        assert_eq!(chunks("---\n---\na\n"), [(0, "---\n"), (2, "a\n")]);
    }
}

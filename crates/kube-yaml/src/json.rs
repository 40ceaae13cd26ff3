//! Reads JSON into the same tree as YAML. The YAML scanner cannot: YAML 1.1 has neither `\/` nor surrogate pairs.

use std::borrow::Cow;

use super::{
    document::Document,
    map::Entries,
    node::{Key, MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
    scalar,
};
use crate::Path;

pub(super) enum Stop {
    /// The text may still be YAML.
    NotJson,
    /// The text is JSON that cannot be read.
    Wrong(Problem),
}

type Read<'a> = Result<Node<'a>, Stop>;

#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    text: &'a str,
    at: usize,
    last: Mark,
    last_at: usize,
    problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lines: usize, text: &'a str) -> Self {
        let last = Mark { line: lines + 1, column: 1, width: 0 };
        Reader { text, at: 0, last, last_at: 0, problems: Vec::new() }
    }

    pub(super) fn document(&mut self) -> Option<Result<Document<'a>, Stop>> {
        self.space();
        if self.at == self.text.len() {
            return None;
        }
        let root = self.value(None, 0);
        let problems = std::mem::take(&mut self.problems);
        Some(root.map(|root| Document { root, problems, comments: Vec::new() }))
    }

    pub(super) const fn at(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// If a different byte follows, the text is not JSON.
    fn expect(&mut self, byte: u8) -> Result<(), Stop> {
        self.space();
        if self.take(byte) { Ok(()) } else { Err(Stop::NotJson) }
    }

    /// Continues from the last call, so all calls together read the text once.
    pub(super) fn mark(&mut self) -> Mark {
        for c in self.text.get(self.last_at..self.at).unwrap_or_default().chars() {
            if c == '\n' {
                self.last.line += 1;
                self.last.column = 1;
            } else {
                self.last.column += 1;
            }
        }
        self.last_at = self.at;
        self.last
    }

    /// Returns `mark` with the width of the text since `begin`.
    fn since(&self, mut mark: Mark, begin: usize) -> Mark {
        mark.width = self.text.get(begin..self.at).map_or(0, |text| text.chars().count());
        mark
    }

    fn value(&mut self, path: Option<&Path<'_>>, depth: usize) -> Read<'a> {
        self.space();
        let (begin, mark) = (self.at, self.mark());
        if depth > MAX_DEPTH {
            return Err(Stop::Wrong(Problem::too_deep(mark)));
        }
        let value = match self.peek() {
            Some(b'{') => return self.object(mark, path, depth),
            Some(b'[') => return self.array(mark, path, depth),
            Some(b'"') => Value::Str(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number(mark)?,
            Some(_) => self.word()?,
            None => return Err(Stop::NotJson),
        };
        Ok(Node { value, mark: self.since(mark, begin) })
    }

    fn object(&mut self, mark: Mark, path: Option<&Path<'_>>, depth: usize) -> Read<'a> {
        let mut entries = Entries::default();
        self.items(b'}', |reader| {
            reader.space();
            let (begin, mark) = (reader.at, reader.mark());
            let name = reader.string()?;
            let mark = reader.since(mark, begin);
            reader.expect(b':')?;
            let here = path.map_or_else(|| Path::new(&name), |path| path.child(&name));
            let node = reader.value(Some(&here), depth + 1)?;
            if let Some((name, before)) = entries.insert(Key { name, mark }, node) {
                reader.problems.push(super::map::duplicate(path, &name, before, mark));
            }
            Ok(())
        })?;
        Ok(Node { value: Value::Map(entries.into_list()), mark: Mark { width: 1, ..mark } })
    }

    fn array(&mut self, mark: Mark, path: Option<&Path<'_>>, depth: usize) -> Read<'a> {
        let mut items = Vec::new();
        self.items(b']', |reader| {
            let here = path.map(|path| path.index(items.len()));
            items.push(reader.value(here.as_ref(), depth + 1)?);
            Ok(())
        })?;
        Ok(Node { value: Value::Seq(items), mark: Mark { width: 1, ..mark } })
    }

    /// Reads up to and including the closing bracket `end`.
    fn items(
        &mut self,
        end: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.at += 1;
        self.space();
        if self.take(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            self.space();
            if !self.take(b',') {
                return self.expect(end);
            }
        }
    }

    fn word(&mut self) -> Result<Value<'a>, Stop> {
        let words = [("true", Value::Bool(true)), ("false", Value::Bool(false))];
        let rest = self.text.get(self.at..).unwrap_or_default();
        for (word, value) in words.into_iter().chain([("null", Value::Null)]) {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(Stop::NotJson)
    }

    fn number(&mut self, mark: Mark) -> Result<Value<'a>, Stop> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_part = |(i, c): &(usize, u8)| match c {
            b'0'..=b'9' | b'.' | b'e' | b'E' => true,
            b'+' | b'-' => i.checked_sub(1).is_none_or(|i| rest[i..].starts_with(['e', 'E'])),
            _ => false,
        };
        let length = rest.bytes().enumerate().take_while(is_part).count();
        let text = rest.get(..length).unwrap_or_default();
        self.at += text.len();
        // serde_json checks the grammar, but its floats are sometimes not the nearest ones.
        let float = text.parse::<f64>().map_err(|_| Stop::NotJson)?;
        if float.is_infinite() {
            return Err(Stop::Wrong(Problem::at(mark, "this number is too large")));
        }
        let number: serde_json::Number = serde_json::from_str(text).map_err(|_| Stop::NotJson)?;
        Ok(match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (_, Some(number)) => Value::UInt(number),
            _ => scalar::float(float),
        })
    }

    /// A string without escapes is borrowed.
    fn string(&mut self) -> Result<Cow<'a, str>, Stop> {
        if !self.take(b'"') {
            return Err(Stop::NotJson);
        }
        let mut begin = self.at;
        let mut owned: Option<String> = None;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let piece = self.text.get(begin..self.at).unwrap_or_default();
                    self.at += 1;
                    return Ok(match owned {
                        Some(text) => (text + piece).into(),
                        None => piece.into(),
                    });
                }
                Some(b'\\') => {
                    let text = owned.get_or_insert_default();
                    text.push_str(self.text.get(begin..self.at).unwrap_or_default());
                    self.at += 1;
                    let c = self.escape()?;
                    owned.get_or_insert_default().push(c);
                    begin = self.at;
                }
                None | Some(..b' ') => return Err(Stop::NotJson),
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, Stop> {
        let c = self.peek().ok_or(Stop::NotJson)?;
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => char::from(c),
            b'b' => '\x08',
            b'f' => '\x0c',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                let rest = self.text.get(self.at..).unwrap_or_default();
                if (0xd800..0xdc00).contains(&first) && rest.starts_with("\\u") {
                    let back = self.at;
                    self.at += 2;
                    let second = self.hex()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.at = back;
                }
                // Go replaces one half of a surrogate pair.
                char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(Stop::NotJson),
        })
    }

    fn hex(&mut self) -> Result<u32, Stop> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(Stop::NotJson)?;
        if !digits.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err(Stop::NotJson);
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|_| Stop::NotJson)
    }
}

//! The tokens of one YAML document, as kubectl's parser sees them.
//!
//! kubectl reads YAML 1.1 with go.yaml.in/yaml/v2, which descends from libyaml. For a doubtful
//! text, the mechanism of these two decides and not the specification: a token that may be a key is
//! remembered as a *candidate*, and becomes a key if a `:` follows on the same line. So this
//! scanner works in the same way. `tests/it/readings.rs` compares the results.
//!
//! Upstream: `yaml_parser_fetch_next_token` and the functions that it calls.

mod block;
mod breaks;
mod candidate;
mod keys;
mod plain;
mod quoted;
mod tag;
mod token;

use std::{collections::VecDeque, mem};

use self::candidate::Candidate;
pub(crate) use self::token::Kind;
pub(super) use self::token::{Style, Token};
use super::{
    comment::Comment,
    cursor::Cursor,
    node::{MAX_DEPTH, Mark},
    problem::Problem,
};

/// The tokens of one document.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    queue: VecDeque<Token<'a>>,
    /// The number of tokens that have left the queue.
    taken: usize,
    /// Whether the first token of the queue is final.
    is_ready: bool,
    /// The number of open brackets.
    flow: usize,
    /// The column of the innermost block mapping or block list. `None` outside of all blocks.
    indent: Option<usize>,
    /// The values of `indent` in the outer blocks.
    outer: Vec<Option<usize>>,
    /// Whether a key may begin here.
    is_key_allowed: bool,
    /// The last candidate outside of all brackets, and in each open bracket.
    candidates: Vec<Candidate>,
    /// The kept comments so far.
    comments: Vec<Comment<'a>>,
}

type Done = Result<(), Problem>;

impl<'a> Scanner<'a> {
    /// Starts with a text that has `line` lines before it.
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        let cursor = Cursor::new(text.strip_prefix('\u{feff}').unwrap_or(text), line);
        let mut scanner = Scanner {
            cursor,
            queue: VecDeque::new(),
            taken: 0,
            is_ready: false,
            flow: 0,
            indent: None,
            outer: Vec::new(),
            is_key_allowed: true,
            candidates: Vec::new(),
            comments: Vec::new(),
        };
        let none = scanner.candidate(false, false);
        scanner.candidates.push(none);
        scanner
    }

    /// Returns the next token.
    pub(super) fn peek(&mut self) -> Result<&Token<'a>, Problem> {
        if !self.is_ready {
            while self.is_more_needed()? {
                self.fetch()?;
            }
            self.is_ready = true;
        }
        let mark = self.cursor.mark();
        self.queue.front().ok_or_else(|| Problem::not_yaml(mark, "the text ends unexpectedly"))
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Result<Token<'a>, Problem> {
        self.peek()?;
        self.is_ready = false;
        self.taken += 1;
        let mark = self.cursor.mark();
        self.queue.pop_front().ok_or_else(|| Problem::not_yaml(mark, "the text ends unexpectedly"))
    }

    /// Returns the kept comments so far.
    pub(super) fn take_comments(&mut self) -> Vec<Comment<'a>> {
        mem::take(&mut self.comments)
    }

    /// Returns the position after the text that has been read.
    pub(super) const fn cursor(&self) -> Cursor<'a> {
        self.cursor
    }

    fn is_more_needed(&mut self) -> Result<bool, Problem> {
        if self.queue.is_empty() {
            return Ok(true);
        }
        let is_first =
            |candidate: &&mut Candidate| candidate.is_awaited && candidate.token == self.taken;
        let cursor = self.cursor;
        match self.candidates.iter_mut().find(is_first) {
            Some(candidate) => candidate.is_still_possible(&cursor),
            None => Ok(false),
        }
    }

    /// Adds the next tokens to the queue.
    fn fetch(&mut self) -> Done {
        self.skip_to_token();
        self.close_blocks(Some(self.cursor.column()));
        if self.cursor.is_end() {
            self.close_blocks(None);
            self.forget_candidate()?;
            self.is_key_allowed = false;
            self.push(Kind::End, self.cursor.mark());
            return Ok(());
        }
        let next_is_space = self.cursor.is_space_or_end(1);
        match self.cursor.peek(0) {
            b'%' if self.cursor.column() == 0 => self.directive(),
            b'-' if self.cursor.is_marker(b'-') => self.document_marker(Kind::DocumentStart, 3),
            b'.' if self.cursor.is_marker(b'.') => self.document_marker(Kind::DocumentEnd, 3),
            b'[' => self.open_flow(Kind::FlowList),
            b'{' => self.open_flow(Kind::FlowMapping),
            b']' => self.close_flow(Kind::FlowListEnd),
            b'}' => self.close_flow(Kind::FlowMappingEnd),
            b',' => {
                self.forget_candidate()?;
                self.is_key_allowed = true;
                self.push_sign(Kind::FlowEntry, 1);
                Ok(())
            }
            b'-' if next_is_space => self.block_entry(),
            b'?' if self.flow > 0 || next_is_space => self.explicit_key(),
            b':' if self.flow > 0 || next_is_space => self.value(),
            b'*' => self.name(Kind::Alias),
            b'&' => self.name(Kind::Anchor),
            b'!' => {
                self.save_candidate()?;
                self.is_key_allowed = false;
                self.tag()
            }
            style @ (b'|' | b'>') if self.flow == 0 => {
                self.forget_candidate()?;
                self.is_key_allowed = true;
                self.block_scalar(style == b'|')
            }
            quote @ (b'\'' | b'"') => {
                self.save_candidate()?;
                self.is_key_allowed = false;
                self.quoted(quote)
            }
            b'-' if !self.cursor.is_blank(1) => self.plain(),
            b'?' | b':' if self.flow == 0 && !next_is_space => self.plain(),
            b'\t' => Err(self.error("a tab before a key or a list item")),
            c @ (b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`') => {
                Err(self.error(&format!("a value cannot begin with {}; quote it", char::from(c))))
            }
            _ => self.plain(),
        }
    }

    /// Skips spaces, comments and line breaks.
    fn skip_to_token(&mut self) {
        loop {
            let may_be_tab = self.flow > 0 || !self.is_key_allowed;
            self.cursor.advance_while(|_, c, _| c == b' ' || c == b'\t' && may_be_tab);
            self.comment();
            if !self.cursor.is_break(0) {
                return;
            }
            self.cursor.take_break();
            self.is_key_allowed |= self.flow == 0;
        }
    }

    /// Skips a comment, if one begins here, and keeps it if it is for programs.
    fn comment(&mut self) {
        let start = self.cursor;
        self.cursor.skip_comment();
        let text = self.cursor.text_since(start.at());
        if !text.is_empty() {
            let comment = Comment::of(text, start.mark().line, start.line_before());
            self.comments.extend(comment);
        }
    }

    /// Handles a marker at the beginning of a line, which no document contains.
    fn document_marker(&mut self, kind: Kind<'a>, bytes: usize) -> Done {
        self.close_blocks(None);
        self.forget_candidate()?;
        self.is_key_allowed = false;
        self.push_sign(kind, bytes);
        Ok(())
    }

    /// Handles a line that begins with `%`. No document contains one, so the rest does not matter.
    fn directive(&mut self) -> Done {
        let rest = self.cursor.rest();
        let line = rest.lines().next().unwrap_or_default();
        let is_known = match line.split_once([' ', '\t']) {
            Some(("%YAML", value)) => is_version(value),
            Some(("%TAG", value)) => value.trim_start().starts_with('!'),
            _ => false,
        };
        if is_known {
            self.document_marker(Kind::Directive, rest.len())
        } else {
            Err(self.error("a line that begins with % is a directive; quote the text"))
        }
    }

    fn open_flow(&mut self, kind: Kind<'a>) -> Done {
        self.save_candidate()?;
        let none = self.candidate(false, false);
        self.candidates.push(none);
        self.flow += 1;
        self.check_depth(self.flow)?;
        self.is_key_allowed = true;
        self.push_sign(kind, 1);
        Ok(())
    }

    fn close_flow(&mut self, kind: Kind<'a>) -> Done {
        self.forget_candidate()?;
        if self.flow > 0
            && let Some(closed) = self.candidates.pop()
        {
            self.flow -= 1;
            // Without this, an empty bracket that begins a line could be a key.
            for candidate in &mut self.candidates {
                candidate.is_awaited &= candidate.token != closed.token;
            }
        }
        self.is_key_allowed = false;
        self.push_sign(kind, 1);
        Ok(())
    }

    fn block_entry(&mut self) -> Done {
        if self.flow == 0 {
            if !self.is_key_allowed {
                return Err(self.error("a list item cannot begin here"));
            }
            self.open_block(self.cursor.column(), None, Kind::BlockList, self.cursor.mark())?;
        }
        self.forget_candidate()?;
        self.is_key_allowed = true;
        self.push_sign(Kind::BlockEntry, 1);
        Ok(())
    }

    /// Handles a `?`.
    fn explicit_key(&mut self) -> Done {
        if self.flow == 0 {
            if !self.is_key_allowed {
                return Err(self.error("a key cannot begin here"));
            }
            self.open_block(self.cursor.column(), None, Kind::BlockMapping, self.cursor.mark())?;
        }
        self.forget_candidate()?;
        self.is_key_allowed = self.flow == 0;
        self.push_sign(Kind::Key, 1);
        Ok(())
    }

    /// Handles a `:`, which makes the candidate a key.
    fn value(&mut self) -> Done {
        let cursor = self.cursor;
        let mut key = None;
        if let Some(last) = self.candidates.last_mut()
            && last.is_still_possible(&cursor)?
        {
            key = Some(*last);
            last.is_possible = false;
            last.is_awaited = false;
        }
        if let Some(Candidate { token, column, mark, .. }) = key {
            self.insert(Some(token), Kind::Key, mark);
            self.open_block(column, Some(token), Kind::BlockMapping, mark)?;
            self.is_key_allowed = false;
        } else {
            if self.flow == 0 {
                if !self.is_key_allowed {
                    let mut problem = self.error("a key and a value are not allowed here");
                    let help = "quote text that contains \": \", and start all keys of a mapping \
                                in one column";
                    problem.help = Some(help.to_owned());
                    return Err(problem);
                }
                let mark = self.cursor.mark();
                self.open_block(self.cursor.column(), None, Kind::BlockMapping, mark)?;
            }
            self.is_key_allowed = self.flow == 0;
        }
        self.push_sign(Kind::Value, 1);
        Ok(())
    }

    /// Handles an anchor or an alias.
    fn name(&mut self, kind: fn(&'a str) -> Kind<'a>) -> Done {
        self.save_candidate()?;
        self.is_key_allowed = false;
        let start = self.cursor;
        self.cursor.advance(1);
        let length = self.cursor.advance_while(|_, c, _| is_word(c));
        let ends = self.cursor.is_space_or_end(0)
            || matches!(self.cursor.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if length == 0 || !ends {
            let message = "the name of an anchor can have only letters, digits, - and _";
            return Err(Problem::not_yaml(self.cursor.since(&start), message));
        }
        let name = self.cursor.text_since(start.at() + 1);
        self.push(kind(name), self.cursor.since(&start));
        Ok(())
    }

    /// Opens a block at this column, unless it is open. `token` is the number of its first token,
    /// if that is already in the queue.
    fn open_block(
        &mut self,
        column: usize,
        token: Option<usize>,
        kind: Kind<'a>,
        mark: Mark,
    ) -> Done {
        if self.flow == 0 && self.indent < Some(column) {
            self.outer.push(self.indent);
            self.indent = Some(column);
            self.check_depth(self.outer.len())?;
            self.insert(token, kind, mark);
        }
        Ok(())
    }

    /// Closes the blocks that begin to the right of this column; `None` is left of all columns.
    fn close_blocks(&mut self, column: Option<usize>) {
        while self.flow == 0 && self.indent > column {
            self.push(Kind::BlockEnd, self.cursor.mark());
            self.indent = self.outer.pop().unwrap_or_default();
        }
    }

    fn check_depth(&self, depth: usize) -> Done {
        // The tree has the exact limit.
        if depth > MAX_DEPTH + 1 { Err(Problem::too_deep(self.cursor.mark())) } else { Ok(()) }
    }

    /// Adds a token for a sign of this many bytes.
    fn push_sign(&mut self, kind: Kind<'a>, bytes: usize) {
        let start = self.cursor;
        self.cursor.advance(bytes);
        self.push(kind, self.cursor.since(&start));
    }

    fn push(&mut self, kind: Kind<'a>, mark: Mark) {
        self.queue.push_back(Token { kind, mark, end: self.cursor.at() });
    }

    /// Adds a token before the token with this number, or as the last if that has been taken.
    fn insert(&mut self, number: Option<usize>, kind: Kind<'a>, mark: Mark) {
        match number.and_then(|number| number.checked_sub(self.taken)) {
            Some(i) if i <= self.queue.len() => self.queue.insert(i, Token { kind, mark, end: 0 }),
            _ => self.push(kind, mark),
        }
    }

    fn error(&self, message: &str) -> Problem {
        Problem::not_yaml(self.cursor.mark(), message)
    }
}

/// Returns whether a text is a version such as `1.1`, perhaps with a comment.
fn is_version(text: &str) -> bool {
    let text = text.split('#').next().unwrap_or_default().trim();
    let is_number =
        |part: &str| matches!(part.len(), 1 | 2) && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// Returns whether a byte is a letter, a digit, `-` or `_`.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

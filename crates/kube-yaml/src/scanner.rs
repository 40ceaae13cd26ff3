//! The tokens of one YAML document, as kubectl's parser sees them.
//!
//! kubectl reads YAML 1.1 with go.yaml.in/yaml/v2, a port of libyaml. The behavior of that parser, not the
//! specification, decides the meaning of a doubtful text. So this scanner works the same way: it saves a token that may
//! be a key as a *candidate*, and makes it a key if a `:` follows on the same line. `tests/it/readings.rs` compares
//! both.
//!
//! Upstream: `yaml_parser_fetch_next_token` and the functions that it calls.

mod block;
mod blocks;
mod breaks;
mod candidate;
mod directive;
mod plain;
mod quoted;
mod tag;
mod token;

use std::{collections::VecDeque, mem};

use self::candidate::Candidate;
pub use self::token::Kind;
pub(super) use self::token::{Style, Token};
use super::{comment::Comment, cursor::Cursor, problem::Problem};

#[derive(Debug, Default)]
pub(super) struct Scanner<'a> {
    cursor: Cursor<'a>,
    queue: VecDeque<Token<'a>>,
    /// The number of tokens taken, so also the number of the first token in the queue.
    taken: usize,
    /// Whether the first token in the queue is final. Before a possible key, a token can still be inserted.
    is_ready: bool,
    /// The number of open brackets.
    flow: usize,
    /// The column of the innermost block mapping or list; `None` outside all blocks.
    indent: Option<usize>,
    /// The values of `indent` of the blocks around it.
    outer: Vec<Option<usize>>,
    is_key_allowed: bool,
    /// The last candidate outside all brackets, then the last one in each open bracket.
    candidates: Vec<Candidate<'a>>,
    comments: Vec<Comment<'a>>,
}

type Done = Result<(), Problem>;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        let cursor = Cursor::new(text.strip_prefix('\u{feff}').unwrap_or(text), line);
        let mut scanner = Scanner { cursor, is_key_allowed: true, ..Scanner::default() };
        let none = scanner.candidate(false, false);
        scanner.candidates.push(none);
        scanner
    }

    #[inline]
    pub(super) fn peek(&mut self) -> Result<&Token<'a>, Problem> {
        if !self.is_ready {
            self.fill()?;
        }
        let cursor = self.cursor;
        self.queue.front().ok_or_else(|| cursor.error("the text ends unexpectedly"))
    }

    /// Reads until the first token of the queue is final.
    fn fill(&mut self) -> Done {
        while self.is_more_needed()? {
            self.fetch()?;
        }
        self.is_ready = true;
        Ok(())
    }

    pub(super) fn take(&mut self) -> Result<Token<'a>, Problem> {
        if !self.is_ready {
            self.fill()?;
        }
        self.is_ready = false;
        self.taken += 1;
        self.queue.pop_front().ok_or_else(|| self.error("the text ends unexpectedly"))
    }

    pub(super) fn take_comments(&mut self) -> Vec<Comment<'a>> {
        mem::take(&mut self.comments)
    }

    pub(super) const fn cursor(&self) -> Cursor<'a> {
        self.cursor
    }

    fn is_more_needed(&mut self) -> Result<bool, Problem> {
        if self.queue.is_empty() {
            return Ok(true);
        }
        let is_first =
            |candidate: &&mut Candidate<'_>| candidate.is_awaited && candidate.token == self.taken;
        match self.candidates.iter_mut().find(is_first) {
            Some(candidate) => candidate.is_still_possible(&self.cursor),
            None => Ok(false),
        }
    }

    fn fetch(&mut self) -> Done {
        self.skip_to_token();
        self.close_blocks(Some(self.cursor.column));
        if self.cursor.is_end() {
            self.close_blocks(None);
            self.forget_candidate(false)?;
            self.push(Kind::End, self.cursor);
            return Ok(());
        }
        let next_is_space = self.cursor.is_space_or_end(1);
        match self.cursor.peek(0) {
            b'%' if self.cursor.column == 0 => self.directive(),
            b'-' if self.cursor.is_marker(b'-') => self.document_marker(Kind::DocumentStart, 3),
            b'.' if self.cursor.is_marker(b'.') => self.document_marker(Kind::DocumentEnd, 3),
            b'[' => self.open_flow(Kind::FlowList),
            b'{' => self.open_flow(Kind::FlowMapping),
            b']' => self.close_flow(Kind::FlowListEnd),
            b'}' => self.close_flow(Kind::FlowMappingEnd),
            b',' => {
                self.forget_candidate(true)?;
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
                self.tag()
            }
            style @ (b'|' | b'>') if self.flow == 0 => {
                self.forget_candidate(true)?;
                self.block_scalar(style == b'|')
            }
            quote @ (b'\'' | b'"') => {
                self.save_candidate()?;
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

    fn skip_to_token(&mut self) {
        loop {
            let may_be_tab = self.flow > 0 || !self.is_key_allowed;
            self.cursor.skip_spaces(may_be_tab);
            self.comment();
            if !self.cursor.is_break(0) {
                return;
            }
            self.cursor.take_break();
            self.is_key_allowed |= self.flow == 0;
        }
    }

    /// Skips a comment, if one begins here, but keeps it if it is for a program.
    fn comment(&mut self) {
        if self.cursor.peek(0) != b'#' {
            return;
        }
        let start = self.cursor;
        self.cursor.skip_comment();
        let text = self.cursor.text_since(start.at);
        let comment = Comment::of(text, start.mark().line, start.line_before());
        self.comments.extend(comment);
    }

    fn name(&mut self, kind: fn(&'a str) -> Kind<'a>) -> Done {
        self.save_candidate()?;
        let start = self.cursor;
        self.cursor.advance(1);
        let length = self.cursor.advance_while(|_, c, _| is_word(c));
        let ends = self.cursor.is_space_or_end(0)
            || matches!(self.cursor.peek(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if length == 0 || !ends {
            let message = "the name of an anchor can have only letters, digits, - and _";
            return Err(Problem::not_yaml(self.cursor.since(&start), message));
        }
        let name = self.cursor.text_since(start.at + 1);
        self.push(kind(name), start);
        Ok(())
    }

    fn push_sign(&mut self, kind: Kind<'a>, bytes: usize) {
        let start = self.cursor;
        self.cursor.advance(bytes);
        self.push(kind, start);
    }

    fn push(&mut self, kind: Kind<'a>, start: Cursor<'a>) {
        let (mark, bytes) = (self.cursor.since(&start), start.at..self.cursor.at);
        self.queue.push_back(Token { kind, mark, bytes });
    }

    /// Adds a token without text before the token with this number, or at the end without one.
    fn insert(&mut self, number: Option<usize>, kind: Kind<'a>, start: Cursor<'a>) {
        let token = Token { kind, mark: start.mark(), bytes: start.at..start.at };
        match number.and_then(|number| number.checked_sub(self.taken)) {
            Some(i) if i <= self.queue.len() => self.queue.insert(i, token),
            _ => self.queue.push_back(token),
        }
    }

    fn error(&self, message: &str) -> Problem {
        self.cursor.error(message)
    }
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

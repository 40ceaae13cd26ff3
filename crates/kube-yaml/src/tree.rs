//! The tree of one YAML document, from its tokens.
//!
//! Upstream: `parserc.go` and `decode.go` in go.yaml.in/yaml/v2.

mod aliases;
mod collections;

use std::{borrow::Cow, mem};

use self::aliases::Aliases;
use super::{
    cursor::Cursor,
    document::Document,
    map::{self, Entries},
    node::{Key, MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
    scalar,
    scanner::{Kind, Scanner, Style, Token},
};
use crate::Path;

/// A document, and the position of text that kubectl does not read.
pub(super) type WithRest<'a> = (Document<'a>, Option<Mark>);

pub(super) fn read(text: &str, line: usize) -> Result<WithRest<'_>, Problem> {
    check_characters(text, line)?;
    let mut builder = Builder {
        tokens: Scanner::new(text, line),
        aliases: Aliases::default(),
        problems: Vec::new(),
    };
    let (root, rest) = builder.document(line)?;
    let comments = builder.tokens.take_comments();
    Ok((Document { root, problems: builder.problems, comments }, rest))
}

/// Finds characters that YAML forbids, even in comments.
fn check_characters(text: &str, line: usize) -> Result<(), Problem> {
    let bytes = text.as_bytes();
    // No early exit, so that the compiler can vectorize the loop.
    let is_usual = |byte: &u8| matches!(byte, b'\n' | b' '..=b'~');
    if bytes.iter().fold(true, |usual, byte| usual & is_usual(byte)) {
        return Ok(());
    }
    let is_allowed = |(i, byte): (usize, &u8)| match byte {
        b'\t' | b'\n' | b'\r' | b' '..=b'~' => true,
        ..b' ' | 0x7f => false,
        0xc2 => !matches!(bytes.get(i + 1), Some(0x80..=0x84 | 0x86..=0x9f)),
        // U+FFFE and U+FFFF.
        0xef => !matches!(bytes.get(i + 1..i + 3), Some([0xbf, 0xbe | 0xbf])),
        0x80.. => true,
    };
    let Some(i) = bytes.iter().enumerate().position(|byte| !is_allowed(byte)) else {
        return Ok(());
    };
    let mut cursor = Cursor::new(text, line);
    while cursor.at < i {
        if cursor.is_break(0) {
            cursor.take_break();
        } else {
            cursor.advance_while(|cursor, _, n| cursor.at + n < i && !cursor.is_break(n));
        }
    }
    let code = cursor.rest().chars().next().map_or(0, u32::from);
    Err(Problem::at(cursor.mark(), format!("not YAML: the control character U+{code:04X}")))
}

struct Builder<'a> {
    tokens: Scanner<'a>,
    aliases: Aliases<'a>,
    problems: Vec<Problem>,
}

/// The allowed forms: only brackets, also a block, or also a list without indentation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Syntax {
    Flow,
    Block,
    BlockOrList,
}

/// The mappings and lists around a value.
#[derive(Clone, Copy)]
struct Nesting<'p> {
    /// `None` for the root and inside keys.
    path: Option<&'p Path<'p>>,
    depth: usize,
}

impl Nesting<'_> {
    const fn below<'c>(self, path: Option<&'c Path<'c>>) -> Nesting<'c> {
        Nesting { path, depth: self.depth + 1 }
    }
}

impl<'a> Builder<'a> {
    fn peek(&mut self) -> Result<&Kind<'a>, Problem> {
        Ok(&self.tokens.peek()?.kind)
    }

    /// Ignores the content of the token.
    fn is(&mut self, kind: &Kind<'_>) -> Result<bool, Problem> {
        Ok(mem::discriminant(self.peek()?) == mem::discriminant(kind))
    }

    fn take(&mut self, kind: &Kind<'_>) -> Result<bool, Problem> {
        let is = self.is(kind)?;
        if is {
            self.tokens.take()?;
        }
        Ok(is)
    }

    fn mark(&mut self) -> Result<Mark, Problem> {
        Ok(self.tokens.peek()?.mark)
    }

    fn document(&mut self, line: usize) -> Result<(Node<'a>, Option<Mark>), Problem> {
        let is_empty = if self.take(&Kind::DocumentStart)? {
            let next = self.peek()?;
            matches!(next, Kind::Directive | Kind::DocumentStart | Kind::DocumentEnd | Kind::End)
        } else {
            self.is(&Kind::End)?
        };
        let root = if is_empty {
            self.null(Mark { line: line + 1, column: 1, width: 0 })
        } else {
            self.node(Syntax::Block, Nesting { path: None, depth: 0 })?
        };
        let Token { kind, mark, .. } = self.tokens.take()?;
        let rest = match kind {
            Kind::End => None,
            Kind::DocumentEnd => content_after(self.tokens.cursor()),
            _ => Some(Mark { width: 0, ..mark }),
        };
        Ok((root, rest))
    }

    fn node(&mut self, syntax: Syntax, at: Nesting<'_>) -> Result<Node<'a>, Problem> {
        if at.depth > MAX_DEPTH {
            return Err(Problem::too_deep(self.mark()?));
        }
        if let Kind::Alias(name) = *self.peek()? {
            let mark = self.tokens.take()?.mark;
            return self.aliases.get(name, mark, at.depth);
        }
        let properties = self.properties()?;
        let node = self.content(syntax, &properties, at)?;
        self.aliases.close(properties.anchor, &node, at.depth)?;
        Ok(node)
    }

    /// Reads the anchor and the tag, in any order.
    fn properties(&mut self) -> Result<Properties<'a>, Problem> {
        let mut found = Properties::default();
        loop {
            match self.peek()? {
                Kind::Anchor(name) if found.anchor.is_none() => {
                    let name = *name;
                    found.anchor = Some(name);
                    self.aliases.open(name);
                }
                Kind::Tag(tag) if found.tag.is_none() => found.tag = Some(tag.clone()),
                _ => break,
            }
            self.tokens.take()?;
        }
        self.aliases.count();
        Ok(found)
    }

    fn content(
        &mut self,
        syntax: Syntax,
        properties: &Properties<'a>,
        at: Nesting<'_>,
    ) -> Result<Node<'a>, Problem> {
        let mark = self.mark()?;
        match self.peek()? {
            Kind::Scalar(..) => {
                let (text, style) = self.scalar()?;
                let value = properties.resolve(text, style).and_then(scalar::value);
                value.map(|value| Node { value, mark }).map_err(|wrong| Problem::at(mark, wrong))
            }
            Kind::BlockEntry if syntax == Syntax::BlockOrList => self.list(&[], mark, at),
            Kind::BlockList if syntax != Syntax::Flow => {
                self.tokens.take()?;
                self.list(&[Kind::BlockEnd], mark, at)
            }
            Kind::BlockMapping if syntax != Syntax::Flow => self.block_mapping(mark, at),
            Kind::FlowList => self.flow_list(mark, at),
            Kind::FlowMapping => self.flow_mapping(mark, at),
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                let value = properties.resolve(Cow::Borrowed(""), Style::Plain);
                let mark = Mark { width: 0, ..mark };
                value.map(|value| Node { value, mark }).map_err(|wrong| Problem::at(mark, wrong))
            }
            Kind::Directive => {
                let message =
                    "kubectl does not accept a directive, a line that begins with %; remove it";
                Err(Problem::at(Mark { width: 0, ..mark }, message))
            }
            _ => Err(Problem::not_yaml(mark, "expected a value here")),
        }
    }

    fn scalar(&mut self) -> Result<(Cow<'a, str>, Style), Problem> {
        let Token { kind, mark, .. } = self.tokens.take()?;
        match kind {
            Kind::Scalar(text, style) => Ok((text, style)),
            _ => Err(Problem::not_yaml(mark, "expected a value here")),
        }
    }

    fn key(&mut self, syntax: Syntax, depth: usize) -> Result<MappingKey<'a>, Problem> {
        let at = Nesting { path: None, depth };
        let mut mark = self.mark()?;
        let mut is_merge = false;
        let name = if matches!(self.peek()?, Kind::Alias(_)) {
            scalar::key(self.node(syntax, at)?.value)
        } else {
            let properties = self.properties()?;
            if matches!(self.peek()?, Kind::Scalar(..)) {
                mark = self.mark()?;
                let (text, style) = self.scalar()?;
                is_merge = text == "<<" && properties.may_be_merge(style);
                let wrong = |message| Problem::at(mark, message);
                let value = properties.resolve(text, style).map_err(wrong)?;
                if properties.anchor.is_some() {
                    let value = scalar::value(value.clone()).map_err(wrong)?;
                    self.aliases.close(properties.anchor, &Node { value, mark }, depth)?;
                }
                scalar::key(value)
            } else {
                scalar::key(self.content(syntax, &properties, at)?.value)
            }
        };
        let name = name.map_err(|message| Problem::at(mark, message))?;
        Ok(MappingKey { name, mark, is_merge })
    }

    fn entry(
        &mut self,
        MappingKey { name, mark, is_merge }: MappingKey<'a>,
        value: Option<Syntax>,
        entries: &mut Entries<'a>,
        at: Nesting<'_>,
    ) -> Result<(), Problem> {
        let path = at.path.map_or_else(|| Path::new(&name), |path| path.child(&name));
        let is_alias = value.is_some() && matches!(self.peek()?, Kind::Alias(_));
        let node = match value {
            Some(syntax) => self.node(syntax, at.below(Some(&path)))?,
            None => self.null(mark),
        };
        if is_merge {
            return merge(node, is_alias, entries);
        }
        if let Some((name, before)) = entries.insert(Key { name, mark }, node) {
            self.problems.push(map::duplicate(at.path, &name, before, mark));
        }
        Ok(())
    }

    /// Stands for an omitted value.
    fn null(&mut self, mark: Mark) -> Node<'a> {
        self.aliases.count();
        Node { value: Value::Null, mark: Mark { width: 0, ..mark } }
    }
}

struct MappingKey<'a> {
    name: Cow<'a, str>,
    mark: Mark,
    /// Whether the key is `<<`, unquoted and without a different tag.
    is_merge: bool,
}

#[derive(Default)]
struct Properties<'a> {
    anchor: Option<&'a str>,
    tag: Option<String>,
}

impl Properties<'_> {
    fn resolve<'t>(&self, text: Cow<'t, str>, style: Style) -> Result<Value<'t>, String> {
        match self.tag.as_deref() {
            None if style == Style::Plain => Ok(scalar::plain(text)),
            None => Ok(Value::Str(text)),
            Some(tag) => match tag.strip_prefix("tag:yaml.org,2002:") {
                Some(tag) => scalar::tagged(tag, text),
                None => Ok(Value::Str(text)),
            },
        }
    }

    fn may_be_merge(&self, style: Style) -> bool {
        match self.tag.as_deref() {
            None => style == Style::Plain,
            Some(tag) => matches!(tag, "!" | "tag:yaml.org,2002:merge"),
        }
    }
}

/// Merges a mapping or a list of mappings. In a list, the earlier mapping wins.
fn merge<'a>(from: Node<'a>, is_alias: bool, into: &mut Entries<'a>) -> Result<(), Problem> {
    let mappings = match from.value {
        Value::Seq(items) if !is_alias => items,
        _ => vec![from],
    };
    for mapping in mappings.into_iter().rev() {
        let Value::Map(entries) = mapping.value else {
            return Err(Problem::at(mapping.mark, "<< takes a mapping or a list of mappings"));
        };
        for (key, node) in entries {
            into.merge(key, node);
        }
    }
    Ok(())
}

/// Returns the position of the next text other than spaces, comments and `...`.
fn content_after(mut cursor: Cursor<'_>) -> Option<Mark> {
    loop {
        cursor.skip_blanks();
        cursor.skip_comment();
        if cursor.is_end() {
            return None;
        } else if cursor.is_break(0) {
            cursor.take_break();
        } else if cursor.is_marker(b'.') {
            cursor.advance(3);
        } else {
            return Some(cursor.mark());
        }
    }
}

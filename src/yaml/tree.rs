//! The tree of one YAML document, from the parser's events.

use std::{borrow::Cow, collections::HashMap};

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::{
    document::Document,
    map::{self, Entries},
    node::{Key, MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
    scalar,
};
use crate::finding::Path;

/// How much aliases may add to a document, in nodes; 16 bytes of text count as one more node.
/// Without a limit, a few lines of aliases of aliases would fill any memory.
const ALIAS_BUDGET: usize = 500_000;

/// Reads the first document of a text that has `line` lines before it.
pub(super) fn read(text: &str, line: usize) -> Result<Document<'_>, Problem> {
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH + 1,
        block_nesting_limit: MAX_DEPTH + 1,
    };
    options.set_emit_comments(false);
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        line,
        anchors: HashMap::new(),
        budget: ALIAS_BUDGET,
        problems: Vec::new(),
    };
    let mut root = None;
    loop {
        let (event, span) = builder.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if root.is_some() => {
                let message = "a second document begins here without a --- line before it";
                return Err(Problem::at(builder.mark(span), message));
            }
            event => root = Some(builder.node(event, span, None, 0)?),
        }
    }
    let empty = || Node { value: Value::Null, mark: Mark { line: line + 1, column: 1, width: 0 } };
    Ok(Document { root: root.unwrap_or_else(empty), problems: builder.problems })
}

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    line: usize,
    anchors: HashMap<usize, Node<'a>>,
    budget: usize,
    problems: Vec<Problem>,
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Problem> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.syntax_error(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn syntax_error(&self, error: &ScanError) -> Problem {
        let message = error.info().replace('\n', ": ");
        let help = if message.contains("tab") {
            Some("YAML is indented with spaces, not with tabs".to_owned())
        } else if message.contains("mapping values are not allowed") {
            Some(
                "quote text that contains \": \", and start all keys of a mapping in one column"
                    .to_owned(),
            )
        } else {
            None
        };
        let mut problem = Problem::at(self.at(*error.marker()), format!("not YAML: {message}"));
        problem.help = help;
        problem
    }

    fn at(&self, marker: Marker) -> Mark {
        // The parser reports line 0 for empty input.
        Mark { line: self.line + marker.line().max(1), column: marker.col() + 1, width: 0 }
    }

    fn mark(&self, span: Span) -> Mark {
        let mut mark = self.at(span.start);
        if span.start.line() == span.end.line() {
            mark.width = span.end.col().saturating_sub(span.start.col());
        }
        mark
    }

    /// The node that begins with this event. `path` is its path, `depth` its nesting depth.
    fn node(
        &mut self,
        event: Event<'a>,
        span: Span,
        path: Option<&Path<'_>>,
        depth: usize,
    ) -> Result<Node<'a>, Problem> {
        let mark = self.mark(span);
        if depth > MAX_DEPTH {
            return Err(too_deep(mark));
        }
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = resolve(text, style, tag.as_deref())
                    .map_err(|message| Problem::at(mark, message))?;
                (Node { value, mark }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.sequence(mark, path, depth)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping(mark, path, depth)?, anchor),
            Event::Alias(id) => {
                let Some(target) = self.anchors.get(&id) else {
                    return Err(Problem::at(mark, "an anchor's value cannot contain itself"));
                };
                return copy(target, depth, &mut self.budget)
                    .map_err(|message| Problem::at(mark, message));
            }
            _ => return Err(Problem::at(mark, "not YAML: a value was expected here")),
        };
        if anchor != 0 {
            let kept = copy(&node, depth, &mut self.budget)
                .map_err(|message| Problem::at(mark, message))?;
            self.anchors.insert(anchor, kept);
        }
        Ok(node)
    }

    fn sequence(
        &mut self,
        mark: Mark,
        path: Option<&Path<'_>>,
        depth: usize,
    ) -> Result<Node<'a>, Problem> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(Node { value: Value::Seq(items), mark });
            }
            let here = path.map(|path| path.index(items.len()));
            items.push(self.node(event, span, here.as_ref(), depth + 1)?);
        }
    }

    fn mapping(
        &mut self,
        mut mark: Mark,
        path: Option<&Path<'_>>,
        depth: usize,
    ) -> Result<Node<'a>, Problem> {
        let mut entries = Entries::default();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Node { value: Value::Map(entries.into_list()), mark });
            }
            let key_mark = self.mark(span);
            if (key_mark.line, key_mark.column) == (mark.line, mark.column) {
                // A block mapping begins with its first key, so that key is marked.
                mark.width = key_mark.width;
            }
            let is_merge = is_merge(&event);
            let key = self.node(event, span, None, depth + 1)?;
            let name = scalar::key(key.value).map_err(|message| Problem::at(key_mark, message))?;
            let here = path.map_or_else(|| Path::new(&name), |path| path.child(&name));
            let (event, span) = self.next()?;
            let node = self.node(event, span, Some(&here), depth + 1)?;
            if is_merge {
                merge(node, &mut entries)?;
                continue;
            }
            let field = here.to_field();
            let key = Key { name, mark: key_mark };
            if let Some((name, before)) = entries.insert(key, node) {
                self.problems.push(map::duplicate(field, &name, before, key_mark));
            }
        }
    }
}

fn too_deep(mark: Mark) -> Problem {
    Problem::at(mark, format!("nested deeper than {MAX_DEPTH} levels"))
}

fn resolve<'a>(
    text: Cow<'a, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> Result<Value<'a>, String> {
    match tag {
        None if style == ScalarStyle::Plain => scalar::plain(text),
        None => Ok(Value::Str(text)),
        Some(tag) => match tag.suffix_in_namespace("tag:yaml.org,2002:") {
            Some(tag) => scalar::tagged(&tag, text),
            None => Ok(Value::Str(text)),
        },
    }
}

/// Whether a key is `<<`, neither quoted nor tagged as anything else.
fn is_merge(event: &Event<'_>) -> bool {
    match event {
        Event::Scalar(text, style, _, tag) if text == "<<" => match tag.as_deref() {
            None => *style == ScalarStyle::Plain,
            Some(tag) => tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("merge"),
        },
        _ => false,
    }
}

/// Adds the entries of a mapping, or of a list of mappings, to another mapping. The earlier mapping
/// in the list wins.
fn merge<'a>(from: Node<'a>, into: &mut Entries<'a>) -> Result<(), Problem> {
    let mappings = match from.value {
        Value::Seq(items) => items,
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

/// A copy of an anchor's value, if the budget allows it.
fn copy<'a>(node: &Node<'a>, depth: usize, budget: &mut usize) -> Result<Node<'a>, String> {
    if depth > MAX_DEPTH {
        return Err(too_deep(node.mark).message);
    }
    let text = |text: &Cow<'_, str>| match text {
        Cow::Owned(text) => text.len() / 16,
        Cow::Borrowed(_) => 0,
    };
    let mut pay = |cost: usize| {
        *budget = budget
            .checked_sub(cost + 1)
            .ok_or("the aliases of this document make it too large to be read")?;
        Ok::<_, String>(())
    };
    let value = match &node.value {
        Value::Str(value) => {
            pay(text(value))?;
            node.value.clone()
        }
        Value::Seq(items) => {
            pay(0)?;
            let items = items.iter().map(|item| copy(item, depth + 1, budget));
            Value::Seq(items.collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            pay(entries.iter().map(|(key, _)| text(&key.name)).sum())?;
            let entries =
                entries.iter().map(|(key, item)| Ok((key.clone(), copy(item, depth + 1, budget)?)));
            Value::Map(entries.collect::<Result<_, String>>()?)
        }
        scalar => {
            pay(0)?;
            scalar.clone()
        }
    };
    Ok(Node { value, mark: node.mark })
}

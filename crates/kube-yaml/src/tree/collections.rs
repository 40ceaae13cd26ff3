use super::{Builder, Nesting, Syntax};
use crate::{
    map::Entries,
    node::{MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
    scanner::Kind,
};

impl<'a> Builder<'a> {
    /// A list that is not indented has no token for its end (`end` is empty): any other token than an item ends it.
    pub(super) fn list(
        &mut self,
        end: &[Kind<'_>],
        mark: Mark,
        at: Nesting<'_>,
    ) -> Result<Node<'a>, Problem> {
        let mark = Mark { width: 0, ..mark };
        let mut items = Vec::new();
        while self.is(&Kind::BlockEntry)? {
            let dash = self.tokens.take()?.mark;
            let path = at.path.map(|path| path.index(items.len()));
            let is_empty = match self.peek()? {
                Kind::BlockEntry | Kind::BlockEnd => true,
                Kind::Key | Kind::Value => end.is_empty(),
                _ => false,
            };
            items.push(if is_empty {
                self.null(dash)
            } else {
                self.node(Syntax::Block, at.below(path.as_ref()))?
            });
        }
        if let [end] = end
            && !self.take(end)?
        {
            let message = "expected a list item here, with a - before it";
            return Err(Problem::not_yaml(self.mark()?, message));
        }
        Ok(Node { value: Value::Seq(items), mark })
    }

    pub(super) fn block_mapping(
        &mut self,
        mut mark: Mark,
        at: Nesting<'_>,
    ) -> Result<Node<'a>, Problem> {
        self.tokens.take()?;
        mark.width = 0;
        let mut entries = Entries::default();
        let is_end = |kind: &Kind<'_>| matches!(kind, Kind::Key | Kind::Value | Kind::BlockEnd);
        let syntax = Syntax::BlockOrList;
        while !self.take(&Kind::BlockEnd)? {
            let begin = self.mark()?;
            if !self.take(&Kind::Key)? && !self.is(&Kind::Value)? {
                return Err(Problem::not_yaml(begin, "expected a key here"));
            }
            if is_end(self.peek()?) {
                return Err(no_key(begin));
            }
            let key = self.key(syntax, at.depth + 1)?;
            if (key.mark.line, key.mark.column) == (mark.line, mark.column) {
                // A block mapping has no sign of its own, so its first key is marked.
                mark.width = key.mark.width;
            }
            let has_value = self.take(&Kind::Value)? && !is_end(self.peek()?);
            self.entry(key, has_value.then_some(syntax), &mut entries, at)?;
        }
        Ok(Node { value: Value::Map(entries.into_list()), mark })
    }

    pub(super) fn flow_list(&mut self, mark: Mark, at: Nesting<'_>) -> Result<Node<'a>, Problem> {
        let mut items = Vec::new();
        self.flow_items(mark, &Kind::FlowListEnd, |builder| {
            let path = at.path.map(|path| path.index(items.len()));
            let at = at.below(path.as_ref());
            let is_pair = builder.is(&Kind::Key)?;
            items.push(if is_pair { builder.pair(at)? } else { builder.node(Syntax::Flow, at)? });
            Ok(())
        })?;
        Ok(Node { value: Value::Seq(items), mark })
    }

    pub(super) fn flow_mapping(
        &mut self,
        mark: Mark,
        at: Nesting<'_>,
    ) -> Result<Node<'a>, Problem> {
        let mut entries = Entries::default();
        let is_end = |kind: &Kind<'_>| matches!(kind, Kind::FlowEntry | Kind::FlowMappingEnd);
        self.flow_items(mark, &Kind::FlowMappingEnd, |builder| {
            let begin = builder.mark()?;
            let may_have_value = builder.take(&Kind::Key)?;
            if may_have_value && (is_end(builder.peek()?) || builder.is(&Kind::Value)?) {
                return Err(no_key(begin));
            }
            let key = builder.key(Syntax::Flow, at.depth + 1)?;
            let has_value =
                may_have_value && builder.take(&Kind::Value)? && !is_end(builder.peek()?);
            builder.entry(key, has_value.then_some(Syntax::Flow), &mut entries, at)
        })?;
        Ok(Node { value: Value::Map(entries.into_list()), mark })
    }

    /// `mark` is the opening bracket, `end` the closing one.
    fn flow_items(
        &mut self,
        mark: Mark,
        end: &Kind<'_>,
        mut item: impl FnMut(&mut Self) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        self.tokens.take()?;
        let mut is_first = true;
        while self.has_item(mark, is_first, end)? {
            item(self)?;
            is_first = false;
        }
        Ok(())
    }

    /// Takes the closing bracket, or the comma before an item other than the first. Returns whether an item follows.
    fn has_item(&mut self, mark: Mark, is_first: bool, end: &Kind<'_>) -> Result<bool, Problem> {
        let is_open = self.is_open(mark, end)?;
        if !is_open || is_first {
            return Ok(is_open);
        }
        if !self.take(&Kind::FlowEntry)? {
            let is_list = *end == Kind::FlowListEnd;
            let expected = if is_list { "expected , or ] here" } else { "expected , or } here" };
            return Err(Problem::not_yaml(self.mark()?, expected));
        }
        // A comma is allowed before the closing bracket.
        self.is_open(mark, end)
    }

    /// Returns false after taking the closing bracket.
    fn is_open(&mut self, mark: Mark, end: &Kind<'_>) -> Result<bool, Problem> {
        if self.is(&Kind::End)? {
            return Err(Problem::not_yaml(mark, "this bracket is never closed"));
        }
        Ok(!self.take(end)?)
    }

    /// Reads a mapping of one entry without braces, in a list in brackets: `[a: 1]`.
    fn pair(&mut self, at: Nesting<'_>) -> Result<Node<'a>, Problem> {
        let mark = self.tokens.take()?.mark;
        if at.depth > MAX_DEPTH {
            return Err(Problem::too_deep(mark));
        }
        self.aliases.count();
        let is_end = |kind: &Kind<'_>| matches!(kind, Kind::FlowEntry | Kind::FlowListEnd);
        let next = self.peek()?;
        if is_end(next) || *next == Kind::Value {
            return Err(no_key(mark));
        }
        let key = self.key(Syntax::Flow, at.depth + 1)?;
        let mark = key.mark;
        let has_value = self.take(&Kind::Value)? && !is_end(self.peek()?);
        let mut entries = Entries::default();
        self.entry(key, has_value.then_some(Syntax::Flow), &mut entries, at)?;
        Ok(Node { value: Value::Map(entries.into_list()), mark })
    }
}

fn no_key(mark: Mark) -> Problem {
    Problem::at(mark, "a key cannot be empty or null")
}

//! Anchors and aliases. An alias copies the value of its anchor, within limits.

use std::{borrow::Cow, collections::HashMap};

use crate::{
    node::{MAX_DEPTH, Mark, Node, Value},
    problem::Problem,
};

/// The number of nodes that aliases may add to a document; 16 bytes of text count as one more. Without a limit, a few
/// lines of nested aliases would fill the memory.
const BUDGET: usize = 500_000;

#[derive(Default)]
pub(super) struct Aliases<'a> {
    /// `None` while the value is being read.
    anchors: HashMap<&'a str, Option<Node<'a>>>,
    /// Of the budget.
    spent: usize,
    /// All nodes, for kubectl's limit.
    nodes: usize,
    /// The nodes that aliases added.
    copies: usize,
}

impl<'a> Aliases<'a> {
    pub(super) const fn count(&mut self) {
        self.nodes += 1;
    }

    pub(super) fn open(&mut self, name: &'a str) {
        self.anchors.insert(name, None);
    }

    /// Keeps the value if it has an anchor.
    pub(super) fn close(
        &mut self,
        name: Option<&'a str>,
        node: &Node<'a>,
        depth: usize,
    ) -> Result<(), Problem> {
        if let Some(name) = name {
            let kept = copy(node, depth, &mut |cost| pay(&mut self.spent, cost));
            self.anchors.insert(name, Some(kept.map_err(|wrong| Problem::at(node.mark, wrong))?));
        }
        Ok(())
    }

    pub(super) fn get(
        &mut self,
        name: &str,
        mark: Mark,
        depth: usize,
    ) -> Result<Node<'a>, Problem> {
        let target = match self.anchors.get(name) {
            Some(Some(node)) => node,
            Some(None) => return Err(Problem::at(mark, "an anchor's value cannot contain itself")),
            None => return Err(Problem::at(mark, format!("there is no anchor &{name}"))),
        };
        self.nodes += 1;
        let (nodes, copies) = (&mut self.nodes, &mut self.copies);
        copy(target, depth, &mut |cost| {
            *nodes += 1;
            *copies += 1;
            if is_too_much(*copies, *nodes) {
                return Err(TOO_LARGE.to_owned());
            }
            pay(&mut self.spent, cost)
        })
        .map_err(|message| Problem::at(mark, message))
    }
}

const TOO_LARGE: &str = "the aliases of this document make it too large to be read";

fn pay(spent: &mut usize, cost: usize) -> Result<(), String> {
    *spent += cost + 1;
    if *spent > BUDGET { Err(TOO_LARGE.to_owned()) } else { Ok(()) }
}

/// Returns whether kubectl refuses a document because too many of its nodes are copies. Larger documents exceed the
/// budget. Upstream: `allowedAliasRatio` in go.yaml.in/yaml/v2.
const fn is_too_much(copies: usize, nodes: usize) -> bool {
    copies > 100 && nodes > 1000 && copies * 100 > nodes * 99
}

/// Calls `pay` with the cost of each node.
fn copy<'a>(
    node: &Node<'a>,
    depth: usize,
    pay: &mut dyn FnMut(usize) -> Result<(), String>,
) -> Result<Node<'a>, String> {
    if depth > MAX_DEPTH {
        return Err(Problem::too_deep(node.mark).message);
    }
    let text = |text: &Cow<'_, str>| match text {
        Cow::Owned(text) => text.len() / 16,
        Cow::Borrowed(_) => 0,
    };
    let value = match &node.value {
        Value::Str(value) => {
            pay(text(value))?;
            node.value.clone()
        }
        Value::Seq(items) => {
            pay(0)?;
            let items = items.iter().map(|item| copy(item, depth + 1, pay));
            Value::Seq(items.collect::<Result<_, _>>()?)
        }
        Value::Map(entries) => {
            pay(0)?;
            let entries = entries.iter().map(|(key, item)| {
                pay(text(&key.name))?;
                Ok((key.clone(), copy(item, depth + 1, pay)?))
            });
            Value::Map(entries.collect::<Result<_, String>>()?)
        }
        scalar => {
            pay(0)?;
            scalar.clone()
        }
    };
    Ok(Node { value, mark: node.mark })
}

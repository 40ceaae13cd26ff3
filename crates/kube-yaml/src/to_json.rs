use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::node::{Node, Value};

/// JSON to write instead of some nodes, by the ids of the nodes.
pub type Replacements = BTreeMap<usize, serde_json::Value>;

impl Node<'_> {
    /// Returns the tree as compact JSON, with the keys in the order of the text.
    pub fn to_json(&self) -> String {
        self.to_json_with(&Replacements::new())
    }

    /// Works like [`Node::to_json`], but with some nodes replaced.
    pub fn to_json_with(&self, replacements: &Replacements) -> String {
        // This cannot fail: all keys are text, and JSON can represent all numbers.
        serde_json::to_string(&Tree { node: self, replacements }).unwrap_or_default()
    }
}

struct Tree<'n, 'a> {
    node: &'n Node<'a>,
    replacements: &'n Replacements,
}

impl Serialize for Tree<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let replacements = self.replacements;
        if let Some(value) = replacements.get(&self.node.address()) {
            return value.serialize(serializer);
        }
        match &self.node.value {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(on) => serializer.serialize_bool(*on),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::UInt(number) => serializer.serialize_u64(*number),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Str(text) => serializer.serialize_str(text),
            Value::Seq(items) => {
                serializer.collect_seq(items.iter().map(|node| Tree { node, replacements }))
            }
            Value::Map(entries) => serializer.collect_map(
                entries.iter().map(|(key, node)| (&*key.name, Tree { node, replacements })),
            ),
        }
    }
}

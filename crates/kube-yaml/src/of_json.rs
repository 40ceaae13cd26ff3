use serde_json::Value as Json;

use super::node::{Key, Mark, Node, Value};

impl Node<'_> {
    /// Converts a JSON value that is not part of the text. Problems with it point to `mark`.
    pub fn of_json(json: &Json, mark: Mark) -> Self {
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(on) => Value::Bool(*on),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(number), _) => Value::Int(number),
                (None, Some(number)) => Value::UInt(number),
                (None, None) => Value::Float(number.as_f64().unwrap_or_default()),
            },
            Json::String(text) => Value::Str(text.clone().into()),
            Json::Array(items) => {
                Value::Seq(items.iter().map(|item| Node::of_json(item, mark)).collect())
            }
            Json::Object(map) => {
                let key = |name: &String| Key { name: name.clone().into(), mark };
                Value::Map(map.iter().map(|(k, v)| (key(k), Node::of_json(v, mark))).collect())
            }
        };
        Node { value, mark }
    }
}

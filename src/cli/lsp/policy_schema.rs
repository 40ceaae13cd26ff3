//! The fields and values that a policy may have at the cursor, by its JSON Schema.

use std::sync::LazyLock;

use serde_json::Value;
use setguard_core::policy;

static SCHEMA: LazyLock<Value> = LazyLock::new(policy::json_schema);

/// The keys above a line, and the place of the text on it.
struct Place<'a> {
    path: Vec<&'a str>,
    /// Whether the text is a value and not a key.
    is_value: bool,
}

/// Returns what a key or value after a text may be, with descriptions. The text ends where the word begins.
pub(super) fn choices(before: &str) -> Vec<(&'static str, &'static str)> {
    let Some(place) = Place::of(before) else { return Vec::new() };
    let Some(at) = resolve(&place.path) else { return Vec::new() };
    let list = |value: &'static Value, key: &str| value[key].as_array().into_iter().flatten();
    let names = match place.is_value {
        true => None,
        false => at["properties"].as_object(),
    };
    let fields = names.into_iter().flatten();
    let fields = fields.map(|(name, field)| (name.as_str(), description(field)));
    let keys = list(&at["propertyNames"], "enum").filter(|_| !place.is_value);
    let words = keys.chain(list(at, "enum")).filter_map(|it| Some((it.as_str()?, "")));
    let texts = list(at, "oneOf").filter_map(|it| Some((it["const"].as_str()?, description(it))));
    fields.chain(words).chain(texts).collect()
}

/// Returns the description of the field on the last line of a text.
pub(super) fn field(text: &str) -> Option<&'static str> {
    let line = text.rsplit('\n').next()?;
    let Line { column, key: Some(key), .. } = Line::of(line) else { return None };
    let mut place = Place::of(text.get(..text.len() - line.len() + column)?)?;
    place.path.push(key);
    let parent = resolve(place.path.split_last()?.1)?;
    let own = description(&parent["properties"][key]);
    let text = if own.is_empty() { description(resolve(&place.path)?) } else { own };
    Some(text).filter(|it| !it.is_empty())
}

fn description(schema: &'static Value) -> &'static str {
    schema["description"].as_str().unwrap_or_default()
}

fn resolve(path: &[&str]) -> Option<&'static Value> {
    let target = |mut schema: &'static Value| {
        loop {
            schema = match (schema["$ref"].as_str(), &schema["items"]) {
                (Some(reference), _) => SCHEMA.pointer(reference.strip_prefix('#')?)?,
                (None, items @ Value::Object(_)) => items,
                (None, _) => return Some(schema),
            };
        }
    };
    path.iter().try_fold(target(&SCHEMA)?, |at, key| {
        let of_key = at["properties"].get(key).or_else(|| at.get("additionalProperties"))?;
        target(of_key)
    })
}

struct Line<'a> {
    /// The column of the key, or of an entry without a key.
    column: usize,
    /// The column of the first dash.
    dash: Option<usize>,
    key: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        let (mut rest, mut dash) = (line.trim_start_matches(' '), None);
        while let Some(entry) = rest.strip_prefix("- ") {
            dash = dash.or(Some(line.len() - rest.len()));
            rest = entry.trim_start_matches(' ');
        }
        let key = rest.split_once(':').map(|(key, _)| key.trim_matches(['"', '\'', ' ']));
        let key = key.filter(|it| !it.is_empty() && !rest.starts_with('#'));
        Line { column: line.len() - rest.len(), dash, key }
    }

    /// Returns the column that the key above is left of.
    fn limit(&self) -> usize {
        self.dash.map_or(self.column, |it| it + 1)
    }
}

impl<'a> Place<'a> {
    fn of(before: &'a str) -> Option<Self> {
        let mut lines = before.rsplit('\n').map(|it| it.trim_end_matches('\r'));
        let line = lines.next()?;
        let here = Line::of(line);
        let is_value = here.key.is_some();
        // A comment, or a value with more words.
        let value = line.split_once(':').map_or("", |(_, it)| it.trim_start());
        if line.contains('#') || is_value && !(value.is_empty() || value.starts_with('[')) {
            return None;
        }
        let (mut path, mut limit) = (Vec::from_iter(here.key), here.limit());
        // A key beside a dash above has the same column.
        let mut column = here.column;
        for line in lines.filter(|it| !it.trim().is_empty() && !it.trim_start().starts_with('#')) {
            let above = Line::of(line);
            if above.column < limit {
                path.extend(above.key);
                (limit, column) = (above.limit(), above.column);
            } else if above.column == column && above.dash.is_some() && limit == column {
                limit = above.limit();
            }
        }
        path.reverse();
        Some(Place { path, is_value })
    }
}

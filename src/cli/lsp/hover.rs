use serde_json::{Value, json};
use setguard_core::catalogue::{self, markdown};

use super::{
    document::Document,
    position::Encoding,
    protocol::{AtPosition, Range},
};

pub(super) fn of(document: &Document, params: &AtPosition, encoding: Encoding) -> Option<Value> {
    let here = Range { start: params.position, end: params.position };
    let found = document.findings_in(here, encoding);
    let (range, _) = found.first()?;
    let mut ids: Vec<&str> = found.iter().map(|(_, finding)| finding.rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules = ids.into_iter().filter_map(catalogue::find);
    let text = rules.map(markdown::explanation).collect::<Vec<_>>().join("\n---\n\n");
    Some(json!({ "contents": { "kind": "markdown", "value": text }, "range": range }))
}

use serde_json::{Value, json};
use setguard_core::catalogue::{self, markdown};

use super::{
    document::{Document, Kind},
    policy_schema,
    position::Encoding,
    protocol::{AtPosition, Range},
};

pub(super) fn of(document: &Document, params: &AtPosition, encoding: Encoding) -> Option<Value> {
    let here = Range { start: params.position, end: params.position };
    let found = document.findings_in(here, encoding);
    let Some((range, _)) = found.first() else {
        let is_policy = document.kind == Kind::Policy;
        let line = document.text.split_inclusive('\n').take(params.position.line as usize + 1);
        let end = line.map(str::len).sum();
        let text = document.text.get(..end).filter(|_| is_policy)?.trim_end_matches(['\r', '\n']);
        let value = policy_schema::field(text)?;
        return Some(json!({ "contents": { "kind": "markdown", "value": value } }));
    };
    let mut ids: Vec<&str> = found.iter().map(|(_, finding)| finding.rule.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let rules = ids.into_iter().filter_map(catalogue::find);
    let text = rules.map(markdown::explanation).collect::<Vec<_>>().join("\n---\n\n");
    Some(json!({ "contents": { "kind": "markdown", "value": text }, "range": range }))
}

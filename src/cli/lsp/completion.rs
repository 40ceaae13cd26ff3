//! Completes the ids of rules where a manifest exempts from one, and the fields and values of the policy.

use setguard_core::object::annotations::IGNORE_ANNOTATION;

use super::{
    document::{Document, Kind},
    policy_schema,
    position::Encoding,
    protocol::AtPosition,
};
use crate::cli::prelude::*;

/// The characters of a list of ids. An editor asks for completions in a word by itself.
pub(super) const TRIGGERS: [&str; 3] = ["[", ",", " "];
/// The protocol's number for a constant.
const CONSTANT: u8 = 21;

pub(super) fn of(
    document: &Document,
    params: &AtPosition,
    policy: &Policy,
    encoding: Encoding,
) -> Vec<Value> {
    let lines = document.lines(encoding);
    let cursor = lines.byte(params.position);
    let before = document.text.get(..cursor).unwrap_or_default();
    let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
    let typed = line.trim_end_matches(|it: char| it.is_ascii_alphanumeric() || it == '-');
    let words = match document.kind {
        Kind::Manifests if exempts(typed) => {
            let metas = catalogue::all().iter().map(|it| &it.meta);
            // Nothing in a manifest exempts from a denial.
            let warned = metas.filter(|it| policy.mode(it) == Mode::Warn);
            warned.map(|it| (it.id, it.summary)).collect()
        }
        Kind::Policy => {
            let end = before.len() - (line.len() - typed.len());
            policy_schema::choices(before.get(..end).unwrap_or_default())
        }
        Kind::Manifests | Kind::LeftOut => Vec::new(),
    };
    let range = lines.range(&(cursor - (line.len() - typed.len())..cursor));
    let found = document.findings.iter().flat_map(|it| &it.diagnostics);
    let found: Vec<&str> = found.map(|it| it.rule.id).collect();
    let items = words.into_iter().map(|(word, text)| {
        let rule = catalogue::find(word).map(|it| &it.meta);
        json!({
            "label": word,
            "kind": CONSTANT,
            "detail": rule.map_or("", |it| it.title),
            "documentation": rule.map_or(text, |it| it.summary),
            // Rules with a finding here come first.
            "sortText": format!("{}{word}", u8::from(!found.contains(&word))),
            "textEdit": { "range": range, "newText": word },
        })
    });
    items.collect()
}

/// Whether the text before a word is the beginning of an annotation or comment that exempts from rules.
fn exempts(before: &str) -> bool {
    let annotation = before.rsplit_once(IGNORE_ANNOTATION).map(|(_, ids)| ids);
    let comment = before.rsplit_once('#').and_then(|(_, comment)| {
        let ids = comment.trim_start().strip_prefix("setguard:")?.trim_start();
        ids.strip_prefix("ignore[").filter(|ids| !ids.contains(']'))
    });
    annotation.is_some_and(|it| it.contains(':')) || comment.is_some()
}

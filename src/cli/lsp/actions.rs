//! Code actions: the fixes of `check --fix`, and comments that exempt from warnings.

use std::ops;

use setguard_files::report::diagnostic::Diagnostic;
use setguard_offline::check::editor::Edit;

use super::{
    document::{self, Document},
    position::{Encoding, Lines},
    protocol::{InRange, Range},
};
use crate::cli::prelude::*;

pub(super) const QUICK_FIX: &str = "quickfix";
/// For all findings that have a safe fix. Editors can run it on save.
pub(super) const FIX_ALL: &str = "source.fixAll.setguard";

/// How many findings get actions in one request. Each action is checked before it is offered.
const MOST: usize = 16;

pub(super) fn of(
    document: &Document,
    params: &InRange,
    policy: &Policy,
    encoding: Encoding,
) -> Vec<Value> {
    let is_wanted = |kind: &str| {
        let only = params.context.only.as_deref();
        only.is_none_or(|only| only.iter().any(|it| is_part_of(kind, it)))
    };
    let (uri, lines) = (&params.text_document.uri, document.lines(encoding));
    let mut actions = Vec::new();
    let here = document.findings_in(params.range, encoding);
    let Some(findings) = &document.findings else { return Vec::new() };
    let text = document.editor_text(policy);
    if is_wanted(QUICK_FIX) {
        let some: Vec<_> = here.iter().take(MOST).map(|(_, finding)| *finding).collect();
        for (finding, edits) in some.iter().zip(text.fixes(&some)) {
            let exempting = text.exempt(finding, &findings.diagnostics);
            actions.extend(edits.and_then(|edits| fix(finding, &edits, uri, &lines)));
            actions.extend(exempting.map(|edit| exempt(finding, edit, uri, &lines)));
        }
    }
    let has_fix = |it: &Diagnostic| it.fix.as_ref().is_some_and(|fix| fix.is_safe);
    // Editors ask at each move of the cursor. Unless they ask for this kind, only findings there count.
    let is_asked_for = params.context.only.is_some();
    if is_wanted(FIX_ALL)
        && (here.iter().any(|(_, it)| has_fix(it))
            || is_asked_for && findings.diagnostics.iter().any(has_fix))
        && let Some(fixed) = findings.fixed.get_or_init(|| text.fix_all())
    {
        let edit = difference(&document.text, fixed);
        actions.push(json!({
            "title": "Fix all that setguard can fix",
            "kind": FIX_ALL,
            "edit": workspace_edit(uri, &[edit], &lines),
        }));
    }
    actions
}

/// `source.fixAll.setguard` is part of `source.fixAll`.
fn is_part_of(kind: &str, wanted: &str) -> bool {
    kind.strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || wanted.is_empty())
}

fn fix(
    finding: &Diagnostic,
    (edits, is_safe): &(Vec<Edit>, bool),
    uri: &str,
    lines: &Lines<'_>,
) -> Option<Value> {
    let doubt = if *is_safe { "" } else { " (this changes what happens in the cluster)" };
    Some(json!({
        "title": format!("{}{doubt}", finding.fix.as_ref()?.title()),
        "kind": QUICK_FIX,
        "isPreferred": is_safe,
        "diagnostics": [document::of_finding(finding, uri, lines)],
        "edit": workspace_edit(uri, edits, lines),
    }))
}

fn exempt(finding: &Diagnostic, edit: Edit, uri: &str, lines: &Lines<'_>) -> Value {
    json!({
        "title": format!("Exempt from {} by a comment", finding.rule.id),
        "kind": QUICK_FIX,
        "diagnostics": [document::of_finding(finding, uri, lines)],
        "edit": workspace_edit(uri, &[edit], lines),
    })
}

fn workspace_edit(uri: &str, edits: &[Edit], lines: &Lines<'_>) -> Value {
    let edits = edits.iter().map(|Edit { bytes, with }| {
        let range: Range = lines.range(bytes);
        json!({ "range": range, "newText": with })
    });
    let edits: Vec<Value> = edits.collect();
    json!({ "changes": { uri: edits } })
}

/// The edit leaves out the common beginning and end of both texts.
fn difference(old: &str, new: &str) -> Edit {
    let same = old.chars().zip(new.chars()).take_while(|(a, b)| a == b);
    let start: usize = same.map(|(it, _)| it.len_utf8()).sum();
    let rest = |text: &str| text.get(start..).unwrap_or_default().to_owned();
    let (old_rest, new_rest) = (rest(old), rest(new));
    let same = old_rest.chars().rev().zip(new_rest.chars().rev()).take_while(|(a, b)| a == b);
    let end: usize = same.map(|(it, _)| it.len_utf8()).sum();
    let bytes: ops::Range<usize> = start..old.len() - end;
    Edit { bytes, with: new_rest.get(..new_rest.len() - end).unwrap_or_default().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_leaves_what_both_texts_have() {
        for (old, new, bytes, with) in [
            ("a\nb\nc\n", "a\nc\n", 2..4, ""),
            ("a🦀b", "a🦞b", 1..5, "🦞"),
            ("aa", "aaa", 2..2, "a"),
            ("same", "same", 4..4, ""),
            ("", "new", 0..0, "new"),
        ] {
            let edit = difference(old, new);
            assert_eq!((edit.bytes.clone(), edit.with.as_str()), (bytes, with), "{old} {new}");
            let mut text = old.to_owned();
            text.replace_range(edit.bytes, &edit.with);
            assert_eq!(text, new);
        }
    }

    #[test]
    fn a_kind_contains_its_parts() {
        assert!(is_part_of(FIX_ALL, "source.fixAll") && is_part_of(FIX_ALL, "source"));
        assert!(is_part_of(QUICK_FIX, QUICK_FIX) && is_part_of(QUICK_FIX, ""));
        assert!(!is_part_of(QUICK_FIX, "quick") && !is_part_of(QUICK_FIX, "source.fixAll"));
    }
}

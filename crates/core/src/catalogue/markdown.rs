//! The pages that are generated from the rules, so that they always match them.

use std::fmt::Write as _;

use super::{all, kinds, runners, url};
use crate::{
    kubernetes::kind::Kind,
    rules::rule::{Rule, Runner},
};

const GENERATED: &str =
    "<!-- Generated from the rules: UPDATE_GENERATED=1 cargo test --test it generated -->";

/// The sections of the index: the heading, and whether a rule belongs there. The first one counts.
type Section = (&'static str, fn(&Rule) -> bool);

const SECTIONS: &[Section] = &[
    ("In a running cluster", |rule| rule.runners().into_iter().eq([Runner::Audit])),
    ("Injection and pods", |rule| rule.is_about(Kind::Pod)),
    ("DaemonSets", |rule| is_only(rule, Kind::DaemonSet)),
    ("StatefulSets", |rule| is_only(rule, Kind::StatefulSet)),
    ("DaemonSets and StatefulSets", |_| true),
];

fn is_only(rule: &Rule, kind: Kind) -> bool {
    rule.kinds() == [kind]
}

/// Returns the content of `docs/rules.md`.
pub fn index() -> String {
    let mut out = format!(
        "# Rules\n\n{GENERATED}\n\n\
         `deny` rejects the object, `warn` shows a warning, `audit` only counts, and `off` does\n\
         not run the rule. A [policy](policy.md) can change the mode of every rule that is not\n\
         marked *fixed*.\n"
    );
    let section = |rule: &Rule| SECTIONS.iter().position(|(_, has)| has(rule));
    // The sections about manifests come first.
    for i in [4, 2, 3, 0, 1] {
        let (title, _) = SECTIONS[i];
        let mut rules: Vec<&Rule> =
            all().iter().copied().filter(|rule| section(rule) == Some(i)).collect();
        // The strictest first; within a mode by name.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.meta.mode));
        let _ = write!(
            out,
            "\n## {title}\n\n| rule | default | run by | what it finds |\n|---|---|---|---|\n"
        );
        for rule in rules {
            let (meta, runners) = (&rule.meta, runners(rule));
            let fixed = if meta.adjustable { "" } else { " *fixed*" };
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "| [`{id}`](rules/{id}.md) | {mode}{fixed} | {runners} | {summary} |",
                id = meta.id,
                mode = meta.mode,
                summary = meta.summary,
            );
        }
    }
    out
}

/// Returns the entries of the rules in the summary of the site.
pub fn summary() -> String {
    let ids = all().iter().map(|rule| rule.meta.id);
    ids.map(|id| format!("  - [{id}](rules/{id}.md)\n")).collect()
}

/// Returns the content of `docs/rules/ID.md`.
pub fn page(rule: &Rule) -> String {
    let meta = &rule.meta;
    let fixed = if meta.adjustable { "" } else { ", fixed" };
    format!(
        "# {id}\n\n{GENERATED}\n\n{summary}.\n\n\
         Default: `{mode}`{fixed}. Kinds: {kinds}. Run by: {runners}.\n\n{why}\n\n\
         ## Bad\n\n```yaml\n{bad}\n```\n\n## Good\n\n```yaml\n{good}\n```\n\n\
         [All rules](../rules.md)\n",
        id = meta.id,
        summary = capitalised(meta.summary),
        mode = meta.mode,
        kinds = kinds(rule),
        runners = runners(rule),
        why = meta.why.trim_end(),
        bad = meta.bad.trim_end(),
        good = meta.good.trim_end(),
    )
}

/// Returns the explanation of a rule for an editor, with the address of its page.
pub fn explanation(rule: &Rule) -> String {
    let meta = &rule.meta;
    let mut out = format!(
        "### [{id}]({url})\n\n{summary}.\n\nDefault: `{mode}`. Kinds: {kinds}.\n\n{why}\n",
        id = meta.id,
        url = url(meta),
        summary = capitalised(meta.summary),
        mode = meta.mode,
        kinds = kinds(rule),
        why = meta.why.trim_end(),
    );
    for (title, manifest) in [("Bad", meta.bad), ("Good", meta.good)] {
        let manifest = manifest.trim_end();
        if !manifest.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\n#### {title}\n\n```yaml\n{manifest}\n```\n");
        }
    }
    out
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

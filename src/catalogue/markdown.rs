//! The pages that are generated from the rules, so that they always match them.

use std::fmt::Write as _;

use super::{Rule, all};

/// Returns the content of `docs/rules.md`.
pub fn rules_markdown() -> String {
    let rules = all();
    let mut out = String::from(
        "# Rules\n\n\
         <!-- Generated from the rules: UPDATE_GENERATED=1 cargo test --test it generated -->\n\n\
         `deny` rejects the object, `warn` shows a warning, `audit` only counts, and `off` does\n\
         not run the rule. A [policy](policy.md) can change the mode of every rule that is not\n\
         marked *fixed*.\n\n\
         | rule | default | kinds | what it finds |\n\
         |---|---|---|---|\n",
    );
    for rule in rules {
        let meta = rule.meta;
        let fixed = if meta.adjustable { "" } else { " *fixed*" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "| [`{id}`](#{id}) | {mode}{fixed} | {kinds} | {summary} |",
            id = meta.id,
            mode = meta.mode,
            kinds = rule.kinds(),
            summary = meta.summary,
        );
    }
    for rule in rules {
        section(&mut out, rule);
    }
    out
}

fn section(out: &mut String, rule: &Rule) {
    let meta = rule.meta;
    let _ = write!(
        out,
        "\n## {id}\n\n{summary}. Default: `{mode}`; kinds: {kinds}.\n\n{why}\n\n\
         Bad:\n\n```yaml\n{bad}\n```\n\nGood:\n\n```yaml\n{good}\n```\n",
        id = meta.id,
        summary = capitalised(meta.summary),
        mode = meta.mode,
        kinds = rule.kinds(),
        why = meta.why.trim_end(),
        bad = meta.bad.trim_end(),
        good = meta.good.trim_end(),
    );
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

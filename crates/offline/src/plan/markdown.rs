//! The plan for a comment on a pull request.

use super::headline::{facts, without};
use crate::plan::prelude::*;

/// Prints what a reviewer must see first, then a line for each object, with its steps folded.
pub(super) fn print(plan: &Plan, none: &str, out: &mut dyn Write) -> io::Result<()> {
    let (facts, forecasts) = (facts(plan), &plan.forecasts);
    if facts.is_empty() {
        writeln!(out, "{}", if forecasts.is_empty() { none } else { without(forecasts) })?;
    }
    for fact in facts {
        let (kind, object) = (fact.kind.as_str(), code_span(&fact.object));
        writeln!(out, "- **{kind}**: {object}: {}", fact.sentence(code_span))?;
    }
    let (idle, shown): (Vec<_>, Vec<_>) = forecasts.iter().partition(|it| it.needs_no_words());
    for forecast in shown {
        let title = picture::title(forecast);
        let change = forecast.change.for_people();
        let settings = forecast.settings.iter().map(|it| format!(", {}", setting(it)));
        writeln!(out, "\n### {}\n", code_span(&title))?;
        writeln!(out, "{change}{}", settings.collect::<String>())?;
        if forecast.active().is_some() {
            writeln!(out)?;
        }
        for (tone, text) in picture::summary(forecast) {
            // Only bad consequences have names.
            let text = if tone == Tone::Plain { text } else { code_span(&text) };
            writeln!(out, "- {text}")?;
        }
        writeln!(out, "\n<details><summary>Steps</summary>\n")?;
        fenced(&picture::story(forecast, UNICODE), out)?;
        writeln!(out, "\n</details>")?;
    }
    if !idle.is_empty() {
        let titles: Vec<_> = idle.into_iter().map(|it| code_span(&picture::title(it))).collect();
        writeln!(out, "\nNothing changes: {}", titles.join(", "))?;
    }
    Ok(())
}

fn fenced(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    let lines: Vec<_> = lines.iter().map(|line| one_line(&line.to_string()).into_owned()).collect();
    let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
    // The fence is longer than any run of backquotes in a value.
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "{fence}text")?;
    for line in lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{fence}")
}

/// Returns the text as a code span, to disable markup, links and mentions.
fn code_span(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    // A space at both ends separates a backquote from the fence.
    let space = if text.contains('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Returns a setting of plain words unchanged, otherwise as a code span, because some fields accept any text.
fn setting(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
    if is_plain { text.to_owned() } else { code_span(text) }
}

fn longest_run(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

//! The plan for a comment on a pull request.

use std::io::{self, Write};

use super::{forecast::Forecast, line::UNICODE, picture};
use crate::printable::one_line;

/// Prints the plan: a line for each object, with a picture that can be unfolded.
pub(super) fn print(forecasts: &[Forecast], out: &mut dyn Write) -> io::Result<()> {
    if forecasts.is_empty() {
        return writeln!(out, "No DaemonSets or StatefulSets.");
    }
    for forecast in forecasts {
        let title = picture::title(forecast);
        let change = forecast.change.as_str();
        let settings = forecast.settings.iter().map(|it| format!(", {}", setting(it)));
        writeln!(out, "### {}\n", code_span(&title))?;
        writeln!(out, "{change}{}\n", settings.collect::<String>())?;
        let lines = picture::lines(forecast, UNICODE).into_iter();
        let lines: Vec<_> = lines.map(|line| one_line(&line.to_string()).into_owned()).collect();
        let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
        // The fence is longer than any run of backquotes in a value.
        let fence = "`".repeat(longest.max(2) + 1);
        writeln!(out, "{fence}text")?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{fence}\n")?;
    }
    Ok(())
}

/// Writes a remark about an object.
pub(super) fn remark(object: &str, why: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}, {why}.\n", code_span(object))
}

/// Returns the text as a code span, in which no markup, link or mention has an effect.
fn code_span(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    // A space at both ends separates a backquote there from the fence.
    let space = if text.contains('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Returns a setting unchanged if it consists of words, otherwise as code, because some fields can
/// have any text.
fn setting(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == ' ');
    if is_plain { text.to_owned() } else { code_span(text) }
}

fn longest_run(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

//! The plan for a comment on a pull request.

use std::io::{self, Write};

use super::{forecast::Forecast, line::UNICODE, picture};

/// Prints the plan: a line for each object, and its picture to unfold.
pub(super) fn print(forecasts: &[Forecast], out: &mut dyn Write) -> io::Result<()> {
    if forecasts.is_empty() {
        return writeln!(out, "No DaemonSets or StatefulSets.");
    }
    for forecast in forecasts {
        let title = picture::title(forecast);
        let change = forecast.change.as_str();
        let settings = forecast.settings.iter().map(|setting| format!(", {setting}"));
        writeln!(out, "### `{}`\n", title.replace('`', "'"))?;
        writeln!(out, "{change}{}\n", settings.collect::<String>())?;
        // Longer than any run of backquotes in a value.
        let lines = picture::lines(forecast, UNICODE).into_iter();
        let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
        let longest = lines.iter().map(|line| longest_run(line)).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        writeln!(out, "{fence}text")?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{fence}\n")?;
    }
    Ok(())
}

fn longest_run(line: &str) -> usize {
    line.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

//! The plan for people.

use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};
use setguard_core::printable::one_line;
use setguard_files::report::screen::Screen;

use super::{
    forecast::Forecast,
    picture,
    styled_line::{ASCII, Line, Symbols, Tone, UNICODE},
};

/// Prints the plan with colours, to a stream that removes them if it isn't a terminal. `plain`
/// leaves out symbols, and uses dots for the ellipsis of a shortened value. `none` is printed if there
/// are no objects.
pub(super) fn print(
    forecasts: &[Forecast],
    none: &str,
    plain: bool,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    if forecasts.is_empty() {
        return writeln!(out, "{none}");
    }
    for (i, forecast) in forecasts.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        let symbols = if plain { ASCII } else { UNICODE };
        let mut first = Line::new(Tone::Title, picture::title(forecast));
        if !forecast.settings.is_empty() {
            first = first.and(Tone::Plain, format!("   {}", forecast.settings.join(", ")));
        }
        writeln!(out, "{}", screen.fit(&drawn("", &first, symbols), 4))?;
        for line in picture::lines(forecast, symbols) {
            writeln!(out, "{}", screen.fit(&drawn("  ", &line, symbols), 4))?;
        }
    }
    Ok(())
}

/// Draws a line. Its text may come from a manifest, so it is made printable.
fn drawn(indent: &str, line: &Line, symbols: Symbols) -> String {
    let mut drawn = indent.to_owned();
    for (tone, text) in line.pieces() {
        let style = style(tone);
        let text = one_line(text);
        let text =
            if symbols.more == "…" { text } else { text.replace('…', symbols.more).into() };
        drawn.push_str(&format!("{style}{text}{style:#}"));
    }
    drawn
}

/// Returns the style of a tone, with the colours that `check` uses for errors, warnings and help.
fn style(tone: Tone) -> Style {
    let bright = |color: AnsiColor| Style::new().bold().fg_color(Some(color.into()));
    let dull = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Title => Style::new().bold(),
        Tone::Old => dull(AnsiColor::Red),
        Tone::New => dull(AnsiColor::Green),
        Tone::Moves => bright(AnsiColor::BrightCyan),
        Tone::Stays => dull(AnsiColor::BrightBlue),
        Tone::Caution => bright(AnsiColor::Yellow),
        Tone::Bad => bright(AnsiColor::BrightRed),
    }
}

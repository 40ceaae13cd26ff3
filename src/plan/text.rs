//! The plan for people.

use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};

use super::{
    forecast::Forecast,
    line::{ASCII, Tone, UNICODE},
    picture,
};
use crate::printable::Printable;

/// Prints the plan, in colours, to a stream that removes them where nobody can see them; `plain`
/// without symbols, and with dots for the ellipsis of a shortened value.
pub(super) fn print(forecasts: &[Forecast], plain: bool, out: &mut dyn Write) -> io::Result<()> {
    if forecasts.is_empty() {
        return writeln!(out, "no DaemonSets or StatefulSets");
    }
    for (i, forecast) in forecasts.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        let symbols = if plain { ASCII } else { UNICODE };
        let mut write = |style, text: &str| match symbols.more {
            "…" => write_in(style, text, out),
            more => write_in(style, &text.replace('…', more), out),
        };
        write(Style::new().bold(), &picture::title(forecast))?;
        if !forecast.settings.is_empty() {
            write(Style::new(), &format!("   {}", forecast.settings.join(", ")))?;
        }
        for line in picture::lines(forecast, symbols) {
            write(Style::new(), "\n  ")?;
            for (tone, text) in line.pieces() {
                write(style(tone), text)?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes text that somebody else may have written: the ESC in it is replaced, that of the style is not.
fn write_in(style: Style, text: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{style}")?;
    Printable::new(&mut *out).write_all(text.as_bytes())?;
    write!(out, "{style:#}")
}

/// The colours that `check` has for errors, warnings and help.
fn style(tone: Tone) -> Style {
    let bright = |color: AnsiColor| Style::new().bold().fg_color(Some(color.into()));
    let dull = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
    match tone {
        Tone::Plain => Style::new(),
        Tone::Old => dull(AnsiColor::Red),
        Tone::New => dull(AnsiColor::Green),
        Tone::Moves => bright(AnsiColor::BrightCyan),
        Tone::Stays => dull(AnsiColor::BrightBlue),
        Tone::Caution => bright(AnsiColor::Yellow),
        Tone::Bad => bright(AnsiColor::BrightRed),
    }
}

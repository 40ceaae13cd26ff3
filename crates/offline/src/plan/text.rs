//! The plan for people.

use clap::builder::styling::{AnsiColor, Style};
use setguard_core::finding;
use setguard_files::report::screen::Screen;

use super::{headline::lost_claims, pod_counts, styled_line::ASCII};
use crate::plan::prelude::*;

/// Prints the plan with colours, and `none` if the plan has no objects. With `plain`, the output has no symbols, and
/// shortened values end in dots.
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
    let symbols = if plain { ASCII } else { UNICODE };
    let (idle, shown): (Vec<_>, Vec<_>) = forecasts.iter().partition(|it| it.needs_no_words());
    for (i, forecast) in shown.iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        let mut first = Line::new(Tone::Title, picture::title(forecast));
        if !forecast.settings.is_empty() {
            first = first.and(Tone::Plain, format!("   {}", forecast.settings.join(", ")));
        }
        writeln!(out, "{}", screen.fit(&drawn("", &first, symbols), 4))?;
        for line in picture::lines(forecast, symbols) {
            writeln!(out, "{}", screen.fit(&drawn("  ", &line, symbols), 4))?;
        }
    }
    let mut last = Vec::new();
    if !idle.is_empty() {
        let titles: Vec<_> = idle.into_iter().map(picture::title).collect();
        let text = format!("nothing changes: {}", titles.join(", "));
        last.push(Line::new(Tone::Plain, text));
    }
    if shown.len() > 1 {
        last.push(totals(&shown));
    }
    if !shown.is_empty() && !last.is_empty() {
        writeln!(out)?;
    }
    last.iter().try_for_each(|it| writeln!(out, "{}", screen.fit(&drawn("", it, symbols), 4)))
}

fn totals(shown: &[&Forecast]) -> Line {
    let (mut pods, mut claims, mut refused) = (Tally::default(), 0, 0);
    let mut replaced = 0;
    for forecast in shown {
        if forecast.change == ChangeKind::Refused {
            refused += 1;
            continue;
        }
        let Some(rollout) = forecast.active() else { continue };
        let moved = Tally::of(&rollout.course);
        let again = pod_counts::replaced(&rollout.course);
        replaced += again;
        pods.created += moved.created.saturating_sub(again);
        pods.deleted += moved.deleted.saturating_sub(again);
        claims += lost_claims(rollout).len();
    }
    let parts = [
        (Tone::New, pods.created, "pod", "created"),
        (Tone::Moves, replaced, "pod", "replaced"),
        (Tone::Bad, pods.deleted, "pod", "deleted"),
        (Tone::Bad, claims, "claim", "DELETED with the data"),
        (Tone::Bad, refused, "change", "refused"),
    ];
    let mut line = Line::new(Tone::Title, "in all");
    let mut separator = ": ";
    for (tone, count, noun, what) in parts.into_iter().filter(|(_, count, ..)| *count > 0) {
        let text = format!("{} {what}", finding::count(count, noun));
        line = line.and(Tone::Plain, separator).and(tone, text);
        separator = ", ";
    }
    if shown.iter().any(|it| it.id.kind == "DaemonSet" && it.rollout.is_none()) {
        let separator = if separator == ", " { "; " } else { separator };
        let text = "the pods of DaemonSets aren't counted without --nodes";
        return line.and(Tone::Plain, format!("{separator}{text}"));
    }
    match separator {
        ": " => line.and(Tone::Plain, ": no pod is created or deleted"),
        _ => line,
    }
}

/// Escapes the text, because it may come from a manifest.
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

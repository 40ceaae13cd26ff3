//! The plan as a drawing: for each object, a row for each pod and a column for each wave. The file is self-contained
//! and has no script.

use std::fmt::Write as _;

use setguard_core::finding::shorten;
use setguard_files::report::junit::Xml;

use super::{
    headline::{facts, without},
    timeline::{Row, Shown, Timeline},
};
use crate::plan::prelude::*;

const MOST_OBJECTS: usize = 24;
/// The maximum length of a name in a row, in bytes.
const LONGEST_NAME: usize = 26;
/// The maximum length of a text below a table, in bytes.
const LONGEST_TEXT: usize = 400;

const MARGIN: usize = 20;
const NAMES: usize = 200;
const COLUMN: usize = 118;
const ROW: usize = 26;
const LINE: usize = 20;
const LEAST_WIDTH: usize = 720;
/// A generous estimate of the width of a character, in pixels.
const CHARACTER: usize = 8;

const STYLE: &str = "\
.setguard { --page: #ffffff; --ink: #1f2328; --dull: #59636e; --line: #d1d9e0; --created: #c8f0d0; --replaced: #cfe4ff; \
--deleted: #ffe2b8; --lost: #ffc9c4; --kept: #eef1f4; font: 13px system-ui, sans-serif; background: var(--page) }
@media (prefers-color-scheme: dark) { .setguard { --page: #0d1117; --ink: #e6edf3; --dull: #9198a1; --line: #3d444d; \
--created: #1d4a2b; --replaced: #1c3f6e; --deleted: #5c3d0a; --lost: #7a1f1a; --kept: #20262d } }
.setguard text { fill: var(--ink) } .setguard .dull { fill: var(--dull) }
.setguard .title { font-size: 16px; font-weight: bold } .setguard .bold { font-weight: bold }
.setguard line { stroke: var(--line) } .setguard .page { fill: var(--page) }
.setguard .created { fill: var(--created) } .setguard .replaced { fill: var(--replaced) } .setguard .deleted { fill: var(--deleted) }
.setguard .lost { fill: var(--lost); stroke: var(--ink); stroke-width: 2 } .setguard .kept { fill: var(--kept) }
";

pub(super) fn print(plan: &Plan, none: &str, out: &mut dyn Write) -> io::Result<()> {
    let Plan { forecasts, unknown, errors, .. } = plan;
    let mut canvas = Canvas { body: String::new(), width: LEAST_WIDTH, y: MARGIN };
    for error in errors.iter().take(MOST_OBJECTS) {
        canvas.wrapped(&format!("error: {error}"));
    }
    canvas.more(errors.len(), "errors");
    for forecast in forecasts.iter().take(MOST_OBJECTS) {
        canvas.object(forecast);
    }
    canvas.more(forecasts.len(), "objects");
    if forecasts.is_empty() {
        canvas.line("dull", none);
    }
    for object in unknown.iter().take(MOST_OBJECTS) {
        canvas.line("bold", object);
    }
    canvas.more(unknown.len(), "objects that can't be planned");
    writeln!(out, "{}", canvas.finish(&description(plan)))
}

/// Returns the description for readers who can't see the drawing.
fn description(plan: &Plan) -> String {
    let facts = facts(plan);
    let sentence = |fact: &super::headline::Fact| {
        let (kind, object) = (fact.kind.as_str(), &fact.object);
        format!("{kind}: {object}: {}.", fact.sentence(str::to_owned))
    };
    let all: Vec<_> = facts.iter().take(MOST_OBJECTS).map(sentence).collect();
    if all.is_empty() { without(&plan.forecasts).to_owned() } else { all.join(" ") }
}

/// Escapes the text as XML in one line.
pub(super) fn xml(text: &str) -> String {
    Xml(&one_line(text)).to_string()
}

struct Shape<'a> {
    column: usize,
    span: usize,
    class: &'a str,
    text: &'a str,
}

struct Canvas {
    body: String,
    width: usize,
    y: usize,
}

impl Canvas {
    fn object(&mut self, forecast: &Forecast) {
        let timeline = forecast.rollout.as_ref().map(|it| Timeline::of(it, forecast));
        let timeline = timeline.filter(|it| forecast.active().is_some() || it.stops);
        if let Some(timeline) = &timeline {
            let columns = timeline.waves.len() + usize::from(timeline.stops);
            self.width = self.width.max(2 * MARGIN + NAMES + columns * COLUMN);
        }
        self.line("title", &picture::title(forecast));
        let settings: Vec<_> = forecast.settings.iter().map(String::as_str).collect();
        let change = [&[forecast.change.for_people()], settings.as_slice()].concat().join(", ");
        self.line("dull", &change);
        if let Some(timeline) = &timeline {
            self.table(timeline, forecast);
        }
        for (_, text) in picture::summary(forecast) {
            self.wrapped(&text);
        }
        if let Some(line) = stop::line(forecast) {
            self.wrapped(&line.to_string());
        }
        for note in &forecast.notes {
            self.wrapped(note);
        }
        self.y += MARGIN;
    }

    fn table(&mut self, timeline: &Timeline, forecast: &Forecast) {
        let label = if forecast.id.kind == "DaemonSet" { "pod on node" } else { "pod" };
        let baseline = self.y + 17;
        self.text(MARGIN, baseline, "bold", label);
        for (i, wave) in timeline.waves.iter().enumerate() {
            let text = match wave {
                Shown::One(wave) => format!("wave {wave}"),
                Shown::Gap(count) => format!("… {count} waves"),
            };
            self.text(column(i) + 6, baseline, "bold", &text);
        }
        if timeline.stops {
            self.text(column(timeline.waves.len()) + 6, baseline, "bold", "then");
        }
        self.y += ROW;
        for row in &timeline.rows {
            let (top, right) = (self.y, self.width - MARGIN);
            let _ = writeln!(
                self.body,
                "<line x1=\"{MARGIN}\" y1=\"{top}\" x2=\"{right}\" y2=\"{top}\"/>"
            );
            match row {
                Shown::One(row) => self.row(row, timeline),
                Shown::Gap(count) => {
                    let text = format!("… {count} more");
                    self.text(MARGIN, self.y + 17, "dull", &text);
                }
            }
            self.y += ROW;
        }
        self.y += 6;
    }

    fn row(&mut self, row: &Row, timeline: &Timeline) {
        self.text(MARGIN, self.y + 17, "", &shorten(&row.name, LONGEST_NAME));
        let columns = timeline.waves.len();
        if let Some((count, revision)) = row.kept.filter(|_| row.cells.is_empty()) {
            let template = match revision {
                Revision::New => "left alone",
                Revision::Old => "keeps the old template",
            };
            let number = if count > 1 { format!("{count}: ") } else { String::new() };
            let text = format!("{number}{template}");
            let class = "kept";
            self.cell(row, &Shape { column: 0, span: columns.max(1), class, text: &text });
        }
        for (i, wave) in timeline.waves.iter().enumerate() {
            let Shown::One(wave) = wave else { continue };
            if let Some(cell) = row.cells.get(wave) {
                let (class, text) = (cell.class(), &cell.text());
                self.cell(row, &Shape { column: i, span: 1, class, text });
            }
        }
        if row.stops {
            let (class, text) = ("lost", "never ready");
            self.cell(row, &Shape { column: columns, span: 1, class, text });
        }
    }

    /// Draws a cell. Hovering over the cell shows the whole name.
    fn cell(&mut self, row: &Row, shape: &Shape<'_>) {
        let Shape { class, text, .. } = shape;
        let (x, y) = (column(shape.column) + 2, self.y + 3);
        let (width, height) = (shape.span * COLUMN - 4, ROW - 6);
        let name = xml(&row.name);
        let _ = writeln!(
            self.body,
            "<g><title>{name}: {text}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" \
             width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
        );
        self.text(x + 6, self.y + 17, "", text);
        self.body.push_str("</g>\n");
    }

    /// Returns how many of a total were left out.
    fn more(&mut self, all: usize, what: &str) {
        if all > MOST_OBJECTS {
            let more = all - MOST_OBJECTS;
            self.line("dull", &format!("… and {more} more {what}: see --format text"));
        }
    }

    fn line(&mut self, class: &str, text: &str) {
        let most = (self.width - 2 * MARGIN) / (CHARACTER + 2);
        self.text(MARGIN, self.y + 14, class, &shorten(text, most));
        self.y += LINE + 2;
    }

    fn wrapped(&mut self, text: &str) {
        let most = (self.width - 2 * MARGIN) / CHARACTER;
        let text = shorten(text, LONGEST_TEXT);
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.len() + word.len() >= most {
                self.text(MARGIN, self.y + 14, "", &line);
                self.y += LINE;
                line.clear();
            }
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(&shorten(word, most));
        }
        self.text(MARGIN, self.y + 14, "", &line);
        self.y += LINE;
    }

    fn text(&mut self, x: usize, y: usize, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(self.body, "<text x=\"{x}\" y=\"{y}\"{class}>{}</text>", xml(text));
    }

    fn finish(self, description: &str) -> String {
        let Canvas { body, width, y } = self;
        let height = y + MARGIN;
        let description = xml(description);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"setguard\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>Plan: what the controllers will do</title>\n<desc>{description}</desc>\n\
             <style>\n{STYLE}</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{body}</svg>"
        )
    }
}

const fn column(i: usize) -> usize {
    MARGIN + NAMES + i * COLUMN
}

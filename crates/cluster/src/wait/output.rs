//! Writes events: as lines of text or JSON, or on a screen that is redrawn in place.

use std::{
    env,
    io::{self, IsTerminal as _, Write},
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use setguard_core::printable::{Printable, one_line};
use setguard_files::prelude::*;
use setguard_files::report::{Report as _, text::Text};

use super::event::{Event, EventType};
use crate::prelude::*;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: a line for each change; on a terminal a line for each set, drawn again in place
    #[default]
    Text,
    /// For programs: an event on each line
    Json,
}

const TICK: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Output {
    format: Format,
    screen: Option<Screen>,
    had_screen: bool,
    /// The last key and message for each set; a line with the same key is not repeated.
    last: BTreeMap<Target, ([String; 2], String)>,
}

#[derive(Debug)]
struct Screen {
    all: MultiProgress,
    lines: BTreeMap<Target, ProgressBar>,
}

impl Output {
    pub(crate) fn of(format: Format, targets: &[Target]) -> Self {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_watched = io::stdout().is_terminal() && io::stderr().is_terminal();
        let is_watched = is_watched && env::var_os("CI").is_none() && !is_dumb;
        let screen = (format == Format::Text && is_watched).then(|| Screen::of(targets));
        Output { format, had_screen: screen.is_some(), screen, last: BTreeMap::new() }
    }

    /// Writes the progress of a set if it is new: for programs each change, for people only what they would act on, and
    /// a known obstacle only once.
    pub(crate) fn set(&mut self, target: &Target, event: &Event<'_>) -> io::Result<()> {
        if let Some(line) = self.screen.as_ref().and_then(|it| it.lines.get(target)) {
            line.set_message(one_line(&format!("{target}: {}", event.message)).into_owned());
            return Ok(());
        }
        let last = self.last.get(target);
        let is_known = last.is_some_and(|(key, message)| match self.format {
            Format::Text => *key == event.key,
            Format::Json => *message == event.message,
        });
        if is_known {
            return Ok(());
        }
        let is_repeated = last.is_some_and(|([_, obstacle], _)| *obstacle == event.key[1]);
        self.last.insert(target.clone(), (event.key.clone(), event.message.clone()));
        self.write(Some(target), event, if is_repeated { &event.headline } else { &event.message })
    }

    pub(crate) fn say(&self, target: Option<&Target>, event: &Event<'_>) -> io::Result<()> {
        let write = || self.write(target, event, &event.message);
        self.screen.as_ref().map_or_else(write, |screen| screen.all.suspend(write))
    }

    /// Writes that a set is done, unless the log already has this line.
    pub(crate) fn done(&self, target: &Target, event: &Event<'_>) -> io::Result<()> {
        let is_known = self.last.get(target).is_some_and(|(_, it)| *it == event.message);
        let is_shown = is_known && self.format == Format::Text && !self.had_screen;
        if is_shown { Ok(()) } else { self.write(Some(target), event, &event.message) }
    }

    pub(crate) fn verdict(
        &self,
        target: &Target,
        event: &Event<'_>,
        found: &[&Diagnostic],
    ) -> io::Result<()> {
        if self.format == Format::Json || found.is_empty() {
            return self.write(Some(target), event, &event.message);
        }
        self.write(Some(target), event, &event.headline)?;
        let mut report = ObjectReport::of(ObjectId {
            api_version: "apps/v1".to_owned(),
            kind: target.kind.as_str().to_owned(),
            namespace: target.namespace.clone(),
            name: target.name.clone(),
            is_generated: false,
        });
        report.diagnostics = found.iter().copied().cloned().collect();
        writeln!(io::stdout())?;
        Text::on_stdout(None).object(None, &report)
    }

    /// Removes the screen, so that later output stays.
    pub(crate) fn leave_screen(&mut self) -> io::Result<()> {
        if let Some(screen) = self.screen.take() {
            screen.all.clear()?;
        }
        Ok(())
    }

    fn write(&self, target: Option<&Target>, event: &Event<'_>, message: &str) -> io::Result<()> {
        let message = one_line(message);
        if self.format == Format::Json {
            let mut out = Printable::new(io::stdout());
            writeln!(out, "{}", serde_json::to_string(event)?)?;
            return out.flush();
        }
        if event.type_ == EventType::Note {
            report::note(&format!("{}: {message}", event.time));
            return Ok(());
        }
        let mut out = Printable::new(io::stdout()).guarded();
        match target {
            Some(target) => writeln!(out, "{} {target}: {message}", event.time)?,
            None => writeln!(out, "{} {message}", event.time)?,
        }
        out.flush()
    }
}

impl Screen {
    fn of(targets: &[Target]) -> Self {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        let lines = targets.iter().map(|target| {
            let line = all.add(ProgressBar::new_spinner());
            if let Ok(style) = &style {
                line.set_style(style.clone().tick_chars("|/-\\ "));
            }
            line.set_message(format!("{target}: waiting for the API server"));
            line.enable_steady_tick(TICK);
            (target.clone(), line)
        });
        let lines = lines.collect();
        Screen { all, lines }
    }
}

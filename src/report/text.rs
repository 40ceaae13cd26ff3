//! The report for people: what is wrong, where, and what to do about it.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use anstream::{AutoStream, ColorChoice};

use super::{
    Report,
    diagnostic::{Diagnostic, ObjectReport, Severity, Summary},
};
use crate::{
    finding::shorten,
    manifests::{id::ObjectId, source::Source},
    printable::Printable,
    yaml::{Mark, Problem},
};

/// Texts longer than this many bytes lose their middle: they may contain a value of any size.
const LONG_TEXT: usize = 600;
/// Lines longer than this many bytes are cut to the part around the mark.
const LONG_LINE: usize = 300;
/// How many characters are kept on each side of the mark.
const AROUND: usize = 60;

/// Prints each object to standard output as soon as it has been judged.
#[derive(Debug)]
pub(crate) struct Text {
    renderer: Renderer,
    out: Printable<io::BufWriter<AutoStream<io::Stdout>>>,
}

impl Text {
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        let choice = AutoStream::choice(&stdout);
        // The renderer has removed the ESC of others.
        let out = Printable::styled(io::BufWriter::new(AutoStream::new(stdout, choice)));
        Text { renderer: renderer(choice), out }
    }

    fn print(
        &mut self,
        source: &Source,
        id: Option<&ObjectId>,
        diagnostic: &Diagnostic,
    ) -> io::Result<()> {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let title = if diagnostic.field.is_empty() {
            diagnostic.message.clone()
        } else {
            format!("{}: {}", diagnostic.field, diagnostic.message)
        };
        let title = shorten(&title, LONG_TEXT);
        let mut group = Group::with_title(level.primary_title(title).id(diagnostic.rule.id));
        group = place(group, source, diagnostic.mark);
        if let Some(id) = id {
            let name = format!("{} {}/{}", id.kind, id.namespace, id.name);
            group = group.element(Level::NOTE.with_name("in").message(clean(&name)));
        }
        if let Some(downgrade) = &diagnostic.downgrade {
            group = group.element(Level::NOTE.message(clean(downgrade)));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(clean(help)));
        }
        writeln!(self.out, "{}\n", self.renderer.render(&[group]))
    }
}

impl Report for Text {
    fn object(&mut self, source: &Source, object: &ObjectReport) -> io::Result<()> {
        for diagnostic in &object.diagnostics {
            self.print(source, Some(&object.id), diagnostic)?;
        }
        for remark in &object.remarks {
            writeln!(self.out, "note: {}: {}\n", clean(source.name()), clean(remark))?;
        }
        if object.diagnostics.is_empty() { Ok(()) } else { self.out.flush() }
    }

    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()> {
        self.print(source, None, diagnostic)?;
        self.out.flush()
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let &Summary { files, objects, denied, warned, others, unreadable, passed_over } = summary;
        let count = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let mut line = format!("{} judged in {}", count(objects, "object"), count(files, "file"));
        line.push_str(&format!(": {denied} denied, {warned} warned"));
        if unreadable > 0 {
            line.push_str(&format!(", {} not readable", count(unreadable, "document")));
        }
        if others > 0 {
            line.push_str(&format!(", {others} of other kinds skipped"));
        }
        if passed_over > 0 {
            line.push_str(&format!(", {} without an object", count(passed_over, "document")));
        }
        writeln!(self.out, "{line}")?;
        self.out.flush()
    }
}

/// Prints the problems of a policy file to standard error.
pub(crate) fn problems(source: &Source, problems: &[Problem]) -> io::Result<()> {
    let stderr = io::stderr();
    let choice = AutoStream::choice(&stderr);
    let renderer = renderer(choice);
    let mut out = Printable::styled(AutoStream::new(stderr, choice));
    for problem in problems {
        let field = problem.field.to_string();
        let title = if field.is_empty() {
            problem.message.clone()
        } else {
            format!("{field}: {}", problem.message)
        };
        let mut group = Group::with_title(Level::ERROR.primary_title(title));
        group = place(group, source, problem.mark);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(clean(help)));
        }
        writeln!(out, "{}\n", renderer.render(&[group]))?;
    }
    Ok(())
}

fn renderer(choice: ColorChoice) -> Renderer {
    if choice == ColorChoice::Never { Renderer::plain() } else { Renderer::styled() }
}

/// Shortens untrusted text, and replaces characters that could control the terminal.
fn clean(text: &str) -> String {
    annotate_snippets::normalize_untrusted_str(&shorten(text, LONG_TEXT))
}

/// Adds the source line, with the mark.
fn place<'a>(group: Group<'a>, source: &'a Source, mark: Mark) -> Group<'a> {
    let name = clean(source.name());
    let Some(line) = source.line(mark.line) else {
        return group.element(Origin::path(name).line(mark.line).char_column(mark.column));
    };
    let mut line = Cow::Borrowed(line.strip_prefix('\u{feff}').unwrap_or(line));
    let begin = mark.column.saturating_sub(1);
    let mut width = mark.width.max(1);
    if line.len() > LONG_LINE {
        // Spaces replace what is cut off on the left, so that columns stay right. They are not
        // printed.
        width = width.min(AROUND);
        let (from, to) = (begin.saturating_sub(AROUND), begin + width + AROUND);
        let kept = line.chars().take(to).enumerate();
        line = kept.map(|(i, c)| if i < from { ' ' } else { c }).collect();
    }
    let offset = |chars: usize| line.char_indices().nth(chars).map_or(line.len(), |(i, _)| i);
    let span = offset(begin)..offset(begin + width);
    let snippet = Snippet::source(line)
        .line_start(mark.line)
        .path(name)
        .annotation(AnnotationKind::Primary.span(span));
    group.element(snippet)
}

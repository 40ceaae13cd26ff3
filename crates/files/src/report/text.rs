//! The report for people: each problem, its position and the remedy.

use std::{collections::HashMap, fmt::Write as _};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use anstream::{AutoStream, ColorChoice, adapter::strip_str};
use kube_yaml::Problem;
use setguard_core::finding::{Help, at};

use super::{changes::EarlierObject, diagnostic::Folded, pipe::UntilClosed, screen::Screen};
use crate::report::prelude::*;
use crate::{manifests::excerpt::Excerpt, prelude::*};

/// Texts longer than this many bytes lose their middle, because they may contain a value of any size.
const LONG_TEXT: usize = 600;
/// The maximum number of changes of a template to show.
const MOST_CHANGES: usize = 6;
/// The maximum number of places to list for one reason.
const NAMED: usize = 5;
/// Messages longer than this many bytes come last in a finding.
const LONG_MESSAGE: usize = 240;
/// The maximum number of bytes to hold back for sorting by file and line.
const HELD: usize = 1 << 20;

enum FoundIn<'a> {
    /// A document that could not be read.
    Document,
    Object(&'a ObjectReport),
    Many(&'a Folded),
}

impl FoundIn<'_> {
    fn object(&self) -> Option<String> {
        match self {
            FoundIn::Document => None,
            FoundIn::Object(ObjectReport { id, ready, .. }) => Some(match ready {
                Some(Ready { ready, wanted }) if *wanted > 0 => {
                    format!("{id}, {ready} of {wanted} pods ready")
                }
                _ => id.to_string(),
            }),
            FoundIn::Many(Folded { count, first, .. }) => {
                let names: Vec<_> = first.iter().map(ToString::to_string).collect();
                let more = count.saturating_sub(first.len());
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                Some(format!("{count} objects: {}{more}", names.join(", ")))
            }
        }
    }

    fn rendered_from(&self) -> Option<&str> {
        match self {
            FoundIn::Object(object) => object.rendered_from.as_deref(),
            FoundIn::Document | FoundIn::Many(_) => None,
        }
    }
}

/// Prints each object as soon as it is evaluated.
pub struct Text {
    renderer: Renderer,
    out: Printable<Box<dyn Write>>,
    screen: Screen,
    /// On a terminal, each object appears immediately.
    is_terminal: bool,
    /// Of the last object without a file.
    namespace: Option<String>,
    has_folded: bool,
    /// Findings to print after the last finding of their file.
    held: Vec<Held>,
    held_bytes: usize,
    /// The files of the held findings, in the order of arrival.
    files: HashMap<String, usize>,
    least: Severity,
    /// The first rule with a finding of the highest severity.
    worst: Option<(Severity, &'static str)>,
    counts: Counts,
    not_checked: Vec<NotChecked>,
    left_out: usize,
    /// `None` if the policy weakens nothing.
    policy: Option<PolicyUse>,
}

struct Held {
    file: usize,
    mark: Mark,
    text: String,
}

impl Text {
    /// Creates a report on standard output. If the reader ends, as `head` does, the run and its other reports go on,
    /// because the exit code says what was found.
    pub fn on_stdout(policy: Option<PolicyUse>) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let choice = AutoStream::choice(&stdout);
        // The renderer has removed foreign ESCs.
        let out = UntilClosed { out: AutoStream::new(stdout, choice), is_closed: false };
        let out: Box<dyn Write> = Box::new(io::BufWriter::new(out));
        let screen = Screen::of_stdout(is_terminal, choice);
        let report = Text::new(Printable::styled(out), renderer(choice), screen, policy);
        Text { is_terminal, ..report }
    }

    pub(crate) fn in_file(file: impl Write + 'static, policy: Option<PolicyUse>) -> Self {
        let out: Box<dyn Write> = Box::new(io::BufWriter::new(file));
        Text::new(Printable::new(out), Renderer::plain(), Screen::unlimited(), policy)
    }

    fn new(
        out: Printable<Box<dyn Write>>,
        renderer: Renderer,
        screen: Screen,
        policy: Option<PolicyUse>,
    ) -> Self {
        Text {
            renderer,
            out: out.guarded(),
            screen,
            is_terminal: false,
            namespace: None,
            has_folded: false,
            held: Vec::new(),
            held_bytes: 0,
            files: HashMap::new(),
            least: Severity::default(),
            worst: None,
            counts: Counts::default(),
            not_checked: Vec::new(),
            left_out: 0,
            policy,
        }
    }

    fn print(
        &mut self,
        source: Option<&Source>,
        found_in: &FoundIn<'_>,
        diagnostic: &Diagnostic,
    ) -> io::Result<()> {
        if self.worst.is_none_or(|(worst, _)| worst < diagnostic.severity) {
            self.worst = Some((diagnostic.severity, diagnostic.rule.id));
        }
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let facts = diagnostic.facts.as_deref();
        let title = facts.map_or_else(|| diagnostic.title.clone(), Facts::heading);
        let title = shorten(&title, LONG_TEXT);
        let mut group = Group::with_title(level.primary_title(title).id(diagnostic.rule.id));
        if let Some(source) = source {
            group = excerpt(group, source, diagnostic.mark, &diagnostic.related);
        }
        // The title of a fault in a cluster has its cause.
        let field = if diagnostic.field.is_empty() { "note" } else { &diagnostic.field };
        let (field, message) = (shorten(field, LONG_TEXT), clean(&diagnostic.message));
        let is_said = facts.is_some()
            || diagnostic.field.is_empty() && diagnostic.title == diagnostic.message;
        let mut sentence =
            (!is_said).then(|| Level::NOTE.with_name(field).message(message.as_str()));
        if message.len() <= LONG_MESSAGE
            && let Some(sentence) = sentence.take()
        {
            group = group.element(sentence);
        }
        let mut notes = Vec::new();
        if let Some(object) = found_in.object() {
            let since = facts.and_then(|it| it.since).map(|it| format!(", since {}", at(it)));
            notes.push(("in", object + &since.unwrap_or_default()));
        }
        notes.extend(found_in.rendered_from().map(|it| ("from", format!("{it}, rendered"))));
        if let FoundIn::Object(ObjectReport { roots, .. }) = found_in
            && !roots.is_empty()
        {
            notes.push(("rendered by", roots.join(", ")));
        }
        notes.extend(facts.into_iter().flat_map(parts));
        if diagnostic.change == Some(Change::New) {
            notes.push(("new", "the earlier audit has not found this".to_owned()));
        }
        for (name, text) in notes {
            group = group.element(Level::NOTE.with_name(name).message(clean(&text)));
        }
        if let Some(downgrade) = &diagnostic.downgrade {
            group = group.element(Level::NOTE.message(clean(downgrade)));
        }
        if let Some(help) = &diagnostic.help {
            let help = Help::refer(help, &diagnostic.commands);
            group = group.element(Level::HELP.message(clean(&help)));
        }
        if let Some(sentence) = sentence {
            group = group.element(sentence);
        }
        // A finding about the status of an object has the commands in its help.
        if source.is_none() && diagnostic.commands.is_empty() {
            let next = format!("setguard explain {}", diagnostic.rule.id);
            group = group.element(Level::NOTE.with_name("next").message(next));
        }
        let rendered = render(&self.renderer, group);
        let mut text = format!("{}\n\n", self.screen.fit_finding(&rendered));
        text.push_str(&commands(&diagnostic.commands));
        self.hold(source, diagnostic.mark, text)
    }

    /// Prints a text, or holds it back until the last text about its file.
    fn hold(&mut self, source: Option<&Source>, mark: Mark, text: String) -> io::Result<()> {
        let Some(source) = source else { return self.out.write_all(text.as_bytes()) };
        let next = self.files.len();
        let file = *self.files.entry(source.name().to_owned()).or_insert(next);
        self.held_bytes += text.len();
        self.held.push(Held { file, mark, text });
        if self.held_bytes > HELD { self.release() } else { Ok(()) }
    }

    fn release(&mut self) -> io::Result<()> {
        self.held.sort_by_key(|it| (it.file, it.mark));
        self.files.clear();
        self.held_bytes = 0;
        self.held.drain(..).try_for_each(|it| self.out.write_all(it.text.as_bytes()))
    }

    fn print_not_checked(&mut self) -> io::Result<()> {
        let mut reasons: Vec<(bool, &str, Vec<String>)> = Vec::new();
        for NotChecked { file, line, why, is_changed, .. } in &self.not_checked {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let place = format!("{file}{line}");
            match reasons.iter_mut().find(|it| (it.0, it.1) == (*is_changed, why)) {
                Some((.., places)) => places.push(place),
                None => reasons.push((*is_changed, why, vec![place])),
            }
        }
        reasons.sort_by_key(|(is_changed, ..)| !is_changed);
        for (is_changed, why, places) in &reasons {
            let more = places.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let places =
                places.iter().take(NAMED).map(|it| clean(it)).collect::<Vec<_>>().join(", ");
            let what = match is_changed {
                true => "error: this change edits what is not checked",
                false => "not checked",
            };
            let line = format!("{what}: {places}{more}: {}", clean(why));
            writeln!(self.out, "{}\n", self.screen.fit(&line, 4))?;
        }
        Ok(())
    }

    fn total(&mut self, summary: &Summary) -> io::Result<()> {
        let mut text = summary.to_string();
        if let Some((_, rule)) = self.worst.filter(|_| summary.healthy.is_none()) {
            text.push_str(&format!("; `setguard explain {rule}` says why"));
        }
        text.lines().try_for_each(|line| writeln!(self.out, "{}", self.screen.fit(line, 4)))
    }

    /// Prints the namespace of an object without a file, if it differs from the last one.
    fn heading(&mut self, object: &ObjectReport) -> io::Result<()> {
        let namespace = &object.id.namespace;
        if self.namespace.as_ref() == Some(namespace) {
            return Ok(());
        }
        self.has_folded = false;
        self.namespace = Some(namespace.clone());
        match &**namespace {
            "" => writeln!(self.out, "in no namespace\n"),
            namespace => writeln!(self.out, "namespace {}\n", clean(namespace)),
        }
    }
}

impl Report for Text {
    fn limit(&mut self, severity: Severity) {
        self.least = severity;
    }

    fn object(&mut self, source: Option<&Source>, object: &ObjectReport) -> io::Result<()> {
        let least = self.least;
        let wanted = |it: &&Diagnostic| !it.is_folded && it.severity >= least;
        let counted = object.diagnostics.iter().filter(|it| it.severity >= least);
        counted.for_each(|it| self.counts.add(it));
        let shown = object.diagnostics.iter().filter(wanted);
        self.left_out += object.diagnostics.iter().filter(|it| it.severity < least).count();
        let is_empty = shown.clone().next().is_none();
        if source.is_none() && !(is_empty && object.remarks.is_empty()) {
            self.heading(object)?;
        }
        for diagnostic in shown.clone() {
            self.print(source, &FoundIn::Object(object), diagnostic)?;
        }
        let at = object.diagnostics.last().map(|it| it.mark).unwrap_or_default();
        for remark in &object.remarks {
            let place =
                source.map_or_else(|| object.id.to_string(), |source| source.name().to_owned());
            let note = format!("note: {}: {}", clean(&place), clean(remark));
            self.hold(source, at, format!("{}\n\n", self.screen.fit(&note, 4)))?;
        }
        if self.is_terminal && !is_empty { self.out.flush() } else { Ok(()) }
    }

    fn folded(&mut self, folded: &Folded) -> io::Result<()> {
        self.namespace = None;
        if !self.has_folded {
            self.has_folded = true;
            writeln!(self.out, "in many objects\n")?;
        }
        self.print(None, &FoundIn::Many(folded), &folded.diagnostic)
    }

    fn changes(&mut self, changes: &Changes) -> io::Result<()> {
        let Changes { new, still, gone } = changes;
        for Earlier { rule, object, title, message, .. } in gone.iter().flatten() {
            let EarlierObject { kind, namespace, name, .. } = object;
            let slash = if namespace.is_empty() { "" } else { "/" };
            let said = title.as_ref().unwrap_or(message);
            let line = format!("gone[{rule}]: {kind} {namespace}{slash}{name}: {said}");
            writeln!(self.out, "{}\n", self.screen.fit(&clean(&line), 4))?;
        }
        let gone = gone.as_ref().map_or("unknown".to_owned(), |it| it.len().to_string());
        writeln!(self.out, "since the earlier audit: {new} new, {still} still, gone: {gone}")
    }

    fn unreadable(&mut self, source: &Source, diagnostic: &Diagnostic) -> io::Result<()> {
        self.counts.add(diagnostic);
        self.print(Some(source), &FoundIn::Document, diagnostic)?;
        if self.is_terminal { self.out.flush() } else { Ok(()) }
    }

    fn not_checked(&mut self, entries: &[NotChecked]) {
        self.not_checked = entries.to_vec();
    }

    /// Standard error shows failures and notes.
    fn failure(&mut self, _: &str) {}

    fn note(&mut self, _: &str) {}

    fn overview(&mut self, summary: &Summary, objects: &[ObjectReport]) -> io::Result<()> {
        let mut summary = *summary;
        let all = objects.iter().flat_map(|object| &object.diagnostics);
        all.filter(|it| it.severity >= self.least).for_each(|it| summary.found.add(it));
        self.total(&summary)?;
        if summary.found.total() > 0 { writeln!(self.out) } else { Ok(()) }
    }

    fn finish(&mut self, summary: &Summary) -> io::Result<()> {
        let mut summary = *summary;
        summary.hidden.as_unwanted += self.left_out;
        summary.found = self.counts;
        self.release()?;
        self.print_not_checked()?;
        // The totals of a cluster come first.
        if summary.healthy.is_none() {
            self.total(&summary)?;
        }
        if let Some(policy) = &self.policy {
            writeln!(self.out, "{}", self.screen.fit(&clean(&policy.to_string()), 4))?;
        }
        self.out.flush()
    }
}

/// Puts each command on its own line, for copying.
fn commands(commands: &[Command]) -> String {
    let mut text = String::new();
    for (index, command) in commands.iter().enumerate() {
        if commands.len() > 1 {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "  # {}: {}", index + 1, command.effect().words());
        }
        // A command with its middle cut out would be a different command.
        let line = annotate_snippets::normalize_untrusted_str(command.line());
        let _ = writeln!(text, "  {line}");
    }
    if commands.is_empty() { text } else { text + "\n" }
}

/// Prints the problems of a policy file to standard error.
pub(crate) fn problems(source: &Source, problems: &[Problem]) -> io::Result<()> {
    let stderr = io::stderr();
    let choice = AutoStream::choice(&stderr);
    let renderer = renderer(choice);
    let mut out = Printable::styled(AutoStream::new(stderr, choice)).guarded();
    for problem in problems {
        let field = problem.field.to_string();
        let title = if field.is_empty() {
            problem.message.clone()
        } else {
            format!("{field}: {}", problem.message)
        };
        let mut group = Group::with_title(Level::ERROR.primary_title(title));
        group = excerpt(group, source, problem.mark, &[]);
        if let Some(help) = &problem.help {
            group = group.element(Level::HELP.message(clean(help)));
        }
        writeln!(out, "{}\n", render(&renderer, group))?;
    }
    Ok(())
}

fn renderer(choice: ColorChoice) -> Renderer {
    if choice == ColorChoice::Never { Renderer::plain() } else { Renderer::styled() }
}

/// The renderer puts a line with a meaningless mark before an excerpt that does not name its file again.
fn render(renderer: &Renderer, group: Group<'_>) -> String {
    let rendered = renderer.render(&[group]);
    let says_something = |line: &&str| strip_str(line).to_string().trim() != ":::";
    rendered.split_inclusive('\n').filter(says_something).collect()
}

/// Returns the parts of a message after its head, with their names.
fn parts(facts: &Facts) -> impl Iterator<Item = (&'static str, String)> {
    let effect = facts.effect.iter().map(|it| ("effect", it.clone()));
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
    let changes =
        facts.changes.iter().take(MOST_CHANGES).map(move |it| {
            ("changed", format!("{}: {} → {}", it.path, side(&it.old), side(&it.new)))
        });
    let more = facts.changes.len().checked_sub(MOST_CHANGES + 1);
    let more = more.map(|more| ("changed", format!("and {}", count(more + 1, "other field"))));
    effect.chain(changes).chain(more)
}

/// Shortens untrusted text, and replaces characters that could control the terminal.
fn clean(text: &str) -> String {
    annotate_snippets::normalize_untrusted_str(&shorten(text, LONG_TEXT))
}

/// Adds the source line with its mark, and the lines of related positions.
fn excerpt<'a>(
    group: Group<'a>,
    source: &'a Source,
    mark: Mark,
    related: &[(Mark, String)],
) -> Group<'a> {
    let path = clean(source.name());
    let path = if source.rendered().is_some() { format!("{path}, rendered") } else { path };
    let origin = |path| Origin::path(path).line(mark.line).char_column(mark.column);
    let Some(Excerpt { text, marked, is_cut }) = source.excerpt(mark) else {
        return group.element(origin(path));
    };
    let mut snippet = Snippet::source(text)
        .line_start(mark.line)
        .annotation(AnnotationKind::Primary.span(marked));
    let mut others: Vec<(usize, Snippet<'a, Annotation<'a>>)> = Vec::new();
    for (at, label) in related {
        let Some(other) = source.excerpt(*at) else { continue };
        let annotation = AnnotationKind::Context.span(other.marked).label(clean(label));
        // Positions on one line share its excerpt, unless each shows a different part of the line.
        let is_whole = !is_cut && !other.is_cut;
        if is_whole && at.line == mark.line {
            snippet = snippet.annotation(annotation);
            continue;
        }
        let same = others.iter().position(|(line, _)| is_whole && *line == at.line);
        let other = match same {
            Some(same) => others.remove(same).1,
            None => Snippet::source(other.text).line_start(at.line),
        };
        others.push((at.line, other.annotation(annotation)));
    }
    let group = if is_cut {
        // The renderer would count columns from the cut.
        group.element(origin(path)).element(snippet)
    } else {
        group.element(snippet.path(path))
    };
    others.into_iter().fold(group, |group, (_, other)| group.element(other))
}

//! All outputs of a run: standard output, files, and the summary of a step.

use std::mem;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use super::{
    args::Format,
    concise,
    file::{self, ReportFile},
    github, gitlab, json, junit,
    pipe::UntilClosed,
    sarif, step_summary,
    text::Text,
};
use crate::prelude::*;
use crate::report::prelude::*;

/// The outputs that the flags request.
#[derive(Default)]
pub struct Reports {
    on_stdout: Format,
    is_quiet: bool,
    /// The minimum severity of each format that doesn't report everything.
    severities: Vec<(Format, Severity)>,
    /// As trait objects, so that a browser does not download the code for text.
    texts: Vec<Box<dyn Report>>,
    /// The data for the formats other than text, if any is requested.
    collected: Option<Collected>,
    files: Vec<(Format, ReportFile)>,
    step_summary: Option<PathBuf>,
}

impl Reports {
    /// Prepares all outputs. Fails if a file cannot be written, or if two outputs name it.
    pub fn open(
        args: &OutputArgs,
        repository: &Repository,
        policy: &Policy,
    ) -> anyhow::Result<Self> {
        let (mut files, mut texts) = (Vec::new(), Vec::<Box<dyn Report>>::new());
        let weakening = PolicyUse::of(policy).filter(PolicyUse::weakens);
        let on_stdout = args.on_stdout();
        if on_stdout == Format::Text && !args.quiet {
            texts.push(Box::new(Text::on_stdout(weakening.clone())));
        }
        for (i, (format, path)) in args.files().enumerate() {
            if args.files().take(i).any(|(_, other)| other == path) {
                bail!("--output: {} is named twice", path.display());
            }
            let context = || format!("--output: {} cannot be written", path.display());
            let file = ReportFile::create(path).with_context(context)?;
            if format == Format::Text {
                let writer = file.writer().with_context(context)?;
                texts.push(Box::new(Text::in_file(writer, weakening.clone())));
            }
            files.push((format, file));
        }
        let uses = |format| on_stdout == format || args.files().any(|(it, _)| it == format);
        let is_collected =
            on_stdout != Format::Text || args.files().any(|(it, _)| it != Format::Text);
        let step_summary = env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
        Ok(Reports {
            on_stdout,
            is_quiet: args.quiet,
            severities: Vec::new(),
            texts,
            collected: is_collected.then(|| Collected::new(repository.clone(), policy)),
            files,
            step_summary: step_summary.filter(|_| uses(Format::Github)).map(PathBuf::from),
        })
    }

    /// Leaves out findings below the minimum severity of each format.
    pub fn limit(&mut self, severity: impl Fn(Format) -> Severity) {
        let all = Format::value_variants().iter().map(|format| (*format, severity(*format)));
        self.severities = all.filter(|(_, severity)| *severity > Severity::default()).collect();
        let severity = self.severity(Format::Text);
        self.texts.iter_mut().for_each(|text| text.limit(severity));
    }

    fn severity(&self, format: Format) -> Severity {
        let of = self.severities.iter().find(|(of, _)| *of == format);
        of.map_or_else(Severity::default, |(_, severity)| *severity)
    }

    /// Creates a report that keeps everything, for a program without standard output.
    pub fn kept(policy: &Policy) -> Self {
        let collected = Collected::new(Repository::default(), policy);
        Reports { collected: Some(collected), ..Reports::default() }
    }

    /// Ends the report, and returns it in JSON with its findings in the same order. Fails if the report cannot be
    /// written as JSON.
    pub fn into_json(mut self, summary: &Summary) -> io::Result<(Vec<u8>, Vec<Diagnostic>)> {
        self.all().try_for_each(|report| report.finish(summary))?;
        let Some(collected) = self.collected else { return Ok((Vec::new(), Vec::new())) };
        let mut report = Vec::new();
        json::write(&collected, &mut report)?;
        let findings = collected.in_files().into_iter().map(|entry| entry.diagnostic.clone());
        let findings = findings.collect();
        Ok((report, findings))
    }

    /// Returns all outputs.
    pub fn all(&mut self) -> impl Iterator<Item = &mut dyn Report> {
        let texts = self.texts.iter_mut().map(|text| &mut **text as &mut dyn Report);
        texts.chain(self.collected.as_mut().map(|collected| collected as &mut dyn Report))
    }

    /// Reports the findings in an object to all outputs; see [`Report::object`]. Fails if an output cannot be written.
    pub fn object(&mut self, source: Option<&Source>, object: &ObjectReport) -> io::Result<()> {
        self.all().try_for_each(|report| report.object(source, object))
    }

    /// Reports a failure that isn't a finding to all outputs, and prints it to standard error.
    pub fn failure(&mut self, message: &str) {
        self.record_failure(message);
        print_failure(self.on_stdout, message);
    }

    /// Reports a failure that isn't a finding to all outputs. The caller prints it with [`print_failure`].
    pub fn record_failure(&mut self, message: &str) {
        self.all().for_each(|report| report.failure(message));
    }

    /// Returns the format on standard output.
    pub const fn on_stdout(&self) -> Format {
        self.on_stdout
    }

    /// Reports a note to all outputs, and prints it to standard error.
    pub fn note(&mut self, message: &str) {
        self.all().for_each(|report| report.note(message));
        super::note(message);
    }

    /// Finishes all outputs. Fails if one cannot be written.
    pub fn finish(mut self, summary: &Summary) -> anyhow::Result<()> {
        self.all().try_for_each(|report| report.finish(summary))?;
        // All text is written before the files are moved.
        self.texts.clear();
        for (format, file) in mem::take(&mut self.files) {
            let path = file.path().display().to_string();
            let write = || {
                if let Some(collected) = self.collected(format) {
                    let mut out = io::BufWriter::new(file.writer()?);
                    format.write(&collected, &mut out)?;
                    out.flush()?;
                }
                file.finish()
            };
            write().with_context(|| format!("--output: {path} cannot be written"))?;
        }
        if let Some(path) = &self.step_summary
            && let Some(collected) = self.collected(Format::Github)
        {
            let write = || {
                let mut out = io::BufWriter::new(file::append(path)?);
                step_summary::write(&collected, &mut out)?;
                out.flush()
            };
            write().with_context(|| format!("{} cannot be written", path.display()))?;
        }
        if self.is_quiet {
            return Ok(());
        }
        let Some(collected) = self.collected(self.on_stdout) else { return Ok(()) };
        let out = UntilClosed { out: io::stdout().lock(), is_closed: false };
        let mut out = io::BufWriter::new(out);
        self.on_stdout.write(&collected, &mut out)?;
        Ok(out.flush()?)
    }

    fn collected(&self, format: Format) -> Option<Cow<'_, Collected>> {
        self.collected.as_ref().map(|collected| collected.at_least(self.severity(format)))
    }
}

/// Prints a failure that isn't a finding to standard error.
pub fn print_failure(on_stdout: Format, message: &str) {
    let mut stderr = Printable::new(anstream::stderr());
    let _ = match on_stdout {
        Format::Github => writeln!(stderr, "{}", github::error(message)),
        _ => writeln!(stderr.guarded(), "error: {message}"),
    };
}

impl Format {
    /// Writes nothing for a format that was written during the run.
    fn write(self, collected: &Collected, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::Text => Ok(()),
            Format::Concise => concise::write(collected, out),
            Format::Json => json::write(collected, out),
            Format::Sarif => sarif::write(collected, out),
            Format::Github => github::write(collected, out),
            Format::Gitlab => gitlab::write(collected, out),
            Format::Junit => junit::write(collected, out),
        }
    }
}

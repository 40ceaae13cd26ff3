//! `setguard rules` and `setguard explain`: list and describe the rules.

use std::io::{self, IsTerminal as _, Write};

use anstream::AutoStream;
use anyhow::bail;
use clap::{
    Args, ValueEnum,
    builder::styling::{AnsiColor, Style},
};
use setguard_core::{catalogue, finding::Mode, rules::rule::Rule};
use setguard_files::{exit::Exit, report::screen::Screen};

/// List all rules
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// The output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// The format of a list, or of a version.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

/// Explain a rule: why it exists, a manifest with the fault, and the same manifest without it
#[derive(Debug, Args)]
#[command(after_help = "`setguard rules` lists the ids of all rules.")]
pub struct ExplainArgs {
    /// The id of a rule
    rule: String,
}

/// Runs `setguard rules`. Fails if standard output cannot be written.
pub fn list(args: &RulesArgs) -> anyhow::Result<Exit> {
    let rules = catalogue::all();
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    match args.format {
        Format::Text => table(rules, screen(), &mut out)?,
        Format::Json => {
            let rules: Vec<_> = rules.iter().copied().map(to_json).collect();
            serde_json::to_writer_pretty(&mut out, &rules).map_err(io::Error::from)?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

fn screen() -> Screen {
    let stdout = io::stdout();
    Screen::of_stdout(stdout.is_terminal(), AutoStream::choice(&stdout))
}

fn table(rules: &[&Rule], screen: Screen, out: &mut impl Write) -> io::Result<()> {
    let width = |of: fn(&Rule) -> usize, head: &str| {
        rules.iter().copied().map(of).max().unwrap_or(0).max(head.len())
    };
    let id = width(|rule| rule.meta.id.len(), "RULE");
    let kinds = width(|rule| catalogue::kinds(rule).len(), "KINDS");
    let heading = format!("{:id$}  {:5}  {:kinds$}  SUMMARY", "RULE", "MODE", "KINDS");
    writeln!(out, "{}", screen.fit(&styled(BOLD, &heading), 4))?;
    for rule in rules {
        let (meta, list) = (&rule.meta, catalogue::kinds(rule));
        let mode = styled(color(meta.mode), &format!("{:5}", meta.mode));
        let line = format!("{:id$}  {mode}  {list:kinds$}  {}", meta.id, meta.summary);
        writeln!(out, "{}", screen.fit(&line, 4))?;
    }
    Ok(())
}

const BOLD: Style = Style::new().bold();

/// The colors of findings in a report.
fn color(mode: Mode) -> Style {
    match mode {
        Mode::Deny => AnsiColor::BrightRed.on_default(),
        Mode::Warn => AnsiColor::Yellow.on_default(),
        _ => Style::new(),
    }
}

/// Returns a text in a style. A stream without colors leaves the style out.
fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

pub(super) fn to_json(rule: &Rule) -> serde_json::Value {
    let meta = &rule.meta;
    serde_json::json!({
        "id": meta.id,
        "mode": meta.mode,
        "kinds": rule.kinds().iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
        "summary": meta.summary,
        "adjustable": meta.adjustable,
    })
}

/// Runs `setguard explain RULE`. Fails if the rule does not exist, or if standard output cannot be written.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let Some(rule) = catalogue::find(&args.rule) else {
        match catalogue::nearest(&args.rule) {
            Some(near) => bail!("there is no rule {:?}; did you mean {near}?", args.rule),
            None => bail!("there is no rule {:?}; `setguard rules` lists them all", args.rule),
        }
    };
    let mut out = io::BufWriter::new(anstream::stdout().lock());
    let (meta, screen) = (&rule.meta, screen());
    let adjustable = if meta.adjustable { "" } else { " (a policy cannot change this)" };
    let title = format!("{}: {}", styled(BOLD, meta.id), meta.summary);
    writeln!(out, "{}\n", screen.fit(&title, 4))?;
    writeln!(out, "Mode:   {}{adjustable}", styled(color(meta.mode), &meta.mode.to_string()))?;
    writeln!(out, "Kinds:  {}", catalogue::kinds(rule))?;
    if !meta.why.trim().is_empty() {
        writeln!(out, "\n{}\n", styled(BOLD, "Why:"))?;
        for line in screen.paragraphs(meta.why).lines() {
            let indent = if line.starts_with("- ") { 6 } else { 4 };
            writeln!(out, "{}", screen.fit(&format!("    {line}"), indent).trim_end())?;
        }
    }
    let [red, green] = [AnsiColor::Red, AnsiColor::Green].map(|it| it.on_default());
    for (title, text, other, style) in
        [("Bad:", meta.bad, meta.good, red), ("Good:", meta.good, meta.bad, green)]
    {
        if text.trim().is_empty() {
            continue;
        }
        writeln!(out, "\n{}\n", styled(BOLD, title))?;
        // YAML stays as it can be copied.
        for line in text.trim_end().lines() {
            let is_shared = line.is_empty() || other.lines().any(|it| it == line);
            let line = if is_shared { line.to_owned() } else { styled(style, line) };
            writeln!(out, "{}", format!("    {line}").trim_end())?;
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

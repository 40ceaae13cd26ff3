//! `setguard rules` and `setguard explain`: list and describe the rules.

use std::io::{self, IsTerminal as _, Write};

use anstream::AutoStream;
use anyhow::bail;
use clap::{Args, ValueEnum};
use setguard_core::{catalogue, rules::rule::Rule};
use setguard_files::{exit::Exit, report::screen::Screen};

/// List all rules
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// The output format
    #[arg(short = 'o', long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Format {
    /// A table for people
    #[default]
    Text,
    /// A JSON array for programs
    Json,
}

/// Explain a rule: why it exists, a manifest with the fault, and the same manifest without it
#[derive(Debug, Args)]
#[command(after_help = "`setguard rules` lists the ids of all rules.")]
pub struct ExplainArgs {
    /// The id of a rule
    rule: String,
}

/// Runs `setguard rules`.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn list(args: &RulesArgs) -> anyhow::Result<Exit> {
    let rules = catalogue::all();
    let mut out = io::BufWriter::new(io::stdout().lock());
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
    writeln!(out, "{}", screen.fit(&heading, 4))?;
    for rule in rules {
        let (meta, list) = (&rule.meta, catalogue::kinds(rule));
        let mode = meta.mode;
        let line = format!("{:id$}  {mode:5}  {list:kinds$}  {}", meta.id, meta.summary);
        writeln!(out, "{}", screen.fit(&line, 4))?;
    }
    Ok(())
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

/// Runs `setguard explain RULE`.
///
/// # Errors
/// Returns an error if the rule does not exist, or if standard output cannot be written.
pub fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let Some(rule) = catalogue::find(&args.rule) else {
        match catalogue::nearest(&args.rule) {
            Some(near) => bail!("there is no rule {:?}; did you mean {near}?", args.rule),
            None => bail!("there is no rule {:?}; `setguard rules` lists them all", args.rule),
        }
    };
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (meta, screen) = (&rule.meta, screen());
    let adjustable = if meta.adjustable { "" } else { " (a policy cannot change this)" };
    writeln!(out, "{}\n", screen.fit(&format!("{}: {}", meta.id, meta.summary), 4))?;
    writeln!(out, "Mode:   {}{adjustable}", meta.mode)?;
    writeln!(out, "Kinds:  {}", catalogue::kinds(rule))?;
    let why = screen.paragraphs(meta.why);
    for (title, text) in [("Why", &*why), ("Bad", meta.bad), ("Good", meta.good)] {
        if !text.trim().is_empty() {
            writeln!(out, "\n{title}:\n")?;
            for line in text.trim_end().lines() {
                let mut line = format!("    {line}");
                // YAML stays as it can be copied.
                if title == "Why" {
                    line = screen.fit(&line, if line.starts_with("    - ") { 6 } else { 4 });
                }
                writeln!(out, "{}", line.trim_end())?;
            }
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

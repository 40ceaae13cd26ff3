//! The flags for the output, the same for every command that reports findings.

use std::str::FromStr;

use clap::{Args, ColorChoice, ValueEnum};

use crate::report::prelude::*;

/// The formats of the report, and their destinations.
#[derive(Clone, Debug, Default, Args)]
pub struct OutputArgs {
    /// The format on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", hide_short_help = true)]
    pub(super) format: Format,
    /// Sets the format on standard output, as in `-o json`, or writes a file too, such as
    /// sarif=setguard.sarif. You can repeat it
    #[arg(short, long, value_name = "FORMAT[=FILE]")]
    pub(super) output: Vec<Output>,
    /// Prints no report on standard output: the exit code says what was found
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Whether text has colors. With auto, on a terminal, unless NO_COLOR is set
    #[arg(long, value_enum, default_value_t, value_name = "WHEN", hide_short_help = true)]
    color: ColorChoice,
}

impl OutputArgs {
    pub(super) fn on_stdout(&self) -> Format {
        let named = self.output.iter().rev().find(|it| it.file.is_none());
        named.map_or(self.format, |it| it.format)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (Format, &Path)> {
        self.output.iter().filter_map(|it| Some((it.format, it.file.as_deref()?)))
    }

    /// Applies `--color` to all later output.
    pub fn set_color(&self) {
        set_color(self.color);
    }
}

/// Sets whether all later output has colors.
pub fn set_color(choice: ColorChoice) {
    match choice {
        // The environment and the terminal decide.
        ColorChoice::Auto => {}
        ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
        ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
    }
}

/// The format of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people, with the affected line
    #[default]
    Text,
    /// One JSON document for programs: findings in the order of files and lines
    Json,
    /// SARIF 2.1.0, for GitHub code scanning and editors
    Sarif,
    /// Annotations of GitHub Actions, and a summary of the step
    Github,
    /// The Code Quality report of GitLab
    Gitlab,
    /// JUnit XML, for Jenkins, GitLab and Azure Pipelines: each object is a test
    Junit,
    /// One line for each finding: file, line, severity, rule and message
    Concise,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) format: Format,
    /// `None` for standard output.
    pub(super) file: Option<PathBuf>,
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, file) = match text.split_once('=') {
            Some((format, file)) => (format, Some(file)),
            None => (text, None),
        };
        let format = Format::from_str(format, false).map_err(|_| {
            let all = Format::value_variants().iter().filter_map(Format::to_possible_value);
            let all: Vec<_> = all.map(|value| value.get_name().to_owned()).collect();
            format!("{format:?} is not a format: use {}", all.join(", "))
        })?;
        match file {
            Some("") => Err("the name of the file is missing".to_owned()),
            Some("-") => {
                Err("- is not a file; --format sets the format on standard output".to_owned())
            }
            file => Ok(Output { format, file: file.map(Into::into) }),
        }
    }
}

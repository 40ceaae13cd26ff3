//! The selection of findings: `--select`, `--ignore` and `--min-severity`.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use setguard_core::catalogue;
use setguard_files::report::{
    args::Format,
    diagnostic::{ObjectReport, Severity},
};

/// The flags about which findings are reported.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Selection {
    /// Reports and fixes only the findings of these rules, separated by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule, hide_short_help = true)]
    select: Vec<String>,
    /// Neither reports nor fixes the findings of these rules, in this run
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule, hide_short_help = true)]
    ignore: Vec<String>,
    /// Reports only findings that are at least this severe: note, warning or error. With a format, such
    /// as sarif=note, for this format only. You can repeat it
    #[arg(long, value_name = "[FORMAT=]SEVERITY", hide_short_help = true)]
    min_severity: Vec<MinSeverity>,
}

#[derive(Clone, Debug)]
struct MinSeverity {
    /// `None` for all formats.
    format: Option<Format>,
    severity: Severity,
}

impl FromStr for MinSeverity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (format, severity) = match text.split_once('=') {
            Some((format, severity)) => (Some(value(format)?), severity),
            None => (None, text),
        };
        Ok(MinSeverity { format, severity: value(severity)? })
    }
}

/// Parses an item of a list. The error names the list.
fn value<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let all = T::value_variants().iter().filter_map(T::to_possible_value);
        let all: Vec<_> = all.map(|value| value.get_name().to_owned()).collect();
        format!("{text:?} is not one of {}", all.join(", "))
    })
}

impl Selection {
    pub(super) fn has(&self, rule: &str) -> bool {
        let is_in = |rules: &[String]| rules.iter().any(|it| it == rule);
        (self.select.is_empty() || is_in(&self.select)) && !is_in(&self.ignore)
    }

    pub(super) fn min_severity(&self, format: Format) -> Severity {
        let of = |format: Option<Format>| {
            let given = self.min_severity.iter().rev().find(|it| it.format == format);
            given.map(|it| it.severity)
        };
        of(Some(format)).or_else(|| of(None)).unwrap_or_default()
    }

    /// Removes findings that appear in no report. Returns their number.
    pub(super) fn apply(&self, report: &mut ObjectReport) -> usize {
        let all = Format::value_variants().iter().map(|format| self.min_severity(*format));
        let (before, lowest) = (report.diagnostics.len(), all.min().unwrap_or_default());
        report.diagnostics.retain(|it| it.severity >= lowest && self.has(it.rule.id));
        before - report.diagnostics.len()
    }
}

fn rule(text: &str) -> Result<String, String> {
    if catalogue::find(text).is_some() {
        return Ok(text.to_owned());
    }
    Err(match catalogue::nearest(text) {
        Some(near) => format!("there is no such rule; did you mean {near}?"),
        None => "there is no such rule; see setguard rules".to_owned(),
    })
}

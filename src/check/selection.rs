//! The findings that the user wants to see: `--select`, `--ignore` and `--min-severity`.

use clap::Args;

use crate::{
    catalogue,
    report::diagnostic::{ObjectReport, Severity},
};

/// The flags about which findings are reported.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Selection {
    /// Reports only the findings of these rules, and fixes only these. Several are separated by commas
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule)]
    select: Vec<String>,
    /// Does not report the findings of these rules, and does not fix them. Unlike a mode in the policy,
    /// this is for a single run
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule)]
    ignore: Vec<String>,
    /// Reports only findings that are at least this severe
    #[arg(long, value_enum, default_value_t, value_name = "SEVERITY")]
    min_severity: Severity,
}

impl Selection {
    /// Returns whether the findings of a rule are wanted.
    pub(super) fn has(&self, rule: &str) -> bool {
        let is_in = |rules: &[String]| rules.iter().any(|it| it == rule);
        (self.select.is_empty() || is_in(&self.select)) && !is_in(&self.ignore)
    }

    /// Removes the findings that are not wanted from the report on an object. Returns their number.
    pub(super) fn apply(&self, report: &mut ObjectReport) -> usize {
        let before = report.diagnostics.len();
        report.diagnostics.retain(|it| it.severity >= self.min_severity && self.has(it.rule.id));
        before - report.diagnostics.len()
    }
}

/// Parses the id of a rule.
fn rule(text: &str) -> Result<String, String> {
    if catalogue::find(text).is_some() {
        return Ok(text.to_owned());
    }
    Err(match catalogue::nearest(text) {
        Some(near) => format!("there is no such rule; did you mean {near}?"),
        None => "there is no such rule; see setguard rules".to_owned(),
    })
}

//! Known findings, to report only once: the findings in the baseline and, with `--new-only`, those in the previous
//! manifests.

use setguard_core::{
    finding::{Findings, Path, Reason},
    policy::API_VERSION,
    printable::Printable,
    rules::policy_weakened::POLICY_WEAKENED,
};

use super::{
    baseline::{ALWAYS_REPORTED, Baseline},
    old_objects::OldObjects,
};
use crate::prelude::*;
use setguard_files::{
    manifests::{
        files::LARGEST,
        replace::{refuse_links, replace},
    },
    report::{diagnostic::Hidden, fingerprint::Fingerprint},
};

/// The flags about known findings.
#[derive(Debug, Args)]
pub(crate) struct KnownArgs {
    /// Like --against, with the files of a git commit: the merge base with a branch such as `origin/main`.
    /// `origin/main..` is the tip of the branch
    #[arg(long, value_name = "REF", group = "old", conflicts_with = "against")]
    pub(crate) against_ref: Option<String>,
    /// Uses the policy file of a git commit, such as `origin/main`, so that a change cannot weaken the policy that
    /// checks it
    #[arg(long, value_name = "REF", hide_short_help = true)]
    pub(crate) policy_from_ref: Option<String>,
    /// Reports only findings that the previous manifests do not have. Always reports refusals of the API server
    #[arg(long, requires = "old")]
    pub(crate) new_only: bool,
    /// Leaves out the findings in this file. Fails if some of them are fixed
    #[arg(long, value_name = "FILE", help_heading = "Baseline", hide_short_help = true)]
    baseline: Option<PathBuf>,
    /// Writes the findings of this run to a file for --baseline, except refusals of the API server
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["baseline", "new_only"],
        hide_short_help = true,
        help_heading = "Baseline"
    )]
    write_baseline: Option<PathBuf>,
    /// Removes fixed findings from the baseline. Give all manifests of the baseline
    #[arg(long, requires = "baseline", hide_short_help = true, help_heading = "Baseline")]
    prune_baseline: bool,
}

impl KnownArgs {
    /// Returns whether the run needs the findings in the previous manifests. In a change, the baseline hides only these:
    /// objects in different folders may have the same name.
    pub(crate) const fn needs_old(&self) -> bool {
        self.new_only || self.baseline.is_some() && self.against_ref.is_some()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) baseline: Option<Baseline>,
    /// The findings in the previous manifests, with the objects there.
    pub(crate) old: Option<(Collected, Arc<OldObjects>)>,
    /// Whether they are hidden.
    pub(crate) new_only: bool,
    /// All findings, if the run only collects them.
    pub(crate) collected: Option<Collected>,
    pub(crate) hidden: Hidden,
}

/// The severities of findings, each by the name of its source and its fingerprint in its object.
pub(crate) type Collected = HashMap<(String, Fingerprint), Severity>;

impl Known {
    /// Reads the baseline, if the flags name one. Only entries that the baseline also has at the commit are valid; the
    /// others are returned as findings.
    pub(crate) fn open(
        args: &KnownArgs,
        commit: Option<&Commit>,
    ) -> anyhow::Result<(Self, Option<(Source, ObjectReport)>)> {
        let (mut known, mut added) = (Known::default(), None);
        if let Some(path) = &args.baseline {
            let name = path.display();
            let source = Source::named_file(path).read()?;
            let baseline = Baseline::parse(source.text());
            let mut baseline = baseline.map_err(|wrong| anyhow::anyhow!("{name}:{wrong}"))?;
            // A baseline outside of the repository isn't part of the change.
            if let Some((commit, whole)) = commit.and_then(|it| Some((it, it.resolve(path).ok()?)))
            {
                let earlier = commit.first(&[whole], LARGEST)?;
                let earlier = earlier.map(|(_, source)| Baseline::parse(source.text()));
                let earlier = earlier.and_then(Result::ok).unwrap_or_default();
                added = Some(source).zip(hidden(&baseline.since(&earlier), &name.to_string()));
            }
            known.baseline = Some(baseline);
        } else if args.write_baseline.is_some() {
            known.baseline = Some(Baseline::to_write());
        }
        Ok((known, added))
    }

    /// Writes the requested files, and prints unused entries of the baseline to standard error. Entries with a fixed
    /// finding are a failure: such an entry would hide the fault when it returns. Writes nothing unless `is_complete`,
    /// because unreadable input may contain the objects of the entries.
    pub(crate) fn finish(&self, args: &KnownArgs, is_complete: bool) -> anyhow::Result<Exit> {
        let Some(baseline) = &self.baseline else { return Ok(Exit::Clean) };
        let mut say = Printable::new(anstream::stderr()).guarded();
        if !is_complete && (args.write_baseline.is_some() || args.prune_baseline) {
            writeln!(say, "error: the baseline is not written: not everything could be read")?;
            return Ok(Exit::Error);
        }
        if let Some(path) = &args.write_baseline {
            write(path, &baseline.to_text())?;
        }
        let Some(path) = &args.baseline else { return Ok(Exit::Clean) };
        let (name, (fixed, absent)) = (path.display(), baseline.unused());
        if args.prune_baseline {
            let source = Source::named_file(path).read()?;
            let pruned = baseline.pruned(source.text());
            if pruned != source.text() {
                write(path, &pruned)?;
            }
            return Ok(Exit::Clean);
        }
        for (line, entry) in &fixed {
            writeln!(say, "error: {name}:{line}: no longer found: {entry}")?;
        }
        if absent > 0 {
            let rest = "of its findings are in objects that were not checked";
            writeln!(say, "note: {name}: {absent} {rest}")?;
        }
        if fixed.is_empty() {
            return Ok(Exit::Clean);
        }
        writeln!(say, "help: --prune-baseline removes what is no longer found")?;
        Ok(Exit::Denied)
    }

    /// Hides known findings. `file` is the path of the source in the repository.
    pub(crate) fn apply(&mut self, source: &Source, file: &str, report: &mut ObjectReport) {
        if let Some(baseline) = &mut self.baseline {
            baseline.checked(&Fingerprint::object(file, Some(&report.id)));
        }
        let id = Some(&*report.id);
        let before = self.old.as_ref().and_then(|(_, it)| it.before(&report.id, source.name()));
        // A finding is known only if the old object has it too, at least as severe.
        let mut own = Occurrences::default();
        let mut fingerprint_in = |source: &str, diagnostic: &Diagnostic| {
            let mut numbered = diagnostic.clone();
            own.number(file, id, &mut numbered);
            (source.to_owned(), Fingerprint::of(file, id, &numbered))
        };
        report.diagnostics.retain(|diagnostic| {
            // A rejected object never reaches the cluster.
            if ALWAYS_REPORTED.contains(&diagnostic.rule.id) {
                return true;
            }
            if self.old.is_none() && self.baseline.is_none() && self.collected.is_none() {
                return true;
            }
            if let Some(collected) = &mut self.collected {
                collected.insert(fingerprint_in(source.name(), diagnostic), diagnostic.severity);
                return true;
            }
            let is_old = self.old.as_ref().zip(before).is_some_and(|((old, _), (source, _))| {
                let was = old.get(&fingerprint_in(source, diagnostic));
                was.is_some_and(|was| *was >= diagnostic.severity)
            });
            if let Some(baseline) = &mut self.baseline
                && baseline.hides(&Fingerprint::of(file, id, diagnostic), diagnostic)
                && (is_old || self.old.is_none())
            {
                self.hidden.by_baseline += 1;
                return false;
            }
            let is_hidden = is_old && self.new_only;
            self.hidden.as_old += usize::from(is_hidden);
            !is_hidden
        });
    }
}

/// Returns the findings about entries that the change adds to the baseline. These entries hide nothing.
fn hidden(added: &[(usize, String)], name: &str) -> Option<ObjectReport> {
    let mut report = ObjectReport::of(ObjectId {
        api_version: API_VERSION.to_owned(),
        kind: "Baseline".to_owned(),
        name: name.to_owned(),
        ..ObjectId::default()
    });
    report.diagnostics.extend(added.iter().filter_map(|(line, entry)| {
        let mut found = Findings::of(POLICY_WEAKENED);
        let message =
            format!("this change adds an entry to the baseline, which hides nothing yet: {entry}");
        let help = "review it like a finding that is hidden; it takes effect once it is merged";
        found.report(&Path::new("entries"), Reason::Forbidden, message, help);
        let finding = found.into_vec().pop()?;
        let mark = Mark { line: *line, column: 1, width: 0 };
        let mode = finding.rule.mode;
        let violation = Violation::new(finding, mode);
        Some(Diagnostic::of(violation, mark, Strictness::default()))
    }));
    (!added.is_empty()).then_some(report)
}

fn write(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    refuse_links(path)
        .and_then(|()| replace(path, text.as_bytes()))
        .map_err(|error| anyhow::anyhow!("{}: cannot be written: {error}", path.display()))
}

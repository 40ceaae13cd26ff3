//! The policy of a run, and its comparison with the policy before the change.

use std::{io::Write, path::PathBuf};

use super::known::KnownArgs;
use crate::{
    engine::verdict::Violation,
    finding::Finding,
    manifests::{
        files::LARGEST_POLICY, git::Commit, id::ObjectId, repository::Repository, source::Source,
    },
    policy::{
        API_VERSION, KIND, Policy, PolicyFile,
        args::PolicyArgs,
        discover::{candidates, discover},
    },
    printable::Printable,
    report::{
        self,
        diagnostic::{Diagnostic, ObjectReport, Strictness},
    },
    yaml::{self, Mark},
};

/// The policy of a run.
pub(super) struct Chosen {
    pub(super) policy: Policy,
    /// The report on the rules that the policy file weakens, with the file.
    pub(super) weakened: Option<(Source, ObjectReport)>,
}

/// A policy, and the file that it was read from. Without a file, it is the default policy.
struct Loaded {
    policy: Policy,
    source: Option<Source>,
}

/// The flags that choose the policy.
pub(super) struct Choice<'a> {
    pub(super) flags: &'a PolicyArgs,
    pub(super) no_config: bool,
    pub(super) known: &'a KnownArgs,
    pub(super) repository: &'a Repository,
}

impl Choice<'_> {
    /// Loads the policy that the flags name, or the one of the repository, from the work tree or from
    /// a commit. Prints the problems of an invalid policy, and then returns `None`.
    ///
    /// # Errors
    /// Returns an error if a policy cannot be read.
    pub(super) fn load(&self, strictness: Strictness) -> anyhow::Result<Option<Chosen>> {
        let Some(here) = self.in_work_tree()? else { return Ok(None) };
        let (flag, reference) = match (&self.known.policy_from_ref, &self.known.against_ref) {
            (Some(reference), _) => ("--policy-from-ref", reference),
            (None, Some(reference)) => ("--against-ref", reference),
            (None, None) => return Ok(Some(Chosen { policy: here.policy, weakened: None })),
        };
        let earlier = match self.at_commit(flag, reference) {
            Ok(Ok(loaded)) => loaded,
            Ok(Err(_)) if self.uses_commit() => return Ok(None),
            Err(message) if self.uses_commit() => anyhow::bail!(message),
            Ok(Err(name)) => {
                report::note(&format!(
                    "{name} is invalid, so it isn't known whether this change weakens the policy"
                ));
                return Ok(Some(Chosen { policy: here.policy, weakened: None }));
            }
            // The error is reported when the manifests of the commit are read. A policy outside of the
            // repository isn't part of the change.
            Err(_) => return Ok(Some(Chosen { policy: here.policy, weakened: None })),
        };
        let weakened = weakened(&here, &earlier, reference, strictness);
        let policy = if self.uses_commit() { earlier.policy } else { here.policy };
        Ok(Some(Chosen { policy, weakened }))
    }

    const fn uses_commit(&self) -> bool {
        self.known.policy_from_ref.is_some()
    }

    /// Returns the current policy.
    fn in_work_tree(&self) -> anyhow::Result<Option<Loaded>> {
        let mut flags = self.flags.clone();
        if flags.policy.is_none()
            && !self.no_config
            && let Some(found) = discover(self.repository).map_err(anyhow::Error::msg)?
        {
            if !self.uses_commit() {
                say(&found.display().to_string());
            }
            flags.policy = Some(found);
        }
        let text = flags.read()?;
        let name = flags.policy.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let source = text.map(|text| Source::of(name, text, true));
        let policy = report::policy::parse(&flags, source.as_ref())?;
        Ok(policy.map(|policy| Loaded { policy, source }))
    }

    /// Returns the policy as it was at a commit, or the name of its file if the policy is invalid.
    /// Prints the problems if the policy is to be used.
    fn at_commit(
        &self,
        flag: &'static str,
        reference: &str,
    ) -> Result<Result<Loaded, String>, String> {
        let commit = Commit::find(flag, reference)?;
        let paths: Vec<PathBuf> = match &self.flags.policy {
            Some(named) => vec![commit.resolve(named)?],
            None if self.no_config => Vec::new(),
            None => candidates(self.repository).collect(),
        };
        let source = commit.first(&paths, LARGEST_POLICY)?;
        if self.uses_commit() {
            match &source {
                Some(source) => say(source.name()),
                None => say(&format!("none at {reference}, so the defaults")),
            }
        }
        let name = source.as_ref().map_or("", Source::name).to_owned();
        let mut flags = self.flags.clone();
        flags.policy = source.is_some().then(|| PathBuf::from(&name));
        let policy = if self.uses_commit() {
            report::policy::parse(&flags, source.as_ref()).map_err(|error| error.to_string())?
        } else {
            flags.parse(source.as_ref().map(|source| source.text().to_owned())).ok()
        };
        Ok(policy.map(|policy| Loaded { policy, source }).ok_or(name))
    }
}

fn say(policy: &str) {
    let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "policy: {policy}");
}

/// Reports the rules that the policy enforces less than the earlier one, in its file. If the file
/// is gone, the report is about the earlier file.
fn weakened(
    here: &Loaded,
    earlier: &Loaded,
    reference: &str,
    strictness: Strictness,
) -> Option<(Source, ObjectReport)> {
    let name = earlier.source.as_ref().map_or(reference, Source::name);
    let found = here.policy.weaker_than(&earlier.policy, name).into_vec();
    let source = here.source.as_ref().or(earlier.source.as_ref())?;
    if found.is_empty() {
        return None;
    }
    let start = Mark { line: 1, column: 1, width: 0 };
    let file = yaml::read_one::<PolicyFile>(source.text()).ok();
    let mark =
        |finding: &Finding| file.as_ref().map_or(start, |(_, root)| root.locate(&finding.field));
    let metadata = file.as_ref().and_then(|(file, _)| file.metadata.as_ref());
    let name = metadata.map(|it| it.name.as_str()).filter(|name| !name.is_empty());
    let id = ObjectId {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        namespace: String::new(),
        name: name.unwrap_or_else(|| source.name()).to_owned(),
        is_generated: false,
    };
    let mut report = ObjectReport::of(id);
    report.diagnostics.extend(found.into_iter().filter_map(|finding| {
        let mark = mark(&finding);
        let mode = finding.rule.mode;
        Diagnostic::of(Violation { finding, mode, downgrade: None }, mark, strictness)
    }));
    Some((Source::of(source.name().to_owned(), source.text().to_owned(), true), report))
}

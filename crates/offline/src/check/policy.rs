//! The policy of a run, and its comparison with the policy before the change.

use setguard_core::policy::{API_VERSION, KIND, PolicyFile};

use super::known_findings::KnownArgs;
use crate::prelude::*;
use setguard_files::{
    manifests::files::LARGEST_POLICY,
    policy_file::discover::{candidates, discover, folder_of},
};

/// A policy, and the report on the rules that its file weakens, with the file.
type Chosen = (Loaded, Option<(Source, ObjectReport)>);

/// A policy and its file. The default policy has no file.
pub(super) struct Loaded {
    pub(super) policy: Policy,
    source: Option<Source>,
    /// The folder where the policy's file patterns start.
    pub(super) root: PathBuf,
}

pub(super) struct Choice<'a> {
    pub(super) flags: &'a PolicyArgs,
    pub(super) no_config: bool,
    pub(super) known: &'a KnownArgs,
    pub(super) repository: &'a Repository,
    pub(super) strictness: Strictness,
}

impl Choice<'_> {
    /// Loads the policy of the flags or of the repository, from the work tree or a commit, and compares the two.
    /// `against` is the commit of `--against-ref`. Prints the problems of an invalid policy and returns `None`.
    pub(super) fn load(&self, against: Option<&Commit>) -> anyhow::Result<Option<Chosen>> {
        let Some(here) = self.in_work_tree()? else { return Ok(None) };
        if let Some(reference) = &self.known.policy_from_ref {
            let commit = Commit::find("--policy-from-ref", reference)?;
            let Some(earlier) = self.at_commit(&commit, reference)? else { return Ok(None) };
            let weakened = weakened(&here, &earlier, reference, self.strictness);
            return Ok(Some((earlier, weakened)));
        }
        let weakened = against
            .zip(self.known.against_ref.as_deref())
            .and_then(|(commit, reference)| self.compare(&here, commit, reference));
        Ok(Some((here, weakened)))
    }

    fn in_work_tree(&self) -> anyhow::Result<Option<Loaded>> {
        let mut flags = self.flags.clone();
        let mut root = PathBuf::new();
        if flags.policy.is_none()
            && !self.no_config
            && let Some(found) = discover(self.repository)?
        {
            if self.known.policy_from_ref.is_none() {
                report::policy::say(&found.display().to_string());
            }
            root = folder_of(&found);
            flags.policy = Some(found);
        }
        let source = report::policy::read(&flags)?;
        let policy = report::policy::parse(&flags, source.as_ref())?;
        Ok(policy.map(|policy| Loaded { policy, source, root }))
    }

    fn at_commit(&self, commit: &Commit, reference: &str) -> anyhow::Result<Option<Loaded>> {
        let paths = self.paths(commit)?;
        let found = commit.first(&paths, LARGEST_POLICY)?;
        let is_named = self.flags.policy.is_some();
        if let Some(path) = self.flags.policy.as_ref().filter(|_| found.is_none()) {
            let path = path.display();
            bail!(
                "--policy-from-ref: {reference} has no {path}. A new policy counts once it is merged: until then, \
                 leave out --policy-from-ref"
            );
        }
        let root = found.as_ref().filter(|_| !is_named).map(|(path, _)| folder_of(path));
        let root = root.unwrap_or_default();
        let source = found.map(|(_, source)| source);
        match &source {
            Some(source) => report::policy::say(source.name()),
            None => report::policy::say(&format!("none at {reference}, so the defaults")),
        }
        let policy = report::policy::parse(&self.flags_for(source.as_ref()), source.as_ref())?;
        Ok(policy.map(|policy| Loaded { policy, source, root }))
    }

    fn compare(
        &self,
        here: &Loaded,
        commit: &Commit,
        reference: &str,
    ) -> Option<(Source, ObjectReport)> {
        // A policy outside of the repository isn't part of the change.
        let paths = self.paths(commit).ok()?;
        let unknown = |why: String| {
            report::note(&format!(
                "{why}, so it isn't known whether this change weakens the policy"
            ));
        };
        let source =
            commit.first(&paths, LARGEST_POLICY).map_err(|it| unknown(it.to_string())).ok()?;
        let source = source.map(|(_, source)| source);
        let policy = self.flags_for(source.as_ref()).parse(source.as_ref().map(Source::text));
        let name = source.as_ref().map_or("", Source::name);
        let policy = policy.map_err(|_| unknown(format!("{name} is invalid"))).ok()?;
        let earlier = Loaded { policy, source, root: PathBuf::new() };
        weakened(here, &earlier, reference, self.strictness)
    }

    /// Returns the possible paths of the policy at a commit.
    fn paths(&self, commit: &Commit) -> Result<Vec<PathBuf>, FileError> {
        Ok(match &self.flags.policy {
            Some(named) => vec![commit.resolve(named)?],
            None if self.no_config => Vec::new(),
            None => candidates(self.repository).collect(),
        })
    }

    fn flags_for(&self, source: Option<&Source>) -> PolicyArgs {
        let policy = source.map(|source| PathBuf::from(source.name()));
        PolicyArgs { policy, ..self.flags.clone() }
    }
}

/// Reports the rules that the policy enforces less than the earlier one. If the file does not exist any more, the
/// report names the earlier file.
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
    let file = kube_yaml::read_one::<PolicyFile>(source.text()).ok();
    let mark =
        |finding: &Finding| file.as_ref().map_or(start, |(_, root)| root.locate(&finding.field));
    let metadata = file.as_ref().and_then(|(file, _)| file.metadata.as_ref());
    let name = metadata.map(|it| it.name.as_str()).filter(|name| !name.is_empty());
    let id = ObjectId {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        name: name.unwrap_or_else(|| source.name()).to_owned(),
        ..ObjectId::default()
    };
    let mut report = ObjectReport::of(id);
    report.diagnostics.extend(found.into_iter().map(|finding| {
        let mark = mark(&finding);
        let mode = finding.rule.mode;
        Diagnostic::of(Violation::new(finding, mode), mark, strictness)
    }));
    Some((Source::named(source.name().to_owned(), source.text().to_owned()), report))
}

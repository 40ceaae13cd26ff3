//! `--fix`: unambiguous fixes, applied to the files.
//!
//! A rule determines the change in an object, [`edit`] turns the change into a text edit that keeps every other byte,
//! and [`fixer`] verifies the result: an edit can go wrong where an alias shares a part of the text. The fixer writes
//! a text only if it means the same as the old text apart from the change, the finding disappears, and no finding
//! appears.

mod change;
mod copy;
mod edit;
mod fixer;
mod part;
mod remove;

use std::cell::LazyCell;

use kube_yaml::Documents;
use similar::TextDiff;

pub use self::edit::Edit;
pub(super) use self::part::Part;
use setguard_core::printable::Printable;
use setguard_files::manifests::{
    exclude::exempt_files,
    files::{self, LARGEST},
    replace::{Replacement, replace_all},
};
use setguard_files::report::screen;

use self::fixer::Fixer;
use super::{
    CheckArgs,
    manifest_check::{Checker, InputContext},
    old_objects::OldObjects,
    selection::Selection,
};
use crate::prelude::*;
use crate::proposal::apply::Delivery;

/// The flags about fixes.
#[derive(Debug, Args)]
pub(crate) struct FixArgs {
    /// Makes the safe fixes in the files first: removes fields without effect, and adds a toleration next to its older
    /// form. Changes no other byte
    #[arg(long, conflicts_with_all = [
        "chart", "kustomize", "new_only", "prune_baseline", "render", "write_baseline"
    ])]
    pub(crate) fix: bool,
    /// Prints the changes of --fix as a diff, and makes none. The exit code is 1 if there are any
    #[arg(long, requires = "fix", hide_short_help = true)]
    dry_run: bool,
    /// Also shows fixes that change the cluster's behavior. setguard never writes them
    #[arg(long = "unsafe", requires = "dry_run", hide_short_help = true)]
    not_safe: bool,
}

pub(super) struct Fixes<'a> {
    pub(super) args: &'a CheckArgs,
    pub(super) paths: &'a [PathBuf],
    pub(super) exclude: &'a Exclude,
    pub(super) policy: &'a Policy,
    pub(super) root: &'a Path,
    pub(super) repository: &'a Repository,
}

impl Fixes<'_> {
    /// Fixes all files below the paths. Returns `None` if the check should follow.
    pub(super) fn run(&self) -> anyhow::Result<Option<Exit>> {
        let args = &self.args.fix;
        let mut say = Printable::new(anstream::stderr()).guarded();
        if self.paths.iter().any(|path| path.as_os_str() == "-") {
            writeln!(say, "error: --fix changes files, and standard input isn't one")?;
            return Ok(Some(Exit::Error));
        }
        let sources = listing::list(self.paths, self.exclude, &self.policy.folder_names)
            .sources
            .into_iter()
            .filter_map(Result::ok);
        let sources: Vec<Source> = sources.collect();
        let mut policy = self.policy.clone();
        let files = sources.iter().filter_map(Source::file);
        exempt_files(&mut policy, self.root, files.map(|(name, path)| (name, vec![path])));
        let previous = OldObjects::default();
        let mut context = InputContext::of_namespace(self.args.namespace.as_deref());
        for source in sources.iter().filter_map(|it| it.unread()?.read().ok()) {
            context.namespaces.add(source.text());
            volumes::add(&mut context.storage, source.text());
        }
        let strictness = Strictness { deny_warnings: self.args.deny_warnings };
        let checker = Checker::new(&policy, &previous, Delivery::default(), context, strictness);
        let mut exit = Exit::Clean;
        let (mut replacements, mut fixed) = (Vec::<Replacement>::new(), Vec::new());
        for source in sources {
            let is_named = source.is_named();
            let Source::File(path, _) = source else { continue };
            // The check reports files that are not readable without loss.
            let bytes = files::read_regular(&path, LARGEST).ok();
            let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else {
                continue;
            };
            let target = dunce::canonicalize(&path).unwrap_or_default();
            if replacements.iter().any(|it| it.target() == target) {
                continue;
            }
            let name = path.display().to_string();
            let mut fixer = Fixer::new(&checker, &self.args.selection, &name);
            (fixer.is_named, fixer.with_unsafe) = (is_named, args.not_safe);
            let new = fixer.fix(&text);
            for (line, rule) in &new.left {
                writeln!(
                    say,
                    "note: {name}:{line}: {rule} is left to you: the text shares what would have to change, or \
                     has something else in the same line"
                )?;
            }
            if new.count == 0 {
                continue;
            }
            if args.dry_run {
                exit = Exit::Denied;
                print_diff(&self.repository.relative(&name), &text, &new.text)?;
                if !new.not_safe.is_empty() {
                    let rules = Vec::from_iter(new.not_safe).join(", ");
                    let what = "these change what happens in the cluster";
                    writeln!(say, "note: {name}: {what}: {rules}")?;
                }
            } else {
                let replacement =
                    Replacement::new(&path, Some(text.as_bytes()), new.text.as_bytes());
                replacements.push(replacement.map_err(|error| {
                    anyhow::anyhow!("{name}: cannot be written: {error}; no file was changed")
                })?);
                fixed.push(format!("fixed: {name}: {}", count(new.count, "finding")));
            }
        }
        replace_all(&replacements)?;
        fixed.iter().try_for_each(|line| writeln!(say, "{line}"))?;
        Ok(args.dry_run.then_some(exit))
    }
}

/// Returns the edits that fix a single finding in a file of a folder, and whether they are safe.
pub(super) fn one(
    text: &str,
    file: &str,
    finding: &Diagnostic,
    checker: &Checker<'_>,
) -> Option<(Vec<Edit>, bool)> {
    let part = Part::around(text, finding.mark.line)?;
    Fixer::new(checker, &Selection::default(), file).one(&part, finding)
}

/// Removes the fixes that `--fix` would not make from the findings in documents.
pub(super) fn verify<'d>(
    documents: Documents<'_>,
    (file, is_named): (&str, bool),
    findings: impl Iterator<Item = &'d mut Diagnostic>,
    checker: &Checker<'_>,
) {
    let can_be_made = |it: &&mut Diagnostic| {
        it.downgrade.is_none() && it.fix.as_ref().is_some_and(|fix| fix.is_safe)
    };
    let parts = LazyCell::new(|| Part::of(documents).collect::<Vec<_>>());
    let mut by_part = BTreeMap::<usize, Vec<&mut Diagnostic>>::new();
    for finding in findings.filter(can_be_made) {
        let after = parts.partition_point(|part| part.lines < finding.mark.line);
        match after.checked_sub(1) {
            Some(at) => by_part.entry(at).or_default().push(finding),
            None => finding.fix = None,
        }
    }
    let selection = Selection::default();
    for (at, findings) in by_part {
        let Some(part) = parts.get(at) else { continue };
        let mut fixer = Fixer::new(checker, &selection, file);
        fixer.is_named = is_named;
        let good = fixer.verified(part.text, findings.iter().map(|it| part.place(it)).collect());
        for finding in findings {
            if !good.contains(&part.place(finding)) {
                finding.fix = None;
            }
        }
    }
}

/// Returns a text in a folder after all safe fixes. `None` if no fix applies.
pub(super) fn all(text: &str, file: &str, checker: &Checker<'_>) -> Option<String> {
    let fixed = Fixer::new(checker, &Selection::default(), file).fix(text);
    (fixed.count > 0).then_some(fixed.text)
}

/// Prints a diff for `git apply` and `patch -p1`. Paths are relative to the root of the repository.
fn print_diff(name: &str, old: &str, new: &str) -> io::Result<()> {
    let name = name.trim_start_matches('/');
    let diff = TextDiff::from_lines(old, new);
    let mut unified = diff.unified_diff();
    let diff = unified.header(&format!("a/{name}"), &format!("b/{name}")).to_string();
    screen::print_diff(diff.as_bytes())
}

//! The output of charts and kustomizations before and after a change.

use super::input::{self, Side};
use crate::prelude::*;
use setguard_files::manifests::git::checkout::Checkout;
use setguard_files::manifests::render::{samples, settle};

/// Returns the sides of each root by name, with `None` for the other manifests. Calls `complain` for each root that
/// fails to render in the work tree.
pub(super) fn sides(
    rendering: &Rendering,
    paths: &input::Paths<'_>,
    unknown: &mut Vec<String>,
    complain: &mut dyn FnMut(String),
) -> BTreeMap<Option<String>, Side> {
    let mut sides = BTreeMap::<_, Side>::new();
    let read = |at: Option<&Checkout>| {
        rendering.read(at, paths.exclude, &FolderNames::new(), &mut Progress::rendering())
    };
    let mut new = read(None);
    let old = paths.old_commit.map(|reference| {
        let commit = Commit::find_start("--against-ref", reference)?;
        let checkout = commit.check_out()?;
        let mut old = read(Some(&checkout));
        rendering.also(&new.roots, Some(&checkout), &mut old);
        rendering.also_moved(&commit, old.sources.iter().flatten(), &mut new);
        rendering.also(&old.roots, None, &mut new);
        unknown.extend(settle(&commit, &rendering.settings, &new, &mut old)?);
        new.take_again(&commit, old.sources.iter().flatten());
        let samples = &samples(&old.sources) & &samples(&new.sources);
        for source in old.sources.iter_mut().flatten().filter(|it| samples.contains(it.name())) {
            let now = new.sources.iter().flatten().find(|it| it.name() == source.name());
            *source = now.unwrap_or(source).copy_of_rendered();
        }
        Ok((commit, old))
    });
    new.not_checked.retain(|it| it.counts(paths.looks_at_namespaces, false));
    new.all_notes().for_each(|note| report::note(&input::of_plan(&note)));
    for source in sort(new.sources, paths.clusters) {
        match source {
            Ok((root, source)) => sides.entry(root).or_default().new.push(source),
            Err((roots, why)) => {
                complain(why);
                roots.into_iter().for_each(|it| sides.entry(it).or_default().lacks_new = true);
            }
        }
    }
    sides.entry(None).or_default().contexts = new.contexts;
    if let Some(old) = old {
        let old: Result<_, FileError> = old.and_then(|(commit, old): (Commit, Listing)| {
            let before: Vec<_> = old.all_not_checked().cloned().collect();
            let empty = new.empty.iter_mut().map(|(_, it)| it);
            let all = new.not_checked.iter_mut().chain(empty);
            NotChecked::compare_objects(all, &before, true);
            // They replace pods. That is an error only with a limit.
            let all = new.not_checked.iter_mut();
            let images = all.filter(|it| it.only_images && it.is_changed && !paths.limits_rollouts);
            for it in images {
                unknown.push(input::of_plan(&it.sentence()));
                it.is_changed = false;
            }
            input::complain_of_edited(&commit, paths.policy, &mut new.not_checked, complain)?;
            let mut empty: Vec<_> = new.empty.iter().map(|(_, it)| it.clone()).collect();
            empty.extend(old.not_compared.iter().cloned());
            input::complain_of_edited(&commit, None, &mut empty, complain)?;
            Ok((commit, old))
        });
        match old {
            Ok((commit, old)) => {
                sides.entry(None).or_default().commit = Some(commit);
                // A chart without its default values shows nothing about its objects.
                let without = new.empty.into_iter().filter_map(|(root, empty)| {
                    let side = sides.entry(Some(root.clone())).or_default();
                    side.lacks_new = side.new.is_empty();
                    side.lacks_new.then_some((Some(root), empty))
                });
                let without: Vec<_> = without.collect();
                add_old(&mut sides, old, paths.clusters);
                let is_known = |root| sides.get(root).is_some_and(|it| !it.old.is_empty());
                let is_open = |it: &NotChecked| !it.must_be_checked(false);
                let broken = without.iter().filter(|(root, it)| is_known(root) && is_open(it));
                broken.for_each(|(_, empty)| complain(input::of_plan(&empty.sentence())));
            }
            Err(error) => {
                complain(error.to_string());
                sides.values_mut().for_each(|it| it.lacks_old = true);
            }
        }
    } else if !paths.old.is_empty() {
        let roots = sides.keys().flatten().count();
        if roots != 1 {
            complain("--against is about one chart or kustomization; use --against-ref".to_owned());
        }
        for (_, side) in sides.iter_mut().filter(|(root, _)| root.is_some()) {
            let mut lacks = false;
            (side.old, ..) =
                input::texts(paths.old, paths, &mut input::noting(&mut lacks, complain));
            side.lacks_old = lacks || roots != 1;
        }
    }
    sides
}

/// Adds the output at a commit. A render failure there is not the fault of the change.
fn add_old(sides: &mut BTreeMap<Option<String>, Side>, old: Listing, clusters: &Clusters) {
    for source in sort(old.sources, clusters) {
        match source {
            Ok((root, source)) => sides.entry(root).or_default().old.push(source),
            Err((roots, why)) => {
                let fails_still = |it| sides.get(it).is_some_and(|it: &Side| it.lacks_new);
                if !roots.iter().all(fails_still) {
                    report::note(&format!("at the commit, {why}"));
                }
                roots.into_iter().for_each(|it| sides.entry(it).or_default().lacks_old = true);
            }
        }
    }
    for (root, side) in sides {
        let Some(root) = root else { continue };
        if side.old.is_empty() && !side.new.is_empty() && !side.lacks_old {
            report::note(&format!("{root} is new"));
        } else if side.new.is_empty() && !side.lacks_new {
            report::note(&format!(
                "{root} was removed: objects that nothing else renders are deleted"
            ));
        }
    }
}

/// A source with its root, or the possible roots and the reason why none is certain.
type Sorted = Result<(Option<String>, Source), (Vec<Option<String>>, String)>;

fn sort(
    sources: Vec<Result<Source, FileError>>,
    clusters: &Clusters,
) -> impl Iterator<Item = Sorted> {
    sources.into_iter().map(|source| match source.and_then(|it| clusters.assign(it).read()) {
        Ok(source) => Ok((source.rendered().map(Rendered::name), source)),
        Err(error) => {
            let why = error.to_string();
            Err(match error {
                FileError::Render { roots, .. } => (roots.into_iter().map(Some).collect(), why),
                _ => (vec![None], why),
            })
        }
    })
}

//! The previous manifests of `--against` and `--against-ref`.

use super::old_objects::OldObjects;
use crate::prelude::*;
use setguard_files::manifests::render::{root::Root, samples, settle};

/// The previous manifests. By default there are none, and every object is new.
#[derive(Debug, Default)]
pub(super) struct OldManifests {
    pub(super) sources: Vec<Source>,
    pub(super) objects: OldObjects,
    /// The namespaces that requested the control-plane tolerations.
    pub(super) namespaces: Namespaces,
    pub(super) failures: Vec<String>,
    /// Entries that are not compared, or that count as new or unchanged.
    pub(super) notes: Vec<String>,
    /// The facts from the path of a file, by the name of its source.
    pub(super) contexts: HashMap<String, PathContext>,
    /// The charts and kustomizations as of the commit. `None` if nothing was rendered there.
    pub(super) roots: Option<Vec<Root>>,
    /// The kustomizations and charts of the commit in the paths that are read as they are.
    pub(super) not_built: Vec<NotChecked>,
    /// Roots that were not rendered at the commit.
    pub(super) not_checked: Vec<NotChecked>,
}

/// Returns the manifests below paths, and the output of charts and kustomizations, as of the commit. `new` has the
/// charts and kustomizations of the work tree. A chart that still lacks its default values is not worth a note.
fn old(
    commit: &Commit,
    paths: &[PathBuf],
    (exclude, clusters, names): (&Exclude, &Clusters, &FolderNames),
    rendering: Option<(&Rendering, &Listing)>,
    roots: &mut Option<Vec<Root>>,
) -> Result<Listing, FileError> {
    let mut old = commit.manifests(paths, exclude, clusters, names)?;
    if let Some((rendering, new)) = rendering {
        let (checkout, done) = (commit.check_out()?, &mut Progress::rendering());
        let mut rendered = rendering.read(Some(&checkout), &exclude.keeping_gone(), names, done);
        rendering.also(&new.roots, Some(&checkout), &mut rendered);
        old.notes.extend(settle(commit, &rendering.settings, new, &mut rendered)?);
        old.not_compared.append(&mut rendered.not_compared);
        old.not_checked = rendered.all_not_checked().cloned().collect();
        rendered.roots.extend(new.added(&checkout));
        let is_empty = |root: &String| new.empty.iter().any(|(it, _)| it == root);
        rendered.sources.retain(
            |it| !matches!(it, Err(FileError::Render { roots, .. }) if roots.iter().all(is_empty)),
        );
        old.sources.extend(rendered.sources.into_iter().map(|it| it.map(|it| clusters.assign(it))));
        old.contexts.extend(rendered.contexts);
        old.moved_out.extend(commit.moved_out(rendering, clusters, names)?);
        *roots = Some(rendered.roots);
    }
    Ok(old)
}

impl OldManifests {
    /// Returns whether a root had any output at the commit.
    pub(super) fn has_rendered(&self, root: &str) -> bool {
        let mut rendered = self.sources.iter().filter_map(Source::rendered);
        rendered.any(|it| it.name() == root && !it.is_empty())
    }

    /// Reads the manifests below `against`, or those below `paths` as of a commit. An unreadable manifest of a commit
    /// is only a note: the change may fix it, so it must not fail because of it.
    pub(super) fn read(
        against: &[PathBuf],
        commit: Option<Result<Commit, FileError>>,
        paths: &[PathBuf],
        settings: (&Exclude, &Clusters, &FolderNames),
        rendering: Option<(&Rendering, &Listing)>,
        namespace: Option<&str>,
    ) -> Self {
        let objects = OldObjects::of_namespace(namespace);
        let mut read = OldManifests { objects, ..OldManifests::default() };
        let (is_commit, mut notes, mut unreadable) = (commit.is_some(), Vec::new(), Vec::new());
        let roots = &mut read.roots;
        let old = |it: Result<Commit, FileError>| old(&it?, paths, settings, rendering, roots);
        let mut sources = match commit.map(old) {
            Some(Ok(old)) => {
                (notes, read.contexts) = (old.notes, old.contexts);
                (read.not_built, read.not_checked) = (old.not_compared, old.not_checked);
                old.moved_out.iter().for_each(|it| read.objects.add_moved(it));
                old.sources
            }
            Some(Err(error)) => {
                read.failures.push(error.to_string());
                Vec::new()
            }
            None => {
                let listed = listing::list(against, &Exclude::default(), settings.2);
                read.contexts = listed.contexts;
                listed.sources.into_iter().map(|source| source?.read()).collect()
            }
        };
        listing::place(sources.iter_mut().flatten(), against, paths);
        let now = rendering.map(|(_, new)| samples(&new.sources)).unwrap_or_default();
        let samples = &samples(&sources) & &now;
        for source in sources {
            match source {
                Ok(source) => {
                    if !samples.contains(source.name()) {
                        unreadable.extend(read.objects.add(&source));
                    }
                    read.namespaces.add(source.text());
                    read.sources.push(source);
                }
                Err(error @ FileError::Render { .. }) if is_commit => {
                    unreadable.push(format!("at the commit, {error}"));
                }
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        match is_commit {
            true => notes.extend(
                unreadable.iter().map(|it| format!("{it}; its objects are checked as new ones")),
            ),
            false => read.failures.extend(unreadable),
        }
        read.notes = notes;
        read
    }
}

//! The files that a change edits, and the charts and kustomizations that use them.

use walkdir::DirEntry;

use super::{kustomization::Kustomization, render::local_dependencies};
use crate::manifests::prelude::*;

/// The files that belong to a root.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// Only files in the folder of the root.
    Inside,
    Usual,
    /// Also all Markdown: values from elsewhere may be templates that read it.
    WithMarkdown,
}

/// Absolute paths without links.
#[derive(Debug)]
pub(super) struct Edits(pub(super) BTreeSet<PathBuf>);

impl Edits {
    /// Returns whether an edited file belongs to a root, or may be a link on the way to it.
    pub(super) fn may_touch(&self, root: &Root) -> bool {
        let extent = if root.has_values() { Extent::WithMarkdown } else { Extent::Usual };
        self.0.iter().any(|it| it.is_symlink())
            || root.parts().iter().any(|it| self.touch(it, extent))
    }

    /// Returns whether an edited file belongs to a file, a chart or a kustomization. The templates of a chart can read
    /// any of its files, so all of them count, but not Markdown outside of `templates` if no template can read it. A
    /// kustomization reads the files that it names.
    pub(super) fn touch(&self, root: &Path, extent: Extent) -> bool {
        let inside = (extent == Extent::Inside)
            .then(|| dunce::canonicalize(root).unwrap_or_else(|_| root.to_owned()));
        let (mut open, mut seen) = (vec![root.to_owned()], HashSet::new());
        while let Some(path) = open.pop() {
            let path = dunce::canonicalize(&path).unwrap_or(path);
            let is_other = inside.as_ref().is_some_and(|it| !path.starts_with(it));
            if is_other || self.0.is_empty() || !seen.insert(path.clone()) {
                continue;
            }
            let kustomization = Kustomization::of_folder(&path);
            let is_chart = path.join("Chart.yaml").exists();
            let may_load = |file: &Path| match &kustomization {
                Some(it) => it.may_load(file),
                // Helm renders every file in `templates`.
                None => {
                    !is_chart
                        || file.iter().any(|it| it == "templates")
                        || !is_markdown(file)
                        || extent == Extent::WithMarkdown
                        || reads_files(&path)
                }
            };
            // For git, a submodule is a file.
            let mut inside = self.0.range(path.clone()..).take_while(|it| it.starts_with(&path));
            if path.ancestors().any(|it| self.0.contains(it)) || inside.any(|it| may_load(it)) {
                return true;
            }
            let links = entries(&path).filter(|it| it.path_is_symlink());
            open.extend(links.map(DirEntry::into_path));
            open.extend(local_dependencies(&path));
            open.extend(kustomization.iter().flat_map(|it| it.loads(&path)));
        }
        false
    }
}

pub(super) fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = WalkDir::new(folder).into_iter();
    entries.filter_entry(|it| it.file_name() != ".git").flatten()
}

fn is_markdown(file: &Path) -> bool {
    file.extension().is_some_and(|it| it == "md")
}

/// Returns whether a template of a chart may read its other files. A value may be a template too.
fn reads_files(chart: &Path) -> bool {
    has(chart, &[".Files", "\"Files\"", "`Files`"])
}

/// Returns whether a file of a chart has one of these texts, or cannot be read.
pub(super) fn has(chart: &Path, texts: &[&str]) -> bool {
    let has = |text: String| texts.iter().any(|it| text.contains(it));
    entries(chart)
        .filter(|it| !it.file_type().is_dir() && !is_markdown(it.path()))
        .any(|it| files::text(it.path()).map_or(true, has))
}

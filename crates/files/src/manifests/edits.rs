//! The files that a change edits, and the charts and kustomizations that are made of them.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use walkdir::WalkDir;

use super::kustomization::Kustomization;

/// Absolute paths without links.
#[derive(Debug)]
pub(super) struct Edits(pub(super) Vec<PathBuf>);

impl Edits {
    /// Returns whether an edited file belongs to a file, a chart or a kustomization. Nobody knows what the templates
    /// of a chart read, so all its files count, but not Markdown outside of `templates`. A kustomization reads the files that it names.
    pub(super) fn touch(&self, root: &Path) -> bool {
        let (mut open, mut seen) = (vec![root.to_owned()], HashSet::new());
        while let Some(path) = open.pop() {
            let path = dunce::canonicalize(&path).unwrap_or(path);
            if self.0.is_empty() || !seen.insert(path.clone()) {
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
                        || file.extension().is_none_or(|it| it != "md")
                }
            };
            // For git, a submodule is a file.
            let mut edited = self.0.iter().map(PathBuf::as_path);
            if edited.any(|it| path.starts_with(it) || it.starts_with(&path) && may_load(it)) {
                return true;
            }
            let entries = WalkDir::new(&path).into_iter();
            let entries = entries.filter_entry(|it| it.file_name() != ".git").flatten();
            let links = entries.filter(|it| it.path_is_symlink()).map(|it| it.into_path());
            open.extend(links);
            let takes =
                kustomization.iter().flat_map(|it| it.resources.iter().chain(&it.components));
            open.extend(takes.map(|it| path.join(it)).filter(|it| it.exists()));
        }
        false
    }
}

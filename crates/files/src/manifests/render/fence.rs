//! The files that a renderer may read. A pull request writes links, paths and schemas, and a renderer would show their
//! targets.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use kube_yaml::{Node, Value};

use super::{Root, root::Kind, shown};
use crate::manifests::{
    files::{self, LARGEST_IN_FOLDER, LARGEST_POLICY, has_entries},
    kustomization::all_texts,
    layout::Layout,
    repository::Repository,
};

pub(super) struct Fence<'a> {
    root: &'a Root,
    /// The folders of the root and of the repository, without links.
    folder: &'a Path,
    pub(super) top: PathBuf,
}

/// The schemas of a chart and its subcharts.
#[derive(Default)]
pub(super) struct Schemas {
    /// Whether some may be in an archive.
    pub(super) are_packed: bool,
    /// A schema that makes a validator load other files or ask a server.
    pub(super) leading_out: Option<PathBuf>,
}

/// Names that are often in folders worth linking to.
const HARMLESS: [&str; 3] = [".gitignore", ".gitkeep", ".helmignore"];

/// The keys of a kustomization for plugins. Their configuration names more files.
const PLUGINS: [&str; 3] = ["generators", "transformers", "validators"];

impl<'a> Fence<'a> {
    /// Outside of a repository, the fence is around a chart, or around the working folder of a kustomization.
    pub(super) fn around(root: &'a Root, folder: &'a Path) -> Self {
        let repository = Repository::around(folder.to_owned());
        let mut top = repository.upwards().last().unwrap_or(folder).to_owned();
        let is_alone = top == folder && !folder.join(".git").exists();
        if is_alone && matches!(root.kind, Kind::Kustomization) {
            let here = env::current_dir().and_then(dunce::canonicalize);
            top = here.ok().filter(|it| folder.starts_with(it)).unwrap_or(top);
        }
        Fence { root, folder, top }
    }

    fn is_outside(&self) -> &'static str {
        match self.top.join(".git").exists() {
            true => "is not in the repository",
            false => "is not in the working folder; without a repository, run setguard above both",
        }
    }

    fn has(&self, target: &Path) -> bool {
        is_in(&self.top, target)
    }

    /// Returns whether a path, perhaps with links, leads to a visible file in the repository.
    pub(super) fn shows(&self, path: &Path) -> bool {
        files::Fence::around(&self.top).has(path, &[])
    }

    /// Checks all files that Helm loads. Helm follows links, also those behind links.
    pub(super) fn chart(&self) -> Result<Schemas, String> {
        let mut schemas = Schemas { are_packed: self.folder.is_file(), leading_out: None };
        let (mut open, mut seen) = (vec![self.folder.to_owned()], BTreeSet::new());
        while let Some(folder) = open.pop() {
            if !seen.insert(folder.clone()) {
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (name, path) = (entry.file_name(), entry.path());
                let fails = |why: &str| {
                    Err(format!("{} {why}", shown(self.root, self.folder, &path).display()))
                };
                if folder == self.folder && is_git(&name) {
                    if self.loads_git(&path) {
                        return fails(
                            "is not for charts, and Helm reads it: add .git/ to .helmignore",
                        );
                    }
                    continue;
                }
                let is_link = entry.file_type().is_ok_and(|it| it.is_symlink());
                if is_link && !self.shows(&path) {
                    let link = shown(self.root, self.folder, &path);
                    let why = "leads to a file that is hidden or outside";
                    return Err(format!("the link {} {why}", link.display()));
                }
                let is_harmless = HARMLESS.iter().any(|it| name == *it);
                let is_hidden = name.as_encoded_bytes().starts_with(b".") && !is_harmless;
                if is_git(&name) || is_hidden && !folder.starts_with(self.folder) {
                    return fails("is hidden, and Helm reads it through a link or in the chart");
                }
                match dunce::canonicalize(&path) {
                    Ok(target) if target.is_dir() => open.push(target),
                    _ if name == "values.schema.json" && leads_out(&path) => {
                        schemas.leading_out = Some(shown(self.root, self.folder, &path));
                    }
                    _ => schemas.are_packed |= path.extension().is_some_and(|it| it == "tgz"),
                }
            }
        }
        Ok(schemas)
    }

    /// Returns whether Helm loads git's folder in a chart that is a repository.
    fn loads_git(&self, git: &Path) -> bool {
        let ignored = files::read_regular(&self.folder.join(".helmignore"), LARGEST_POLICY);
        let ignored = String::from_utf8(ignored.unwrap_or_default()).unwrap_or_default();
        has_entries(git) && !ignored.lines().any(|it| matches!(it.trim(), ".git" | ".git/"))
    }

    /// Checks all kustomizations that a kustomization loads. Returns them, and the files that they name.
    ///
    /// kustomize loads files only from the folder of a kustomization, but any folder with a kustomization. The key of a
    /// path does not matter here: no other text is the path of a folder outside.
    pub(super) fn kustomization(&self) -> Result<BTreeSet<PathBuf>, String> {
        let (mut open, mut seen) = (vec![self.folder.to_owned()], BTreeSet::new());
        let mut known = BTreeSet::new();
        while let Some(folder) = open.pop() {
            if !seen.insert(folder.clone()) {
                continue;
            }
            let files = Layout::KUSTOMIZATIONS.map(|it| folder.join(it));
            for file in files.iter().filter(|it| it.symlink_metadata().is_ok()) {
                let name = shown(self.root, self.folder, file).display().to_string();
                let target = dunce::canonicalize(file).ok().filter(|it| self.has(it));
                known.insert(target.ok_or_else(|| format!("{name} {}", self.is_outside()))?);
                let text = files::text(file).map_err(|error| format!("{name}: {error}"))?;
                for document in kube_yaml::documents(&text) {
                    let document = document.map_err(|it| {
                        let line = it.mark.line;
                        format!("{name}:{line}: setguard cannot read this: {}", it.message)
                    })?;
                    if has_plugins(&document.root) && has_entries(&folder.join(".git")) {
                        return Err(format!("{name} has plugins, and they could read .git"));
                    }
                    let mut texts = Vec::new();
                    all_texts(&document.root, &mut texts);
                    for text in texts {
                        // In generators: `KEY=FILE`.
                        let paths = [Some(text), text.split_once('=').map(|(_, path)| path)];
                        for path in paths.into_iter().flatten() {
                            let Ok(target) = dunce::canonicalize(folder.join(path)) else {
                                continue;
                            };
                            let is_folder = target.is_dir() && Path::new(path).is_relative();
                            if !is_folder && !target.starts_with(&folder) {
                                continue;
                            }
                            if !self.has(&target) {
                                return Err(format!("{name}: {path} {}", self.is_outside()));
                            }
                            if is_folder {
                                open.push(target);
                            } else {
                                known.insert(target);
                            }
                        }
                    }
                }
            }
        }
        Ok(known)
    }
}

/// Returns whether a path without links is in a repository, and not in git's own folder.
pub(super) fn is_in(top: &Path, target: &Path) -> bool {
    target.strip_prefix(top).is_ok_and(|inside| !inside.iter().any(is_git))
}

fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

fn has_plugins(kustomization: &Node<'_>) -> bool {
    let Value::Map(entries) = &kustomization.value else { return false };
    let is_for_plugins = |key: &str| PLUGINS.iter().any(|it| key.eq_ignore_ascii_case(it));
    entries.iter().any(|(key, _)| is_for_plugins(&key.name))
}

/// Returns whether a validator loads other documents for a schema, by any of the libraries that Helm has used.
fn leads_out(schema: &Path) -> bool {
    let bytes = files::read_regular(schema, LARGEST_IN_FOLDER).unwrap_or_default();
    match serde_json::from_slice(&bytes) {
        Ok(schema) => refers_out(&schema, true),
        Err(_) => true,
    }
}

fn refers_out(schema: &serde_json::Value, is_top: bool) -> bool {
    use serde_json::Value;
    let is_web = |it: &str| it.starts_with("http://") || it.starts_with("https://");
    let is_out = |key: &str, value: &str| match key {
        "$ref" | "$dynamicRef" | "$recursiveRef" => !value.starts_with('#'),
        // The base of references, with a fragment not the name of this document.
        "$id" | "id" => !is_top || !is_web(value) || value.trim_end_matches('#').contains('#'),
        "$schema" => !["http://json-schema.org/", "https://json-schema.org/"]
            .iter()
            .any(|it| value.starts_with(it)),
        _ => false,
    };
    match schema {
        Value::Array(items) => items.iter().any(|it| refers_out(it, false)),
        Value::Object(entries) => entries.iter().any(|(key, value)| {
            value.as_str().is_some_and(|it| is_out(key, it)) || refers_out(value, false)
        }),
        _ => false,
    }
}

//! Files and objects that were not checked, although they may have a DaemonSet or StatefulSet.

use setguard_core::words;

use super::{
    document::{DocumentObjects, Manifest},
    render::Rendered,
};
use crate::manifests::prelude::*;

/// A file, or an object in it, that was not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotChecked {
    /// The name of the file, or of a folder whose files were not read.
    pub file: String,
    /// The path of the file, if its name is not Unicode.
    pub path: Option<PathBuf>,
    /// The line of the object, counted from 1.
    pub line: Option<usize>,
    pub(crate) cause: Cause,
    /// The reason, and how to check it: a clause such as "git ignores it; name it to check it".
    pub why: String,
    /// Whether the change under check adds or edits it. The run then fails.
    pub is_changed: bool,
    /// Whether the object is the same as before the change.
    pub is_same: bool,
    /// Files and folders that it is made of, besides the file.
    pub(super) of: Arc<[PathBuf]>,
    /// The object's own reason, if nothing else in the file matters.
    pub(super) object: Option<String>,
    /// Whether `object` is only about images. These matter only to limits on rollouts.
    pub only_images: bool,
    /// Whether only its namespaces differ from the checked objects. Not every policy looks at namespaces.
    pub by_namespace: bool,
    /// For a kustomization that changes only the versions of images, generated ConfigMaps and Secrets: the files whose
    /// sets have got new versions since the commit.
    pub renews: Option<Vec<PathBuf>>,
}

words! {
    all
    /// The reason in one word.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Cause {
        /// A flag or the policy excludes it.
        Excluded => "excluded",
        /// It is in a folder of dependencies or test data.
        Foreign => "foreign",
        /// git ignores it.
        Ignored => "ignored",
        /// It is a link that is not followed, or not a regular file.
        Link => "link",
        /// It is a template, or cannot be read for a different reason.
        Unreadable => "unreadable",
        /// It is a part of an object, such as a patch.
        Partial => "partial",
        /// It has a placeholder that gets a value before it is applied.
        Placeholder => "placeholder",
        /// It is a kustomization that changes its resources.
        Kustomization => "kustomization",
        /// It is a chart, or a template of one.
        Chart => "chart",
        /// It is a chart or a kustomization that renders to nothing, or not from the repository alone.
        Empty => "empty",
        /// It is a set in a version of its group that setguard does not know.
        Version => "version",
    }
}

impl NotChecked {
    /// Records a file that was not checked.
    pub fn file(file: impl Into<String>, cause: Cause, why: impl Into<String>) -> Self {
        NotChecked {
            file: file.into(),
            path: None,
            line: None,
            cause,
            why: why.into(),
            is_changed: false,
            is_same: false,
            of: Arc::default(),
            object: None,
            only_images: false,
            by_namespace: false,
            renews: None,
        }
    }

    pub(super) fn at(path: &Path, cause: Cause, why: impl Into<String>) -> Self {
        NotChecked::file(path.display().to_string(), cause, why).found_at(path)
    }

    /// Notes the exact path of the file, because `file` may differ from it.
    #[must_use]
    pub(super) fn found_at(self, path: &Path) -> Self {
        let path = path.to_str().is_none().then(|| path.to_owned());
        NotChecked { path, ..self }
    }

    /// Adds the files that it is made of.
    #[must_use]
    pub(super) fn of(self, of: impl IntoIterator<Item = PathBuf>) -> Self {
        NotChecked { of: of.into_iter().collect(), ..self }
    }

    /// Notes its source.
    #[must_use]
    pub fn found_in(self, source: &Source) -> Self {
        match (source.rendered(), source.file()) {
            (Some(rendered), _) => self.of_rendered(rendered),
            (None, Some((_, path))) => self.found_at(&path),
            (None, None) => self,
        }
    }

    /// Compares the objects with those before the change, in a run that may limit rollouts.
    pub fn compare_objects<'a>(
        all: impl Iterator<Item = &'a mut NotChecked>,
        before: &[NotChecked],
        limits_rollouts: bool,
    ) {
        let objects = || before.iter().filter_map(|it| Some((&*it.file, it.object.as_deref()?)));
        let in_files: HashSet<_> = objects().collect();
        let files: HashSet<_> = objects().map(|it| it.0).collect();
        let all_before: HashSet<_> = objects().map(|it| it.1).collect();
        for it in all.filter(|it| limits_rollouts || !it.only_images) {
            let Some(object) = it.object.as_deref() else { continue };
            // The same object can be in the files of several clusters.
            let is_known = match files.contains(&*it.file) {
                true => in_files.contains(&(&*it.file, object)),
                false => all_before.contains(object),
            };
            it.is_changed |= !is_known;
        }
    }

    /// Records an object that was not checked.
    pub fn object(file: &str, line: usize, cause: Cause, why: String) -> Self {
        NotChecked { line: Some(line), ..NotChecked::file(file, cause, why) }
    }

    /// Returns the entry for the output of a root: for its file, without a line.
    #[must_use]
    fn of_rendered(self, rendered: &Rendered) -> Self {
        NotChecked { file: rendered.file(), line: None, ..self.of(rendered.root.parts()) }
    }

    /// Returns whether it counts if the run looks at namespaces, and if it limits rollouts.
    pub const fn counts(&self, namespaces: bool, rollouts: bool) -> bool {
        (namespaces || !self.by_namespace) && (rollouts || self.renews.is_none())
    }

    /// Returns whether a change of it fails the run. An unchanged object never does, even in an edited file. An
    /// exclusion does only if the change itself excludes more, and an empty rendering only if it was not empty before.
    /// An ignored file is not part of the change.
    pub const fn must_be_checked(&self, excludes_more: bool) -> bool {
        match self.cause {
            _ if self.is_same => false,
            Cause::Excluded => excludes_more,
            Cause::Ignored | Cause::Empty => false,
            _ => true,
        }
    }

    /// Returns the place and the reason in one sentence.
    pub fn sentence(&self) -> String {
        let NotChecked { file, line, why, is_changed, .. } = self;
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let changed =
            if *is_changed { "not checked, and this change edits it" } else { "not checked" };
        format!("{file}{line}: {changed}: {why}")
    }
}

/// Returns whether a text may have a DaemonSet or StatefulSet: it has one, or has the name of the kind and cannot be
/// read.
pub fn may_have_set(text: &str) -> bool {
    // An escape or a tag can stand for any letter.
    let names = [&b"aemonSet"[..], b"tatefulSet", b"\\", b"!"];
    let mut found =
        names.iter().filter(|name| memchr::memmem::find(text.as_bytes(), name).is_some());
    let Some(name) = found.next() else { return false };
    let is_unreadable = name.len() > 1;
    kube_yaml::documents(text).any(|document| match document {
        Ok(document) => !DocumentObjects::of(document, false).manifests.is_empty(),
        Err(_) => is_unreadable,
    })
}

/// Returns whether a file has a set that isn't only a patch.
pub(super) fn has_whole_set(path: &Path) -> bool {
    has_set(path, |it| !it.is_partial())
}

/// Returns whether a file has a set with an annotation for kustomize. It can rename the set or leave it out.
pub(super) fn has_set_for_kustomize(path: &Path) -> bool {
    has_set(path, |it| {
        let annotations = it.node.get("metadata").and_then(|it| it.get("annotations"));
        let Some(Value::Map(entries)) = annotations.map(|it| &it.value) else { return false };
        entries.iter().any(|(key, _)| key.name.contains("config.kubernetes.io/"))
    })
}

fn has_set(path: &Path, is_meant: impl Fn(&Manifest<'_>) -> bool) -> bool {
    let Ok(text) = files::text(path) else { return false };
    may_have_set(&text)
        && kube_yaml::documents(&text)
            .flatten()
            .any(|document| DocumentObjects::of(document, false).manifests.iter().any(&is_meant))
}

/// An unreadable file may have one.
pub(super) fn file_may_have_set(path: &Path) -> bool {
    files::text(path).map_or(true, |text| may_have_set(&text))
}

//! The parts of a repository that objects of Argo CD and Flux apply, before and after a change.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
    path::{Path, PathBuf},
};

use kube_yaml::Node;
use serde_json::Value;

use super::describes;
use crate::manifests::{
    edits,
    exclude::whole,
    files::{self, is_manifest},
    kustomization::may_build_set,
    layout::{Layout, is_kustomization},
    not_checked::NotChecked,
};

/// A part of a repository that an object applies.
#[derive(Clone, Debug)]
pub(in crate::manifests) struct Applied {
    /// The object, for messages, and its kind, namespace and name.
    pub(super) object: String,
    pub(super) id: String,
    /// The folder of the repository, and the path in it.
    pub(super) top: PathBuf,
    pub(super) path: PathBuf,
    /// Where the part comes from, and which of its files count.
    pub(super) source: Value,
    /// What the object changes in the part without setguard following it.
    pub(super) rest: Option<String>,
    /// The namespace for what has none there. Of a kustomization, its own, and `is_placed` is false.
    pub(super) namespace: Option<String>,
    /// Whether the object decides about the namespace, and setguard does not follow it.
    pub(super) is_placed: bool,
    /// Whether it is rendered as a release, so its objects are compared as those of the release.
    pub(super) is_release: bool,
    /// The file of the object.
    pub(super) entry: NotChecked,
}

/// Returns whether an object applies a file as it is, although a kustomization elsewhere may take it.
pub(super) fn as_it_is(all: &[Applied]) -> impl Fn(&Path) -> bool + use<> {
    let folders = all.iter().map(|it| (whole(&it.top.join(&it.path)), it.has_folders()));
    // Two objects can apply one folder.
    let mut plain = HashMap::new();
    folders.for_each(|(folder, all)| *plain.entry(folder).or_insert(false) |= all);
    plain.retain(|it, _| it.is_dir() && !is_built(it));
    move |file| {
        let parent = file.parent();
        let mut above = file.ancestors().skip(1).take_while(|it| !is_built(it));
        !plain.is_empty()
            && above.any(|it| plain.get(it).is_some_and(|all| *all || Some(it) == parent))
    }
}

fn is_built(folder: &Path) -> bool {
    Layout::KUSTOMIZATIONS.iter().chain(&["Chart.yaml"]).any(|it| folder.join(it).is_file())
}

/// Returns what is not compared with what it was, because an object applies a different part of a repository now.
pub(in crate::manifests) fn not_compared(new: &[Applied], old: &[Applied]) -> Vec<NotChecked> {
    let (new_by_id, old_by_id) = (by(new, |it| &*it.id), by(old, |it| &*it.id));
    let old_by_path = by(old, |it| &it.path);
    let why = new.iter().filter_map(|now| {
        let own = new_by_id.get(&*now.id).map_or(&[][..], Vec::as_slice);
        let same_name = old_by_id.get(&*now.id).map_or(&[][..], Vec::as_slice);
        let same_path = old_by_path.get(&now.path).map_or(&[][..], Vec::as_slice);
        let renamed = same_path.iter().filter(|it| !new_by_id.contains_key(&*it.id));
        let earlier = now.earlier(own, same_name).unwrap_or_else(|| renamed.copied().collect());
        let why = now.differs_from(&earlier, own).or_else(|| now.is_silent_about(&earlier, old));
        let entry = now.entry.clone();
        match why {
            Some(why) => Some(NotChecked { why, ..entry }),
            None => {
                let why = now.has_moved(same_name, own)?;
                // A kustomization in the folder can decide about the namespace too.
                let of = entry.of.iter().cloned().chain([now.top.join(&now.path)]);
                let of = of.collect::<Vec<_>>();
                Some(NotChecked { why, ..entry.of(of) })
            }
        }
    });
    why.collect()
}

fn by<K: Hash + Eq + ?Sized>(
    all: &[Applied],
    key: fn(&Applied) -> &K,
) -> HashMap<&K, Vec<&Applied>> {
    let mut by = HashMap::<_, Vec<_>>::new();
    all.iter().for_each(|it| by.entry(key(it)).or_default().push(it));
    by
}

impl Applied {
    /// Returns whether the files in folders below count too.
    fn has_folders(&self) -> bool {
        // Flux has no such field.
        !self.source[2].is_array() || self.source[2][2] == true
    }

    /// Returns what the object applied before, of those with its name. It may have another file since.
    fn earlier<'o>(&self, new: &[&Applied], old: &[&'o Applied]) -> Option<Vec<&'o Applied>> {
        let is_gone = |it: &&Applied| !new.iter().any(|now| now.entry.file == it.entry.file);
        let of = |is_it: &dyn Fn(&&Applied) -> bool| old.iter().copied().filter(is_it).collect();
        let all = [of(&|it| it.entry.file == self.entry.file), of(&is_gone), old.to_vec()];
        all.into_iter().find(|it: &Vec<_>| !it.is_empty())
    }

    /// Returns how it differs from what it was. A folder that has moved is compared by its objects.
    fn differs_from(&self, earlier: &[&Applied], own: &[&Applied]) -> Option<String> {
        let Applied { object, path, top, source, .. } = self;
        let mut same = earlier.iter().filter(|it| it.path == *path).peekable();
        if let Some(was) = same.peek().copied() {
            let is_other = self.stands_in(top) && same.all(|it| it.source != *source);
            let path = path.display();
            let [new, old] = [source, &was.source].map(|it| it[0].as_array().map(Vec::as_slice));
            return is_other.then(|| match (new, old) {
                (Some([url, new]), Some([earlier, old])) if url == earlier && new != old => {
                    let [new, old] = [new, old].map(|it| it.as_str().unwrap_or_default());
                    format!(
                        "{object} takes {path} at {new} instead of {old} now; to compare them, check out {new}: \
                         setguard check --render . --against-ref {old}"
                    )
                }
                _ if [0, 1].iter().all(|i| source[i] == was.source[i]) => {
                    format!("{object} takes other files of {path} now")
                }
                _ => format!("{object} takes {path} from a different source now"),
            });
        }
        let is_left = |it: &Applied| own.iter().any(|now| now.path == it.path);
        let was = earlier.iter().find(|was| {
            let stood = was.stands_in(top) || self.stands_in(&was.top);
            stood && !is_left(was) && !(self.is_release && was.is_release)
        })?;
        let (now, earlier) = (path.display(), was.path.display());
        (self.may_have_set() || was.may_have_set())
            .then(|| format!("{object} applies {now} instead of {earlier} now"))
    }

    /// Returns why it is not compared although nothing in it is left unchecked: what the object changed before, setguard did
    /// not follow. A change that no object had is a thing of its own that is not checked.
    fn is_silent_about(&self, earlier: &[&Applied], old: &[Applied]) -> Option<String> {
        let Applied { object, path, rest, .. } = self;
        let mut same = earlier.iter().filter(|it| it.path == *path).peekable();
        let is_other = same.peek().is_some() && same.all(|it| it.rest != *rest);
        let is_silent = || rest.is_none() || old.iter().any(|it| it.rest == *rest);
        (is_other && is_silent() && self.may_have_set()).then(|| {
            let path = path.display();
            format!("{object} makes other changes to {path} than before, and setguard does not follow them")
        })
    }

    /// Returns why its objects are not compared with those that it had in another namespace.
    fn has_moved(&self, old: &[&Applied], own: &[&Applied]) -> Option<String> {
        let Applied { object, path, namespace, .. } = self;
        let is_here = old.iter().any(|it| it.path == *path);
        // Without one, the folder has moved.
        let mut same = old.iter().filter(|it| it.path == *path || !is_here);
        if !self.is_placed || same.clone().any(|it| it.namespace == *namespace) {
            return None;
        }
        // Another cluster may have an object of that name.
        let is_left = |it: &Applied| own.iter().any(|now| now.entry.file == it.entry.file);
        // Of an ApplicationSet, another element may be new.
        let stays = |it: &Applied| {
            own.iter().any(|now| now.path == it.path && now.namespace == it.namespace)
        };
        let is_it = |it: &Applied| it.entry.file == self.entry.file || !is_left(it);
        let was = same.find(|it| is_it(it) && !stays(it))?;
        if !self.may_have_set() || self.namespaces() == was.namespaces() {
            return None;
        }
        let [now, was] = [namespace, &was.namespace].map(|it| it.as_deref().unwrap_or("default"));
        let path = path.display();
        Some(format!(
            "{object} puts the objects of {path} into {now} instead of {was} now, where they are new"
        ))
    }

    /// Returns the namespaces that its sets get. Those of a base elsewhere count as sets without one.
    fn namespaces(&self) -> BTreeSet<String> {
        let given = self.namespace.as_deref();
        let of_set = |root: &Node<'_>| {
            let own = root.get("metadata").and_then(|it| it.get("namespace"));
            let own = own.and_then(Node::as_str);
            // Flux overrides it.
            let is_flux = self.source[0].is_object();
            if is_flux { given.or(own) } else { own.or(given) }.unwrap_or("default").to_owned()
        };
        let is_set = |root: &Node<'_>| {
            let kind = root.get("kind").and_then(Node::as_str);
            kind.is_some_and(|it| it == "DaemonSet" || it == "StatefulSet")
        };
        let at = self.top.join(&self.path);
        let files = edits::entries(&at);
        let files = files.filter(|it| it.file_type().is_file() && is_manifest(it.path()));
        let mut all = BTreeSet::new();
        for text in files.filter_map(|it| files::text(it.path()).ok()) {
            let roots = kube_yaml::documents(&text).flatten().map(|it| it.root);
            all.extend(roots.filter(is_set).map(|it| of_set(&it)));
        }
        if all.is_empty() {
            all.insert(given.unwrap_or("default").to_owned());
        }
        all
    }

    /// Returns whether a repository has the path. Only the cluster can fill a placeholder.
    fn stands_in(&self, top: &Path) -> bool {
        self.path.to_string_lossy().contains("{{") || top.join(&self.path).exists()
    }

    fn may_have_set(&self) -> bool {
        // A placeholder or a pattern can stand for any folder here.
        let way = self.path.iter().take_while(|it| !it.to_string_lossy().contains(['{', '*']));
        let at = self.top.join(way.collect::<PathBuf>());
        may_build_set(&at)
            || edits::entries(&at).any(|it| {
                let file = it.path();
                match is_kustomization(file) {
                    true => file.parent().is_some_and(may_build_set),
                    false => files::text(file).is_ok_and(|it| describes(&it)),
                }
            })
    }
}

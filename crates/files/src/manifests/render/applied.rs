//! The parts of a repository that objects of Argo CD and Flux apply, before and after a change.

use std::{
    cell::LazyCell,
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
    /// The origin of the part, and which of its files count.
    pub(super) source: Value,
    /// Changes by the object that setguard does not follow.
    pub(super) rest: Option<String>,
    /// The namespace for objects without one. For a kustomization, its own, and `is_placed` is false.
    pub(super) namespace: Option<String>,
    /// How the object names the cluster.
    pub(super) cluster: Value,
    /// Whether the object decides about the namespace, and setguard does not follow it.
    pub(super) is_placed: bool,
    /// Whether it is rendered as a release. Its objects are then compared as the release's.
    pub(super) is_release: bool,
    /// Whether it is a chart that is packed or vendored, and not read.
    pub(super) is_foreign: bool,
    /// The file of the object.
    pub(super) entry: NotChecked,
}

/// Returns whether an object applies a file as it is, although a kustomization elsewhere may take it.
pub(super) fn as_it_is(all: &[Applied]) -> impl Fn(&Path) -> bool + use<> {
    let folders = all.iter().map(|it| (it.folder(), it.has_folders()));
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

/// Returns the parts that are not compared with their old versions, because an object now applies a different part of a
/// repository.
pub(in crate::manifests) fn not_compared(new: &[Applied], old: &[Applied]) -> Vec<NotChecked> {
    let (new_by_id, old_by_id) = (by(new, |it| &*it.id), by(old, |it| &*it.id));
    let old_by_path = by(old, |it| &it.path);
    let why = new.iter().filter_map(|now| {
        let own = new_by_id.get(&*now.id).map_or(&[][..], Vec::as_slice);
        let same_name = old_by_id.get(&*now.id).map_or(&[][..], Vec::as_slice);
        let same_path = old_by_path.get(&now.path).map_or(&[][..], Vec::as_slice);
        let is_gone = |it: &&Applied| !new_by_id.contains_key(&*it.id);
        let renamed = || same_path.iter().copied().filter(is_gone).collect::<Vec<_>>();
        // With a new name and a new path, only the objects are the same.
        let in_file = || {
            let all = old.iter().filter(|it| it.entry.file == now.entry.file && is_gone(it));
            let own = LazyCell::new(|| now.sets());
            all.filter(|it| !it.sets().is_disjoint(&own)).collect()
        };
        let earlier = now.earlier(own, same_name).unwrap_or_else(|| match renamed() {
            all if all.is_empty() => in_file(),
            all => all,
        });
        let why = now.differs_from(&earlier, own).or_else(|| now.is_silent_about(&earlier, old));
        let entry = now.entry.clone();
        match why {
            Some(why) => Some(NotChecked { why, ..entry }),
            None => {
                let was = if same_name.is_empty() { &earlier } else { same_name };
                let why = now.has_moved(was, own)?;
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
    /// Returns the folder, without links.
    pub(super) fn folder(&self) -> PathBuf {
        whole(&self.top.join(&self.path))
    }

    /// Returns whether the files in folders below count too.
    fn has_folders(&self) -> bool {
        // Flux has no such field.
        !self.source[2].is_array() || self.source[2][2] == true
    }

    /// Returns the old object with its name. It may have been in a different file.
    fn earlier<'o>(&self, new: &[&Applied], old: &[&'o Applied]) -> Option<Vec<&'o Applied>> {
        let is_gone = |it: &&Applied| !new.iter().any(|now| now.entry.file == it.entry.file);
        let of = |is_it: &dyn Fn(&&Applied) -> bool| old.iter().copied().filter(is_it).collect();
        let all = [of(&|it| it.entry.file == self.entry.file), of(&is_gone), old.to_vec()];
        all.into_iter().find(|it: &Vec<_>| !it.is_empty())
    }

    /// Returns how it differs from its old version. A folder that has moved is compared by its objects.
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
            let is_same = !was.stands_in(top) && !self.stands_in(&was.top) && !was.is_foreign;
            let are_releases = self.is_release && was.is_release;
            !(is_same || is_left(was) || are_releases)
        })?;
        let (now, earlier) = (path.display(), was.path.display());
        (self.may_have_set() || was.may_have_set())
            .then(|| format!("{object} applies {now} instead of {earlier} now"))
    }

    /// Returns why it is not compared although all of it is checked now: setguard did not follow the object's old
    /// changes. A change that no old object had is listed as not checked itself.
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

    /// Returns why its objects are not compared with its old objects in a different namespace or cluster.
    fn has_moved(&self, old: &[&Applied], own: &[&Applied]) -> Option<String> {
        let Applied { object, path, namespace, cluster, .. } = self;
        let is_here = old.iter().any(|it| it.path == *path);
        // If none had this path, the folder has moved.
        let mut same = old.iter().filter(|it| it.path == *path || !is_here);
        // A cluster has a name and an address.
        let is_other = |it: &Applied| {
            let all = cluster.as_object().zip(it.cluster.as_object());
            all.map_or(*cluster != it.cluster, |(now, was)| {
                now.iter().any(|(key, now)| was.get(key).is_some_and(|was| was != now))
            })
        };
        let is_there = |it: &Applied| it.namespace == *namespace && !is_other(it);
        if self.is_release || same.clone().any(|it| is_there(it)) {
            return None;
        }
        // An object of that name may be in a different cluster.
        let is_left = |it: &Applied| own.iter().any(|now| now.entry.file == it.entry.file);
        // A different element of an ApplicationSet may be new.
        let stays = |it: &Applied| {
            let is_it = |now: &&Applied| now.path == it.path && now.cluster == it.cluster;
            own.iter().any(|now| is_it(now) && now.namespace == it.namespace)
        };
        let is_it = |it: &Applied| it.entry.file == self.entry.file || !is_left(it);
        let was = same.find(|it| is_it(it) && !stays(it))?;
        if !self.may_have_set() {
            return None;
        }
        let path = path.display();
        if is_other(was) {
            let what = "to another cluster than before, where they are new";
            return Some(format!("{object} applies the objects of {path} {what}"));
        }
        let is_placed = self.is_placed || was.is_placed;
        if !is_placed || self.namespaces() == was.namespaces() {
            return None;
        }
        let [now, was] = [namespace, &was.namespace].map(|it| it.as_deref().unwrap_or("default"));
        Some(format!(
            "{object} puts the objects of {path} into {now} instead of {was} now, where they are new"
        ))
    }

    /// Returns the namespaces of its sets. The sets of a base elsewhere count as sets without a namespace.
    fn namespaces(&self) -> BTreeSet<String> {
        let all: BTreeSet<_> = self.sets().into_iter().map(|[_, _, namespace]| namespace).collect();
        let given = || self.namespace.as_deref().unwrap_or("default").to_owned();
        if all.is_empty() { BTreeSet::from([given()]) } else { all }
    }

    /// Returns the kinds, names and namespaces of the sets in its folder.
    fn sets(&self) -> BTreeSet<[String; 3]> {
        let given = self.namespace.as_deref();
        let of_set = |root: &Node<'_>| {
            let metadata = |key| root.get("metadata").and_then(|it| it.get(key)?.as_str());
            let own = metadata("namespace");
            // Flux overrides it.
            let is_flux = self.source[0].is_object();
            let namespace = if is_flux { given.or(own) } else { own.or(given) };
            let kind = root.get("kind").and_then(Node::as_str)?;
            let all = [kind, metadata("name")?, namespace.unwrap_or("default")];
            matches!(kind, "DaemonSet" | "StatefulSet").then(|| all.map(str::to_owned))
        };
        let at = self.top.join(&self.path);
        let files = edits::entries(&at);
        let files = files.filter(|it| it.file_type().is_file() && is_manifest(it.path()));
        let texts = files.filter_map(|it| files::text(it.path()).ok());
        let sets = |it: String| {
            let roots = kube_yaml::documents(&it).flatten().map(|it| it.root);
            roots.filter_map(|it| of_set(&it)).collect::<Vec<_>>()
        };
        texts.flat_map(sets).collect()
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

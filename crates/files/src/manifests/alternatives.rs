//! Objects with the same kind, namespace and name in several files, for different clouds or releases.

use super::{group::Group, source::Source};

/// The values of such objects in an earlier version of the manifests.
#[derive(Clone, Debug)]
pub struct Alternatives<T>(Vec<Alternative<T>>);

#[derive(Clone, Debug)]
struct Alternative<T> {
    file: String,
    /// The path that the file would have in the work tree, or nothing.
    place: String,
    group: Group,
    value: T,
}

impl<T> Default for Alternatives<T> {
    fn default() -> Self {
        Alternatives(Vec::new())
    }
}

impl<T> Alternatives<T> {
    /// Adds the object of a source. A file that the user named replaces all others, so the last named file counts.
    pub fn add_from(&mut self, source: &Source, value: T) {
        let place = source.place().map(|it| it.display().to_string()).unwrap_or_default();
        self.add((source.name(), &place), source.group().clone(), value);
    }

    fn add(&mut self, (file, place): (&str, &str), group: Group, value: T) {
        self.0.retain(|other| group != Group::Named && other.file != file);
        let (file, place) = (file.to_owned(), place.to_owned());
        self.0.push(Alternative { file, place, group, value });
    }

    /// Adds the objects of other files.
    pub fn extend(&mut self, other: &Self)
    where
        T: Clone,
    {
        self.0.extend(other.0.iter().cloned());
    }

    /// Creates the only object: the cluster's.
    pub fn of_cluster(value: T) -> Self {
        let mut only = Alternatives::default();
        only.add(("", ""), Group::Named, value);
        only
    }

    /// Returns the object that the object in `file` continues, with its file: the one at the same path, or else the one
    /// whose path has the most in common with the end of `file`. An object that a different file continues comes last:
    /// `has_nearer` returns whether a new file with the object is at the path of an old file, or has more than this many
    /// parts in common with it. If all others are continued, `file` is a second file with an old object, and applying
    /// it changes the object in the nearest folder: of several there, the last one applied. `None` if the choice is not
    /// [clear](Self::unclear), or if the policy assigns the files to different clusters.
    pub fn continued_by(
        &self,
        file: &str,
        group: &Group,
        has_nearer: &HasNearer<'_>,
    ) -> Option<(&str, &T)> {
        let found = self.before(file, group, has_nearer);
        found.map(|it| (&*it.file, &it.value))
    }

    fn before(
        &self,
        file: &str,
        group: &Group,
        has_nearer: &HasNearer<'_>,
    ) -> Option<&Alternative<T>> {
        // A root continues itself, no matter which other files have the object.
        if let Group::Rendered { name, release, cluster, .. } = group {
            let is_root = |it: &&Alternative<T>| matches!(&it.group, Group::Rendered { name: other, .. } if name == other);
            // The object of a release may have a new name, or stand in a new file. Different objects may have the same
            // release, so only an object that no longer exists counts.
            let object = |root: &str| root.split(" in ").next().unwrap_or_default().to_owned();
            let gone = self.near(group).filter(|it| !is_left(it, has_nearer));
            let gone = gone.filter_map(|it| match &it.group {
                Group::Rendered { release: other, cluster: there, .. } if release == other => {
                    let likeness = (there == cluster, object(&it.file) == object(file));
                    release.is_some().then_some(((likeness, common(&it.file, file)), it))
                }
                _ => None,
            });
            let gone = gone.max_by_key(|(likeness, _)| *likeness).map(|(_, it)| it);
            let of_root = self.0.iter().find(is_root).or(gone);
            let named = || self.0.iter().find(|it| it.group == Group::Named);
            let before = of_root.or_else(named);
            if before.is_some() || self.has_variant(group, has_nearer) {
                return before;
            }
        }
        if let Some(same) = self.0.iter().find(|it| is_same(&it.place, file)) {
            // Of several files in a folder, the cluster has the object of the last one.
            let here = self.near(group).filter(|it| folders(&it.place).eq(folders(file)));
            let last = here.max_by_key(|it| &it.place);
            return last.filter(|it| !is_left(it, has_nearer)).or(Some(same));
        }
        let is_open = |it: &&Alternative<T>| {
            let common = common(&it.file, file);
            it.group == Group::Named || !has_nearer(&it.file, &it.place, common)
        };
        let mut open: Vec<_> = self.near(group).filter(is_open).collect();
        // A file of a different folder must not replace one that goes here.
        let is_here = |it: &&Alternative<T>| folders(&it.place).eq(folders(file));
        if open.iter().any(is_here) {
            open.retain(is_here);
        }
        let open = nearest(open, |it| common(&it.file, file));
        let second = || {
            let mut near: Vec<_> = self.near(group).collect();
            near.sort_by_key(|it| folders(&it.file).collect::<Vec<_>>());
            near.dedup_by(|next, last| {
                let is_there_too = folders(&next.file).eq(folders(&last.file));
                if is_there_too {
                    *last = *next;
                }
                is_there_too
            });
            nearest(near, |it| {
                folders(&it.file).zip(folders(file)).take_while(|(a, b)| a == b).count()
            })
        };
        open.or_else(second)
    }

    /// Returns whether a root of the same chart that is still there has the object with other values. Values for tests
    /// make no real object; a release does.
    fn has_variant(&self, group: &Group, has_nearer: &HasNearer<'_>) -> bool {
        let Group::Rendered { folder: own, release: None, .. } = group else { return false };
        let is_it = |it: &Alternative<T>| match &it.group {
            Group::Rendered { folder, release: None, .. } => folder == own,
            _ => false,
        };
        self.0.iter().any(|it| is_it(it) && is_left(it, has_nearer))
    }

    /// Returns a note for an object that continues none of these although some exist.
    pub fn unclear(&self, group: &Group, has_nearer: &HasNearer<'_>) -> Option<String> {
        let mut near = self.near(group).filter(|_| !self.has_variant(group, has_nearer));
        let (first, others) = (near.next()?, near.next());
        let others = others.map(|_| " and in other folders").unwrap_or_default();
        Some(format!(
            "there was this object before, in {}{others}, and it is not clear whether this one changes it: it counts as \
             a new one. If it is for another cluster, say so under `clusters` in the policy",
            first.file
        ))
    }

    /// Returns the files, with the paths that they would have in the work tree, or nothing.
    pub fn places(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|it| (&*it.file, &*it.place))
    }

    /// Returns whether one kustomization has the file of such an object as a resource.
    pub fn is_of_kustomization(&self) -> bool {
        self.0.iter().any(|it| matches!(it.group, Group::Kustomization(_)))
    }

    fn near(&self, group: &Group) -> impl Iterator<Item = &Alternative<T>> {
        self.0.iter().filter(|it| !it.group.is_apart_from(group))
    }

    /// Returns the last object.
    pub fn last(&self) -> Option<&T> {
        self.0.last().map(|it| &it.value)
    }
}

/// Takes the file and the place of an old object, and a number of parts.
pub type HasNearer<'a> = dyn Fn(&str, &str, usize) -> bool + 'a;

/// Returns whether an old file or root is still there. No two paths have that many parts in common.
fn is_left<T>(it: &Alternative<T>, has_nearer: &HasNearer<'_>) -> bool {
    has_nearer(&it.file, &it.place, usize::MAX - 1)
}

/// Returns the only one, or the one with the most in common; `None` for a tie.
fn nearest<T>(
    all: Vec<&Alternative<T>>,
    common: impl Fn(&Alternative<T>) -> usize,
) -> Option<&Alternative<T>> {
    if let [only] = all[..] {
        return Some(only);
    }
    let most = all.iter().map(|it| common(it)).max().filter(|most| *most > 0)?;
    let mut nearest = all.into_iter().filter(|it| common(it) == most);
    let first = nearest.next()?;
    nearest.next().is_none().then_some(first)
}

/// Returns the number of parts that two paths have in common at the end.
pub fn common(one: &str, other: &str) -> usize {
    parts(one).zip(parts(other)).take_while(|(a, b)| a == b).count()
}

/// Returns whether two paths are the same, whatever `.` is in them.
pub fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && parts(one).eq(parts(other))
}

fn folders(file: &str) -> impl Iterator<Item = &str> {
    parts(file).skip(1)
}

/// The path can begin with a commit: `HEAD:./deploy/set.yaml`.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\', ':']).filter(|part| *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn continued(all: &Alternatives<i32>, file: &str, others: &[&str]) -> Option<i32> {
        let has_nearer = |old: &str, place: &str, so_many: usize| {
            others.iter().any(|it| is_same(place, it) || common(old, it) > so_many)
        };
        all.continued_by(file, &Group::Alone, &has_nearer).map(|(_, it)| *it)
    }

    #[test]
    fn the_nearest_file_is_continued() {
        let mut all = Alternatives::default();
        all.add(("HEAD:deploy/v1/set.yaml", ""), Group::Alone, 1);
        assert_eq!(continued(&all, "./other.yaml", &[]), Some(1));
        all.add(("HEAD:deploy/v2/set.yaml", ""), Group::Alone, 2);
        for (file, wanted) in [
            ("./deploy/v1/set.yaml", Some(1)),
            ("../main/deploy/v2/set.yaml", Some(2)),
            ("./deploy/v3/set.yaml", None),
            ("./other.yaml", None),
        ] {
            assert_eq!(continued(&all, file, &[]), wanted, "{file}");
        }
        all.add(("now.yaml", ""), Group::Named, 3);
        assert_eq!(continued(&all, "./deploy/v1/set.yaml", &["now.yaml"]), Some(3));
    }

    #[test]
    fn a_file_does_not_continue_what_another_one_does() {
        let mut all = Alternatives::default();
        all.add(("HEAD:deploy/v1/set.yaml", ""), Group::Alone, 1);
        let second = ["./deploy/v1/set.yaml"];
        for file in ["./deploy/v2/set.yaml", "./deploy/v1/zz.yaml", "./other/zz.yaml"] {
            assert_eq!(continued(&all, file, &second), Some(1), "{file}");
        }
        assert_eq!(continued(&all, "./deploy/v1/set.yaml", &["./deploy/v2/set.yaml"]), Some(1));
        // Of several, the one in the same folder.
        let both = ["./deploy/v1/set.yaml", "./deploy/v2/set.yaml"];
        all.add(("HEAD:deploy/v2/set.yaml", ""), Group::Alone, 2);
        assert_eq!(continued(&all, "./deploy/v2/zz.yaml", &both), Some(2));
        assert_eq!(continued(&all, "./deploy/v3/zz.yaml", &both), None);
        assert!(
            all.unclear(&Group::Alone, &|_, _, _| true)
                .unwrap()
                .contains("in HEAD:deploy/v1/set.yaml")
        );
        // Of several in that folder, the last.
        all.add(("HEAD:deploy/v1/b.yaml", ""), Group::Alone, 3);
        let third = [&both[..], &["./deploy/v1/b.yaml"]].concat();
        assert_eq!(continued(&all, "./deploy/v1/zz.yaml", &third), Some(3));
        assert_eq!(continued(&all, "./deploy/v2/zz.yaml", &third), Some(2));
        let mut all = Alternatives::default();
        all.add(("HEAD:deploy/v1/set.yaml", ""), Group::Cluster("a".to_owned()), 1);
        for (name, wanted) in [("a", Some(&1)), ("b", None)] {
            let group = Group::Cluster(name.to_owned());
            let found = all.continued_by("deploy/v2/set.yaml", &group, &|_, _, _| true);
            assert_eq!(found.map(|(_, it)| it), wanted);
        }
        // Of two files, one has moved.
        all.add(("HEAD:deploy/v2/set.yaml", ""), Group::Alone, 2);
        assert_eq!(continued(&all, "./deploy/v3/set.yaml", &["./deploy/v1/set.yaml"]), Some(2));
    }

    #[test]
    fn a_file_continues_the_one_at_its_path_and_then_one_that_is_gone() {
        let mut all = Alternatives::default();
        for (place, value) in [("./deploy/db.yaml", 1), ("./tests/db.yaml", 2)] {
            all.add((&place.replace("./", "HEAD:"), place), Group::Alone, value);
        }
        for (new, wanted) in [
            ("deploy/db.yaml tests/db.yaml", [Some(1), Some(2)]),
            ("x/tests/db.yaml ./tests/db.yaml", [Some(1), Some(2)]),
            ("deploy/db.yaml y/deploy/db.yaml", [Some(1), Some(2)]),
            ("x/tests/db.yaml x/deploy/db.yaml", [Some(2), Some(1)]),
        ] {
            let files: Vec<_> = new.split(' ').collect();
            let found: Vec<_> = files.iter().map(|it| continued(&all, it, &files)).collect();
            assert_eq!(found, wanted, "{new}");
        }
    }
}

//! Objects of the same kind, namespace and name in several files: for other clouds or releases. A
//! cluster has one of them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The values of such objects in another version of the manifests.
#[derive(Clone, Debug)]
pub(crate) struct Alternatives<T>(Vec<Alternative<T>>);

#[derive(Clone, Debug)]
struct Alternative<T> {
    file: String,
    /// Whether the user named the file.
    is_named: bool,
    value: T,
}

impl<T> Default for Alternatives<T> {
    fn default() -> Self {
        Alternatives(Vec::new())
    }
}

impl<T> Alternatives<T> {
    /// Adds the object of a file. It replaces all if the user named its file, so that the last file that
    /// is named counts.
    pub(crate) fn add(&mut self, file: &str, is_named: bool, value: T) {
        self.0.retain(|other| !is_named && other.file != file);
        self.0.push(Alternative { file: file.to_owned(), is_named, value });
    }

    /// Returns the object that the object of a file continues. Of several, it is the one whose path has the
    /// most in common with the end of the file's; `None` if that is not clear. An object that another file
    /// continues doesn't count: `has_nearer` returns whether one of the new files that have more than so much
    /// in common with an old file has the object too.
    pub(crate) fn continued_by(
        &self,
        file: &str,
        has_nearer: &dyn Fn(&str, usize) -> bool,
    ) -> Option<&T> {
        let is_open =
            |it: &&Alternative<T>| it.is_named || !has_nearer(&it.file, common(&it.file, file));
        let open: Vec<_> = self.0.iter().filter(is_open).collect();
        if let [only] = &open[..] {
            return Some(&only.value);
        }
        let most = open.iter().map(|it| common(&it.file, file)).max().filter(|most| *most > 0)?;
        let mut nearest = open.iter().filter(|it| common(&it.file, file) == most);
        let first = nearest.next()?;
        nearest.next().is_none().then_some(&first.value)
    }

    /// Returns the last object.
    pub(crate) fn last(&self) -> Option<&T> {
        self.0.last().map(|it| &it.value)
    }
}

/// Files, by the parts of their paths from the end.
#[derive(Debug, Default)]
pub(crate) struct Files(BTreeMap<Vec<String>, PathBuf>);

impl FromIterator<PathBuf> for Files {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(paths: I) -> Self {
        let key = |path: &Path| parts(&path.display().to_string()).map(str::to_owned).collect();
        Files(paths.into_iter().map(|path| (key(&path), path)).collect())
    }
}

impl Files {
    /// Returns the files that have more than so many parts in common with a path at the end.
    pub(crate) fn nearer(&self, path: &str, so_many: usize) -> impl Iterator<Item = &Path> {
        let end: Vec<_> = parts(path).take(so_many + 1).map(str::to_owned).collect();
        let has_more = end.len() > so_many;
        let files = self.0.range(end.clone()..).take_while(move |(key, _)| key.starts_with(&end));
        files.filter(move |_| has_more).map(|(_, path)| path.as_path())
    }
}

/// Returns how many parts two paths have in common at the end.
pub(crate) fn common(one: &str, other: &str) -> usize {
    parts(one).zip(parts(other)).take_while(|(a, b)| a == b).count()
}

/// Returns the parts of a path from its end, such as `HEAD:./deploy/set.yaml`.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\', ':']).filter(|part| *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what a file continues, next to other new files with the object.
    fn continued(all: &Alternatives<i32>, file: &str, others: &[&str]) -> Option<i32> {
        let others: Files = others.iter().map(PathBuf::from).collect();
        let has_nearer = |old: &str, so_much: usize| others.nearer(old, so_much).next().is_some();
        all.continued_by(file, &has_nearer).copied()
    }

    #[test]
    fn the_nearest_file_is_continued() {
        let mut all = Alternatives::default();
        all.add("HEAD:deploy/v1/set.yaml", false, 1);
        assert_eq!(continued(&all, "./other.yaml", &[]), Some(1));
        all.add("HEAD:deploy/v2/set.yaml", false, 2);
        for (file, wanted) in [
            ("./deploy/v1/set.yaml", Some(1)),
            ("../main/deploy/v2/set.yaml", Some(2)),
            ("./deploy/v3/set.yaml", None),
            ("./other.yaml", None),
        ] {
            assert_eq!(continued(&all, file, &[]), wanted, "{file}");
        }
        all.add("now.yaml", true, 3);
        assert_eq!(continued(&all, "./deploy/v1/set.yaml", &["now.yaml"]), Some(3));
    }

    #[test]
    fn a_file_does_not_continue_what_another_one_does() {
        let mut all = Alternatives::default();
        all.add("HEAD:deploy/v1/set.yaml", false, 1);
        assert_eq!(continued(&all, "./deploy/v2/set.yaml", &["./deploy/v1/set.yaml"]), None);
        assert_eq!(continued(&all, "./deploy/v1/set.yaml", &["./deploy/v2/set.yaml"]), Some(1));
        // Of two files, one has moved.
        all.add("HEAD:deploy/v2/set.yaml", false, 2);
        assert_eq!(continued(&all, "./deploy/v3/set.yaml", &["./deploy/v1/set.yaml"]), Some(2));
    }

    #[test]
    fn the_nearer_files_have_more_in_common() {
        let names =
            ["./a/x/set.yaml", "b/x/set.yaml", "b/y/set.yaml", "set.yaml", "/b/x/other.yaml"];
        let files: Files = names.iter().map(PathBuf::from).collect();
        for old in names.into_iter().chain(["HEAD:b/x/set.yaml", "HEAD:other.yaml", ""]) {
            for so_many in 0..4 {
                let mut nearer: Vec<_> = files.nearer(old, so_many).map(Path::to_owned).collect();
                nearer.sort();
                let is_nearer = |it: &&str| common(old, it) > so_many;
                let wanted = names.into_iter().filter(is_nearer);
                let mut wanted: Vec<_> = wanted.map(PathBuf::from).collect();
                wanted.sort();
                assert_eq!(nearer, wanted, "{old} {so_many}");
            }
        }
    }
}

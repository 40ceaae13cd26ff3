//! Objects of the same kind, namespace and name in several files: for other clouds or releases. A
//! cluster has one of them.

/// The values of such objects in another version of the manifests, with their files.
#[derive(Clone, Debug)]
pub(crate) struct Alternatives<T>(Vec<(String, T)>);

impl<T> Default for Alternatives<T> {
    fn default() -> Self {
        Alternatives(Vec::new())
    }
}

impl<T> Alternatives<T> {
    /// Adds the object of a file. It replaces all if the user named its file, so that the last file that
    /// is named counts.
    pub(crate) fn add(&mut self, file: &str, is_named: bool, value: T) {
        self.0.retain(|(other, _)| !is_named && other != file);
        self.0.push((file.to_owned(), value));
    }

    /// Returns the object that the object of a file continues: the only one, or the one whose path has the most
    /// in common with the end of the file's. `None` if several have.
    pub(crate) fn continued_by(&self, file: &str) -> Option<&T> {
        if let [(_, only)] = &self.0[..] {
            return Some(only);
        }
        let common =
            |other: &str| parts(other).zip(parts(file)).take_while(|(a, b)| a == b).count();
        let most = self.0.iter().map(|(other, _)| common(other)).max().filter(|most| *most > 0)?;
        let mut nearest = self.0.iter().filter(|(other, _)| common(other) == most);
        let (_, first) = nearest.next()?;
        nearest.next().is_none().then_some(first)
    }

    /// Returns the last object.
    pub(crate) fn last(&self) -> Option<&T> {
        self.0.last().map(|(_, value)| value)
    }
}

/// Returns the parts of a path from its end, such as `HEAD:./deploy/set.yaml`.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.rsplit(['/', '\\', ':']).filter(|part| *part != ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_is_continued() {
        let mut all = Alternatives::default();
        all.add("HEAD:deploy/v1/set.yaml", false, 1);
        assert_eq!(all.continued_by("./other.yaml"), Some(&1));
        all.add("HEAD:deploy/v2/set.yaml", false, 2);
        for (file, continued) in [
            ("./deploy/v1/set.yaml", Some(&1)),
            ("../main/deploy/v2/set.yaml", Some(&2)),
            ("./deploy/v3/set.yaml", None),
            ("./other.yaml", None),
        ] {
            assert_eq!(all.continued_by(file), continued, "{file}");
        }
        all.add("now.yaml", true, 3);
        assert_eq!(all.continued_by("./deploy/v1/set.yaml"), Some(&3));
    }
}

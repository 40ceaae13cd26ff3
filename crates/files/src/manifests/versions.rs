//! Folders and files for each release of a program, such as `deploy/v3.0.0`.

use crate::manifests::prelude::*;

/// The newest release and its name, by the path around the name.
#[derive(Debug, Default)]
pub(super) struct Versions(HashMap<Place, (Vec<u64>, String)>);

/// The folder above a name with a release, and the rest of the path.
type Place = (PathBuf, PathBuf);

impl Versions {
    pub(super) fn of<'p>(files: impl Iterator<Item = &'p Path>) -> Versions {
        let mut newest: HashMap<Place, (Vec<u64>, String)> = HashMap::new();
        for file in files {
            for (place, name, version) in releases(file) {
                let known = newest.get(&place).is_some_and(|(other, _)| *other >= version);
                if !known {
                    newest.insert(place, (version, name.to_owned()));
                }
            }
        }
        Versions(newest)
    }

    /// Returns why a file is for an older release: the same file exists for a newer one. Releases don't change.
    pub(super) fn older(&self, file: &Path, named: &Path) -> Option<String> {
        releases(file).filter(|((above, _), ..)| above.starts_with(named)).find_map(|found| {
            let (place, name, version) = found;
            let (newest, other) = self.0.get(&place)?;
            let why = format!("{name} is for an older release than {other}");
            (version < *newest).then_some(why)
        })
    }
}

/// Returns the names with a release in the path of a file, from the end, with their places.
fn releases(file: &Path) -> impl Iterator<Item = (Place, &str, Vec<u64>)> {
    file.ancestors().filter_map(move |path| {
        let name = path.file_name()?.to_str()?;
        let of_file = (path == file).then(|| name.rsplit_once('.'));
        let (stem, ending) = of_file.unwrap_or(Some((name, "")))?;
        let version = version(stem)?;
        let rest = if path == file { Path::new(ending) } else { file.strip_prefix(path).ok()? };
        Some(((path.parent()?.to_owned(), rest.to_owned()), name, version))
    })
}

/// Returns the numbers of a release. `1.2` alone, or before a word, is the number of a chapter.
fn version(name: &str) -> Option<Vec<u64>> {
    let marked = name.strip_prefix('v');
    let rest = marked.unwrap_or(name);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (numbers, suffix) = rest.split_at_checked(end)?;
    let mut numbers: Vec<u64> =
        numbers.split('.').map(|it| it.parse().ok()).collect::<Option<_>>()?;
    let is_whole = suffix.is_empty() || marked.is_some() && suffix.starts_with(['-', '+']);
    if !is_whole || numbers.len() < if marked.is_some() { 2 } else { 3 } {
        return None;
    }
    if !["alpha", "beta", "rc"].iter().any(|word| suffix.contains(word)) {
        let parts = suffix.split(|c: char| !c.is_ascii_digit());
        numbers.extend(parts.filter_map(|it| it.parse::<u64>().ok()));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_for_an_older_release_than_its_neighbors_is_found() {
        let files = [
            // Only the first release has the first file. From aws/amazon-vpc-cni-k8s and vultr/vultr-csi.
            "multus/v3.9.2-eksbuild.1/thin.yaml", "multus/v3.9.2-eksbuild.1/multus.yaml",
            "multus/v3.9.2-eksbuild.2/multus.yaml", "multus/v3.10.0/multus.yaml",
            "releases/v0.9.0.yml", "releases/v0.18.0.yml", "releases/latest.yml",
            "monitoring/1.14.8/agent.yaml", "monitoring/1.18.4/agent.yaml",
            // A release and its candidate.
            "agent/v1.0.0/set.yaml", "agent/v1.0.0-rc.2/set.yaml",
            // Chapters, and versions of an API.
            "course/1.1/set.yaml", "course/1.2-daemons/set.yaml", "apis/v1/set.yaml",
            "apis/v2/set.yaml",
        ];
        let versions = Versions::of(files.iter().map(Path::new));
        let found = files.iter().filter_map(|file| versions.older(Path::new(file), Path::new("")));
        let found: Vec<_> = found.collect();
        assert_eq!(
            found,
            [
                "v3.9.2-eksbuild.1 is for an older release than v3.10.0",
                "v3.9.2-eksbuild.2 is for an older release than v3.10.0",
                "v0.9.0.yml is for an older release than v0.18.0.yml",
                "1.14.8 is for an older release than 1.18.4",
            ]
        );
        // Below a folder that the user named.
        let file = Path::new("multus/v3.9.2-eksbuild.1/multus.yaml");
        assert_eq!(versions.older(file, Path::new("multus/v3.9.2-eksbuild.1")), None);
        assert!(versions.older(file, Path::new("multus")).is_some());
    }
}

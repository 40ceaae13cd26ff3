//! The release of Kubernetes that a file is for, as the name of a folder says.

/// The words before a release in the name of a folder.
const WORDS: [&str; 3] = ["kubernetes", "kube", "k8s"];

/// Returns the folder of a file that is named after a minor release before this one, such as `v1.22` or
/// `k8s-1.22`.
pub(super) fn folder_before(file: &str, minor: u32) -> Option<&str> {
    let (folders, _) = file.rsplit_once(['/', '\\'])?;
    folders.split(['/', '\\']).rfind(|name| release(name).is_some_and(|it| it < minor))
}

fn release(folder: &str) -> Option<u32> {
    let word = WORDS.iter().find_map(|word| folder.strip_prefix(word));
    let version = word.unwrap_or(folder).trim_start_matches(['-', '_']);
    let minor = version.strip_prefix('v').unwrap_or(version).strip_prefix("1.")?;
    minor.bytes().all(|it| it.is_ascii_digit()).then(|| minor.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_named_after_an_older_release_is_found() {
        fn found(file: &str) -> Option<&str> {
            folder_before(file, 24)
        }
        for folder in ["v1.22", "1.9", "k8s-1.23", "kubernetes_v1.18"] {
            let file = format!("releases/{folder}/agent/set.yaml");
            assert_eq!(found(&file), Some(folder));
        }
        assert_eq!(found("a\\v1.22\\set.yaml"), Some("v1.22"));
        for file in [
            "v1.24/set.yaml",
            "v1.22.yaml",
            "v2.1/set.yaml",
            "v1.22.3/set.yaml",
            "driver-1.22/set.yaml",
            "v1./set.yaml",
            "set.yaml",
        ] {
            assert_eq!(found(file), None, "{file}");
        }
    }
}

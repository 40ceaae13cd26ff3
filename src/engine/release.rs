//! The release of Kubernetes that a file is for, as its name or the name of a folder says.

/// The words before a release in a name.
const WORDS: [&str; 3] = ["kubernetes", "kube", "k8s"];

/// The characters between words and numbers in a name.
const BREAKS: [char; 3] = ['-', '_', '.'];

/// Returns the reason why a file is for a minor release before this one: the name of a folder, such as
/// `v1.22` or `k8s-1.22`, or the end of its own name, such as `agent-k8s-1.22.yaml`.
pub(super) fn named_before(file: &str, minor: u32) -> Option<String> {
    let (folders, name) = file.rsplit_once(['/', '\\']).unwrap_or(("", file));
    let is_before = |release: Option<u32>| release.is_some_and(|it| it < minor);
    if is_before(of_file(name)) {
        return Some(format!("the file {name} is named after an older release"));
    }
    let folder = folders.split(['/', '\\']).rfind(|name| is_before(of_folder(name)))?;
    Some(format!("the folder {folder} is named after an older release"))
}

fn of_folder(folder: &str) -> Option<u32> {
    let word = WORDS.iter().find_map(|word| folder.strip_prefix(word));
    let version = word.unwrap_or(folder).trim_start_matches(['-', '_']);
    minor_of(version, &['.'])
}

/// Without a word such as `k8s`, the number in the name of a file is the version of a program.
fn of_file(name: &str) -> Option<u32> {
    let (stem, _) = name.rsplit_once('.')?;
    WORDS.iter().find_map(|word| {
        let (before, after) = stem.rsplit_once(word)?;
        let is_word = before.is_empty() || before.ends_with(BREAKS);
        let version = after.trim_start_matches(BREAKS);
        minor_of(version, &BREAKS).filter(|_| is_word)
    })
}

fn minor_of(version: &str, breaks: &[char]) -> Option<u32> {
    let minor = version.strip_prefix('v').unwrap_or(version).strip_prefix('1')?;
    let minor = minor.strip_prefix(breaks)?;
    minor.bytes().all(|it| it.is_ascii_digit()).then(|| minor.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_named_after_an_older_release_is_found() {
        for folder in ["v1.22", "1.9", "k8s-1.23", "kubernetes_v1.18"] {
            let why = Some(format!("the folder {folder} is named after an older release"));
            assert_eq!(named_before(&format!("releases/{folder}/agent/set.yaml"), 24), why);
        }
        assert!(named_before("a\\v1.22\\set.yaml", 24).is_some());
        for file in [
            "v1.24/set.yaml",
            "v2.1/set.yaml",
            "v1.22.3/set.yaml",
            "driver-1.22/set.yaml",
            "v1./set.yaml",
            "set.yaml",
        ] {
            assert_eq!(named_before(file, 24), None, "{file}");
        }
    }

    #[test]
    fn a_file_that_is_named_after_an_older_release_is_found() {
        // From deploy/kubernetes of Excelero/nvmesh-csi-driver, and from Azure/aks-engine.
        for file in
            ["deployment_k8s_1.22.yaml", "plugin-before-k8s-1-17.yaml", "kubernetes-v1.9.yml"]
        {
            let why = Some(format!("the file {file} is named after an older release"));
            assert_eq!(named_before(&format!("deploy/{file}"), 24), why);
        }
        for file in [
            "deployment_k8s_1.25.yaml",
            "v1.22.yaml",
            "agent-1.22.yaml",
            "mik8s-1.22.yaml",
            "k8s-1.22-and-later.yaml",
            "k8s-1..yaml",
            "k8s",
        ] {
            assert_eq!(named_before(file, 24), None, "{file}");
        }
    }
}

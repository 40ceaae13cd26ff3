//! The release of Kubernetes in the name of a file or folder.

use std::path::Path;

/// Words before a release in a name. Without such a word, a number is the version of some program.
const WORDS: [&str; 3] = ["kubernetes", "kube", "k8s"];

const BREAKS: [char; 3] = ['-', '_', '.'];

/// Returns the minor release in the name of a file, such as `agent-k8s-1.22.yaml`, or of the nearest folder, such as
/// `k8s-1.22`, and the reason to report.
pub(super) fn of(file: &Path) -> Option<(u32, String)> {
    file.ancestors().find_map(|path| {
        let name = path.file_name()?.to_str()?;
        let is_file = path == file;
        let stem = if is_file { name.rsplit_once('.')?.0 } else { name };
        let what = if is_file { "file" } else { "folder" };
        let why = || format!("the {what} {name} is named after an older release");
        minor_of(stem).map(|minor| (minor, why()))
    })
}

fn minor_of(stem: &str) -> Option<u32> {
    WORDS.iter().find_map(|word| {
        let (before, after) = stem.rsplit_once(word)?;
        let is_word = before.is_empty() || before.ends_with(BREAKS);
        let version = after.trim_start_matches(BREAKS);
        let minor = version.strip_prefix('v').unwrap_or(version).strip_prefix('1')?;
        let minor = minor.strip_prefix(BREAKS)?;
        let is_number = minor.bytes().all(|it| it.is_ascii_digit());
        minor.parse().ok().filter(|_| is_word && is_number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_after_a_word_for_kubernetes_is_a_release() {
        // From deploy/kubernetes of Excelero/nvmesh-csi-driver, and from Azure/aks-engine.
        for (file, minor) in [
            ("k8s-1.23/agent/set.yaml", 23),
            ("kubernetes_v1.18/set.yaml", 18),
            ("deploy/deployment_k8s_1.22.yaml", 22),
            ("deploy/plugin-before-k8s-1-17.yaml", 17),
            ("kubernetes-v1.9.yml", 9),
        ] {
            assert_eq!(of(Path::new(file)).map(|it| it.0), Some(minor), "{file}");
        }
        for file in [
            "v1.22/set.yaml", "agent/v1.9/set.yaml", "1.9/set.yaml", "agent-1.22.yaml",
            "mik8s-1.22.yaml", "k8s-1.22-and-later.yaml", "k8s-1..yaml", "k8s",
        ] {
            assert_eq!(of(Path::new(file)), None, "{file}");
        }
    }
}

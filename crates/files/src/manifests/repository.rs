//! The repository that contains the working folder.

use std::env;

use crate::manifests::prelude::*;

/// The variables of GitHub Actions and GitLab CI with the folder of the repository. It may be a copy without `.git`.
const NAMED_BY: [&str; 2] = ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"];

/// The working folder, and the root of its repository.
#[derive(Clone, Debug, Default)]
pub struct Repository {
    folder: PathBuf,
    root: PathBuf,
    named: Vec<PathBuf>,
}

impl Repository {
    /// Finds the repository of the working folder. Its root is the nearest folder upwards that has a `.git` or that the
    /// pipeline names, otherwise the working folder itself.
    pub fn find() -> Self {
        Repository::around(env::current_dir().unwrap_or_default())
    }

    /// Finds the repository of a folder in the same way.
    pub fn around(folder: PathBuf) -> Self {
        let named = NAMED_BY.iter().filter_map(env::var_os).filter(|path| !path.is_empty());
        let named: Vec<PathBuf> = named.filter_map(|path| dunce::canonicalize(path).ok()).collect();
        let is_root = |at: &&Path| at.join(".git").exists() || named.iter().any(|path| path == at);
        let root = folder.ancestors().find(is_root).unwrap_or(&folder).to_owned();
        Repository { folder, root, named }
    }

    /// Returns the working folder and the folders above it, up to the root.
    pub fn upwards(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors().take_while(|at| at.starts_with(&self.root))
    }

    /// Returns the path of a file from the root of the repository, with forward slashes and without
    /// `./`. The path is absolute if the file is outside.
    pub fn relative(&self, file: &str) -> String {
        // The common case needs no other path.
        let is_normal = |part| matches!(part, Component::Normal(_));
        if cfg!(unix) && self.folder == self.root && Path::new(file).components().all(is_normal) {
            let parts: Vec<_> = file.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
            return parts.join("/");
        }
        let path = clean(&self.folder.join(file));
        // Outside, Windows has a drive first: `/C:/elsewhere`, as in URLs.
        let mut roots = std::iter::once(&self.root).chain(&self.named);
        let (path, prefix) = match roots.find_map(|root| path.strip_prefix(root).ok()) {
            Some(inside) => (inside, ""),
            None => (&*path, "/"),
        };
        let parts = path.components().filter(|part| *part != Component::RootDir);
        let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
        format!("{prefix}{}", parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(windows)]
    #[test]
    fn paths_of_windows_are_relative_to_the_root() {
        let repository = Repository {
            folder: r"C:\repo\deploy".into(),
            root: r"C:\repo".into(),
            named: Vec::new(),
        };
        for (given, wanted) in [
            (r"a.yaml", "deploy/a.yaml"),
            (r".\a.yaml", "deploy/a.yaml"),
            (r"..\base/.\a b.yaml", "base/a b.yaml"),
            (r"c:\repo\a.yaml", "a.yaml"),
            (r"D:\elsewhere\a.yaml", "/D:/elsewhere/a.yaml"),
        ] {
            assert_eq!(repository.relative(given), wanted, "{given}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn paths_are_relative_to_the_root() {
        let (folder, root) = ("/repo/deploy".into(), "/repo".into());
        let repository = Repository { folder, root, named: vec!["/work/copy".into()] };
        for (given, wanted) in [
            ("/work/copy/deploy/a.yaml", "deploy/a.yaml"),
            ("a.yaml", "deploy/a.yaml"),
            ("./a.yaml", "deploy/a.yaml"),
            ("../base/./a b.yaml", "base/a b.yaml"),
            ("/repo/a.yaml", "a.yaml"),
            ("/elsewhere/../etc/a.yaml", "/etc/a.yaml"),
            ("../../repository/a.yaml", "/repository/a.yaml"),
        ] {
            assert_eq!(repository.relative(given), wanted, "{given}");
        }
        let folders: Vec<_> = repository.upwards().collect();
        assert_eq!(folders, [Path::new("/repo/deploy"), Path::new("/repo")]);
    }
}

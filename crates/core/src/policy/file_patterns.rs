//! File patterns like those in `.gitignore`.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// File patterns like those in `.gitignore`.
#[derive(Debug)]
pub struct FilePatterns(Gitignore);

impl FilePatterns {
    /// Creates the patterns, relative to a folder with links resolved. Ignores invalid patterns: the policy has
    /// reported them.
    pub fn new(lines: &[String], root: &Path) -> Self {
        FilePatterns(patterns(root, lines))
    }

    /// Returns whether the patterns match a file or a folder above it.
    pub fn matches(&self, file: &Path) -> bool {
        let inside = file.strip_prefix(self.0.path());
        inside.is_ok_and(|it| self.0.matched_path_or_any_parents(it, false).is_ignore())
    }
}

/// Compiles patterns that are relative to a folder. Invalid ones are ignored.
pub fn patterns(root: &Path, lines: &[String]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for pattern in lines {
        let _ = builder.add_line(None, pattern);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Checks a pattern. The error says why it is not valid.
pub fn check(pattern: &str) -> Result<(), String> {
    let added = GitignoreBuilder::new("").add_line(None, pattern).map(|_| ());
    added.map_err(|error| error.to_string())
}

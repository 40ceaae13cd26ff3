use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use crate::ROOT;

/// The helm in `HELM` if set, else in PATH or at the path of `.ci/run`. Prints a message if none exists.
pub fn find() -> Option<PathBuf> {
    let fetched = Path::new(ROOT).join("target/tools/helm");
    let named = env::var_os("HELM").map(PathBuf::from);
    let candidates = named.map_or_else(|| vec!["helm".into(), fetched], |path| vec![path]);
    let works = |path: &PathBuf| {
        Command::new(path).arg("version").output().is_ok_and(|output| output.status.success())
    };
    let found = candidates.into_iter().find(works);
    if found.is_none() {
        eprintln!("skipped: helm not found; put it in PATH or set HELM to its path");
    }
    found
}

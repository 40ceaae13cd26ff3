use crate::prelude::*;

/// The helm in `HELM` if set, else in PATH or at the path of `.ci/run`. Prints a message if none exists.
pub fn find() -> Option<PathBuf> {
    let fetched = Path::new(ROOT).join("target/tools/helm");
    let named = env::var_os("HELM").map(PathBuf::from);
    let candidates = named.map_or_else(|| vec!["helm".into(), fetched], |path| vec![path]);
    let found = candidates.into_iter().find(works);
    if found.is_none() {
        eprintln!("skipped: helm not found; put it in PATH or set HELM to its path");
    }
    found
}

/// That helm, and Helm 3 in `HELM3` or, as helm3, in PATH.
pub fn all() -> Vec<PathBuf> {
    let third = env::var_os("HELM3").map_or_else(|| "helm3".into(), PathBuf::from);
    find().into_iter().chain(works(&third).then_some(third)).collect()
}

fn works(path: &PathBuf) -> bool {
    Command::new(path).arg("version").output().is_ok_and(|output| output.status.success())
}

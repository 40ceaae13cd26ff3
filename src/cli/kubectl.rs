//! kubectl calls setguard in two ways: as a plugin, and as the program for `kubectl diff`.

use std::ffi::{OsStr, OsString};

use crate::cli::prelude::*;

pub(super) fn args() -> Vec<OsString> {
    in_order(env::args_os().collect())
}

/// Moves `diff` to the front. kubectl inserts its own arguments, two folders, after the first word of
/// `KUBECTL_EXTERNAL_DIFF`: `setguard /tmp/LIVE-1 /tmp/MERGED-1 diff`. Upstream: `DiffProgram.getCommand` in
/// k8s.io/kubectl/pkg/cmd/diff.
fn in_order(mut args: Vec<OsString>) -> Vec<OsString> {
    let is_folder = |arg: Option<&OsString>| arg.is_some_and(|arg| Path::new(arg).is_absolute());
    if is_folder(args.get(1))
        && is_folder(args.get(2))
        && args.get(3).is_some_and(|it| it == "diff")
    {
        args[1..=3].rotate_right(1);
    }
    args
}

/// kubectl finds a plugin by the name of its file.
pub(super) fn name(program: Option<&OsString>) -> &'static str {
    let stem = program.and_then(|program| Path::new(program).file_stem());
    if stem == Some(OsStr::new("kubectl-setguard")) { "kubectl setguard" } else { "setguard" }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On Windows, the folders are on a drive.
    fn ordered(args: &str) -> String {
        let drive = if cfg!(windows) { " C:/" } else { " /" };
        let args = args.replace(" /", drive).split(' ').map(OsString::from).collect();
        in_order(args).join(OsStr::new(" ")).into_string().unwrap().replace(drive, " /")
    }

    #[test]
    fn only_arguments_of_kubectl_are_moved() {
        let ours = "setguard diff /tmp/LIVE-1 /tmp/MERGED-1 --deny-warnings";
        assert_eq!(ordered("setguard /tmp/LIVE-1 /tmp/MERGED-1 diff --deny-warnings"), ours);
        for same in
            [ours, "setguard check /a /b diff", "setguard", "setguard /a diff", "setguard /a /b"]
        {
            assert_eq!(ordered(same), same);
        }
    }
}

//! Runs `git` so that it starts no other program and reaches no other host.
//!
//! A pull request can put any file in the work tree, so a folder in it can look like a bare repository with its own
//! configuration. A configuration can name programs, and git can run them to fetch a commit that is missing from a
//! partial clone. So git uses only the repository of a `.git`, because no commit can contain one. Its environment is
//! closed too.

use std::{
    env,
    ffi::OsStr,
    process::{Command, Stdio},
};

use crate::manifests::prelude::*;
use crate::{error::FileError, manifests::files::LARGEST_POLICY};

/// The `GIT_` variables that reach git. They locate the configuration of the user and the machine, with
/// `safe.directory`.
const KEPT: [&str; 6] = [
    "GIT_CONFIG_COUNT", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_KEY_", "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM", "GIT_CONFIG_VALUE_",
];

/// The variables that close git. Releases before 2.39.4 don't know `GIT_NO_LAZY_FETCH`; because no protocol is allowed,
/// whatever the configuration says, their fetch fails before it runs a program.
const CLOSED: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// The settings that close git. They override every file.
const SETTINGS: [&str; 5] = [
    "safe.bareRepository=explicit", "protocol.allow=never", "core.hooksPath=/dev/null",
    "core.fsmonitor=false", "credential.helper=",
];

#[derive(Clone, Debug)]
pub(super) struct Git {
    /// The folder with the `.git`.
    pub(super) top: PathBuf,
}

impl Git {
    /// Finds the `.git` in the working folder, or in the nearest folder above. Fails if git uses a different one.
    pub(super) fn find() -> Result<Self, FileError> {
        let here = env::current_dir().and_then(dunce::canonicalize);
        let here = here.map_err(|error| {
            let why = format!("the working folder cannot be read: {error}");
            FileError::Git(why)
        })?;
        Git::around(&here)
    }

    /// Finds the `.git` in a folder without links, in the same way.
    pub(super) fn around(folder: &Path) -> Result<Self, FileError> {
        let top = folder.ancestors().find(|at| at.join(".git").symlink_metadata().is_ok());
        let top =
            top.ok_or_else(|| FileError::Git("there is no .git in this folder or above".into()))?;
        let top = top.to_owned();
        let git = Git { top };
        let expected = git.folder()?;
        let used = git.output(&["rev-parse", "--absolute-git-dir"])?;
        let name = String::from_utf8_lossy(&used);
        if used == expected.as_os_str().as_encoded_bytes()
            || dunce::canonicalize(&*name).is_ok_and(|used| used == expected)
        {
            Ok(git)
        } else {
            let top = git.top.display();
            Err(FileError::Git(format!("git uses {name}, not the .git in {top}")))
        }
    }

    /// Returns the folder with the objects; in a worktree or a submodule, the file `.git` names it.
    fn folder(&self) -> Result<PathBuf, FileError> {
        let at = self.top.join(".git");
        let unreadable = |error| FileError::Read { name: at.display().to_string(), error };
        let named = match fs::metadata(&at).map_err(unreadable)? {
            metadata if metadata.is_file() => {
                let text = files::read_regular(&at, LARGEST_POLICY).map_err(unreadable)?;
                let text = String::from_utf8_lossy(&text);
                text.strip_prefix("gitdir:").map(|path| self.top.join(path.trim()))
            }
            _ => Some(at.clone()),
        };
        let nothing = || FileError::Git(format!("{} names no repository", at.display()));
        let path = named.ok_or_else(nothing)?;
        dunce::canonicalize(&path).map_err(|error| FileError::Path { path, error })
    }

    /// Returns the path from the folder of the repository to a path, as the caller wrote it. Follows no link in the
    /// repository, because a change can replace a folder by a link. `None` outside the repository.
    pub(super) fn inside(&self, path: &Path) -> Option<PathBuf> {
        let whole = working_folder().join(path);
        // Outside, the path so far without links; inside, the relative path and its depth.
        let (mut outside, mut way) = (PathBuf::new(), None::<(PathBuf, usize)>);
        for part in whole.components() {
            way = match (part, way) {
                (Component::CurDir, way) => way,
                (Component::ParentDir, Some((way, depth))) if depth > 0 => {
                    Some((way.join(part), depth - 1))
                }
                (Component::ParentDir, way) => {
                    if way.is_some() {
                        outside.clone_from(&self.top);
                    }
                    outside.pop();
                    None
                }
                (_, Some((way, depth))) => Some((way.join(part), depth + 1)),
                (_, None) => {
                    outside.push(part);
                    if matches!(part, Component::Normal(_)) {
                        outside = dunce::canonicalize(&outside).unwrap_or(outside);
                    }
                    let inside = outside.strip_prefix(&self.top).ok();
                    inside.map(|it| (it.to_owned(), it.components().count()))
                }
            };
        }
        way.map(|(way, _)| way)
    }

    /// Creates a git command that runs in the folder of the `.git`, without standard input.
    pub(super) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new("git");
        for (name, _) in env::vars_os() {
            let bytes = name.as_encoded_bytes();
            let mut kept = KEPT.iter().map(|kept| kept.as_bytes());
            let is_kept = kept.any(|it| it == bytes || it.ends_with(b"_") && bytes.starts_with(it));
            if bytes.starts_with(b"GIT_") && !is_kept {
                command.env_remove(&name);
            }
        }
        command.envs(CLOSED);
        command.env("GIT_CEILING_DIRECTORIES", self.top.parent().unwrap_or(&self.top));
        command.arg("--no-pager").arg("-C").arg(&self.top);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.args(args).stdin(Stdio::null());
        command
    }

    /// Returns the id of the commit that a name stands for.
    pub(super) fn commit(&self, name: &str) -> Option<String> {
        let args = ["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")];
        Some(String::from_utf8_lossy(&self.output(&args).ok()?).into_owned())
    }

    /// Returns the output without the line break at its end. An error has git's own message.
    pub(super) fn output(&self, args: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, FileError> {
        Git::output_of(&mut self.command(args))
    }

    /// Returns the output of a command in the same way.
    pub(super) fn output_of(command: &mut Command) -> Result<Vec<u8>, FileError> {
        let output = command.output().map_err(|error| cannot_run(&error))?;
        if output.status.success() {
            let mut text = output.stdout;
            text.pop_if(|byte| *byte == b'\n');
            return Ok(text);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim().trim_start_matches("fatal: ");
        let status = output.status;
        let why =
            if said.is_empty() { format!("git ended with {status}") } else { said.to_owned() };
        Err(FileError::Git(why))
    }
}

/// Returns the working folder with the links that led to it, if a shell has noted them.
fn working_folder() -> PathBuf {
    let real = env::current_dir().and_then(dunce::canonicalize).unwrap_or_default();
    let noted = env::var_os("PWD").map(PathBuf::from).filter(|it| it.is_absolute());
    noted.filter(|it| dunce::canonicalize(it).is_ok_and(|it| it == real)).unwrap_or(real)
}

pub(super) fn cannot_run(error: &std::io::Error) -> FileError {
    FileError::Git(format!("git cannot be run: {error}; --against-ref reads old files with it"))
}

//! Runs a renderer in a closed environment, with limits for its time and its output.
//!
//! A pull request writes the renderer's input. Without a `PATH`, the renderer finds no git and no plugin; with proxies
//! that refuse, and as in CGI, it fetches nothing; and in an empty home, it finds no configuration and no credentials.

use std::{
    env,
    ffi::OsStr,
    io::Read,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::manifests::files::{LARGEST_IN_FOLDER, at_most};

/// Nothing listens on this port.
const REFUSES: &str = "http://127.0.0.1:1";

/// The maximum number of characters of an error to show.
const LONG_ERROR: usize = 4000;

/// Returns the first of these programs on the `PATH`. Relative entries can lead into the checked folder.
pub(super) fn find(names: &[&'static str]) -> Option<(&'static str, PathBuf)> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = env::split_paths(&path).filter(|it| it.is_absolute()).collect();
    names.iter().find_map(|name| {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        let found = folders.iter().map(|folder| folder.join(&file)).find(|it| it.is_file())?;
        Some((*name, found))
    })
}

/// Returns an empty folder.
pub(super) fn home() -> Result<TempDir, String> {
    let home = tempfile::Builder::new().prefix("setguard-").tempdir();
    home.map_err(|error| format!("there is no temporary folder: {error}"))
}

pub(super) fn closed(program: &Path, args: &[impl AsRef<OsStr>], home: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(home).env_clear().env("PATH", "").env("HOME", home);
    for name in ["SystemRoot", "TMPDIR", "TEMP", "TMP"] {
        command.envs(env::var_os(name).map(|value| (name, value)));
    }
    for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_PLUGINS"] {
        command.env(name, home);
    }
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        command.env(name, REFUSES);
    }
    // Go asks no proxy about this machine. As in CGI, it then refuses HTTP; and without roots, it trusts no server.
    command.env("REQUEST_METHOD", "GET");
    command.env("SSL_CERT_FILE", home.join("none")).env("SSL_CERT_DIR", home.join("none"));
    command.env("KUBECONFIG", home.join("none"));
    command
}

/// Returns the output of a program. An error has the program's own words, or the limit that it exceeds.
pub(super) fn run(mut command: Command, timeout: Duration) -> Result<String, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("it cannot be run: {error}"))?;
    let (send, received) = mpsc::channel();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // If the renderer leaves a process behind, that can keep a pipe open, so nothing waits for these threads.
    read(stdout, 0, &send);
    read(stderr, 1, &send);
    let (mut texts, end) = ([const { Vec::new() }; 2], Instant::now() + timeout);
    for _ in 0..texts.len() {
        let left = end.saturating_duration_since(Instant::now());
        let why = match received.recv_timeout(left) {
            Ok((stream, Ok(bytes))) => {
                texts[stream] = bytes;
                continue;
            }
            Ok((_, Err(error))) => format!("its output cannot be used: {error}"),
            Err(_) => format!("it did not end within {} s (--render-timeout)", timeout.as_secs()),
        };
        let _ = child.kill();
        let _ = child.wait();
        return Err(why);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let [stdout, stderr] = texts.map(|it| String::from_utf8_lossy(&it).into_owned());
    if status.success() {
        return Ok(stdout);
    }
    // Warnings come first.
    let errors = stderr.lines().skip_while(|it| !it.to_ascii_lowercase().starts_with("error: "));
    let errors = errors.collect::<Vec<_>>().join("\n");
    let said = errors.split_once(' ').map_or(stderr.trim(), |(_, errors)| errors.trim());
    let said = said.chars().take(LONG_ERROR).collect::<String>();
    Err(if said.is_empty() { format!("it ended with {status}") } else { said })
}

fn read(
    stream: Option<impl Read + Send + 'static>,
    number: usize,
    done: &mpsc::Sender<(usize, std::io::Result<Vec<u8>>)>,
) {
    let done = done.clone();
    thread::spawn(move || {
        let read = stream.map_or(Ok(Vec::new()), |it| at_most(it, LARGEST_IN_FOLDER));
        let _ = done.send((number, read));
    });
}

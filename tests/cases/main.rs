//! Runs the command line cases in this folder's text files. See docs/testing.md.
#![allow(clippy::expect_used, reason = "a test works in a folder and may panic")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::Mutex,
};

use jiff::{Timestamp, tz::TimeZone};
use libtest_mimic::{Arguments, Failed, Trial};
use setguard_testing::{ROOT, recorded::updates};
use similar::TextDiff;
use tempfile::TempDir;

static WRITING: Mutex<()> = Mutex::new(());

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("tests/cases")).expect("the cases") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|it| it != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a text");
        let group = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let (head, cases) = text.split_once("\n=== ").expect("a case");
        let files = blocks(head)
            .into_iter()
            .filter_map(|(line, text)| Some((file(line)?.to_owned(), text)));
        let shared: BTreeMap<_, _> = files.collect();
        for case in cases.split("\n=== ") {
            let title = case.lines().next().unwrap_or_default();
            let (name, only) = title.split_once(' ').unwrap_or((title, ""));
            let (path, case, shared) = (path.clone(), format!("=== {case}"), shared.clone());
            let trial = Trial::test(format!("{group}::{name}"), move || run(&path, &case, shared));
            let needs = only.strip_prefix("[needs ").and_then(|it| it.strip_suffix(']'));
            let lacks = needs.is_some_and(|program| tool(program).is_none());
            let is_foreign = only == "[unix]" && cfg!(windows);
            let trial = if lacks { trial.with_kind("not on the PATH") } else { trial };
            trials.push(trial.with_ignored_flag(is_foreign || lacks));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The folder of a program: in `HELM` for helm, on the PATH, or next to the control plane binaries.
fn tool(name: &str) -> Option<PathBuf> {
    let named = env::var_os("HELM").map(PathBuf::from).filter(|it| it.ends_with(name));
    let named = named.and_then(|it| Some(it.parent()?.to_owned()));
    let path = env::var_os("PATH").unwrap_or_default();
    let assets = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let mut folders = named.into_iter().chain(assets).chain(env::split_paths(&path));
    folders.find(|it| it.join(format!("{name}{}", env::consts::EXE_SUFFIX)).is_file())
}

fn file(line: &str) -> Option<&str> {
    line.strip_prefix("-- ")?.strip_suffix(" --")
}

/// The lines that begin a block, each with the text below it.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match blocks.last_mut() {
            Some((_, text)) if !line.starts_with("$ ") && file(line).is_none() => {
                *text += &format!("{line}\n");
            }
            _ => blocks.push((line, String::new())),
        }
    }
    blocks.into_iter().map(|(line, text)| (line, lines(&text, ""))).collect()
}

/// Removes trailing spaces and empty lines, and spells out control characters.
fn lines(text: &str, mark: &str) -> String {
    let shown = |char: char| match char.is_control() && char != '\t' {
        true => char.escape_default().to_string(),
        false => char.to_string(),
    };
    let lines = text.trim_end().split_inclusive('\n').map(|it| it.trim_end_matches([' ', '\n']));
    let lines = lines.map(|it| format!("{mark}{}", it.chars().map(shown).collect::<String>()));
    lines.map(|it| format!("{}\n", it.trim_end_matches(' '))).collect()
}

/// Runs a case and compares its output with the file.
fn run(path: &Path, case: &str, shared: BTreeMap<String, String>) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date().to_string();
    let mut folder = Folder { here: dir.path().to_owned(), dir, today, shared };
    let (mut recorded, mut now) = (String::new(), String::new());
    for (line, text) in blocks(case) {
        recorded += &format!("{line}\n{text}");
        let output = match (file(line), line.strip_prefix("$ ")) {
            (Some(name), _) => {
                folder.write(name, text.replace("TODAY", &folder.today)).map(|()| text)
            }
            (None, Some(command)) => folder.command(command),
            (None, None) => Ok(text),
        };
        now += &format!(
            "{line}\n{}",
            output.map_err(|it| format!("{line}: {}", it.message().unwrap_or_default()))?
        );
    }
    // Windows paths, also in JSON, and the Windows message for a missing file.
    let missing = ("The system cannot find the file specified.", "No such file or directory");
    let comparable = |text: &str| match cfg!(windows) {
        true => text.replace(r"\\", "/").replace('\\', "/").replace(missing.0, missing.1),
        false => text.to_owned(),
    };
    if comparable(&recorded) == comparable(&now) {
        return Ok(());
    }
    if updates() {
        let _guard = WRITING.lock();
        let text = fs::read_to_string(path)?.replacen(case.trim_end(), now.trim_end(), 1);
        return Ok(fs::write(path, text)?);
    }
    let diff = TextDiff::from_lines(&recorded, &now);
    let diff = diff.unified_diff().context_radius(5).header("recorded", "now").to_string();
    Err(format!("{} (UPDATE_GENERATED=1 writes it):\n{diff}", path.display()).into())
}

struct Folder {
    dir: TempDir,
    here: PathBuf,
    /// The day of the run, `TODAY` in the case files.
    today: String,
    /// The blocks before the first case, for `cp`, `edit`, `cat` and `<`.
    shared: BTreeMap<String, String>,
}

impl Folder {
    fn read(&self, name: &str) -> Result<String, Failed> {
        let read = fs::read_to_string(self.here.join(name)).ok();
        read.or_else(|| self.shared.get(name).cloned()).ok_or_else(|| format!("no {name}").into())
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> Result<(), Failed> {
        let path = self.here.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        Ok(fs::write(path, text)?)
    }

    /// Runs a shell-like line: a command with optional `< FILE`, `| grep TEXT` and `> FILE`.
    fn command(&mut self, line: &str) -> Result<String, Failed> {
        let line = line.replace("FOLDER", &self.dir.path().to_string_lossy());
        let line = line.replace("TODAY", &self.today);
        let mut words: Vec<String> = shlex::split(&line).ok_or("quotes that do not end")?;
        let mut last = |mark: &str| {
            let at = words.iter().rposition(|it| it == mark)?;
            words.drain(at..).next_back()
        };
        let (into, filter, input) = (last(">"), last("|"), last("<"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let path = |name: &str| self.here.join(name);
        let (mut output, mut rest) = (String::new(), String::new());
        match &words[..] {
            [] => {} // A comment.
            ["cat", name] => output = self.read(name)?,
            ["cmp", one, other] if fs::read(path(one))? == fs::read(path(other))? => {}
            ["cd", name] => self.here = path(name).canonicalize()?,
            ["cp", from, to] => self.write(to, &self.read(from)?)?,
            ["mv", from, to] => fs::rename(path(from), path(to))?,
            ["latin1", name] => {
                self.write(name, self.read(name)?.chars().map(|it| it as u8).collect::<Vec<_>>())?;
            }
            #[cfg(unix)]
            ["chmod", "+x", name] => {
                let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                fs::set_permissions(path(name), rights)?;
            }
            ["mkdir", name] => fs::create_dir_all(path(name))?,
            ["rm", name] if path(name).is_dir() => fs::remove_dir_all(path(name))?,
            ["rm", name] => fs::remove_file(path(name))?,
            #[cfg(unix)]
            ["ln", "-s", target, name] => std::os::unix::fs::symlink(target, path(name))?,
            ["edit", name, changes @ ..] => match into {
                Some(_) => output = changed(self.read(name)?, changes)?,
                None => self.write(name, &changed(self.read(name)?, changes)?)?,
            },
            _ => (output, rest) = self.program(&words, input.as_deref())?,
        }
        if let Some(text) = filter {
            output = output.split_inclusive('\n').filter(|it| it.contains(&text)).collect();
        }
        match into {
            Some(name) => self.write(&name, &output).map(|()| rest),
            None => Ok(lines(&output, "") + &rest),
        }
    }

    /// Returns standard output, and lines with standard error and the exit code.
    fn program(&self, words: &[&str], input: Option<&str>) -> Result<(String, String), Failed> {
        let (variables, words) =
            words.split_at(words.iter().take_while(|it| it.contains('=')).count());
        let program = match words.first() {
            Some(&"setguard") => env!("CARGO_BIN_EXE_setguard"),
            Some(&"git") => "git",
            _ => return Err("no such command, or two files that differ".into()),
        };
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(&self.here).env_clear().env("HOME", self.dir.path());
        command.envs(env::var_os("SystemRoot").map(|it| ("SystemRoot", it)));
        let path = env::var_os("PATH").unwrap_or_default();
        let tools = ["helm", "kubectl"].iter().filter_map(|it| tool(it));
        command.env("PATH", env::join_paths(tools.chain(env::split_paths(&path)))?);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
            command.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
        }
        command.envs(variables.iter().filter_map(|it| it.split_once('=')));
        let stdin = tempfile::NamedTempFile::new()?;
        fs::write(&stdin, input.map_or(Ok(String::new()), |name| self.read(name))?)?;
        let ran = command.stdin(stdin.reopen()?).output()?;
        let [output, errors] = [ran.stdout, ran.stderr].map(|it| self.anywhere(&it));
        let code = match ran.status.code().ok_or("killed")? {
            0 => String::new(),
            code => format!("[exit {code}]\n"),
        };
        Ok((output, lines(&errors, "2> ") + &code))
    }

    /// Replaces the folder's path, the program's version and the day.
    fn anywhere(&self, output: &[u8]) -> String {
        let version = concat!("setguard ", env!("CARGO_PKG_VERSION"));
        let text = String::from_utf8_lossy(output).replace(version, "setguard VERSION");
        let text = text.replace(&self.today, "TODAY");
        let real = self.dir.path().canonicalize().unwrap_or_default();
        let paths = [&*real, self.dir.path()].map(Path::to_string_lossy);
        paths.iter().fold(text, |text, path| text.replace(&**path, "FOLDER"))
    }
}

/// Applies the replacements. `\n` and `\r` stand for line breaks.
fn changed(mut text: String, changes: &[&str]) -> Result<String, Failed> {
    for change in changes.chunks(2) {
        let [old, new] = change else { return Err("a change has two texts".into()) };
        let [old, new] = [old, new].map(|it| it.replace(r"\n", "\n").replace(r"\r", "\r"));
        if !text.contains(&old) {
            return Err(format!("{old:?} is not in the file").into());
        }
        text = text.replace(&old, &new);
    }
    Ok(text)
}

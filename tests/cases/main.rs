//! Runs the cases of the command line: the text files of this folder. docs/testing.md describes them.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a test fails by panicking, and works in a folder"
)]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::Mutex,
};

use libtest_mimic::{Arguments, Failed, Trial};
use setguard_testing::{ROOT, recorded::updates};
use similar::TextDiff;
use tempfile::TempDir;

const HEAD: &str = "=== ";

/// The words of Windows for a file that does not exist.
const NOT_FOUND: &str = "The system cannot find the file specified.";

/// Held while a file of cases is written.
static WRITING: Mutex<()> = Mutex::new(());

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("tests/cases")).expect("the cases") {
        let path = entry.expect("a file").path();
        let text = match path.extension() {
            Some(it) if it == "txt" => fs::read_to_string(&path).expect("a text"),
            _ => continue,
        };
        let group = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let start = format!("\n{HEAD}");
        let (head, cases) = text.split_once(&start).expect("a case");
        let files = blocks(head)
            .into_iter()
            .filter_map(|(line, text)| Some((file(line)?.to_owned(), text)));
        let files: BTreeMap<_, _> = files.collect();
        for case in cases.split(&start) {
            let title = case.lines().next().unwrap_or_default();
            let (name, only) = title.split_once(' ').unwrap_or((title, ""));
            let (path, case, files) = (path.clone(), format!("{HEAD}{case}"), files.clone());
            let trial = Trial::test(format!("{group}::{name}"), move || run(&path, &case, files));
            trials.push(trial.with_ignored_flag(only == "[unix]" && cfg!(windows)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The name of the file that begins with this line.
fn file(line: &str) -> Option<&str> {
    line.strip_prefix("-- ")?.strip_suffix(" --")
}

/// The lines that begin something, each with the text below it.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        match blocks.last_mut() {
            Some((_, text)) if !line.starts_with("$ ") && file(line).is_none() => {
                text.push_str(line);
                text.push('\n');
            }
            _ => blocks.push((line, String::new())),
        }
    }
    for (_, text) in &mut blocks {
        *text = lines(text);
    }
    blocks
}

/// An output or a file without empty lines at its end, with control characters spelled out.
fn lines(text: &str) -> String {
    let mut lines = String::new();
    for line in text.trim_end().split_inclusive('\n') {
        for char in line.trim_end_matches([' ', '\n']).chars() {
            match char.is_control() && char != '\t' {
                true => lines.extend(char.escape_default()),
                false => lines.push(char),
            }
        }
        lines.push('\n');
    }
    lines
}

/// Runs a case. Its output must be the one in the file.
fn run(path: &Path, case: &str, shared: BTreeMap<String, String>) -> Result<(), Failed> {
    let dir = tempfile::tempdir()?;
    let mut folder = Folder { here: dir.path().to_owned(), dir, shared };
    let (mut recorded, mut now) = (String::new(), String::new());
    for (line, text) in blocks(case) {
        recorded += &format!("{line}\n{text}");
        let text = if let Some(name) = file(line) {
            folder.write(name, &text)?;
            text
        } else if let Some(command) = line.strip_prefix("$ ") {
            folder
                .command(command)
                .map_err(|error| format!("{line}: {}", error.message().unwrap_or_default()))?
        } else {
            text
        };
        now += &format!("{line}\n{text}");
    }
    // The paths of Windows, also in JSON, and its words.
    let comparable = |text: &str| match cfg!(windows) {
        true => text
            .replace(r"\\", "/")
            .replace('\\', "/")
            .replace(NOT_FOUND, "No such file or directory"),
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

/// The folder in which the commands of a case run.
struct Folder {
    dir: TempDir,
    here: PathBuf,
    /// What the file of cases has before its first case: for `cp`, `edit`, `cat` and `<`.
    shared: BTreeMap<String, String>,
}

impl Folder {
    fn read(&self, name: &str) -> Result<String, Failed> {
        let read = fs::read_to_string(self.here.join(name)).ok();
        read.or_else(|| self.shared.get(name).cloned()).ok_or_else(|| format!("no {name}").into())
    }

    /// Writes a file. The characters U+F700 to U+F7FF are bytes.
    fn write(&self, name: &str, text: &str) -> Result<(), Failed> {
        let path = self.here.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        let bytes = |char: char| match u32::from(char).checked_sub(0xf700).map(u8::try_from) {
            Some(Ok(byte)) => vec![byte],
            _ => char.to_string().into_bytes(),
        };
        Ok(fs::write(path, text.chars().flat_map(bytes).collect::<Vec<_>>())?)
    }

    /// The output of a line as a shell has it: the command, and perhaps `< FILE`, `| grep TEXT` and `> FILE`.
    fn command(&mut self, line: &str) -> Result<String, Failed> {
        let line = line.replace("FOLDER", &self.dir.path().to_string_lossy());
        let mut words: Vec<String> = shlex::split(&line).ok_or("quotes that do not end")?;
        let mut last = |mark: &str| {
            let at = words.iter().rposition(|it| it == mark)?;
            words.drain(at..).next_back()
        };
        let (into, filter, input) = (last(">"), last("|"), last("<"));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let path = |name: &str| self.here.join(name);
        let (mut output, mut after) = (String::new(), String::new());
        match &words[..] {
            // A comment.
            [] => {}
            ["cat", name] => output = self.read(name)?,
            ["cmp", one, other] if fs::read(path(one))? == fs::read(path(other))? => {}
            ["cd", name] => self.here = path(name).canonicalize()?,
            ["cp", from, to] => self.write(to, &self.read(from)?)?,
            ["mv", from, to] => fs::rename(path(from), path(to))?,
            ["mkdir", name] => fs::create_dir_all(path(name))?,
            ["rm", names @ ..] => {
                for path in names.iter().map(|it| path(it)) {
                    if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
                }
            }
            #[cfg(unix)]
            ["ln", "-s", target, name] => {
                fs::create_dir_all(path(name).parent().unwrap_or(&self.here))?;
                std::os::unix::fs::symlink(target, path(name))?;
            }
            ["edit", name, changes @ ..] => {
                output = changed(self.read(name)?, changes)?;
                if into.is_none() {
                    self.write(name, &std::mem::take(&mut output))?;
                }
            }
            _ => (output, after) = self.program(&words, input.as_deref())?,
        }
        if let Some(text) = filter {
            let lines = output.lines().filter(|it| it.contains(&text));
            output = lines.map(|line| format!("{line}\n")).collect();
        }
        if let Some(name) = into {
            self.write(&name, &std::mem::take(&mut output))?;
        }
        Ok(lines(&output) + &after)
    }

    /// Standard output of a program, and lines with the rest: standard error and the exit code.
    fn program(&self, words: &[&str], input: Option<&str>) -> Result<(String, String), Failed> {
        let variables = words.iter().take_while(|it| it.contains('=')).count();
        let (variables, words) = words.split_at(variables);
        let program = match words.first() {
            Some(&"setguard") => env!("CARGO_BIN_EXE_setguard"),
            Some(&"git") => "git",
            _ => return Err("no such command".into()),
        };
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(&self.here).env_clear().env("HOME", self.dir.path());
        command.envs(["PATH", "SystemRoot"].iter().filter_map(|it| Some((it, env::var_os(it)?))));
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "a").env(format!("GIT_{role}_EMAIL"), "a@b");
            command.env(format!("GIT_{role}_DATE"), "2026-01-01T00:00:00Z");
        }
        command.envs(variables.iter().filter_map(|it| it.split_once('=')));
        let file = tempfile::NamedTempFile::new_in(self.dir.path().parent().unwrap_or(&self.here))?;
        fs::write(&file, input.map_or(Ok(String::new()), |name| self.read(name))?)?;
        let ran = command.stdin(Stdio::from(file.reopen()?)).output()?;
        let [output, errors] = [ran.stdout, ran.stderr].map(|it| self.anywhere(&it));
        let errors: String = lines(&errors)
            .lines()
            .map(|it| format!("{}\n", format!("2> {it}").trim_end()))
            .collect();
        let code = match ran.status.code() {
            Some(0) => String::new(),
            code => format!("[exit {}]\n", code.ok_or("killed")?),
        };
        Ok((output, errors + &code))
    }

    /// An output without the path of the folder and the version of the program.
    fn anywhere(&self, output: &[u8]) -> String {
        let version = concat!("setguard ", env!("CARGO_PKG_VERSION"));
        let text = String::from_utf8_lossy(output).replace(version, "setguard VERSION");
        let real = self.dir.path().canonicalize().unwrap_or_default();
        let text = text.replace(&*real.to_string_lossy(), "FOLDER");
        text.replace(&*self.dir.path().to_string_lossy(), "FOLDER")
    }
}

/// A text with other texts in it: `\n` is the end of a line, and `\xfc` a byte.
fn changed(mut text: String, changes: &[&str]) -> Result<String, Failed> {
    for change in changes.chunks(2) {
        let [old, new] = change else { return Err("a change has two texts".into()) };
        let [old, mut new] = [old, new].map(|it| it.replace(r"\n", "\n").replace(r"\r", "\r"));
        while let Some(at) = new.find(r"\x") {
            let code = u32::from_str_radix(new.get(at + 2..at + 4).ok_or("half a byte")?, 16)?;
            new.replace_range(
                at..at + 4,
                &char::from_u32(0xf700 + code).ok_or("no byte")?.to_string(),
            );
        }
        if !text.contains(&old) {
            return Err(format!("{old:?} is not in the file").into());
        }
        text = text.replace(&old, &new);
    }
    Ok(text)
}

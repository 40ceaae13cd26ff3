//! Programs in the background that end with the tests.

use std::{
    ffi::{OsStr, OsString},
    fmt::Display,
    fs::{self, File},
    io::Write as _,
    process::{Child, ChildStdout, ExitStatus, Output},
};

use crate::prelude::*;

pub const DEADLINE: Duration = Duration::from_secs(90);

/// A background program, killed on drop.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    pub output: PathBuf,
    pub log: PathBuf,
}

impl Process {
    pub fn start<I, A>(program: &Path, args: I, logs: &Path) -> Self
    where
        I: IntoIterator<Item = A>,
        A: AsRef<OsStr>,
    {
        let mut command = leashed(program);
        Self::spawn(command.args(args), program, logs, None, None)
    }

    pub fn start_with(
        program: &Path,
        args: &[&str],
        variables: &[(&str, &OsStr)],
        logs: &Path,
    ) -> Self {
        let mut command = leashed(program);
        let command = command.args(args).envs(variables.iter().copied());
        Self::spawn(command, program, logs, None, None)
    }

    /// Runs a command that starts a program. Its outputs go to files unless they are set.
    pub fn spawn(
        command: &mut Command,
        program: &Path,
        logs: &Path,
        stdout: Option<Stdio>,
        stderr: Option<Stdio>,
    ) -> Self {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = |extension| logs.join(format!("{name}.{extension}"));
        let file = |path: &PathBuf| Stdio::from(File::create(path).expect("a log file"));
        let log = path("err");
        let output = path("out");
        let child = command
            .stdin(Stdio::null())
            .stdout(stdout.unwrap_or_else(|| file(&output)))
            .stderr(stderr.unwrap_or_else(|| file(&log)))
            .spawn()
            .unwrap_or_else(|e| panic!("{} does not start: {e}", program.display()));
        Process { name, child, output, log }
    }

    pub fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("a pipe")
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn terminate(&self) {
        let status = Command::new("kill").arg(self.id().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {}", self.name);
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
    }

    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child that can be waited for")
    }

    /// Waits until `ready` returns a value.
    ///
    /// # Panics
    /// With the end of the program's log, if the program ends first or time runs out.
    pub fn wait_until<T>(&mut self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
        let log = self.log.clone();
        let Process { name, child, .. } = self;
        let tail = || {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(15).collect();
            lines.into_iter().rev().collect::<Vec<_>>().join("\n")
        };
        eventually(what, || {
            if let Ok(Some(status)) = child.try_wait() {
                panic!("{name} ended with {status} while waiting for {what}:\n{}", tail());
            }
            ready().ok_or_else(tail)
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that dies with this process, even after SIGKILL without drops, if `setpriv` of util-linux is installed.
/// The kernel ties the child to the *thread* that starts it.
pub fn leashed(program: &Path) -> Command {
    let has_setpriv = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if has_setpriv {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program);
        command
    } else {
        Command::new(program)
    }
}

/// Runs a command to its end with this standard input. The command need not read all of it.
pub fn feed(command: &mut Command, stdin: &[u8]) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("a program");
    let _ = child.stdin.take().expect("a pipe").write_all(stdin);
    child.wait_with_output().expect("its end")
}

/// `PATH` with these folders first.
pub fn path_with(folders: impl IntoIterator<Item = PathBuf>) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(folders.into_iter().chain(env::split_paths(&path))).expect("paths")
}

/// Calls `ask` until it returns `Ok`.
///
/// # Panics
/// With the last error, if time runs out.
pub fn eventually<T, E>(what: &str, mut ask: impl FnMut() -> Result<T, E>) -> T
where
    E: Display,
{
    let start = Instant::now();
    // The pauses grow, because answers cost time too.
    let mut pause = Duration::from_millis(2);
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(last) if start.elapsed() > DEADLINE => panic!("gave up waiting for {what}: {last}"),
            Err(_) => thread::sleep(pause),
        }
        pause = (2 * pause).min(Duration::from_millis(50));
    }
}

/// Calls `ask` until its answer is as wanted. Returns that answer.
///
/// # Panics
/// With the last answer, if time runs out.
pub fn becomes<T: Display>(
    what: &str,
    mut ask: impl FnMut() -> T,
    is_wanted: impl Fn(&T) -> bool,
) -> T {
    eventually(what, || {
        let answer = ask();
        if is_wanted(&answer) { Ok(answer) } else { Err(answer) }
    })
}

/// Loopback ports that were free a moment ago.
pub fn free_ports<const N: usize>() -> [u16; N] {
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("its address").port())
}

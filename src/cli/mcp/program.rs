//! Runs setguard itself, for what a command prints.

use std::{env, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

/// The longest time that a tool takes.
const LONGEST: Duration = Duration::from_secs(300);

/// The answer to a call.
pub(super) struct Answer {
    pub(super) value: Value,
    /// Whether everything could be read that the answer is about.
    pub(super) is_complete: bool,
}

/// Runs a command of setguard whose output is JSON. Returns the output under `key`, and the lines that the
/// command printed to standard error as `messages`.
///
/// # Errors
/// Returns what people would read if the command has no result.
pub(super) async fn run(
    key: &str,
    args: &[String],
    stdin: Option<String>,
) -> Result<Answer, String> {
    let program = env::current_exe().map_err(|error| format!("cannot find setguard: {error}"))?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // If the client cancels the call, the command ends too.
    command.kill_on_drop(true);
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().map_err(|error| format!("cannot run setguard: {error}"))?;
    let pipe = child.stdin.take();
    let write = async {
        if let (Some(mut pipe), Some(text)) = (pipe, stdin) {
            // The command says why it doesn't read.
            let _ = pipe.write_all(text.as_bytes()).await;
        }
    };
    let done = timeout(LONGEST, async { tokio::join!(child.wait_with_output(), write).0 });
    let output = done.await.map_err(|_| format!("no result after {} s", LONGEST.as_secs()))?;
    let output = output.map_err(|error| format!("cannot run setguard: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(result) => Ok(Answer {
            value: json!({key: result, "messages": messages.lines().collect::<Vec<_>>()}),
            is_complete: matches!(output.status.code(), Some(0 | 1)),
        }),
        Err(_) => Err(messages.into_owned()),
    }
}

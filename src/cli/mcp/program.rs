//! Runs a command of setguard to get its output.

use std::{env, process::Stdio, time::Duration};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, process::Command, time::timeout};

use super::{bound::Skip, tools};

const LONGEST: Duration = Duration::from_secs(300);
/// The variable with the id of the server that runs a command.
const SERVER: &str = "SETGUARD_MCP_SERVER";

/// Ends this process soon after the server that runs it. A server that is killed can't end its commands.
pub(in crate::cli) fn end_with_server() {
    #[cfg(unix)]
    if let Some(server) = env::var(SERVER).ok().and_then(|it| it.parse::<u32>().ok()) {
        #[expect(clippy::exit, reason = "nobody waits for the result")]
        std::thread::spawn(move || {
            while std::os::unix::process::parent_id() == server {
                std::thread::sleep(Duration::from_secs(1));
            }
            std::process::exit(2);
        });
    }
}

pub(super) struct Answer {
    pub(super) value: Value,
    /// Whether the command could read everything that it was asked about.
    pub(super) is_complete: bool,
    pub(super) skip: Skip,
}

impl Answer {
    pub(super) fn complete(value: Value) -> Self {
        Answer { value, is_complete: true, skip: Skip::new() }
    }
}

/// Returns the JSON output, or the text of a diff, under `key` and standard error as `messages`. Without either, standard
/// error is the error.
pub(super) async fn run(
    key: &str,
    args: &[String],
    stdin: Option<String>,
    skip: Skip,
) -> Result<Answer, String> {
    let program = env::current_exe().map_err(|error| format!("cannot find setguard: {error}"))?;
    let mut command = Command::new(program);
    command.env(SERVER, std::process::id().to_string());
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
            // A command that stops reading says why.
            let _ = pipe.write_all(text.as_bytes()).await;
        }
    };
    let done = timeout(LONGEST, async { tokio::join!(child.wait_with_output(), write).0 });
    let output = done.await.map_err(|_| format!("no result after {} s", LONGEST.as_secs()))?;
    let output = output.map_err(|error| format!("cannot run setguard: {error}"))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let messages = messages.lines().filter(|it| !it.is_empty() && !it.contains("try '--help'"));
    let messages: Vec<_> = messages.map(|it| tools::of_tool(it, args)).collect();
    let code = output.status.code();
    // `wait` ends with 3 when its time is up.
    let is_complete = matches!(code, Some(0 | 1)) || key == "events" && code == Some(3);
    let result = match key {
        "diff" if is_complete => Ok(String::from_utf8_lossy(&output.stdout).into()),
        "events" if is_complete => {
            serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>().collect()
        }
        _ => serde_json::from_slice::<Value>(&output.stdout),
    };
    match result {
        Ok(mut result) => {
            each_text(result.get_mut("errors"), &|text| tools::of_tool(text, args));
            for object in
                result.get_mut("objects").and_then(Value::as_array_mut).into_iter().flatten()
            {
                each_text(object.get_mut("notes"), &|text| tools::of_tool(text, args));
            }
            Ok(Answer {
                value: json!({"exitCode": code, "messages": messages, key: result}),
                is_complete,
                skip,
            })
        }
        Err(_) => Err(messages.join("\n")),
    }
}

fn each_text(list: Option<&mut Value>, change: &dyn Fn(&str) -> String) {
    for item in list.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::String(text) = item {
            *text = change(text);
        }
    }
}

//! `setguard lsp`: a language server that checks manifests in an editor while they are written.

mod actions;
mod address;
mod completion;
mod document;
mod frame;
mod hover;
mod policy;
mod policy_schema;
mod position;
mod protocol;
mod server;

use std::{
    collections::VecDeque,
    sync::mpsc::{self, Receiver},
    thread,
};

use lsp_server::{ErrorCode, Message, Request, Response};

use self::{
    frame::Frame,
    policy::PolicyInUse,
    server::{Phase, Server},
};

use crate::cli::prelude::*;

/// How many messages the reader may be ahead.
const AHEAD: usize = 64;

/// Check manifests in an editor as you type
///
/// Speaks the Language Server Protocol over standard input and output. Reports what `setguard check
/// FOLDER` finds in the open file, explains rules, and offers fixes. It reads the manifests from the
/// editor and changes no file.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  the editor ended the session
  1  the editor left without ending the session
  2  wrong usage, or input that isn't the protocol

docs/editors.md has the settings of Neovim, VS Code and Helix.")]
pub(super) struct LspArgs {
    #[command(flatten)]
    policy: PolicyArgs,
    /// Uses no policy file, except the one in --policy. Otherwise the nearest setguard.yaml,
    /// .setguard.yaml or .github/setguard.yaml counts, from the folder that the editor names up to the
    /// root of its repository
    #[arg(long)]
    no_config: bool,
    /// Compares each file with its content where the work tree left a branch, such as `origin/main`, so
    /// that changes of immutable fields are found. `origin/main..` is the tip of the branch instead
    #[arg(long, value_name = "REF")]
    against_ref: Option<String>,
    /// Has no effect: some editors pass it
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(super) fn run(args: LspArgs) -> anyhow::Result<Exit> {
    let (sender, receiver) = mpsc::sync_channel(AHEAD);
    // Nothing can interrupt the thread, so it ends with the process.
    thread::Builder::new().name("lsp-reader".to_owned()).spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let frame = frame::read(&mut input).transpose();
            let is_last = !matches!(frame, Some(Ok(_)));
            if sender.send(frame).is_err() || is_last {
                return;
            }
        }
    })?;
    let mut flags = args.policy;
    // The editor names the folder of the session later.
    flags.policy = flags.policy.map(std::path::absolute).transpose()?;
    let mut server = Server::new(PolicyInUse::new(flags, args.no_config), args.against_ref);
    serve(&mut server, &receiver, &mut io::stdout().lock())
}

/// Checks documents only while no message waits, so that a change isn't checked if the next one is already there.
fn serve(
    server: &mut Server,
    input: &Receiver<Option<io::Result<Frame>>>,
    output: &mut dyn Write,
) -> anyhow::Result<Exit> {
    let mut waiting = VecDeque::new();
    loop {
        waiting.extend(input.try_iter().take(AHEAD.saturating_sub(waiting.len())));
        let frame = match waiting.pop_front() {
            Some(frame) => frame,
            None => {
                let messages = server.check_next();
                if !messages.is_empty() {
                    send(messages, output)?;
                    continue;
                }
                input.recv().ok().flatten()
            }
        };
        let messages = match frame.transpose()? {
            Some(Frame::Message(Message::Request(request))) if is_cancelled(&request, &waiting) => {
                let (code, message) = (ErrorCode::RequestCanceled as i32, "cancelled".to_owned());
                vec![Message::Response(Response::new_err(request.id, code, message))]
            }
            Some(Frame::Message(message)) => server.handle(message),
            Some(Frame::Skipped(reason)) => server.skipped(&reason),
            None => return Ok(ended(server.phase == Phase::ShutDown)),
        };
        send(messages, output)?;
        if let Phase::Ended { was_shut_down } = server.phase {
            return Ok(ended(was_shut_down));
        }
    }
}

/// Returns whether the editor cancels a request before its turn.
fn is_cancelled(request: &Request, waiting: &VecDeque<Option<io::Result<Frame>>>) -> bool {
    let id = serde_json::to_value(&request.id).unwrap_or_default();
    let frames = waiting.iter().flatten().flatten();
    let mut cancelled = frames.filter_map(|frame| match frame {
        Frame::Message(Message::Notification(it)) if it.method == "$/cancelRequest" => {
            it.params.get("id")
        }
        _ => None,
    });
    cancelled.any(|it| *it == id)
}

fn send(messages: Vec<Message>, mut output: &mut dyn Write) -> io::Result<()> {
    messages.into_iter().try_for_each(|message| message.write(&mut output))
}

/// The protocol demands these exit codes.
const fn ended(was_shut_down: bool) -> Exit {
    if was_shut_down { Exit::Clean } else { Exit::Denied }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_that_is_cancelled_before_its_turn_is_answered_at_once() {
        let (sender, input) = mpsc::sync_channel(AHEAD);
        for message in [
            json!({"id": 1, "method": "initialize", "params": {"capabilities": {}}}),
            json!({"id": 2, "method": "none"}),
            json!({"id": "3", "method": "none"}),
            json!({"method": "$/cancelRequest", "params": {"id": 2}}),
        ] {
            let message = serde_json::from_value(message).unwrap();
            sender.send(Some(Ok(Frame::Message(message)))).unwrap();
        }
        sender.send(None).unwrap();
        let (mut server, mut output) = (Server::default(), Vec::new());
        serve(&mut server, &input, &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        let codes = ["-32800", "-32601"].map(|code| output.matches(code).count());
        assert_eq!(codes, [1, 1], "{output}");
    }
}

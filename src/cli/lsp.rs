//! `setguard lsp`: a language server that checks manifests in an editor while they are written.

mod actions;
mod address;
mod document;
mod frame;
mod hover;
mod policy;
mod position;
mod protocol;
mod server;

use std::{
    io::{self, Write},
    sync::mpsc::{self, Receiver, TryRecvError},
    thread,
};

use clap::Args;
use lsp_server::Message;
use setguard_files::{exit::Exit, policy_file::args::PolicyArgs};

use self::{
    frame::Frame,
    policy::PolicyInUse,
    server::{Phase, Server},
};

/// How many messages the reader may be ahead.
const AHEAD: usize = 64;

/// Check manifests in an editor while they are written
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
    /// Uses no policy file that --policy does not name. Otherwise the nearest setguard.yaml,
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
    loop {
        let frame = match input.try_recv() {
            Ok(frame) => frame,
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                let messages = server.check_next();
                if !messages.is_empty() {
                    send(messages, output)?;
                    continue;
                }
                input.recv().ok().flatten()
            }
        };
        let messages = match frame.transpose()? {
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

fn send(messages: Vec<Message>, mut output: &mut dyn Write) -> io::Result<()> {
    messages.into_iter().try_for_each(|message| message.write(&mut output))
}

/// The protocol demands these exit codes.
const fn ended(was_shut_down: bool) -> Exit {
    if was_shut_down { Exit::Clean } else { Exit::Denied }
}

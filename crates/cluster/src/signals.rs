//! The signals that end a command: SIGTERM and SIGINT, or Ctrl-Break and Ctrl-C on Windows.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlBreak, CtrlC, ctrl_break, ctrl_c};

#[cfg(unix)]
type Interrupts = Signal;
#[cfg(unix)]
type Terminations = Signal;
#[cfg(windows)]
type Interrupts = CtrlC;
#[cfg(windows)]
type Terminations = CtrlBreak;

/// A signal that ends a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT: Ctrl-C in a terminal.
    Interrupt,
    /// SIGTERM: sent by the kubelet or another supervisor.
    Terminate,
}

impl Stop {
    /// Returns the exit code that shells report for a process that this signal killed.
    pub const fn exit_code(self) -> u8 {
        match self {
            Stop::Interrupt => 128 + 2,
            Stop::Terminate => 128 + 15,
        }
    }
}

/// Handlers for both signals. Once installed, the signals no longer end the process.
#[derive(Debug)]
pub struct Signals {
    interrupts: Interrupts,
    terminations: Terminations,
}

impl Signals {
    /// Installs the handlers. Fails if the system refuses the handlers.
    pub fn new() -> io::Result<Self> {
        #[cfg(unix)]
        let listeners = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        #[cfg(windows)]
        let listeners = (ctrl_c()?, ctrl_break()?);
        let (interrupts, terminations) = listeners;
        Ok(Signals { interrupts, terminations })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.interrupts.recv() => Stop::Interrupt,
            _ = self.terminations.recv() => Stop::Terminate,
        }
    }
}

pub(crate) async fn code() -> io::Result<u8> {
    Ok(Signals::new()?.next().await.exit_code())
}

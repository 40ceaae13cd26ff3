//! The signals that end a command: SIGTERM and SIGINT. On Windows, Ctrl-Break and Ctrl-C have their place.

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

/// A signal that stops a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT: Ctrl-C in a terminal.
    Interrupt,
    /// SIGTERM: the kubelet, or another supervisor.
    Terminate,
}

impl Stop {
    /// Returns the exit code that shells report for a process killed by this signal.
    pub const fn exit_code(self) -> u8 {
        match self {
            Stop::Interrupt => 128 + 2,
            Stop::Terminate => 128 + 15,
        }
    }
}

/// Handlers for both signals. Once they are installed, the signals no longer end the process.
#[derive(Debug)]
pub struct Signals {
    interrupts: Interrupts,
    terminations: Terminations,
}

impl Signals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
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

/// Waits for a signal, and returns the exit code for it.
///
/// # Errors
/// Returns an error if the system does not allow handlers.
pub(crate) async fn code() -> io::Result<u8> {
    Ok(Signals::new()?.next().await.exit_code())
}

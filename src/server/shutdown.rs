//! The signals SIGTERM and SIGINT.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that stops the server.
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
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it.
    pub fn new() -> io::Result<Self> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub async fn next(&mut self) -> Stop {
        tokio::select! {
            _ = self.interrupt.recv() => Stop::Interrupt,
            _ = self.terminate.recv() => Stop::Terminate,
        }
    }
}

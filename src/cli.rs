//! The command line.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::server::{self, ServeArgs};

#[derive(Debug, Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the admission webhook
    Serve(ServeArgs),
}

/// Runs the command line.
pub fn run() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => server::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        anstream::eprintln!("error: {error:#}");
        ExitCode::from(2)
    })
}

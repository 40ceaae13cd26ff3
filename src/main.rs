//! The `setguard` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    setguard::cli::main()
}

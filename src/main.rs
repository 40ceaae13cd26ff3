//! The `setguard` command.

fn main() -> std::process::ExitCode {
    setguard::cli::run()
}

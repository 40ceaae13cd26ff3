//! The command, as users run it.

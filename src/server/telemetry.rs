//! Logs: the one place that decides where they go and what they look like.

use std::io;

use tracing_subscriber::{EnvFilter, fmt};

/// What a line of the log looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Sends logs to standard error. `level` is a filter such as `debug` or `info,setguard=trace`;
/// without one RUST_LOG decides, and without that `info`. A second call changes nothing.
///
/// # Errors
/// When the filter cannot be read.
pub fn init(format: LogFormat, level: Option<&str>) -> Result<(), String> {
    let from_env = std::env::var("RUST_LOG").ok();
    let text = level.or(from_env.as_deref()).filter(|text| !text.is_empty()).unwrap_or("info");
    let filter = EnvFilter::try_new(with_quiet_client(text))
        .map_err(|error| format!("{text:?} is not a log filter such as info or debug: {error}"))?;
    let subscriber = fmt().with_env_filter(filter).with_writer(io::stderr);
    // Fails when a subscriber is there already, as in tests; then that one is meant.
    let _ = match format {
        LogFormat::Json => subscriber.json().try_init(),
        LogFormat::Text => {
            let terminal = io::IsTerminal::is_terminal(&io::stderr());
            subscriber.with_ansi(terminal).try_init()
        }
    };
    Ok(())
}

/// The client of the API server logs each call that fails, several a second while it is away. What
/// that means is said by whoever called, so the client is heard only when it is named.
fn with_quiet_client(filter: &str) -> String {
    if filter.contains(CLIENT) { filter.to_owned() } else { format!("{CLIENT}=off,{filter}") }
}

const CLIENT: &str = "kube_client";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_makes_no_sense_is_named() {
        let error = init(LogFormat::Text, Some("info,=,=")).unwrap_err();
        assert!(error.starts_with("\"info,=,=\" is not"), "{error}");
    }

    #[test]
    fn the_client_is_heard_when_it_is_named() {
        for (filter, expected) in [
            ("info", "kube_client=off,info"),
            ("warn,setguard=debug", "kube_client=off,setguard=debug,warn"),
            ("info,kube_client=debug", "kube_client=debug,info"),
        ] {
            let filter = EnvFilter::try_new(with_quiet_client(filter)).unwrap();
            let mut directives: Vec<String> =
                filter.to_string().split(',').map(str::to_owned).collect();
            directives.sort();
            let mut expected: Vec<&str> = expected.split(',').collect();
            expected.sort_unstable();
            assert_eq!(directives, expected);
        }
    }
}

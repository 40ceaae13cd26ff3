//! Logging: where logs are written, and in which format.

use std::{io, sync::OnceLock};

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, fmt};

/// How many lines wait for whoever reads the log. A line is at most about a kilobyte.
const QUEUE: usize = 4096;

/// Counts the lines that found no room in the queue.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// How many lines of the log were dropped because nobody read it fast enough.
pub fn dropped_lines() -> u64 {
    DROPPED.get().map_or(0, |counter| u64::try_from(counter.dropped_lines()).unwrap_or(u64::MAX))
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For humans.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Writes logs to standard error. `level` is a filter such as `debug` or `info,setguard=trace`; the
/// default is RUST_LOG, or `info` if that is not set. A second call has no effect.
///
/// A thread of its own writes the lines, so nothing else waits for the reader of the log or depends
/// on there being one. What waits in the queue is written when the guard is dropped.
///
/// # Errors
/// If the filter cannot be parsed.
pub fn init(format: LogFormat, level: Option<&str>) -> Result<WorkerGuard, String> {
    let from_env = std::env::var("RUST_LOG").ok();
    let text = level.or(from_env.as_deref()).filter(|text| !text.is_empty()).unwrap_or("info");
    let filter = EnvFilter::try_new(with_quiet_client(text))
        .map_err(|error| format!("{text:?} is not a log filter such as info or debug: {error}"))?;
    let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE);
    let (writer, guard) = queue.thread_name("log").finish(io::stderr());
    let _ = DROPPED.set(writer.error_counter());
    let subscriber = fmt().with_env_filter(filter).with_writer(writer);
    // This fails if there is already a subscriber, as in tests; that one stays.
    let _ = match format {
        LogFormat::Json => subscriber.json().try_init(),
        LogFormat::Text => {
            let terminal = io::IsTerminal::is_terminal(&io::stderr());
            subscriber.with_ansi(terminal).try_init()
        }
    };
    Ok(guard)
}

/// Silences the Kubernetes client unless the filter names it. It logs each failed call, several per
/// second while the API server is down; the callers log what the failure means.
fn with_quiet_client(filter: &str) -> String {
    if filter.contains(CLIENT) { filter.to_owned() } else { format!("{CLIENT}=off,{filter}") }
}

const CLIENT: &str = "kube_client";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_makes_no_sense_is_named() {
        let error = init(LogFormat::Text, Some("info,=,=")).map(drop).unwrap_err();
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

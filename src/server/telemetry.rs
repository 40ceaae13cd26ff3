//! Logging: where logs are written, and in which format.

use std::{
    io::{self, Write},
    sync::OnceLock,
};

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{EnvFilter, fmt};

use crate::printable::Printable;

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

/// Writes each log line as a whole, without anything in it that steers a terminal or breaks the line.
struct Line<W> {
    queue: Printable<W>,
}

impl<W: Write> Write for Line<W> {
    /// The subscriber calls this once for each event.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let (line, end) = match event.strip_suffix(b"\n") {
            Some(line) => (line, "\n"),
            None => (event, ""),
        };
        if line.contains(&b'\n') {
            let line = String::from_utf8_lossy(line).replace('\n', "\\n");
            self.queue.write_all(format!("{line}{end}").as_bytes())?;
        } else {
            self.queue.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.queue.flush()
    }
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
    let filter = EnvFilter::try_new(with_quiet_libraries(text))
        .map_err(|error| format!("{text:?} is not a log filter such as info or debug: {error}"))?;
    let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE);
    let (writer, guard) = queue.thread_name("log").finish(io::stderr());
    let _ = DROPPED.set(writer.error_counter());
    // In the text format, the subscriber escapes the ESC of others, and writes its own for colours.
    let writer = move || Line { queue: Printable::styled(writer.clone()) };
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

/// Libraries whose lines others can cause as often as they like, and whose callers in setguard log
/// what a failure means, not more often than is useful. The Kubernetes client logs each failed call,
/// several per second while the API server is down; rustls and h2 log what a client did wrong.
const QUIET: [&str; 3] = ["h2", "kube_client", "rustls"];

/// Silences these libraries, except those that the filter names.
fn with_quiet_libraries(filter: &str) -> String {
    let names = |library: &str| {
        let mut targets = filter.split(',').filter_map(|it| it.split(['=', '[', ':']).next());
        targets.any(|target| target.trim() == library)
    };
    let quiet = QUIET.iter().filter(|library| !names(library));
    quiet.map(|library| format!("{library}=off,")).chain([filter.to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_makes_no_sense_is_named() {
        let error = init(LogFormat::Text, Some("info,=,=")).map(drop).unwrap_err();
        assert!(error.starts_with("\"info,=,=\" is not"), "{error}");
    }

    #[test]
    fn an_event_stays_one_line_that_cannot_steer_a_terminal() {
        let mut written = Vec::new();
        let mut line = Line { queue: Printable::styled(&mut written) };
        line.write_all("WARN a\u{9b}2J\u{202e}\nINFO forged\n".as_bytes()).unwrap();
        line.write_all(b"next\n").unwrap();
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written, "WARN a\\u009b2J\\u202e\\nINFO forged\nnext\n");
    }

    #[test]
    fn a_library_is_heard_when_it_is_named() {
        for (filter, expected) in [
            ("info", "h2=off,kube_client=off,rustls=off,info"),
            ("warn,setguard=debug", "h2=off,kube_client=off,rustls=off,setguard=debug,warn"),
            ("info,kube_client=debug", "h2=off,rustls=off,kube_client=debug,info"),
            ("rustls::server=trace", "h2=off,kube_client=off,rustls::server=trace"),
        ] {
            let filter = EnvFilter::try_new(with_quiet_libraries(filter)).unwrap();
            let mut directives: Vec<String> =
                filter.to_string().split(',').map(str::to_owned).collect();
            directives.sort();
            let mut expected: Vec<&str> = expected.split(',').collect();
            expected.sort_unstable();
            assert_eq!(directives, expected);
        }
    }
}

//! Logging: the destination and the format of the log.

use std::{fmt::Debug, io::Write, sync::OnceLock};

use setguard_core::printable::{Printable, one_line};
use tracing::field::Field;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::{
    EnvFilter,
    field::MakeExt as _,
    fmt::format::{self, Writer},
};

use crate::server::prelude::*;

/// How many lines may wait for the log's thread. A line is at most about a kilobyte.
const QUEUE: usize = 4096;

/// How long the log's thread collects lines, so that it does not wake for each request. A reader does not notice this.
const PAUSE: Duration = Duration::from_millis(10);

/// In bytes.
const BATCH: usize = 64 << 10;

/// Counts the lines that found no room in the queue.
static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// Returns the number of lines of the log that were dropped because nothing read the log fast enough.
pub fn dropped_lines() -> u64 {
    DROPPED.get().map_or(0, |counter| u64::try_from(counter.dropped_lines()).unwrap_or(u64::MAX))
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text for humans.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Writes each log line as a whole, without characters that control a terminal or break the line.
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

/// tracing-subscriber escapes only messages, but on a terminal no value may contain an ESC.
fn text_field(writer: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{}=", field.name())?;
    }
    writer.write_str(&one_line(&format!("{value:?}")))
}

/// Writes lines together. Lines that cannot be written are lost: there is nowhere to report them.
struct Batches<W> {
    lines: Vec<u8>,
    out: W,
    pause: Duration,
}

impl<W: Write> Batches<W> {
    fn write_out(&mut self) {
        let _ = self.out.write_all(&self.lines).and_then(|()| self.out.flush());
        self.lines.clear();
    }
}

impl<W: Write> Write for Batches<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.lines.extend_from_slice(line);
        if self.lines.len() >= BATCH {
            self.write_out();
        }
        Ok(line.len())
    }

    /// The log's thread calls this whenever its queue is empty.
    fn flush(&mut self) -> io::Result<()> {
        self.write_out();
        thread::sleep(self.pause);
        Ok(())
    }
}

/// Writes logs to standard error. `level` is a filter such as `debug` or `info,setguard=trace`; the default is
/// RUST_LOG, or `info` if that is not set. A second call has no effect.
///
/// A separate thread writes the lines, so nothing else waits for the reader of the log or depends on there being one.
/// Dropping the guard writes the lines that are left in the queue. Fails if the filter cannot be parsed.
pub fn init(format: LogFormat, level: Option<&str>) -> Result<WorkerGuard, String> {
    let from_env = std::env::var("RUST_LOG").ok();
    let text = level.or(from_env.as_deref()).filter(|text| !text.is_empty()).unwrap_or("info");
    let filter = EnvFilter::try_new(with_quiet_libraries(text))
        .map_err(|error| format!("{text:?} is not a log filter such as info or debug: {error}"))?;
    let queue = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUE);
    let (writer, guard) = queue.thread_name("log").finish(Batches {
        lines: Vec::new(),
        out: io::stderr(),
        pause: PAUSE,
    });
    let _ = DROPPED.set(writer.error_counter());
    let is_terminal = io::IsTerminal::is_terminal(&io::stderr());
    let writer = move || {
        let queue = writer.clone();
        // On a terminal, the subscriber writes an ESC for each colour. An ESC from any other source
        // has been removed by then.
        Line { queue: if is_terminal { Printable::styled(queue) } else { Printable::new(queue) } }
    };
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // This fails if there is already a subscriber, as in tests; that subscriber stays.
    let _ = match format {
        LogFormat::Json => subscriber.json().try_init(),
        LogFormat::Text => {
            let fields = format::debug_fn(text_field).delimited(" ");
            subscriber.with_ansi(is_terminal).fmt_fields(fields).try_init()
        }
    };
    Ok(guard)
}

/// Other parties can make these libraries log as much as they like: the Kubernetes client logs each failed call,
/// several per second while the API server is down; rustls and h2 log the errors of clients. setguard's own lines say
/// what a failure means, and no more often than is useful.
const QUIET: [&str; 3] = ["h2", "kube_client", "rustls"];

/// Silences these libraries, unless the filter names them.
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
    use std::sync::{Arc, Mutex};

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
    fn no_field_of_a_line_of_text_steers_a_terminal() {
        #[derive(Clone, Default)]
        struct Log(Arc<Mutex<Vec<u8>>>);
        impl Write for Log {
            fn write(&mut self, line: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().write(line)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (log, text) = (Log::default(), "\u{1b}[1m\n\u{202e}");
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(true)
            .with_writer(move || writer.clone())
            .fmt_fields(format::debug_fn(text_field).delimited(" "))
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(text, shown = %text, number = 1, "{text}");
        });
        let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        let fields = concat!(
            r#"\u001b[1m\u000a\u202e text="\u{1b}[1m\n\u{202e}" "#,
            r"shown=\u001b[1m\u000a\u202e number=1",
            "\n"
        );
        assert!(written.ends_with(fields), "{written:?}");
    }

    #[test]
    fn lines_are_written_together_and_one_that_cannot_be_written_stops_nothing() {
        struct Reader(Vec<Vec<u8>>, bool);
        impl Write for Reader {
            fn write(&mut self, text: &[u8]) -> io::Result<usize> {
                if self.1 {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                self.0.push(text.to_vec());
                Ok(text.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let out = Reader(Vec::new(), false);
        let mut log = Batches { lines: Vec::new(), out, pause: Duration::ZERO };
        for line in [b"one\n", b"two\n"] {
            log.write_all(line).unwrap();
        }
        log.flush().unwrap();
        log.out.1 = true;
        log.write_all(b"lost\n").unwrap();
        log.flush().unwrap();
        log.out.1 = false;
        log.write_all(&[b'x'; BATCH]).unwrap();
        let written: Vec<usize> = log.out.0.iter().map(Vec::len).collect();
        assert_eq!(written, ["one\ntwo\n".len(), BATCH]);
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

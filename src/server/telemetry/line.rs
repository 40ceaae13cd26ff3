//! The lines of a log.
//!
//! The lines look like those of tracing-subscriber, which handles the characters of a text one by
//! one and so takes a tenth of the time of a request to write a line. Rare cases are left to
//! tracing-subscriber.

use std::{
    fmt::{self, Debug, Display},
    io::Write as _,
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    field::RecordFields,
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::{Format, Json, Writer},
        time::{FormatTime as _, SystemTime},
    },
    registry::LookupSpan,
};

use crate::printable::Printable;

/// The fields of a line of text: `message name="text" name=1`. Nothing in them steers a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextFields;

impl<'a> FormatFields<'a> for TextFields {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'a>, fields: R) -> fmt::Result {
        Fields::record(&mut writer, Style::Text, &fields)
    }
}

/// A line of JSON.
#[derive(Debug)]
pub(super) struct JsonLine {
    rare: Format<Json>,
}

impl Default for JsonLine {
    fn default() -> Self {
        JsonLine { rare: Format::default().json() }
    }
}

impl<S, N> FormatEvent<S, N> for JsonLine
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        // Records of the `log` crate have this target here, and their own target in their fields.
        let is_record = event.metadata().target() == "log";
        if is_record || context.lookup_current().is_some() {
            return self.rare.format_event(context, writer, event);
        }
        writer.write_str(r#"{"timestamp":""#)?;
        SystemTime.format_time(&mut writer)?;
        write!(writer, r#"","level":"{}","fields":{{"#, event.metadata().level())?;
        Fields::record(&mut writer, Style::Json, event)?;
        writeln!(writer, r#"}},"target":"{}"}}"#, event.metadata().target())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Text,
    Json,
}

struct Fields<'a, 'w> {
    writer: &'a mut Writer<'w>,
    style: Style,
    is_empty: bool,
    result: fmt::Result,
}

impl<'a, 'w> Fields<'a, 'w> {
    fn record(writer: &'a mut Writer<'w>, style: Style, fields: &impl RecordFields) -> fmt::Result {
        let mut visitor = Fields { writer, style, is_empty: true, result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }

    /// Writes a field, unless an earlier one could not be written.
    fn field(&mut self, name: &str, value: impl FnOnce(&mut Self) -> fmt::Result) {
        if self.result.is_ok() {
            self.result = self.name(name).and_then(|()| value(self));
        }
    }

    fn name(&mut self, name: &str) -> fmt::Result {
        let is_first = std::mem::take(&mut self.is_empty);
        let (separator, quote, equals) = match self.style {
            Style::Text => (" ", "", "="),
            Style::Json => (",", "\"", "\":"),
        };
        if !is_first {
            self.writer.write_str(separator)?;
        }
        if self.is_message(name) {
            return Ok(());
        }
        [quote, name, equals].into_iter().try_for_each(|text| self.writer.write_str(text))
    }

    /// Returns whether a line of text shows this field without its name.
    fn is_message(&self, name: &str) -> bool {
        self.style == Style::Text && name == "message"
    }

    /// Writes a text without quotes.
    fn shown(&mut self, text: &str) -> fmt::Result {
        let mut shown = Printable::new(Vec::new());
        shown.write_all(text.as_bytes()).map_err(|_| fmt::Error)?;
        self.writer.write_str(&String::from_utf8_lossy(&shown.into_inner()))
    }

    /// Writes a text in quotes.
    fn quoted(&mut self, text: &str) -> fmt::Result {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if text.as_bytes().iter().fold(true, |plain, byte| plain & is_plain(byte)) {
            return ["\"", text, "\""].into_iter().try_for_each(|it| self.writer.write_str(it));
        }
        match self.style {
            Style::Text => write!(self.writer, "{text:?}"),
            Style::Json => {
                let json = serde_json::to_string(text).map_err(|_| fmt::Error)?;
                self.writer.write_str(&json)
            }
        }
    }

    /// Writes a number or a similar value, which needs no quotes.
    fn bare(&mut self, field: &Field, value: impl Display) {
        self.field(field.name(), |it| write!(it.writer, "{value}"));
    }
}

impl Visit for Fields<'_, '_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = field.name();
        self.field(name, |it| if it.is_message(name) { it.shown(value) } else { it.quoted(value) });
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.field(field.name(), |it| match it.style {
            Style::Text => it.shown(&format!("{value:?}")),
            Style::Json => it.quoted(&format!("{value:?}")),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Arc, Mutex},
    };

    use tracing_subscriber::fmt::{MakeWriter, fmt};

    use super::*;

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

    impl MakeWriter<'_> for Log {
        type Writer = Log;
        fn make_writer(&self) -> Log {
            self.clone()
        }
    }

    impl Log {
        /// Returns the lines, without their timestamps.
        fn lines(&self) -> Vec<String> {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            let year = |line: &str| line.find("20").unwrap();
            let line = |line: &str| line.replacen(&line[year(line)..][..27], "", 1);
            text.lines().map(line).collect()
        }
    }

    fn say_all_kinds_of_things() {
        for text in ["", "plain", "quote \" and \\", "é \u{1b}[1m\t\u{7f}"] {
            tracing::info!(text, shown = %text, debug = ?text, "{text}");
        }
        tracing::warn!(yes = true, small = -3_i8, large = u64::MAX, list = ?[1, 2], lines = "a\nb");
        tracing::error!(optional = None::<u8>, message = "as a field", last = Some(1_i32));
        tracing::info!(target: "elsewhere", "{} of {}", 1, 2);
        let span = tracing::info_span!("span", number = 1).entered();
        tracing::info!(text = "inside", "of a span");
        drop(span);
    }

    /// The output matches tracing-subscriber's.
    #[test]
    fn a_line_is_that_of_the_subscriber() {
        let [theirs, ours, their_json, our_json] = [(); 4].map(|()| Log::default());
        let text = || fmt().with_ansi(false);
        let json = || fmt().json();
        let say = say_all_kinds_of_things;
        tracing::subscriber::with_default(text().with_writer(theirs.clone()).finish(), say);
        let text = text().fmt_fields(TextFields).with_writer(ours.clone()).finish();
        tracing::subscriber::with_default(text, say);
        tracing::subscriber::with_default(json().with_writer(their_json.clone()).finish(), say);
        let json = json().event_format(JsonLine::default()).with_writer(our_json.clone());
        tracing::subscriber::with_default(json.finish(), say);

        assert_eq!(our_json.lines(), their_json.lines());
        assert!(our_json.lines().len() == 8, "{:?}", our_json.lines());
        // The subscriber escapes control characters only in messages, and in a different way.
        let escaped = |line: String| {
            let line = line.replace("\\x1b", "\u{1b}").replace("\\x7f", "\u{7f}");
            line.replace('\u{1b}', "\\u001b").replace('\u{7f}', "\\u007f")
        };
        let theirs: Vec<String> = theirs.lines().into_iter().map(escaped).collect();
        assert_eq!(ours.lines(), theirs);
    }
}

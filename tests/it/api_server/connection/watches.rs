//! Watches: their initial lists and events.

use super::{
    super::world::{Streams, World},
    Connection, Question, answer, status,
};
use crate::prelude::*;

struct Beginning {
    /// The last version that the client knows.
    seen: u64,
    lines: Vec<Value>,
    /// The last line before the connection ends properly.
    last: Option<String>,
    /// Whether the connection breaks after the lines.
    is_cut: bool,
}

impl Connection {
    pub(super) fn watch(&self, stream: &mut TcpStream, question: &Question) -> std::io::Result<()> {
        let query = |key: &str| question.query.get(key).map_or("", String::as_str);
        let end = Instant::now() + Duration::from_secs(query("timeoutSeconds").parse().unwrap());
        let Beginning { mut seen, mut lines, last, is_cut } = match self.beginning(question) {
            Ok(beginning) => beginning,
            Err((code, why)) => return answer(stream, code, &status(code, why)),
        };
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                        Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )?;
        loop {
            for line in lines.drain(..) {
                write_line(stream, &line)?;
            }
            if let Some(last) = last {
                write!(stream, "{:x}\r\n{last}\n\r\n0\r\n\r\n", last.len() + 1)?;
                return stream.flush();
            }
            stream.flush()?;
            if is_cut {
                return Ok(());
            }
            let left = end.saturating_duration_since(Instant::now());
            let nothing_new = |world: &mut World| {
                world.silent || (!world.over && !world.cut && world.version <= seen)
            };
            let (world, _) =
                self.shared.1.wait_timeout_while(self.world(), left, nothing_new).unwrap();
            if world.silent {
                drop(world);
                drop(self.wait_while(|_| true));
                return Ok(());
            }
            if world.cut {
                return Ok(());
            }
            if world.over || Instant::now() >= end {
                // Seen with 1.37.2: a watch from a future version begins, and stays silent.
                if seen <= world.version {
                    let metadata = json!({"resourceVersion": seen.to_string()});
                    write_line(
                        stream,
                        &json!({"type": "BOOKMARK", "object": {"metadata": metadata}}),
                    )?;
                }
                break;
            }
            lines.extend(news(&world, question, seen));
            seen = world.version;
        }
        stream.write_all(b"0\r\n\r\n")
    }

    fn beginning(&self, question: &Question) -> Result<Beginning, (u16, &'static str)> {
        let query = |key: &str| question.query.get(key).map_or("", String::as_str);
        let seen = query("resourceVersion").parse().unwrap_or(0);
        let world = self.world();
        let mut beginning = Beginning { seen, lines: Vec::new(), last: None, is_cut: false };
        if query("sendInitialEvents") == "true" {
            if world.streams == Streams::Refused {
                let why = "sendInitialEvents is forbidden for watch unless the WatchList \
                           feature gate is enabled";
                return Err((422, why));
            }
            beginning.lines = list(&world, question);
            beginning.is_cut = world.streams == Streams::CutOff;
            beginning.seen = world.version;
        } else if seen < world.compacted {
            beginning.lines.push(error(410, "too old"));
        } else {
            beginning.last.clone_from(&world.watch_line);
        }
        Ok(beginning)
    }
}

fn list(world: &World, question: &Question) -> Vec<Value> {
    let all = world.of(&question.resource, question.namespace.as_deref());
    let mut lines: Vec<_> = all.iter().map(|it| json!({"type": "ADDED", "object": it})).collect();
    match world.streams {
        Streams::Complete => {
            let marks = json!({"k8s.io/initial-events-end": "true"});
            let version = world.version.to_string();
            let metadata = json!({"resourceVersion": version, "annotations": marks});
            lines.push(json!({"type": "BOOKMARK", "object": {"metadata": metadata}}));
        }
        Streams::Fails => {
            let why = "storage is (re)initializing: RequestWatchProgress is disabled";
            lines.push(error(500, why));
        }
        Streams::Unreadable => lines.push(json!({"type": "ADDED", "object": []})),
        Streams::Refused | Streams::WithoutEnd | Streams::CutOff => {}
    }
    lines
}

fn error(code: u16, why: &str) -> Value {
    let status: Value = serde_json::from_str(&status(code, why)).unwrap();
    json!({"type": "ERROR", "object": status})
}

fn news(world: &World, question: &Question, seen: u64) -> Vec<Value> {
    let news = world.events.iter().filter(|(version, resource, line)| {
        let namespace = line["object"]["metadata"]["namespace"].as_str();
        *version > seen
            && *resource == question.resource
            && question.namespace.as_deref().is_none_or(|it| Some(it) == namespace)
    });
    news.map(|(_, _, line)| line.clone()).collect()
}

fn write_line(stream: &mut TcpStream, line: &Value) -> std::io::Result<()> {
    let line = format!("{line}\n");
    write!(stream, "{:x}\r\n{line}\r\n", line.len())
}

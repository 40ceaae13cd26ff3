//! Watches: the lists that they start with, and what follows.

use std::{
    io::Write,
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    super::{Streams, World},
    Connection, Question, answer, status,
};

impl Connection {
    pub(super) fn watch(&self, stream: &mut TcpStream, question: &Question) -> std::io::Result<()> {
        let query = |key: &str| question.query.get(key).map_or("", String::as_str);
        let end = Instant::now() + Duration::from_secs(query("timeoutSeconds").parse().unwrap());
        let mut is_cut = false;
        let mut last = None;
        let (mut seen, mut lines) = (query("resourceVersion").parse().unwrap_or(0), Vec::new());
        {
            let world = self.world();
            if query("sendInitialEvents") == "true" {
                if world.streams == Streams::Refused {
                    let why = "sendInitialEvents is forbidden for watch unless the WatchList \
                               feature gate is enabled";
                    return answer(stream, 422, &status(422, why));
                }
                let all = world.of(&question.resource, question.namespace.as_deref());
                lines.extend(all.iter().map(|it| json!({"type": "ADDED", "object": it})));
                if world.streams == Streams::Complete {
                    let marks = json!({"k8s.io/initial-events-end": "true"});
                    let version = world.version.to_string();
                    let metadata = json!({"resourceVersion": version, "annotations": marks});
                    lines.push(json!({"type": "BOOKMARK", "object": {"metadata": metadata}}));
                }
                if world.streams == Streams::Fails {
                    let why = "storage is (re)initializing: RequestWatchProgress is disabled";
                    let error: Value = serde_json::from_str(&status(500, why)).unwrap();
                    lines.push(json!({"type": "ERROR", "object": error}));
                }
                if world.streams == Streams::Unreadable {
                    lines.push(json!({"type": "ADDED", "object": []}));
                }
                is_cut = world.streams == Streams::CutOff;
                seen = world.version;
            } else if seen > world.version {
                return answer(stream, 504, &status(504, "Too large resource version"));
            } else if seen < world.compacted {
                let gone: Value = serde_json::from_str(&status(410, "too old")).unwrap();
                lines.push(json!({"type": "ERROR", "object": gone}));
            } else {
                last.clone_from(&world.watch_line);
            }
        }
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
                        Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        )?;
        loop {
            for line in lines.drain(..) {
                let line = format!("{line}\n");
                write!(stream, "{:x}\r\n{line}\r\n", line.len())?;
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
                if !world.without_bookmarks {
                    let metadata = json!({"resourceVersion": seen.to_string()});
                    let line = json!({"type": "BOOKMARK", "object": {"metadata": metadata}});
                    let line = format!("{line}\n");
                    write!(stream, "{:x}\r\n{line}\r\n", line.len())?;
                }
                break;
            }
            let news = world.events.iter().filter(|(version, resource, line)| {
                let namespace = line["object"]["metadata"]["namespace"].as_str();
                *version > seen
                    && *resource == question.resource
                    && question.namespace.as_deref().is_none_or(|it| Some(it) == namespace)
            });
            lines.extend(news.map(|(_, _, line)| line.clone()));
            seen = world.version;
        }
        stream.write_all(b"0\r\n\r\n")
    }
}

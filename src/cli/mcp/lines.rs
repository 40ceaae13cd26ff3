//! Standard input and output as lines of JSON-RPC.
//!
//! The reader of `rmcp` ignores a line that isn't JSON or is too long, and the client waits for ever. This one answers.

use std::{
    io::{self, BufRead, BufReader, Read},
    pin::Pin,
    thread,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{StdioWriter, Transport, async_rw::AsyncRwTransport, stdio_pipes},
};
use serde::{Deserialize, de::IgnoredAny};
use tokio::{io::Empty, sync::mpsc};

const LONGEST: u64 = 16 << 20;

/// How many messages the reader may be ahead.
const AHEAD: usize = 8;

type Message = RxJsonRpcMessage<RoleServer>;
type Answer = TxJsonRpcMessage<RoleServer>;

pub(super) struct Lines {
    input: mpsc::Receiver<Result<Message, Answer>>,
    output: AsyncRwTransport<RoleServer, Empty, StdioWriter>,
    /// The answer to a line that is no message. A cancelled [`Lines::receive`] must not lose it.
    answering: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl Lines {
    pub(super) fn of_stdio() -> io::Result<Self> {
        let (sender, input) = mpsc::channel(AHEAD);
        // Nothing can interrupt the thread, so it ends with the process.
        thread::Builder::new().name("mcp-reader".to_owned()).spawn(move || {
            let mut lines = io::stdin().lock();
            while let Ok(Some(message)) = next(&mut lines) {
                if sender.blocking_send(message).is_err() {
                    return;
                }
            }
        })?;
        let (_, output) = stdio_pipes();
        let output = AsyncRwTransport::new_server(tokio::io::empty(), output);
        Ok(Lines { input, output, answering: None })
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(&mut self, item: Answer) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(item)
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            if let Some(answering) = &mut self.answering {
                answering.await.ok()?;
                self.answering = None;
            }
            match self.input.recv().await? {
                Ok(message) => return Some(message),
                Err(answer) => self.answering = Some(Box::pin(self.output.send(answer))),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
    }
}

/// Returns `None` at the end of the input, and the answer to a line that is no message.
fn next(input: &mut impl BufRead) -> io::Result<Option<Result<Message, Answer>>> {
    loop {
        let mut line = Vec::new();
        if input.take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let refuse = |line: &mut dyn Read, error| Some(Err(JsonRpcMessage::error(error, id(line))));
        if line.len() as u64 == LONGEST && line.last() != Some(&b'\n') {
            let mut rest = RestOfLine { input, has_ended: false };
            let most = LONGEST >> 20;
            let error = format!("the message is larger than the limit of {most} MiB");
            let error = ErrorData::invalid_request(error, None);
            let answer = refuse(&mut line.chain(&mut rest), error);
            io::copy(&mut rest, &mut io::sink())?;
            return Ok(answer);
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let error = match serde_json::from_slice(line) {
            Ok(message) => return Ok(Some(Ok(message))),
            Err(error) => error.to_string(),
        };
        let error = match serde_json::from_slice::<IgnoredAny>(line) {
            Ok(_) => ErrorData::invalid_request(error, None),
            Err(error) => ErrorData::parse_error(format!("this is not JSON: {error}"), None),
        };
        return Ok(refuse(&mut &*line, error));
    }
}

/// Returns the id of a message, without keeping the rest.
fn id(message: &mut dyn Read) -> Option<RequestId> {
    #[derive(Deserialize)]
    struct Envelope {
        id: Option<RequestId>,
    }
    serde_json::from_reader(BufReader::new(message)).ok().and_then(|it: Envelope| it.id)
}

struct RestOfLine<'a, R> {
    input: &'a mut R,
    has_ended: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let available = self.input.fill_buf()?;
        let most = available.len().min(buffer.len());
        let available = available.get(..most).unwrap_or_default();
        let end = memchr::memchr(b'\n', available);
        let (line, _) = available.split_at(end.map_or(most, |at| at + 1));
        for (to, from) in buffer.iter_mut().zip(line) {
            *to = *from;
        }
        self.has_ended = end.is_some();
        let read = line.len();
        self.input.consume(read);
        Ok(read)
    }
}

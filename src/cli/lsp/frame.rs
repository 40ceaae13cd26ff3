//! The frames of the protocol: each message follows a header with its length.
//!
//! The reader of `lsp-server` allocates the length that a header claims, and ends at the first message that it cannot
//! parse. This one allocates only the bytes that arrive, and continues with the next message.

use std::io::{self, BufRead, Read};

use lsp_server::Message;

const LONGEST_HEADER: u64 = 16 << 10;
const LONGEST_MESSAGE: u64 = 128 << 20;

#[derive(Debug)]
pub(super) enum Frame {
    Message(Message),
    /// The reason.
    Skipped(String),
}

/// Returns `None` at the end of the input, and an error if the start of the next message is unknown.
pub(super) fn read(input: &mut impl BufRead) -> io::Result<Option<Frame>> {
    let Some(length) = header(input)? else { return Ok(None) };
    if length > LONGEST_MESSAGE {
        let skipped = io::copy(&mut input.take(length), &mut io::sink())?;
        complete(skipped, length)?;
        let most = LONGEST_MESSAGE >> 20;
        return Ok(Some(Frame::Skipped(format!("it is larger than the limit of {most} MiB"))));
    }
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    complete(body.len() as u64, length)?;
    Ok(Some(match serde_json::from_slice(&body) {
        Ok(message) => Frame::Message(message),
        Err(error) => Frame::Skipped(format!("it isn't a message of JSON-RPC: {error}")),
    }))
}

/// Returns the length of the message, or `None` at the end of the input.
fn header(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut header = input.take(LONGEST_HEADER);
    let (mut length, mut is_first) = (None, true);
    loop {
        let mut line = Vec::new();
        if header.read_until(b'\n', &mut line)? == 0 && is_first {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix(b"\n") else {
            return Err(wrong("a header that is too long or incomplete"));
        };
        let line = String::from_utf8_lossy(line);
        let line = line.trim();
        if line.is_empty() {
            return length.map(Some).ok_or_else(|| wrong("a header without Content-Length"));
        }
        is_first = false;
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("Content-Length")
        {
            let value = value.trim().parse();
            length = Some(value.map_err(|_| wrong("a Content-Length that isn't a number"))?);
        }
    }
}

fn complete(read: u64, length: u64) -> io::Result<()> {
    if read == length { Ok(()) } else { Err(wrong("an incomplete message")) }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("standard input has {what}"))
}

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
        return Ok(Some(Frame::Skipped(format!(
            "it has more than {most} MiB, which is the limit"
        ))));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(mut input: &[u8]) -> (usize, usize, Option<String>) {
        let (mut messages, mut skipped) = (0, 0);
        loop {
            match read(&mut input) {
                Ok(Some(Frame::Message(_))) => messages += 1,
                Ok(Some(Frame::Skipped(_))) => skipped += 1,
                Ok(None) => return (messages, skipped, None),
                Err(error) => return (messages, skipped, Some(error.to_string())),
            }
        }
    }

    fn framed(body: &[u8]) -> Vec<u8> {
        [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
    }

    #[test]
    fn messages_follow_each_other_and_damaged_ones_are_skipped() {
        let good = framed(br#"{"jsonrpc":"2.0","method":"exit"}"#);
        let nested = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        let damaged: [&[u8]; 6] =
            [b"", b"{", b"\xff\xfe", b"[]", b"{\"method\": \"\xc3\x28\"}", &nested];
        let input: Vec<u8> =
            damaged.iter().flat_map(|it| [framed(it), good.clone()].concat()).collect();
        assert_eq!(frames(&input), (6, 6, None));
    }

    #[test]
    fn a_header_decides_how_much_is_read_and_not_how_much_is_allocated() {
        for (input, wanted) in [
            ("", None),
            ("Content-Length: 18446744073709551615\r\n\r\n{}", Some("an incomplete message")),
            ("Content-Length: 99999999\r\n\r\n{}", Some("an incomplete message")),
            ("Content-Length: 99999999999999999999\r\n\r\n", Some("that isn't a number")),
            ("Content-Length: -1\r\n\r\n", Some("that isn't a number")),
            ("Content-Type: text\r\n\r\n{}", Some("without Content-Length")),
            ("\r\n", Some("without Content-Length")),
            ("Content-Length: 2", Some("too long or incomplete")),
            ("Content-Length: 2\r\n", Some("too long or incomplete")),
        ] {
            let (.., error) = frames(input.as_bytes());
            match wanted {
                None => assert_eq!(error, None, "{input}"),
                Some(wanted) => assert!(error.is_some_and(|it| it.ends_with(wanted)), "{input}"),
            }
        }
        let header = format!("Content-Length: {}\r\n\r\n", LONGEST_MESSAGE + 1);
        let body = io::repeat(b'a').take(LONGEST_MESSAGE + 1);
        let mut input = io::BufReader::new(header.as_bytes().chain(body));
        assert!(matches!(read(&mut input), Ok(Some(Frame::Skipped(_)))));
        assert!(matches!(read(&mut input), Ok(None)));
        assert!(frames(&vec![b'a'; 1 << 20]).2.is_some_and(|it| it.contains("too long")));
    }
}

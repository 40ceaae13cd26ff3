//! Standard output whose reader may end early, such as `head`.

use std::io::{self, Write};

/// Drops output without an error once the reader has ended.
pub(super) struct UntilClosed<W> {
    pub(super) out: W,
    pub(super) is_closed: bool,
}

impl<W> UntilClosed<W> {
    fn unless_closed<T>(&mut self, done: io::Result<T>, otherwise: T) -> io::Result<T> {
        done.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(otherwise)
            }
            _ => Err(error),
        })
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let done = self.out.write(bytes);
        self.unless_closed(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let done = self.out.flush();
        self.unless_closed(done, ())
    }
}

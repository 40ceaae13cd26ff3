//! Reads the files that setguard watches.

use std::{
    fs,
    sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError},
};

use crate::server::prelude::*;

const TIMEOUT: Duration = Duration::from_secs(10);

/// A ConfigMap or a Secret cannot be larger. Kubernetes: `MaxSecretSize` in `pkg/apis/core/types.go`.
const MAX_FILE: u64 = 1 << 20;

/// Refuses pipes and devices: a pipe without a writer would block every later read, and `/dev/zero` never ends.
pub(super) fn check(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > MAX_FILE {
        return Err(io::Error::other(format!("it is larger than {MAX_FILE} bytes")));
    }
    Ok(())
}

pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    check(path)?;
    fs::read(path)
}

/// Reads on a different thread, so that a network file system that hangs does not block the caller. While one read
/// hangs, no other read starts.
#[derive(Debug)]
pub(super) struct Patience<T> {
    limit: Duration,
    hanging: Option<Receiver<T>>,
}

impl<T> Default for Patience<T> {
    fn default() -> Self {
        Patience { limit: TIMEOUT, hanging: None }
    }
}

impl<T: Send + 'static> Patience<T> {
    /// Waits ten seconds for `read`, and not at all if an earlier read still hangs.
    pub(super) fn wait(&mut self, read: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let too_slow = || io::Error::other("the file system does not answer within 10 seconds");
        if let Some(hanging) = &self.hanging {
            if hanging.try_recv().is_err_and(|error| error == TryRecvError::Empty) {
                return Err(too_slow());
            }
            // The result of that read may be outdated by now.
            self.hanging = None;
        }
        let (send, receive) = mpsc::channel();
        let work = move || send.send(read()).unwrap_or_default();
        thread::Builder::new().name("read".to_owned()).spawn(work)?;
        receive.recv_timeout(self.limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                self.hanging = Some(receive);
                too_slow()
            }
            RecvTimeoutError::Disconnected => io::Error::other("the thread that reads has ended"),
        })
    }

    /// Simulates a read that hangs until the sender is dropped.
    #[cfg(test)]
    pub(super) fn hang(&mut self) -> mpsc::Sender<T> {
        let (send, receive) = mpsc::channel();
        self.hanging = Some(receive);
        send
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_caller_waits_twice_for_a_read_that_hangs() {
        let (release, hanging) = mpsc::channel::<()>();
        let mut patience = Patience { limit: Duration::from_millis(1), hanging: None };
        assert!(patience.wait(move || hanging.recv().is_ok()).is_err());
        patience.limit = Duration::MAX;
        assert!(patience.wait(|| true).is_err());
        release.send(()).unwrap();
        while patience.wait(|| true).is_err() {
            thread::yield_now();
        }
    }
}

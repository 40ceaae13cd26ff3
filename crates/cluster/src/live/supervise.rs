use super::times::Backoff;
use crate::prelude::*;

/// Runs a task that should never end, and restarts it if it ends or panics.
pub(super) async fn forever<F>(what: String, mut backoff: Backoff, start: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        let ended = tokio::spawn(start()).await;
        let error = ended.err().map(|error| error.to_string()).unwrap_or_default();
        tracing::error!(what, error, "a task of the inventory ended; starting it again");
        sleep(backoff.pause()).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicU32, Ordering::SeqCst},
        },
        time::Duration,
    };

    use tokio::{sync::mpsc, time::timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_or_ends_is_started_again() {
        let (send, mut starts) = mpsc::unbounded_channel();
        let count = Arc::new(AtomicU32::new(0));
        let start = move || {
            let (send, attempt) = (send.clone(), count.fetch_add(1, SeqCst));
            async move {
                send.send(attempt).unwrap();
                assert_ne!(attempt, 0, "the first attempt panics");
            }
        };
        let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
        let forever = tokio::spawn(forever("a test".to_owned(), backoff, start));
        for attempt in 0..5 {
            let started = timeout(Duration::from_secs(60), starts.recv()).await;
            assert_eq!(started, Ok(Some(attempt)));
        }
        forever.abort();
    }
}

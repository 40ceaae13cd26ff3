//! Limits for lists: an API server, or a proxy in front of it, could continue a list forever.

use tokio::time::Instant;

use crate::prelude::*;

#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) objects: usize,
    pub(super) bytes: usize,
    pub(super) pages: usize,
    pub(super) time: Duration,
}

impl Bounds {
    pub(super) fn begin(self) -> Count {
        Count { bounds: self, objects: 0, bytes: 0, pages: 0, begun: Instant::now() }
    }
}

#[derive(Debug)]
pub(super) struct Count {
    bounds: Bounds,
    objects: usize,
    bytes: usize,
    pages: usize,
    begun: Instant,
}

impl Count {
    pub(super) fn add(&mut self, objects: usize, bytes: usize) -> Result<(), Problem> {
        self.objects += objects;
        self.bytes += bytes;
        self.check()
    }

    /// Counts a page, and checks that the list may continue.
    pub(super) fn next_page(&mut self, before: Option<&str>, next: &str) -> Result<(), Problem> {
        self.pages += 1;
        if before == Some(next) {
            let why = "the API server continues the list with the same token again".to_owned();
            return Err(Problem::TooLong(why));
        }
        if self.pages >= self.bounds.pages {
            return Err(too_long(self.bounds.pages, "pages"));
        }
        self.check()
    }

    fn check(&self) -> Result<(), Problem> {
        let Bounds { objects, bytes, time, .. } = self.bounds;
        if self.objects > objects {
            return Err(too_long(objects, "objects"));
        }
        if self.bytes > bytes {
            return Err(too_long(bytes >> 20, "MiB"));
        }
        if self.begun.elapsed() > time {
            return Err(Problem::TooLong(format!("the list takes longer than {time:?}")));
        }
        Ok(())
    }
}

fn too_long(most: usize, what: &str) -> Problem {
    Problem::TooLong(format!("the list has more than {most} {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_bound_is_named() {
        let begin = || {
            Bounds { objects: 10, bytes: 2 << 20, pages: 3, time: Duration::from_secs(60) }.begin()
        };
        let why = |outcome: Result<(), Problem>| outcome.unwrap_err().to_string();
        let mut count = begin();
        assert!(count.add(10, 2 << 20).is_ok() && count.next_page(None, "a").is_ok());
        assert!(why(count.add(1, 0)).contains("more than 10 objects"));
        assert!(why(begin().add(0, (2 << 20) + 1)).contains("more than 2 MiB"));
        let mut count = begin();
        assert!(count.next_page(None, "a").is_ok() && count.next_page(Some("a"), "b").is_ok());
        assert!(why(count.next_page(Some("b"), "c")).contains("more than 3 pages"));
        assert!(why(begin().next_page(Some("a"), "a")).contains("same token"));
        let mut count = begin();
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(why(count.add(0, 0)).contains("longer than 60s"));
    }
}

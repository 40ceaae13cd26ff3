//! Follows a collection for a command: lists it, then watches it, and resumes after each break.

use std::{convert::Infallible, pin::pin, time::Duration};

use futures::StreamExt as _;
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    backoff::Backoff,
    call::Problem,
    message::{self, Event},
    reader::{List, Reader},
};

/// The duration of a watch, in seconds. The API server ends it, so a dead connection is noticed.
const WATCH: u32 = 30;
/// The time after which a watch that was not ended is dead.
const DEAD: Duration = Duration::from_secs(35);
/// The pauses between attempts.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The pause before the next attempt to read a collection that is forbidden.
const FORBIDDEN: Duration = Duration::from_secs(60);

/// News of a collection.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// All of its objects.
    All(Vec<String>),
    /// An object that was created or has changed.
    Applied(&'a str),
    /// An object that is gone.
    Gone {
        /// The namespace; empty for a cluster-scoped object.
        namespace: &'a str,
        name: &'a str,
    },
    /// The API server cannot be followed, for this reason. Another attempt follows.
    Lost(String),
    /// The API server can be followed again.
    Back,
    /// The API server denies access, or does not have the collection.
    Forbidden(String),
}

/// Follows a collection until this future is dropped.
pub(crate) async fn follow(
    reader: &Reader,
    list: &List,
    mut tell: impl FnMut(News<'_>),
) -> Infallible {
    let mut backoff = Backoff::new(SHORTEST_PAUSE, LONGEST_PAUSE);
    let mut version = None;
    let mut is_lost = false;
    loop {
        let begun = Instant::now();
        let outcome = match &mut version {
            // The watch follows immediately.
            None => match read(reader, list, &mut tell).await {
                Ok(from) => {
                    version = Some(from);
                    continue;
                }
                Err(problem) => Err(problem),
            },
            Some(from) => watch(reader, list, from, &mut is_lost, &mut tell).await,
        };
        let has_lasted = begun.elapsed() > LONGEST_PAUSE;
        if has_lasted {
            backoff.reset();
        }
        match outcome {
            // An API server that ends each watch immediately is not called in a tight loop.
            Ok(()) if has_lasted => continue,
            Ok(()) => {}
            Err(Problem::Gone { .. }) => version = None,
            Err(Problem::Forbidden(why) | Problem::Absent(why)) => {
                tell(News::Forbidden(why));
                version = None;
                sleep(FORBIDDEN).await;
                continue;
            }
            Err(problem) => {
                if !std::mem::replace(&mut is_lost, true) {
                    tell(News::Lost(problem.to_string()));
                }
            }
        }
        sleep(backoff.pause()).await;
    }
}

/// Reads all objects, and returns the version for the next watch.
async fn read(
    reader: &Reader,
    list: &List,
    tell: &mut impl FnMut(News<'_>),
) -> Result<String, Problem> {
    let mut all = Vec::new();
    let on_page = |items: &[&serde_json::value::RawValue]| {
        all.extend(items.iter().map(|item| item.get().to_owned()));
    };
    let version = reader.list_from(list, on_page).await?;
    tell(News::All(all));
    Ok(version)
}

/// Does one watch.
async fn watch(
    reader: &Reader,
    list: &List,
    version: &mut String,
    is_lost: &mut bool,
    tell: &mut impl FnMut(News<'_>),
) -> Result<(), Problem> {
    let end = Instant::now() + DEAD;
    let mut lines = pin!(reader.watch(list, version, WATCH).await?);
    if std::mem::take(is_lost) {
        tell(News::Back);
    }
    loop {
        let line = match timeout_at(end, lines.next()).await {
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(error))) => return Err(Problem::failed(error)),
            Ok(None) => return Ok(()),
            Err(_) => return Err(Problem::Failed("the connection is dead".to_owned())),
        };
        let newest = match message::event(&line).map_err(Problem::failed)? {
            None => continue,
            Some(Event::Failed(status)) => {
                return Err(Problem::of_status(status.code, &status.message));
            }
            Some(Event::Applied { object, meta }) => {
                tell(News::Applied(object));
                meta.resource_version
            }
            Some(Event::Deleted(meta)) => {
                tell(News::Gone { namespace: &meta.namespace, name: &meta.name });
                meta.resource_version
            }
            Some(Event::Bookmark { version, .. }) => version,
        };
        if !newest.is_empty() {
            *version = newest.into_owned();
        }
    }
}

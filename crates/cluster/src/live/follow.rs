//! Follows a collection for a command: lists it, then watches it, and resumes after each break.

use std::{borrow::Cow, convert::Infallible, pin::pin, time::Duration};

use futures::StreamExt as _;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    backoff::Backoff,
    call::Problem,
    message::{self, Event},
    reader::{List, Reader},
};

/// The duration of a watch, in seconds. The API server ends it, so a dead connection is noticed.
const WATCH: u32 = 30;
/// The duration of the first watch after a break. The API server sends a bookmark before it ends.
const PROBE: u32 = 5;
/// The time that a list may take before what was heard counts as out of date.
const SLOW: Duration = Duration::from_secs(5);
/// The time after which a watch that was not ended is dead. An overloaded machine ends it late.
const DEAD: Duration = Duration::from_secs(45);
/// The number of watches in a row that are dead before the API server counts as lost: the first may have been
/// cut somewhere on the way.
const STALLS: u32 = 2;
/// The pauses between attempts.
const SHORTEST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The pause before the next attempt to read a collection that is forbidden.
const FORBIDDEN: Duration = Duration::from_secs(60);

/// News of a collection.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// What is kept of all of its objects.
    All(Vec<String>),
    /// An object that was created or has changed.
    Applied(&'a str),
    /// An object that is gone.
    Gone {
        /// The namespace; empty for a cluster-scoped object.
        namespace: &'a str,
        name: &'a str,
    },
    /// The watch has broken off. What was heard may be out of date until it is resumed, which is tried at once.
    Broken,
    /// The API server cannot be followed, for this reason. Another attempt follows.
    Lost(String),
    /// The API server can be followed again.
    Back,
    /// The API server denies access, or does not have the collection.
    Forbidden(String),
}

/// How well the API server is heard.
#[derive(Debug)]
struct Contact {
    state: State,
    /// The number of dead watches in a row.
    stalls: u32,
    /// Whether the next watch begins at the version of a list that was just read.
    is_listed: bool,
}

/// How a watch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watched {
    /// An event or a bookmark has shown that the API server has the version from which it began.
    Confirmed,
    /// The API server said nothing. One whose state is older than the version does that: it has no event after
    /// the version, and no bookmark.
    Silent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Kept,
    Broken,
    Lost,
}

impl Contact {
    fn regain(&mut self, tell: &mut impl FnMut(News<'_>)) {
        if std::mem::replace(&mut self.state, State::Kept) != State::Kept {
            tell(News::Back);
        }
    }

    /// From now on, the known state may be out of date.
    fn break_off(&mut self, tell: &mut impl FnMut(News<'_>)) {
        if self.state == State::Kept {
            self.state = State::Broken;
            tell(News::Broken);
        }
    }

    /// The first failure after a success only breaks the contact.
    fn fail(&mut self, problem: &Problem, tell: &mut impl FnMut(News<'_>)) {
        match self.state {
            State::Kept if self.stalls < STALLS => self.break_off(tell),
            State::Kept | State::Broken => {
                self.state = State::Lost;
                tell(News::Lost(problem.to_string()));
            }
            State::Lost => {}
        }
    }
}

/// Follows a collection until this future is dropped. `keep` returns what is kept of an object, page by page, so that
/// no more than a page is in memory.
pub(crate) async fn follow(
    reader: &Reader,
    list: &List,
    keep: impl Fn(&str) -> Option<String>,
    mut tell: impl FnMut(News<'_>),
) -> Infallible {
    let mut backoff = Backoff::new(SHORTEST_PAUSE, LONGEST_PAUSE);
    let mut version = None;
    // Nothing has been heard yet, so the first failure is a loss.
    let mut contact = Contact { state: State::Broken, stalls: 0, is_listed: false };
    loop {
        let begun = Instant::now();
        let outcome = match &mut version {
            // The watch follows immediately.
            None => match read(reader, list, &keep, &mut contact, &mut tell).await {
                Ok(from) => {
                    version = Some(from);
                    continue;
                }
                // An API server that cannot list cannot be followed, whatever its reason.
                Err(Problem::Gone { why, .. }) => Err(Problem::Failed(why)),
                Err(problem) => Err(problem),
            },
            Some(from) => watch(reader, list, from, &mut contact, &mut tell).await,
        };
        let has_lasted = begun.elapsed() > LONGEST_PAUSE;
        if has_lasted {
            backoff.reset();
        }
        match outcome {
            Ok(Watched::Silent) => version = None,
            // An API server that ends each watch immediately is not called in a tight loop.
            Ok(Watched::Confirmed) if has_lasted => continue,
            Ok(Watched::Confirmed) => {}
            Err(Problem::Gone { .. }) => version = None,
            Err(Problem::Forbidden(why) | Problem::Absent(why)) => {
                tell(News::Forbidden(why));
                version = None;
                sleep(FORBIDDEN).await;
                continue;
            }
            Err(problem) => {
                contact.fail(&problem, &mut tell);
                // An API server that comes back may have an older state: etcd was restored.
                if contact.state == State::Lost {
                    version = None;
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
    keep: &impl Fn(&str) -> Option<String>,
    contact: &mut Contact,
    tell: &mut impl FnMut(News<'_>),
) -> Result<String, Problem> {
    let mut all = Vec::new();
    let on_page = |items: &[&serde_json::value::RawValue]| {
        all.extend(items.iter().filter_map(|item| keep(item.get())));
    };
    let version = {
        let mut listing = pin!(reader.list_from(list, on_page));
        match timeout(SLOW, &mut listing).await {
            Ok(listed) => listed?,
            Err(_) => {
                contact.break_off(tell);
                listing.await?
            }
        }
    };
    contact.is_listed = true;
    tell(News::All(all));
    Ok(version)
}

/// Does one watch.
async fn watch(
    reader: &Reader,
    list: &List,
    version: &mut String,
    contact: &mut Contact,
    tell: &mut impl FnMut(News<'_>),
) -> Result<Watched, Problem> {
    let end = Instant::now() + DEAD;
    let is_resumed = contact.state != State::Kept && !contact.is_listed;
    let seconds = if is_resumed { PROBE } else { WATCH };
    let mut lines = pin!(reader.watch(list, version, seconds).await?);
    // An API server that begins watches and says nothing in them must say something. So must one that may have an
    // older state than what was heard: its watches begin too, and say nothing.
    if contact.stalls < STALLS && !is_resumed {
        contact.regain(tell);
    }
    contact.is_listed = false;
    let mut watched = Watched::Silent;
    loop {
        let line = match timeout_at(end, lines.next()).await {
            Ok(Some(Ok(line))) => line,
            Ok(Some(Err(error))) => return Err(Problem::failed(error)),
            Ok(None) => {
                contact.stalls = 0;
                return Ok(watched);
            }
            Err(_) => {
                contact.stalls = contact.stalls.saturating_add(1);
                return Err(Problem::Failed("the connection is dead".to_owned()));
            }
        };
        contact.stalls = 0;
        let event = match message::event(&line).map_err(Problem::failed)? {
            None => continue,
            Some(Event::Failed(status)) => {
                return Err(Problem::of_status(status.code, &status.message));
            }
            Some(event) => event,
        };
        contact.regain(tell);
        watched = Watched::Confirmed;
        let newest = hear(event, tell);
        if !newest.is_empty() {
            *version = newest.into_owned();
        }
    }
}

/// Tells an event, and returns its version.
fn hear<'a>(event: Event<'a>, tell: &mut impl FnMut(News<'_>)) -> Cow<'a, str> {
    match event {
        Event::Applied { object, meta } => {
            tell(News::Applied(object));
            meta.resource_version
        }
        Event::Deleted(meta) => {
            tell(News::Gone { namespace: &meta.namespace, name: &meta.name });
            meta.resource_version
        }
        Event::Bookmark { version, .. } => version,
        Event::Failed(_) => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        cell::RefCell,
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::SeqCst},
        },
        time::Duration,
    };

    use futures::{StreamExt as _, stream};
    use http_body_util::{BodyExt as _, Empty, Full, StreamBody, combinators::UnsyncBoxBody};
    use hyper::{
        Request, Response, StatusCode,
        body::{Bytes, Frame},
    };
    use kube::{Client, client::Body};

    use super::*;

    /// An answer to a request.
    #[derive(Clone, Copy)]
    enum Answer {
        /// An empty list.
        Empty,
        /// A watch that says this, and then nothing more and has no end.
        Stall(&'static str),
        /// A watch that says a bookmark and is ended by the API server.
        End,
        /// A watch that says nothing and is ended by the API server.
        Silence,
        /// The version is not known, or no API server is behind a load balancer.
        Unknown,
        /// An error of the API server.
        Failure,
    }

    fn answer(answer: Answer) -> Response<UnsyncBoxBody<Bytes, Infallible>> {
        const LIST: &str = r#"{"metadata": {"resourceVersion": "7"}, "items": []}"#;
        const BOOKMARK: &str =
            r#"{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}"#;
        let body = match answer {
            Answer::Empty => Full::from(LIST).boxed_unsync(),
            Answer::Stall(text) => {
                let first = (!text.is_empty()).then(|| Ok(Frame::data(Bytes::from(text))));
                StreamBody::new(stream::iter(first).chain(stream::pending())).boxed_unsync()
            }
            Answer::End => Full::from(BOOKMARK).boxed_unsync(),
            Answer::Silence | Answer::Failure | Answer::Unknown => Empty::new().boxed_unsync(),
        };
        let code = match answer {
            Answer::Failure => StatusCode::INTERNAL_SERVER_ERROR,
            Answer::Unknown => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::OK,
        };
        Response::builder().status(code).body(body).unwrap()
    }

    /// Returns what is heard within this time of an API server that gives these answers, the last of them again
    /// and again.
    async fn heard(answers: &'static [Answer], within: Duration) -> Vec<String> {
        let count = Arc::new(AtomicUsize::new(0));
        let service = tower::service_fn(move |_: Request<Body>| {
            let index = count.fetch_add(1, SeqCst).min(answers.len() - 1);
            async move { Ok::<_, Infallible>(answer(answers[index])) }
        });
        let reader = Reader::of(Client::new(service, "default"));
        let said = RefCell::new(Vec::new());
        let list = List { path: "/api/v1/nodes".to_owned(), ..List::default() };
        let follow = follow(
            &reader,
            &list,
            |it| Some(it.to_owned()),
            |news| said.borrow_mut().push(format!("{news:?}")),
        );
        let ended = timeout(within, follow).await;
        assert!(ended.is_err(), "following never ends");
        said.into_inner()
    }

    const ADDED: &str = concat!(
        r#"{"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}"#,
        "\n"
    );

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_stalls_once_is_resumed_and_nothing_is_lost() {
        let answers = &[Answer::Empty, Answer::Stall(""), Answer::Stall(ADDED), Answer::End];
        let said = heard(answers, Duration::from_secs(600)).await;
        let [all, back, broken, resumed, added, ..] = &*said else { panic!("{said:#?}") };
        assert_eq!([all, back, broken, resumed], ["All([])", "Back", "Broken", "Back"]);
        assert!(added.starts_with("Applied"), "{added}");
        assert!(!said.iter().any(|it| it.starts_with("Lost")), "{said:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stalls_again_and_again_is_lost_until_it_says_something() {
        let stall = Answer::Stall("");
        let lost = "Lost(\"the connection is dead\")";
        let answers = Box::leak(Box::new([Answer::Empty, stall, stall, Answer::Empty, stall]));
        let said = heard(answers, Duration::from_secs(3_600)).await;
        assert_eq!(said, ["All([])", "Back", "Broken", lost, "All([])"]);
        let again = [Answer::Empty, stall, stall, Answer::Empty, Answer::End];
        let said = heard(Box::leak(Box::new(again)), Duration::from_secs(3_600)).await;
        assert_eq!(said, ["All([])", "Back", "Broken", lost, "All([])", "Back"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_for_long_is_lost_and_comes_back() {
        // The reader repeats a list that fails otherwise, and waits in real time.
        const FAIL: Answer = Answer::Unknown;
        let [list, end] = [Answer::Empty, Answer::End];
        for first in [Answer::Failure, FAIL] {
            let answers = [list, end, first, FAIL, FAIL, FAIL, FAIL, list, end];
            let said = heard(Box::leak(Box::new(answers)), Duration::from_secs(600)).await;
            let [all, back, broken, lost, again, at_last] = &*said else { panic!("{said:#?}") };
            assert_eq!([all, back, broken], ["All([])", "Back", "Broken"]);
            assert!(lost.starts_with("Lost(\"504"), "{lost}");
            assert_eq!([again, at_last], ["All([])", "Back"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_may_have_an_older_state_and_is_listed_again() {
        // Its etcd was restored from a snapshot, so it has no event and no bookmark after version 7.
        let answers = &[Answer::Empty, Answer::Silence, Answer::Empty, Answer::End];
        let said = heard(answers, Duration::from_secs(600)).await;
        assert_eq!(said, ["All([])", "Back", "All([])"]);
        // After a break it is not heard before that.
        let answers =
            &[Answer::Empty, Answer::Stall(""), Answer::Silence, Answer::Empty, Answer::End];
        let said = heard(answers, Duration::from_secs(600)).await;
        assert_eq!(said, ["All([])", "Back", "Broken", "All([])", "Back"]);
    }
}

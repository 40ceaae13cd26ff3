//! Follows a collection: lists it, watches it, and resumes after each interruption.

use std::{convert::Infallible, pin::pin};

use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use super::{
    message::{self, Event, Meta},
    times::chance,
};
use crate::prelude::*;

pub(crate) trait Listener {
    type Listed;

    fn begin(&mut self) -> Self::Listed;

    fn listed(&mut self, listed: &mut Self::Listed, object: &str);

    /// Completes a list of this version: objects that it does not contain are deleted. `is_certain` is false after a
    /// failed watch, because an API server may answer lists but not watches.
    fn complete(&mut self, listed: Self::Listed, version: &str, is_certain: bool);

    fn give_up(&mut self, _: Self::Listed) {}

    fn applied(&mut self, object: &str);

    fn deleted(&mut self, meta: &Meta<'_>);

    /// Records that the known state is current, up to this version. The version is empty if unknown.
    fn current(&mut self, version: &str);

    fn broken(&mut self);

    /// Records a failure; the follower tries again. The first failure of a watch may only be a broken connection.
    fn failed(&mut self, problem: &Problem, is_first: bool);

    fn forbidden(&mut self, why: &str);
}

#[derive(Debug)]
pub(super) struct ListGate {
    /// A follower holds the permit while it lists, so that only one kind is listed at a time.
    turn: Semaphore,
    /// When to start requesting streaming lists. `None` if the API server does not support them.
    streaming: Mutex<Option<Instant>>,
}

impl ListGate {
    pub(super) fn new(streams_lists: bool) -> Self {
        let streaming = Mutex::new(streams_lists.then(Instant::now));
        ListGate { turn: Semaphore::new(1), streaming }
    }

    fn is_streaming(&self) -> bool {
        self.streaming.lock().is_some_and(|from| from <= Instant::now())
    }
}

pub(crate) struct Follower<L> {
    reader: Arc<Reader>,
    list: List,
    times: Times,
    /// Without a gate, the follower lists at any time, in pages.
    gate: Option<Arc<ListGate>>,
    listener: L,
    version: Option<String>,
    /// Until when this collection is listed in pages.
    pages_until: Option<Instant>,
    is_broken: bool,
    has_failed: bool,
}

impl<L: Listener> Follower<L> {
    pub(crate) fn new(reader: Arc<Reader>, list: List, times: Times, listener: L) -> Self {
        Follower {
            reader,
            list,
            times,
            gate: None,
            listener,
            version: None,
            pages_until: None,
            is_broken: false,
            has_failed: false,
        }
    }

    pub(super) fn behind(self, gate: Arc<ListGate>) -> Self {
        Follower { gate: Some(gate), ..self }
    }

    pub(crate) async fn run(mut self) -> Infallible {
        sleep(chance(self.times.jitter)).await;
        let mut backoff = self.times.backoff();
        loop {
            let (begun, is_watch) = (Instant::now(), self.version.is_some());
            let outcome = if is_watch { self.watch().await } else { self.list().await };
            let has_lasted = is_watch && begun.elapsed() > backoff.shortest * 4;
            if has_lasted {
                backoff.reset();
            }
            match outcome {
                Ok(()) if has_lasted || !is_watch => continue,
                // Avoids a tight loop if a server ends each watch immediately.
                Ok(()) => {}
                Err(Problem::Gone { why, .. }) if is_watch => {
                    tracing::debug!(path = self.list.path, why, "listing again");
                    self.break_off();
                    self.version = None;
                }
                Err(Problem::Forbidden(why) | Problem::Absent(why)) => {
                    self.listener.forbidden(&why);
                    self.version = None;
                    sleep(self.times.forbidden).await;
                    continue;
                }
                Err(problem) => {
                    let is_first = is_watch && !self.has_failed;
                    self.break_off();
                    self.listener.failed(&problem, is_first);
                    // The API server may have an older state when it comes back, because its etcd was restored. Its
                    // version may soon exceed the known one, and events would then seem to confirm a wrong state.
                    if !is_first {
                        self.version = None;
                    }
                    self.has_failed |= is_watch;
                    if let Problem::TooLong(_) = problem {
                        sleep(self.times.forbidden).await;
                        continue;
                    }
                }
            }
            sleep(backoff.pause()).await;
        }
    }

    fn break_off(&mut self) {
        self.is_broken = true;
        self.listener.broken();
    }

    async fn list(&mut self) -> Result<(), Problem> {
        let gate = self.gate.clone();
        let _turn = match &gate {
            Some(gate) => Some(gate.turn.acquire().await.map_err(Problem::failed)?),
            None => None,
        };
        let mut listed = self.listener.begin();
        let now = Instant::now();
        let streams = gate.as_ref().is_some_and(|gate| gate.is_streaming())
            && self.pages_until.is_none_or(|until| until <= now);
        let outcome = match streams {
            true => self.stream(&mut listed).await,
            false => {
                let Follower { reader, list, listener, .. } = self;
                let on_page = |items: &[&serde_json::value::RawValue]| {
                    items.iter().for_each(|it| listener.listed(&mut listed, it.get()));
                };
                reader.list(list, on_page).await
            }
        };
        match outcome {
            Ok(version) => {
                self.is_broken &= self.has_failed;
                self.listener.complete(listed, &version, !self.has_failed);
                self.version = Some(version);
                Ok(())
            }
            Err(problem) => {
                self.listener.give_up(listed);
                match gate.as_deref().filter(|_| streams) {
                    Some(gate) => self.ask_for_pages(gate, problem),
                    None => Err(problem),
                }
            }
        }
    }

    /// Switches to pages after a streaming list failed, as client-go's reflector does. Without an error, the list
    /// starts immediately.
    fn ask_for_pages(&mut self, gate: &ListGate, problem: Problem) -> Result<(), Problem> {
        let pause = self.times.pages;
        let (all_kinds, why) = match problem {
            Problem::Forbidden(_) | Problem::Absent(_) | Problem::TooLong(_) => {
                return Err(problem);
            }
            // An API server that cannot stream one kind cannot stream any.
            Problem::Refused(why) => (true, why),
            Problem::Failed(why) => (false, why),
            problem => {
                self.pages_until = Some(Instant::now() + pause);
                return Err(problem);
            }
        };
        if all_kinds {
            *gate.streaming.lock() = Some(Instant::now() + pause);
        } else {
            self.pages_until = Some(Instant::now() + pause);
        }
        tracing::info!(
            path = self.list.path,
            why,
            all_kinds,
            "the API server does not stream lists; asking for pages from now on"
        );
        Ok(())
    }

    /// Lists with a watch that first sends the existing objects. Returns the version of the list.
    async fn stream(&mut self, listed: &mut L::Listed) -> Result<String, Problem> {
        let mut count = self.reader.count();
        let lines = self.reader.watch(&self.list, None, whole_seconds(self.times.list)).await?;
        let mut lines = pin!(lines);
        loop {
            let line = match timeout(self.times.bookmark, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(error))) => return Err(Problem::failed(error)),
                Ok(None) | Err(_) => {
                    return Err(Problem::Refused("the list did not end".to_owned()));
                }
            };
            count.add(1, line.len())?;
            match message::event(&line).map_err(Problem::failed)? {
                // With an etcd before 3.5.13, the API server cannot detect when the list is complete.
                Some(Event::Failed(status)) if status.code >= 500 => {
                    let why = format!("{}: {}", status.code, status.message);
                    return Err(Problem::Refused(why));
                }
                Some(Event::Failed(status)) => {
                    return Err(Problem::of_status(status.code, &status.message));
                }
                Some(Event::Applied { object, .. }) => self.listener.listed(listed, object),
                Some(Event::Bookmark { version, complete: true }) => {
                    return Ok(version.into_owned());
                }
                // The list may not have contained the object.
                Some(Event::Deleted(meta)) => self.listener.deleted(&meta),
                Some(Event::Bookmark { complete: false, .. }) | None => {}
            }
        }
    }

    /// Watches from the known version. If no event confirms the known state, lists next: the response alone does not
    /// prove that the watch works.
    async fn watch(&mut self) -> Result<(), Problem> {
        let Times { watch, dead, probe, probe_dead, .. } = self.times;
        let (lasts, dead) = if self.is_broken { (probe, probe_dead) } else { (watch, dead) };
        let seconds = whole_seconds(lasts);
        let (begun, end) = (Instant::now(), Instant::now() + dead);
        let version = self.version.clone().unwrap_or_default();
        let mut lines = pin!(self.reader.watch(&self.list, Some(&version), seconds).await?);
        let mut is_confirmed = false;
        let outcome = loop {
            let line = match timeout_at(end, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(error))) => break Err(Problem::failed(error)),
                Ok(None) => break Ok(()),
                Err(_) => break Err(Problem::Failed("the connection is dead".to_owned())),
            };
            match self.take(&line) {
                Ok(is_event) => is_confirmed |= is_event,
                Err(problem) => break Err(problem),
            }
        };
        // An API server that shuts down ends its watches early.
        if begun.elapsed() < Duration::from_secs(seconds.into()) * 3 / 4 {
            self.break_off();
        }
        // An API server that has just started sends no bookmark before the first event, so a watch that it ends is fine
        // too.
        if outcome.is_ok() {
            self.has_failed = false;
            if !is_confirmed {
                self.version = None;
            }
        }
        outcome
    }

    /// Returns whether the event confirms the known state.
    fn take(&mut self, line: &str) -> Result<bool, Problem> {
        let version = match message::event(line).map_err(Problem::failed)? {
            None => return Ok(false),
            Some(Event::Failed(status)) => {
                return Err(Problem::of_status(status.code, &status.message));
            }
            Some(Event::Applied { object, meta }) => {
                self.listener.applied(object);
                meta.resource_version
            }
            Some(Event::Deleted(meta)) => {
                self.listener.deleted(&meta);
                meta.resource_version
            }
            Some(Event::Bookmark { version, .. }) => version,
        };
        self.listener.current(&version);
        if !version.is_empty() {
            self.version = Some(version.into_owned());
        }
        (self.is_broken, self.has_failed) = (false, false);
        Ok(true)
    }
}

fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use std::{
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

    use super::{super::reader::OF_COMMANDS, *};

    #[derive(Clone, Copy)]
    enum Answer {
        Empty,
        Stall(&'static str),
        End,
        Silence,
        /// The version is unknown, or a load balancer has no API server behind it.
        Unknown,
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

    /// Returns what the listener hears from an API server that gives these answers in turn and then repeats the last
    /// one.
    async fn heard(answers: &'static [Answer], within: Duration) -> Vec<String> {
        let count = Arc::new(AtomicUsize::new(0));
        let service = tower::service_fn(move |_: Request<Body>| {
            let index = count.fetch_add(1, SeqCst).min(answers.len() - 1);
            async move { Ok::<_, Infallible>(answer(answers[index])) }
        });
        let reader = Arc::new(Reader::of(Client::new(service, "default"), OF_COMMANDS));
        let list = List { path: "/api/v1/nodes".to_owned(), ..List::default() };
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Heard { said: said.clone(), state: "" };
        let follower = Follower::new(reader, list, Times::of_commands(), heard);
        let ended = timeout(within, follower.run()).await;
        assert!(ended.is_err(), "following never ends");
        std::mem::take(&mut *said.lock())
    }

    /// Records what it hears, and each state only when it changes.
    struct Heard {
        said: Arc<Mutex<Vec<String>>>,
        state: &'static str,
    }

    impl Heard {
        fn say(&self, what: impl Into<String>) {
            self.said.lock().push(what.into());
        }

        fn becomes(&mut self, state: &'static str) {
            if std::mem::replace(&mut self.state, state) != state {
                self.say(state);
            }
        }
    }

    impl Listener for Heard {
        type Listed = usize;

        fn begin(&mut self) -> usize {
            0
        }

        fn listed(&mut self, listed: &mut usize, _: &str) {
            *listed += 1;
        }

        fn complete(&mut self, listed: usize, version: &str, is_certain: bool) {
            self.say(format!("{listed} at {version}"));
            if is_certain {
                self.becomes("current");
            }
        }

        fn applied(&mut self, object: &str) {
            self.say(format!("applied {object}"));
        }

        fn deleted(&mut self, meta: &Meta<'_>) {
            self.say(format!("deleted {}", meta.name));
        }

        fn current(&mut self, _: &str) {
            self.becomes("current");
        }

        fn broken(&mut self) {
            if self.state != "lost" {
                self.becomes("broken");
            }
        }

        fn failed(&mut self, problem: &Problem, is_first: bool) {
            if !is_first && self.state != "lost" {
                self.state = "lost";
                self.say(format!("lost: {problem}"));
            }
        }

        fn forbidden(&mut self, why: &str) {
            self.say(format!("forbidden: {why}"));
        }
    }

    const ADDED: &str = concat!(
        r#"{"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "8"}}}"#,
        "\n"
    );

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_stalls_once_is_resumed_and_nothing_is_lost() {
        let answers = &[Answer::Empty, Answer::Stall(""), Answer::Stall(ADDED), Answer::End];
        let said = heard(answers, Duration::from_secs(600)).await;
        let [all, current, broken, added, resumed, ..] = &*said else { panic!("{said:#?}") };
        assert_eq!([all, current, broken, resumed], ["0 at 7", "current", "broken", "current"]);
        assert!(added.starts_with("applied"), "{added}");
        assert!(!said.iter().any(|it| it.starts_with("lost")), "{said:#?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_stalls_again_and_again_is_lost_until_it_says_something() {
        let stall = Answer::Stall("");
        let lost = "lost: the connection is dead";
        let answers = Box::leak(Box::new([Answer::Empty, stall, stall, Answer::Empty, stall]));
        let mut said = heard(answers, Duration::from_secs(3_600)).await;
        // Each list is read, and each is as uncertain as the one before.
        said.dedup();
        assert_eq!(said, ["0 at 7", "current", "broken", lost, "0 at 7"]);
        let again = [Answer::Empty, stall, stall, Answer::Empty, Answer::End];
        let said = heard(Box::leak(Box::new(again)), Duration::from_secs(3_600)).await;
        assert_eq!(said[..6], ["0 at 7", "current", "broken", lost, "0 at 7", "current"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_fails_for_long_is_lost_and_comes_back() {
        // The reader retries other failures of a list, and waits in real time.
        const FAIL: Answer = Answer::Unknown;
        let [list, end] = [Answer::Empty, Answer::End];
        for first in [Answer::Failure, FAIL] {
            let answers = [list, end, first, FAIL, FAIL, FAIL, FAIL, list, end];
            let said = heard(Box::leak(Box::new(answers)), Duration::from_secs(600)).await;
            let [all, current, broken, lost, again, at_last, ..] = &*said else {
                panic!("{said:#?}")
            };
            assert_eq!([all, current, broken], ["0 at 7", "current", "broken"]);
            assert!(lost.starts_with("lost: 504"), "{lost}");
            assert_eq!([again, at_last], ["0 at 7", "current"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_may_have_an_older_state_and_is_listed_again() {
        // Its etcd was restored from a snapshot and has no event or bookmark after version 7.
        let answers = &[Answer::Empty, Answer::Silence, Answer::Empty, Answer::Stall("")];
        let said = heard(answers, Duration::from_secs(20)).await;
        assert_eq!(said, ["0 at 7", "current", "broken", "0 at 7", "current"]);
        let answers =
            &[Answer::Empty, Answer::Stall(""), Answer::Silence, Answer::Empty, Answer::End];
        let said = heard(answers, Duration::from_secs(600)).await;
        assert_eq!(said[..5], ["0 at 7", "current", "broken", "0 at 7", "current"]);
    }
}

//! Follows one kind, in one namespace or in all: lists it, then watches it.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::StreamExt as _;
use kube::{
    Client,
    api::{ListParams, WatchParams},
    core::Request,
};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    backoff::chance,
    bounds::{Bounds, Count},
    call::{self, Problem},
    message::{self, Event, Page},
    state::{ListGate, Live},
};
use setguard_core::inventory::relist::Relist;

/// The number of objects in a page.
const PAGE: u32 = 100;
/// The largest page. If a page is larger, fewer objects are requested, down to one.
const LARGEST_PAGE: usize = 4 << 20;
/// The largest page of one object.
const LARGEST_OBJECT: usize = 16 << 20;
/// The limit for a list: five times the size that the view is made for.
const MOST_OBJECTS: usize = 100_000;
const MOST_BYTES: usize = 2 << 30;
const MOST_PAGES: usize = 10_000;
/// The maximum length of an error in the log.
const LONGEST_MESSAGE: usize = 300;

/// A source, and the version up to which it was followed.
pub(super) struct Source {
    live: Arc<Live>,
    index: usize,
    name: String,
    client: Client,
    request: Request,
    plan: Arc<ListGate>,
    /// The version up to which all changes are known.
    version: Option<String>,
    /// The time until which lists of this kind are requested in pages.
    pages_until: Option<Instant>,
    /// Whether the last watch failed.
    has_failed: bool,
    /// Whether a problem was logged.
    has_logged: bool,
}

impl Source {
    pub(super) fn new(live: Arc<Live>, index: usize, client: Client, plan: Arc<ListGate>) -> Self {
        let (name, request) = (live.name(index), Request::new(live.path(index)));
        let (version, pages_until) = (None, None);
        Source {
            live,
            index,
            name,
            client,
            request,
            plan,
            version,
            pages_until,
            has_failed: false,
            has_logged: false,
        }
    }

    /// Follows the source for ever.
    pub(super) async fn run(mut self) {
        let times = self.live.times().clone();
        sleep(chance(times.jitter)).await;
        let mut backoff = times.backoff();
        loop {
            let (begun, watching) = (Instant::now(), self.version.is_some());
            let outcome = self.follow().await;
            // A server that ends each watch immediately is not called in a tight loop.
            let lasted = watching && begun.elapsed() > backoff.shortest() * 4;
            if lasted {
                backoff.reset();
            }
            match outcome {
                Ok(()) => {
                    // A list alone does not show that the watch works.
                    if !self.has_failed {
                        self.recovered();
                    }
                    if lasted || !watching {
                        continue;
                    }
                }
                Err(Problem::Gone { why, .. }) if watching => {
                    tracing::debug!(kind = self.name, why, "listing again");
                    self.version = None;
                }
                Err(Problem::Forbidden(why) | Problem::Absent(why)) => {
                    self.forbidden(&why);
                    sleep(times.forbidden).await;
                    continue;
                }
                Err(Problem::TooLong(why)) => {
                    self.too_long(&why);
                    sleep(times.forbidden).await;
                    continue;
                }
                Err(problem) => self.failed(&problem),
            }
            sleep(backoff.pause()).await;
        }
    }

    /// Does one watch, or a list.
    async fn follow(&mut self) -> Result<(), Problem> {
        if self.version.is_some() {
            let outcome = self.watch().await;
            // An API server that comes back may have an older state, because its etcd was restored. Its
            // version may exceed the known one soon, and events would then seem to confirm it.
            if outcome.is_err() && self.has_failed {
                self.version = None;
            }
            self.has_failed = outcome.is_err();
            if self.has_failed {
                self.live.broken(self.index);
            }
            return outcome;
        }
        let plan = self.plan.clone();
        let Ok(_turn) = plan.turn.acquire().await else { return Ok(()) };
        let mut relist = self.live.begin(self.index);
        let is_streaming =
            plan.is_streaming() && self.pages_until.is_none_or(|until| until <= Instant::now());
        let listed = if is_streaming {
            self.stream(&mut relist).await
        } else {
            self.list(&mut relist).await
        };
        match listed {
            Ok(version) => {
                self.live.complete(self.index, relist, version.as_deref());
                self.version = version;
                Ok(())
            }
            Err(problem) => {
                self.live.give_up(relist);
                if is_streaming { self.ask_for_pages(problem) } else { Err(problem) }
            }
        }
    }

    /// Requests pages from now on, because a streaming list failed, as the reflector of client-go
    /// does. Without an error the list starts immediately.
    fn ask_for_pages(&mut self, problem: Problem) -> Result<(), Problem> {
        let pause = self.live.times().pages;
        let (everybody, why) = match problem {
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
        if everybody {
            self.plan.pause_streaming(pause);
        } else {
            self.pages_until = Some(Instant::now() + pause);
        }
        tracing::info!(
            kind = self.name,
            why = clip(&why),
            all_kinds = everybody,
            "the API server does not stream lists; asking for pages from now on"
        );
        Ok(())
    }

    /// Starts counting the objects of a list.
    fn count(&self) -> Count {
        let time = self.live.times().list + self.live.times().bookmark;
        Bounds { objects: MOST_OBJECTS, bytes: MOST_BYTES, pages: MOST_PAGES, time }.begin()
    }

    /// Lists page by page, and returns the version of the list.
    async fn list(&mut self, relist: &mut Relist) -> Result<Option<String>, Problem> {
        let mut count = self.count();
        let call_limit = self.live.times().call;
        let mut limit = PAGE;
        let mut params = ListParams::default();
        loop {
            params.limit = Some(limit);
            let most = if limit == 1 { LARGEST_OBJECT } else { LARGEST_PAGE };
            let request = self.request.list(&params);
            let text = match call::text(&self.client, request, call_limit, most).await {
                Err(Problem::TooLarge) if limit > 1 => {
                    limit = (limit / 10).max(1);
                    continue;
                }
                text => text?,
            };
            let page: Page<'_> = serde_json::from_str(&text).map_err(Problem::failed)?;
            let items = page.items.unwrap_or_default();
            count.add(items.len(), text.len())?;
            for object in items {
                self.live.listed(self.index, relist, object.get());
            }
            let Some(next) = page.metadata.next.filter(|next| !next.is_empty()) else {
                return Ok(page.metadata.resource_version);
            };
            count.next_page(params.continue_token.as_deref(), &next)?;
            params.continue_token = Some(next);
        }
    }

    /// Lists with a watch that first sends the existing objects, and returns the version of the
    /// list.
    async fn stream(&mut self, relist: &mut Relist) -> Result<Option<String>, Problem> {
        let times = self.live.times().clone();
        let params = WatchParams {
            timeout: Some(whole_seconds(times.list)),
            send_initial_events: true,
            ..WatchParams::default()
        };
        let mut count = self.count();
        let request = self.request.watch(&params, "");
        let mut lines = pin!(call::lines(&self.client, request, times.call).await?);
        loop {
            let line = match timeout(times.bookmark, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(error))) => return Err(Problem::failed(error)),
                Ok(None) | Err(_) => {
                    return Err(Problem::Refused("the list did not end".to_owned()));
                }
            };
            count.add(1, line.len())?;
            match message::event(&line).map_err(Problem::failed)? {
                // With an etcd before 3.5.13 the API server cannot tell when the list is complete.
                Some(Event::Failed(status)) if status.code >= 500 => {
                    let why = format!("{}: {}", status.code, status.message);
                    return Err(Problem::Refused(why));
                }
                Some(Event::Failed(status)) => {
                    return Err(Problem::of_status(status.code, &status.message));
                }
                Some(Event::Applied { object, .. }) => {
                    self.live.listed(self.index, relist, object);
                }
                Some(Event::Bookmark { version, complete: true }) => {
                    return Ok(Some(version.into_owned()));
                }
                // The list may not have contained the object yet.
                Some(Event::Deleted(meta)) => self.live.deleted(self.index, &meta),
                Some(Event::Bookmark { complete: false, .. }) | None => {}
            }
        }
    }

    /// Watches from the known version. If no event confirms the known state, the kind is listed
    /// next: the response alone does not prove that the watch works.
    async fn watch(&mut self) -> Result<(), Problem> {
        let times = self.live.times().clone();
        let (lasts, dead) = if self.live.is_broken(self.index) {
            (times.probe, times.probe_dead)
        } else {
            (times.watch, times.dead)
        };
        let seconds = whole_seconds(lasts);
        let params = WatchParams { timeout: Some(seconds), ..WatchParams::default() };
        let version = self.version.clone().unwrap_or_default();
        let (begun, end) = (Instant::now(), Instant::now() + dead);
        let request = self.request.watch(&params, &version);
        let mut lines = pin!(call::lines(&self.client, request, times.call).await?);
        let mut is_confirmed = false;
        let outcome = loop {
            let line = match timeout_at(end, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(error))) => break Err(Problem::failed(error)),
                Ok(None) => break Ok(()),
                Err(_) => break Err(Problem::Failed("the connection is dead".to_owned())),
            };
            match self.take(&line) {
                Ok(true) => is_confirmed = true,
                Ok(false) => {}
                Err(problem) => break Err(problem),
            }
        };
        // An API server that shuts down ends its watches early.
        if begun.elapsed() < Duration::from_secs(seconds.into()) * 3 / 4 {
            self.live.broken(self.index);
        }
        if !is_confirmed {
            self.version = None;
        }
        outcome
    }

    /// Applies an event of a watch. Returns whether the event confirms the known state.
    fn take(&mut self, line: &str) -> Result<bool, Problem> {
        let version = match message::event(line).map_err(Problem::failed)? {
            None => return Ok(false),
            Some(Event::Failed(status)) => {
                return Err(Problem::of_status(status.code, &status.message));
            }
            Some(Event::Applied { object, meta }) => {
                self.live.applied(self.index, object);
                meta.resource_version
            }
            Some(Event::Deleted(meta)) => {
                self.live.deleted(self.index, &meta);
                meta.resource_version
            }
            Some(Event::Bookmark { version, .. }) => version,
        };
        if !version.is_empty() {
            self.live.reached(self.index, &version);
            self.version = Some(version.into_owned());
        }
        self.alive();
        Ok(true)
    }

    fn alive(&mut self) {
        self.live.seen(self.index);
        self.recovered();
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.has_logged) {
            tracing::info!(kind = self.name, "the API server can be followed again");
        }
    }

    fn forbidden(&mut self, why: &str) {
        self.live.forget(self.index);
        self.version = None;
        if !std::mem::replace(&mut self.has_logged, true) {
            tracing::warn!(
                kind = self.name,
                why = clip(why),
                "the API server does not let setguard read this kind; its rules are silent"
            );
        }
    }

    fn too_long(&mut self, why: &str) {
        self.live.broken(self.index);
        self.version = None;
        if !std::mem::replace(&mut self.has_logged, true) {
            tracing::warn!(
                kind = self.name,
                why = clip(why),
                "the list of this kind is too long; its rules are silent"
            );
        }
    }

    fn failed(&mut self, problem: &Problem) {
        let why = clip(&problem.to_string());
        if std::mem::replace(&mut self.has_logged, true) {
            tracing::debug!(kind = self.name, why, "still cannot follow the API server");
        } else {
            tracing::warn!(kind = self.name, why, "cannot follow the API server; trying again");
        }
    }
}

/// Returns a duration in the unit of the API server.
fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX).max(1)
}

/// Returns the beginning of a message. The log escapes control characters.
fn clip(text: &str) -> String {
    text.get(..text.floor_char_boundary(LONGEST_MESSAGE)).unwrap_or_default().to_owned()
}

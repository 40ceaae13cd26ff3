//! Follows one kind, in one namespace or in all: lists it, then watches it.

use std::{
    pin::pin,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use futures::StreamExt as _;
use kube::{
    Client,
    api::{ListParams, WatchParams},
    core::Request,
};
use tokio::{
    sync::SemaphorePermit,
    time::{Instant, sleep, timeout_at},
};

use super::{
    backoff::chance,
    call::{self, Problem},
    message::{self, Event, Page},
    state::{Live, Plan},
};

/// How many objects are asked for at once.
const PAGE: u32 = 100;
/// The largest page. If a page is larger, fewer objects are asked for, down to one.
const LARGEST_PAGE: usize = 4 << 20;
/// The largest page of one object.
const LARGEST_OBJECT: usize = 16 << 20;
/// How much of an error the log shows.
const LONGEST_MESSAGE: usize = 300;

/// What is followed, and how far it was followed.
pub(super) struct Source {
    live: Arc<Live>,
    index: usize,
    name: String,
    client: Client,
    request: Request,
    plan: Arc<Plan>,
    /// The version up to which everything is known.
    version: Option<String>,
    /// Whether the log says that something is wrong.
    told: bool,
}

impl Source {
    pub(super) fn new(live: Arc<Live>, index: usize, client: Client, plan: Arc<Plan>) -> Self {
        let (name, request) = (live.name(index), Request::new(live.path(index)));
        Source { live, index, name, client, request, plan, version: None, told: false }
    }

    /// Never returns.
    pub(super) async fn run(mut self) {
        let times = self.live.times().clone();
        sleep(chance(times.jitter)).await;
        let mut backoff = times.backoff();
        loop {
            let (begun, watching) = (Instant::now(), self.version.is_some());
            let outcome = self.follow().await;
            // A server that ends each watch at once is not asked again and again.
            let lasted = watching && begun.elapsed() > backoff.shortest() * 4;
            if lasted {
                backoff.reset();
            }
            match outcome {
                Ok(()) => {
                    self.recovered();
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
                Err(problem) => self.failed(&problem),
            }
            sleep(backoff.pause()).await;
        }
    }

    /// One watch, or a list.
    async fn follow(&mut self) -> Result<(), Problem> {
        if self.version.is_some() {
            return self.watch(None).await;
        }
        let plan = self.plan.clone();
        let Ok(turn) = plan.turn.acquire().await else { return Ok(()) };
        if plan.streaming.load(SeqCst) {
            match self.watch(Some(turn)).await {
                Err(Problem::Refused(why)) => {
                    plan.streaming.store(false, SeqCst);
                    tracing::info!(
                        kind = self.name,
                        why = clip(&why),
                        "the API server does not stream lists; asking for pages from now on"
                    );
                    return Ok(());
                }
                outcome => return outcome,
            }
        }
        self.list().await
    }

    /// Lists page by page.
    async fn list(&mut self) -> Result<(), Problem> {
        let mut relist = self.live.begin(self.index);
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
            for object in page.items.iter().flatten() {
                self.live.listed(self.index, &mut relist, object.get());
            }
            match page.metadata.next.filter(|next| !next.is_empty()) {
                Some(next) => params.continue_token = Some(next),
                None => {
                    self.version = page.metadata.resource_version;
                    self.live.complete(self.index, relist);
                    return Ok(());
                }
            }
        }
    }

    /// Watches from the version that is known; or, with the turn to list, from the beginning until
    /// the list is complete.
    async fn watch(&mut self, turn: Option<SemaphorePermit<'_>>) -> Result<(), Problem> {
        let times = self.live.times().clone();
        let (lasts, dead) = match turn {
            Some(_) => (times.list, times.list + times.bookmark),
            None => (times.watch, times.dead),
        };
        let params = WatchParams {
            timeout: Some(whole_seconds(lasts)),
            send_initial_events: turn.is_some(),
            ..WatchParams::default()
        };
        let version = self.version.clone().unwrap_or_default();
        let end = Instant::now() + dead;
        let request = self.request.watch(&params, &version);
        let mut lines = pin!(call::lines(&self.client, request, times.call).await?);
        let mut listing = turn.map(|turn| (turn, self.live.begin(self.index)));
        if listing.is_none() {
            self.alive();
        }
        loop {
            let quiet = Instant::now() + times.bookmark;
            let limit = if listing.is_some() { end.min(quiet) } else { end };
            let line = match timeout_at(limit, lines.next()).await {
                Ok(Some(Ok(line))) => line,
                Ok(Some(Err(error))) => return Err(Problem::failed(error)),
                Ok(None) | Err(_) if listing.is_some() => {
                    return Err(Problem::Refused("the list did not end".to_owned()));
                }
                Ok(None) => {
                    self.alive();
                    return Ok(());
                }
                Err(_) => return Err(Problem::Failed("the connection is dead".to_owned())),
            };
            let Some(event) = message::event(&line).map_err(Problem::failed)? else { continue };
            let version = match event {
                Event::Failed(status) => {
                    return Err(Problem::of_status(status.code, &status.message));
                }
                Event::Applied { object, meta } => {
                    match &mut listing {
                        Some((_, relist)) => self.live.listed(self.index, relist, object),
                        None => self.live.applied(self.index, object),
                    }
                    meta.resource_version
                }
                Event::Deleted(meta) => {
                    self.live.deleted(self.index, &meta);
                    meta.resource_version
                }
                Event::Bookmark { version, complete: false } => version,
                Event::Bookmark { version, complete: true } => {
                    if let Some((_, relist)) = listing {
                        self.live.complete(self.index, relist);
                        self.version = Some(version.into_owned());
                        return Ok(());
                    }
                    version
                }
            };
            // A list that is not complete cannot be continued.
            if listing.is_none() {
                if !version.is_empty() {
                    self.version = Some(version.into_owned());
                }
                self.alive();
            }
        }
    }

    fn alive(&mut self) {
        self.live.seen(self.index);
        self.recovered();
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.told) {
            tracing::info!(kind = self.name, "the API server can be followed again");
        }
    }

    fn forbidden(&mut self, why: &str) {
        self.live.forget(self.index);
        self.version = None;
        if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(
                kind = self.name,
                why = clip(why),
                "the API server does not let setguard read this kind; its rules are silent"
            );
        }
    }

    fn failed(&mut self, problem: &Problem) {
        let why = clip(&problem.to_string());
        if std::mem::replace(&mut self.told, true) {
            tracing::debug!(kind = self.name, why, "still cannot follow the API server");
        } else {
            tracing::warn!(kind = self.name, why, "cannot follow the API server; trying again");
        }
    }
}

/// A duration as the API server takes it.
fn whole_seconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX).max(1)
}

/// The beginning of a message. The log escapes what it must not contain.
fn clip(text: &str) -> String {
    text.get(..text.floor_char_boundary(LONGEST_MESSAGE)).unwrap_or_default().to_owned()
}

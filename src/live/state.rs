//! What the view knows, and since when.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Semaphore;

use super::{
    args::{InventoryArgs, Mode},
    kinds::{self, Watched},
    message::{self, Meta},
    times::Times,
};
use crate::inventory::{
    Inventory,
    item::Item,
    kind::Kind,
    relist::Relist,
    view::{Freshness, View},
};

/// The cluster as it is now.
#[derive(Debug)]
pub struct Live {
    times: Times,
    kinds: Vec<&'static Watched>,
    sources: Vec<SourceState>,
    /// What is being changed. Only the tasks that watch take this lock.
    working: Mutex<Inventory>,
    /// What requests see.
    published: ArcSwap<View>,
    started: Instant,
    started_at: Timestamp,
    /// The namespaces that are watched, if not all are.
    namespaces: Option<Arc<[String]>>,
}

/// What is known of one source: of a kind, in one namespace or in all.
#[derive(Debug)]
struct SourceState {
    watched: &'static Watched,
    namespace: Option<String>,
    /// When the last sign of life arrived, in milliseconds since the start. [`NEVER`] as long as
    /// the source was not listed.
    seen: AtomicU64,
    /// Whether nothing that was seen counts as current, because the watch broke since.
    is_broken: AtomicBool,
}

/// The time of a source that was not listed.
const NEVER: u64 = u64::MAX;

/// How the view of a kind stands.
#[derive(Clone, Copy, Debug)]
pub struct KindState {
    /// The kind.
    pub kind: Kind,
    /// How long ago the last sign of life was. `None` if the kind was not listed.
    pub silent: Option<Duration>,
    /// How far rules rely on it.
    pub freshness: Freshness,
    /// How many objects of it are held.
    pub objects: usize,
}

/// What the sources share.
#[derive(Debug)]
pub(super) struct Plan {
    /// Whoever lists holds this, so that no two kinds are listed at one time.
    pub(super) turn: Semaphore,
    /// From when on lists are asked for as streams. `None` if the API server has no such lists.
    pub(super) streaming: Mutex<Option<tokio::time::Instant>>,
}

impl Plan {
    /// Whether the API server is asked to stream a list now.
    pub(super) fn is_streaming(&self) -> bool {
        let from = *self.streaming.lock().unwrap_or_else(PoisonError::into_inner);
        from.is_some_and(|from| from <= tokio::time::Instant::now())
    }

    /// Asks for pages for this long.
    pub(super) fn pause_streaming(&self, pause: Duration) {
        let mut streaming = self.streaming.lock().unwrap_or_else(PoisonError::into_inner);
        *streaming = Some(tokio::time::Instant::now() + pause);
    }
}

impl Live {
    /// A view with nothing in it. It stays so until it is started.
    pub fn new(args: &InventoryArgs) -> Arc<Self> {
        let mut namespaces = args.inventory_namespaces.clone();
        namespaces.sort();
        namespaces.dedup();
        let kinds: Vec<_> = kinds::of(args.inventory, namespaces.is_empty()).collect();
        let places = match &*namespaces {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        let sources = kinds.iter().flat_map(|watched| {
            places.iter().cloned().map(|namespace| SourceState {
                watched,
                namespace,
                seen: AtomicU64::new(NEVER),
                is_broken: AtomicBool::new(false),
            })
        });
        Arc::new(Live {
            times: args.times(),
            sources: sources.collect(),
            kinds,
            working: Mutex::default(),
            published: ArcSwap::default(),
            started: Instant::now(),
            started_at: Timestamp::now(),
            namespaces: (!namespaces.is_empty()).then(|| namespaces.into()),
        })
    }

    /// A view that stays empty.
    pub fn off() -> Arc<Self> {
        Live::new(&InventoryArgs { inventory: Mode::Off, ..InventoryArgs::default() })
    }

    /// Whether anything is watched.
    pub fn is_on(&self) -> bool {
        !self.sources.is_empty()
    }

    /// The view as it is now, if there is one. Waits for nothing.
    pub fn view(&self) -> Option<Arc<View>> {
        self.is_on().then(|| self.current())
    }

    fn current(&self) -> Arc<View> {
        let (view, now) = (self.published.load_full(), self.now());
        if self.kinds.iter().all(|it| view.freshness(it.kind) == self.freshness(it.kind, now)) {
            return view;
        }
        // A kind became stale, or is current again.
        let current = Arc::new(self.with_freshness(view.inventory.clone()));
        // Unless something newer was published meanwhile.
        self.published.compare_and_swap(&view, current.clone());
        current
    }

    /// How each kind stands.
    pub fn kinds(&self) -> Vec<KindState> {
        let view = self.current();
        let state = |watched: &&'static Watched| KindState {
            kind: watched.kind,
            silent: self.silent(watched.kind),
            freshness: view.freshness(watched.kind),
            objects: view.inventory.count(watched.kind),
        };
        self.kinds.iter().map(state).collect()
    }

    /// About how many bytes the objects take.
    pub fn bytes(&self) -> usize {
        self.published.load().inventory.bytes()
    }

    /// When the source of a kind with the oldest sign of life had that, in milliseconds since the
    /// start. `None` if one of them was not listed.
    fn seen_at(&self, kind: Kind) -> Option<u64> {
        let sources = self.sources.iter().filter(|it| it.watched.kind == kind);
        let seen = sources.map(|it| it.seen.load(SeqCst)).map(|it| (it != NEVER).then_some(it));
        // `None` is the least.
        seen.min()?
    }

    fn silent(&self, kind: Kind) -> Option<Duration> {
        Some(Duration::from_millis(self.now().saturating_sub(self.seen_at(kind)?)))
    }

    fn freshness(&self, kind: Kind, now: u64) -> Freshness {
        let Some(seen) = self.seen_at(kind) else { return Freshness::Unknown };
        let silent = Duration::from_millis(now.saturating_sub(seen));
        let mut sources = self.sources.iter().filter(|it| it.watched.kind == kind);
        let is_broken = sources.any(|it| it.is_broken.load(SeqCst));
        if silent <= self.times.stale && !is_broken {
            Freshness::Fresh
        } else if silent <= self.times.unknown {
            let after = SignedDuration::from_millis(i64::try_from(seen).unwrap_or(i64::MAX));
            Freshness::Stale {
                as_of: self.started_at.saturating_add(after).unwrap_or(self.started_at),
            }
        } else {
            Freshness::Unknown
        }
    }

    fn with_freshness(&self, inventory: Inventory) -> View {
        let mut view = View::default();
        view.inventory = inventory;
        view.namespaces.clone_from(&self.namespaces);
        let now = self.now();
        for watched in &self.kinds {
            view.set_freshness(watched.kind, self.freshness(watched.kind, now));
        }
        view
    }

    pub(super) const fn times(&self) -> &Times {
        &self.times
    }

    /// How many sources there are. They have the indexes up to this number.
    pub(super) fn sources(&self) -> usize {
        self.sources.len()
    }

    /// The name of a source for the log.
    pub(super) fn name(&self, index: usize) -> String {
        let SourceState { watched, namespace, .. } = &self.sources[index];
        match namespace {
            Some(namespace) => format!("{} in {namespace}", watched.kind),
            None => watched.kind.to_string(),
        }
    }

    /// The path of a source on the API server.
    pub(super) fn path(&self, index: usize) -> String {
        let SourceState { watched, namespace, .. } = &self.sources[index];
        watched.path(namespace.as_deref())
    }

    fn kind(&self, index: usize) -> Kind {
        self.sources[index].watched.kind
    }

    /// A sign of life: what is known of this source is current. It counts once it was listed.
    pub(super) fn seen(&self, index: usize) {
        let SourceState { seen, is_broken, .. } = &self.sources[index];
        if seen.load(SeqCst) != NEVER {
            seen.store(self.now(), SeqCst);
            is_broken.store(false, SeqCst);
        }
    }

    /// The watch broke. Until the next sign of life, what is known of this source is not current.
    pub(super) fn broken(&self, index: usize) {
        self.sources[index].is_broken.store(true, SeqCst);
    }

    pub(super) fn is_broken(&self, index: usize) -> bool {
        self.sources[index].is_broken.load(SeqCst)
    }

    /// Whether the objects of at least one kind are known.
    pub(super) fn knows_any(&self) -> bool {
        let now = self.now();
        self.kinds.iter().any(|it| self.freshness(it.kind, now) != Freshness::Unknown)
    }

    /// In milliseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }

    /// A list begins. Until it is complete, what was known remains.
    pub(super) fn begin(&self, index: usize) -> Relist {
        let SourceState { watched, namespace, .. } = &self.sources[index];
        let working = self.lock();
        match namespace {
            Some(namespace) => Relist::begin_in(&working, watched.kind, namespace),
            None => Relist::begin(&working, watched.kind),
        }
    }

    /// The list is complete: what was not in it is gone.
    pub(super) fn complete(&self, index: usize, relist: Relist) {
        let mut working = self.lock();
        relist.finish(&mut working);
        self.sources[index].seen.store(self.now(), SeqCst);
        self.sources[index].is_broken.store(false, SeqCst);
        self.publish(&working);
    }

    /// The list is given up: what came with it is forgotten.
    pub(super) fn give_up(&self, relist: Relist) {
        let mut working = self.lock();
        if relist.undo(&mut working) {
            self.publish(&working);
        }
    }

    /// Nothing is known of this source any more.
    pub(super) fn forget(&self, index: usize) {
        let relist = self.begin(index);
        let mut working = self.lock();
        relist.finish(&mut working);
        self.sources[index].seen.store(NEVER, SeqCst);
        self.publish(&working);
    }

    /// Takes in an object of a list. Requests see it when the list is complete.
    pub(super) fn listed(&self, index: usize, relist: &mut Relist, object: &str) {
        let kind = self.kind(index);
        let mut working = self.lock();
        if let Some(item) = Item::read(kind, object) {
            relist.put(&mut working, item);
        } else if let Ok(meta) = message::meta(object) {
            // What was known of it is better than to say that it is missing.
            relist.keep(&working, kind, &meta.namespace, &meta.name);
        }
    }

    /// Takes in an object that was created or has changed.
    pub(super) fn applied(&self, index: usize, object: &str) {
        if let Some(item) = Item::read(self.kind(index), object) {
            self.change(|inventory| inventory.put(item));
        }
    }

    /// An object is gone.
    pub(super) fn deleted(&self, index: usize, meta: &Meta<'_>) {
        self.change(|inventory| inventory.remove(self.kind(index), &meta.namespace, &meta.name));
    }

    /// Changes what is known, and shows it to requests if it did change.
    fn change(&self, change: impl FnOnce(&mut Inventory) -> bool) {
        let mut working = self.lock();
        if change(&mut working) {
            self.publish(&working);
        }
    }

    fn publish(&self, working: &Inventory) {
        self.published.store(Arc::new(self.with_freshness(working.clone())));
    }

    /// A task that panicked may have left a change undone; the list that follows repairs it.
    fn lock(&self) -> MutexGuard<'_, Inventory> {
        self.working.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `DaemonSet: fresh, 12 objects, 3 s old`
impl fmt::Display for KindState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.freshness {
            Freshness::Unknown => "unknown",
            Freshness::Fresh => "fresh",
            Freshness::Stale { .. } => "stale",
        };
        write!(f, "{}: {state}, {} objects", self.kind, self.objects)?;
        match self.silent {
            Some(silent) => write!(f, ", seen {} s ago", silent.as_secs()),
            None => Ok(()),
        }
    }
}

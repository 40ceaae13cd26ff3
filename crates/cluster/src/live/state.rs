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
use setguard_core::inventory::{
    Inventory,
    object_summary::ObjectSummary,
    relist::Relist,
    view::{Freshness, View},
};
use setguard_core::kubernetes::kind::Kind;
use tokio::{sync::watch, time::timeout_at};

use super::{
    args::{InventoryArgs, Mode},
    collections::Collection,
    kinds,
    message::{self, Meta},
    reader::List,
    times::Times,
};

/// The current state of the cluster, and its age.
#[derive(Debug)]
pub struct Live {
    times: Times,
    kinds: Vec<Kind>,
    sources: Vec<SourceState>,
    /// Only the watching tasks take this lock.
    working: Mutex<Inventory>,
    published: ArcSwap<View>,
    started: Instant,
    started_at: Timestamp,
    /// `None` if all are watched.
    namespaces: Option<Arc<[String]>>,
}

#[derive(Debug)]
struct SourceState {
    kind: Kind,
    namespace: Option<String>,
    /// The time of the last sign of life, in milliseconds since the start. [`NEVER`] until the source was listed.
    seen: AtomicU64,
    /// Whether the watch broke after the last sign of life. The known state is then not current.
    is_broken: AtomicBool,
    /// The version up to which the view has all changes.
    version: watch::Sender<u64>,
}

const NEVER: u64 = u64::MAX;

/// The state of the view for a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindState {
    /// The kind.
    pub kind: Kind,
    /// The time since the last sign of life. `None` if the kind was never listed.
    pub silent: Option<Duration>,
    /// How far rules rely on the kind.
    pub freshness: Freshness,
    /// The number of objects of the kind.
    pub objects: usize,
}

impl Live {
    /// Creates an empty view.
    pub fn new(args: &InventoryArgs) -> Arc<Self> {
        let mut namespaces = args.inventory_namespaces.clone();
        namespaces.sort();
        namespaces.dedup();
        let kinds: Vec<_> = kinds::of(args.inventory, namespaces.is_empty()).collect();
        let places = match &*namespaces {
            [] => vec![None],
            some => some.iter().cloned().map(Some).collect(),
        };
        let sources = kinds.iter().flat_map(|&kind| {
            places.iter().cloned().map(move |namespace| SourceState {
                kind,
                namespace,
                seen: AtomicU64::new(NEVER),
                is_broken: AtomicBool::new(false),
                version: watch::Sender::new(0),
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

    /// Creates a view that stays empty.
    pub fn off() -> Arc<Self> {
        Live::new(&InventoryArgs { inventory: Mode::Off, ..InventoryArgs::default() })
    }

    /// Returns whether the view watches anything.
    pub fn is_on(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Returns the current view, if there is one, without waiting.
    pub fn view(&self) -> Option<Arc<View>> {
        self.is_on().then(|| self.current())
    }

    /// Waits until the view has all changes of a kind in a namespace up to a version. Returns the version that it
    /// reached, or `None` if it does not watch the kind there. A view taken afterwards has at least this version.
    pub async fn wait_for(
        &self,
        kind: Kind,
        namespace: &str,
        version: u64,
        until: tokio::time::Instant,
    ) -> Option<u64> {
        let is_it = |it: &&SourceState| {
            it.kind == kind && it.namespace.as_deref().is_none_or(|it| it == namespace)
        };
        let mut reached = self.sources.iter().find(is_it)?.version.subscribe();
        let _ = timeout_at(until, reached.wait_for(|reached| *reached >= version)).await;
        let reached = *reached.borrow();
        Some(reached)
    }

    fn current(&self) -> Arc<View> {
        let (view, now) = (self.published.load_full(), self.now());
        if self.kinds.iter().all(|it| view.freshness(*it) == self.freshness(*it, now)) {
            return view;
        }
        let current = Arc::new(self.with_freshness(view.inventory.clone()));
        // Keep a newer view that was published in the meantime.
        self.published.compare_and_swap(&view, current.clone());
        current
    }

    /// Returns the state of each kind.
    pub fn kinds(&self) -> Vec<KindState> {
        let view = self.current();
        let state = |kind: &Kind| KindState {
            kind: *kind,
            silent: self.silent(*kind),
            freshness: view.freshness(*kind),
            objects: view.inventory.count(*kind),
        };
        self.kinds.iter().map(state).collect()
    }

    /// Returns the approximate memory of the objects, in bytes.
    pub fn bytes(&self) -> usize {
        self.published.load().inventory.bytes()
    }

    /// Returns the oldest sign of life among the sources of a kind, in milliseconds since the start. `None` if a source
    /// was not listed.
    fn seen_at(&self, kind: Kind) -> Option<u64> {
        let sources = self.sources.iter().filter(|it| it.kind == kind);
        let seen = sources.map(|it| it.seen.load(SeqCst)).map(|it| (it != NEVER).then_some(it));
        // `None` sorts first.
        seen.min()?
    }

    fn silent(&self, kind: Kind) -> Option<Duration> {
        Some(Duration::from_millis(self.now().saturating_sub(self.seen_at(kind)?)))
    }

    fn freshness(&self, kind: Kind, now: u64) -> Freshness {
        let Some(seen) = self.seen_at(kind) else { return Freshness::Unknown };
        let silent = Duration::from_millis(now.saturating_sub(seen));
        let mut sources = self.sources.iter().filter(|it| it.kind == kind);
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
        for kind in &self.kinds {
            view.set_freshness(*kind, self.freshness(*kind, now));
        }
        view
    }

    pub(super) const fn times(&self) -> &Times {
        &self.times
    }

    pub(super) fn sources(&self) -> usize {
        self.sources.len()
    }

    pub(super) fn name(&self, index: usize) -> String {
        let SourceState { kind, namespace, .. } = &self.sources[index];
        match namespace {
            Some(namespace) => format!("{kind} in {namespace}"),
            None => kind.to_string(),
        }
    }

    pub(super) fn list(&self, index: usize) -> List {
        let SourceState { kind, namespace, .. } = &self.sources[index];
        Collection::of(*kind).list(namespace.as_deref())
    }

    fn kind(&self, index: usize) -> Kind {
        self.sources[index].kind
    }

    /// Records a sign of life: the known state of this source is current. Has no effect before the source was listed.
    pub(super) fn seen(&self, index: usize) {
        let SourceState { seen, is_broken, .. } = &self.sources[index];
        if seen.load(SeqCst) != NEVER {
            seen.store(self.now(), SeqCst);
            is_broken.store(false, SeqCst);
        }
    }

    /// Records that the watch broke. The state of this source is not current until the next sign of life.
    pub(super) fn broken(&self, index: usize) {
        self.sources[index].is_broken.store(true, SeqCst);
    }

    pub(super) fn knows_any(&self) -> bool {
        let now = self.now();
        self.kinds.iter().any(|it| self.freshness(*it, now) != Freshness::Unknown)
    }

    /// In milliseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }

    pub(super) fn begin(&self, index: usize) -> Relist {
        let SourceState { kind, namespace, .. } = &self.sources[index];
        let working = self.lock();
        match namespace {
            Some(namespace) => Relist::begin_in(&working, *kind, namespace),
            None => Relist::begin(&working, *kind),
        }
    }

    pub(super) fn complete(&self, index: usize, relist: Relist, version: &str) {
        let mut working = self.lock();
        relist.finish(&mut working);
        self.sources[index].seen.store(self.now(), SeqCst);
        self.sources[index].is_broken.store(false, SeqCst);
        self.publish(&working);
        self.reached(index, version);
    }

    pub(super) fn reached(&self, index: usize, version: &str) {
        if let Ok(version) = version.parse() {
            self.sources[index].version.send_replace(version);
        }
    }

    pub(super) fn give_up(&self, relist: Relist) {
        let mut working = self.lock();
        if relist.undo(&mut working) {
            self.publish(&working);
        }
    }

    pub(super) fn forget(&self, index: usize) {
        let relist = self.begin(index);
        let mut working = self.lock();
        relist.finish(&mut working);
        self.sources[index].seen.store(NEVER, SeqCst);
        self.publish(&working);
    }

    /// Adds an object of a list. Requests see it when the list is complete.
    pub(super) fn listed(&self, index: usize, relist: &mut Relist, object: &str) {
        let kind = self.kind(index);
        let mut working = self.lock();
        if let Some(item) = ObjectSummary::read(kind, object) {
            relist.put(&mut working, item);
        } else if let Ok(meta) = message::meta(object) {
            // Better to keep the previous state of the object than to report it as missing.
            relist.keep(&working, kind, &meta.namespace, &meta.name);
        }
    }

    pub(super) fn applied(&self, index: usize, object: &str) {
        if let Some(item) = ObjectSummary::read(self.kind(index), object) {
            self.change(|inventory| inventory.put(item));
        }
    }

    pub(super) fn deleted(&self, index: usize, meta: &Meta<'_>) {
        self.change(|inventory| inventory.remove(self.kind(index), &meta.namespace, &meta.name));
    }

    fn change(&self, change: impl FnOnce(&mut Inventory) -> bool) {
        let mut working = self.lock();
        if change(&mut working) {
            self.publish(&working);
        }
    }

    fn publish(&self, working: &Inventory) {
        self.published.store(Arc::new(self.with_freshness(working.clone())));
    }

    /// A task that panicked may have left a change incomplete; the next list repairs it.
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

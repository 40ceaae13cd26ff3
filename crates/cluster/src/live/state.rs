use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
    time::Instant,
};

use arc_swap::ArcSwap;
use setguard_core::inventory::{
    Inventory,
    view::{Freshness, View},
};
use tokio::{sync::watch, time::timeout_at};

use super::args::{InventoryArgs, Mode, kinds};
use crate::prelude::*;

/// The current state of the cluster, and its age.
#[derive(Debug)]
pub struct Live {
    pub(super) times: Times,
    kinds: Vec<Kind>,
    pub(super) sources: Vec<SourceState>,
    /// Only the watching tasks take this lock.
    pub(super) working: Mutex<Inventory>,
    published: ArcSwap<View>,
    started: Instant,
    started_at: Timestamp,
    /// `None` if all are watched.
    namespaces: Option<Arc<[String]>>,
}

#[derive(Debug)]
pub(super) struct SourceState {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    /// The time of the last sign of life, in milliseconds since the start. [`NEVER`] until the source was listed.
    pub(super) seen: AtomicU64,
    /// Whether the watch broke after the last sign of life. The known state is then not current.
    pub(super) is_broken: AtomicBool,
    /// The view has all changes up to this version.
    pub(super) version: watch::Sender<u64>,
}

pub(super) const NEVER: u64 = u64::MAX;

/// The state of the view for a kind.
#[derive(Clone, Copy, Debug)]
pub struct KindState {
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
        let kinds: Vec<_> = kinds(args.inventory, namespaces.is_empty()).collect();
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

    pub(super) fn knows_any(&self) -> bool {
        let now = self.now();
        self.kinds.iter().any(|it| self.freshness(*it, now) != Freshness::Unknown)
    }

    /// In milliseconds since the start.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(NEVER - 1)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Inventory) -> bool) {
        let mut working = self.working.lock();
        if change(&mut working) {
            self.publish(&working);
        }
    }

    pub(super) fn publish(&self, working: &Inventory) {
        self.published.store(Arc::new(self.with_freshness(working.clone())));
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

use std::sync::atomic::Ordering::SeqCst;

use setguard_core::inventory::relist::Relist;

use super::{
    follower::Listener,
    message::{self, Meta},
    state::{Live, NEVER, SourceState},
};
use crate::prelude::*;

/// Applies one source to the view: a kind, in one namespace or in all.
pub(super) struct Source {
    live: Arc<Live>,
    index: usize,
    name: String,
    has_logged: bool,
}

impl Source {
    pub(super) fn new(live: Arc<Live>, index: usize) -> Self {
        let name = live.name(index);
        Source { live, index, name, has_logged: false }
    }

    fn state(&self) -> &SourceState {
        &self.live.sources[self.index]
    }

    fn reached(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.state().version.send_replace(version);
        }
    }

    fn recovered(&mut self) {
        if std::mem::take(&mut self.has_logged) {
            tracing::info!(kind = self.name, "the API server can be followed again");
        }
    }
}

impl Listener for Source {
    type Listed = Relist;

    fn begin(&mut self) -> Relist {
        let SourceState { kind, namespace, .. } = self.state();
        let working = self.live.working.lock();
        match namespace {
            Some(namespace) => Relist::begin_in(&working, *kind, namespace),
            None => Relist::begin(&working, *kind),
        }
    }

    /// Requests see the object when the list is complete.
    fn listed(&mut self, relist: &mut Relist, object: &str) {
        let kind = self.state().kind;
        let mut working = self.live.working.lock();
        if let Some(item) = ObjectSummary::read(kind, object) {
            relist.put(&mut working, item);
        } else if let Ok(meta) = message::meta(object) {
            // Better to keep the previous state of the object than to report it as missing.
            relist.keep(&working, kind, &meta.namespace, &meta.name);
        }
    }

    fn complete(&mut self, relist: Relist, version: &str, is_certain: bool) {
        let mut working = self.live.working.lock();
        relist.finish(&mut working);
        self.state().seen.store(self.live.now(), SeqCst);
        self.state().is_broken.store(false, SeqCst);
        self.live.publish(&working);
        self.reached(version);
        drop(working);
        // A list alone does not prove that the watch works.
        if is_certain {
            self.recovered();
        }
    }

    fn give_up(&mut self, relist: Relist) {
        self.live.change(|inventory| relist.undo(inventory));
    }

    fn applied(&mut self, object: &str) {
        if let Some(item) = ObjectSummary::read(self.state().kind, object) {
            self.live.change(|inventory| inventory.put(item));
        }
    }

    fn deleted(&mut self, meta: &Meta<'_>) {
        let kind = self.state().kind;
        self.live.change(|inventory| inventory.remove(kind, &meta.namespace, &meta.name));
    }

    fn current(&mut self, version: &str) {
        self.reached(version);
        let SourceState { seen, is_broken, .. } = self.state();
        // Nothing is current before the source was listed.
        if seen.load(SeqCst) != NEVER {
            seen.store(self.live.now(), SeqCst);
            is_broken.store(false, SeqCst);
        }
        self.recovered();
    }

    fn broken(&mut self) {
        self.state().is_broken.store(true, SeqCst);
    }

    fn failed(&mut self, problem: &Problem, _: bool) {
        let (kind, why) = (&self.name, problem.to_string());
        if std::mem::replace(&mut self.has_logged, true) {
            tracing::debug!(kind, why, "still cannot follow the API server");
        } else if let Problem::TooLong(_) = problem {
            tracing::warn!(kind, why, "the list of this kind is too long; its rules are silent");
        } else {
            tracing::warn!(kind, why, "cannot follow the API server; trying again");
        }
    }

    fn forbidden(&mut self, why: &str) {
        let relist = self.begin();
        let mut working = self.live.working.lock();
        relist.finish(&mut working);
        self.state().seen.store(NEVER, SeqCst);
        self.live.publish(&working);
        drop(working);
        if !std::mem::replace(&mut self.has_logged, true) {
            tracing::warn!(
                kind = self.name,
                why,
                "the API server does not let setguard read this kind; its rules are silent"
            );
        }
    }
}

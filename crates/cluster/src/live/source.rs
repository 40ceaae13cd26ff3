use std::sync::Arc;

use setguard_core::inventory::relist::Relist;

use super::{call::Problem, follower::Listener, message::Meta, state::Live};

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

    fn recovered(&mut self) {
        if std::mem::take(&mut self.has_logged) {
            tracing::info!(kind = self.name, "the API server can be followed again");
        }
    }
}

impl Listener for Source {
    type Listed = Relist;

    fn begin(&mut self) -> Relist {
        self.live.begin(self.index)
    }

    fn listed(&mut self, relist: &mut Relist, object: &str) {
        self.live.listed(self.index, relist, object);
    }

    fn complete(&mut self, relist: Relist, version: &str, is_certain: bool) {
        self.live.complete(self.index, relist, version);
        // A list alone does not prove that the watch works.
        if is_certain {
            self.recovered();
        }
    }

    fn give_up(&mut self, relist: Relist) {
        self.live.give_up(relist);
    }

    fn applied(&mut self, object: &str) {
        self.live.applied(self.index, object);
    }

    fn deleted(&mut self, meta: &Meta<'_>) {
        self.live.deleted(self.index, meta);
    }

    fn current(&mut self, version: &str) {
        self.live.reached(self.index, version);
        self.live.seen(self.index);
        self.recovered();
    }

    fn broken(&mut self) {
        self.live.broken(self.index);
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
        self.live.forget(self.index);
        if !std::mem::replace(&mut self.has_logged, true) {
            tracing::warn!(
                kind = self.name,
                why,
                "the API server does not let setguard read this kind; its rules are silent"
            );
        }
    }
}

//! Whether the webhook configurations are as they were written.

use prometheus_client::metrics::counter::Counter;

use super::labels::{Counters, Labels, from_zero, metric};
use crate::server::prelude::*;

/// Without `--arm-webhooks`, all values stay 0.
#[derive(Clone, Debug)]
pub(crate) struct Armed {
    states: Arc<Mutex<[State; 2]>>,
    armed: Family<Labels<1>, Gauge>,
    foreign: Family<Labels<1>, Gauge>,
    disarmed: Counters<1>,
    rewritten: Counters<1>,
    pub(crate) uncalled: Counter,
}

#[derive(Debug, Default)]
struct State {
    is_as_written: bool,
    /// How long the last read counts. Later, the state may have changed.
    expires: Option<Instant>,
    /// Until then the configuration does not count as armed, because it has just changed.
    doubted: Option<Instant>,
}

impl Armed {
    /// API servers use a changed configuration within this time.
    const SETTLE: Duration = Duration::from_secs(2);
    /// A restored field may change again at once, between two scrapes.
    const DOUBT: Duration = Duration::from_secs(60);

    pub(crate) fn new(registry: &mut Registry) -> Self {
        let kinds = Configuration::ALL.map(Configuration::kind);
        Armed {
            states: Arc::default(),
            armed: metric!(registry "webhooks_armed" = Family::default(),
                "With --arm-webhooks: 1 if this webhook configuration exists, each of its webhooks is as it was \
                written, with its rules, and nobody has changed it in the last minute, 0 otherwise, also until the \
                replica has read it, and if it has not been able to for three minutes"),
            foreign: metric!(registry "webhooks_foreign" = from_zero("kind", &kinds),
                "With --arm-webhooks: the webhooks of this configuration that another client has changed, removed or \
                added, and its annotation if it has changed; setguard writes back rules only"),
            disarmed: metric!(registry "webhooks_disarmed" = from_zero("kind", &kinds),
                "With --arm-webhooks: how often another client has changed this configuration, or taken its rules away; \
                setguard writes back rules only"),
            rewritten: metric!(registry "webhooks_rewritten" = from_zero("kind", &kinds),
                "With --arm-webhooks: how often the annotation that says how the webhooks should be has changed; an \
                upgrade or rollback does that"),
            uncalled: metric!(registry "webhooks_uncalled" = Counter::default(),
                "With --arm-webhooks: verifications in which an API server did not call setguard, although the \
                webhooks had their rules"),
        }
    }

    /// `foreign` is the number of webhooks that differ from what was written.
    pub(crate) fn set(
        &self,
        configuration: Configuration,
        is_as_written: bool,
        foreign: usize,
        lasts: Duration,
    ) {
        self.with(configuration, |state| {
            state.expires = Some(Instant::now() + lasts);
            if is_as_written && !state.is_as_written {
                let settled = Instant::now() + Self::SETTLE;
                state.doubted = Some(state.doubted.map_or(settled, |until| until.max(settled)));
            }
            state.is_as_written = is_as_written;
        });
        let foreign = i64::try_from(foreign).unwrap_or(i64::MAX);
        self.foreign.get_or_create(&label(configuration)).set(foreign);
    }

    pub(crate) fn disarmed(&self, configuration: Configuration) {
        self.with(configuration, |state| {
            state.doubted = Some(Instant::now() + Self::DOUBT);
        });
        self.disarmed.get_or_create(&label(configuration)).inc();
    }

    pub(crate) fn rewritten(&self, configuration: Configuration) {
        self.rewritten.get_or_create(&label(configuration)).inc();
    }

    fn with<T>(&self, configuration: Configuration, act: impl FnOnce(&mut State) -> T) -> T {
        let mut states = self.states.lock();
        act(&mut states[configuration as usize])
    }

    /// Sets the metrics that change with time.
    pub(super) fn refresh(&self) {
        for configuration in Configuration::ALL {
            let now = Instant::now();
            let is_armed = self.with(configuration, |state| {
                state.is_as_written
                    && state.expires.is_some_and(|at| now < at)
                    && state.doubted.is_none_or(|until| now >= until)
            });
            self.armed.get_or_create(&label(configuration)).set(is_armed.into());
        }
    }
}

const fn label(configuration: Configuration) -> Labels<1> {
    [("kind", configuration.kind())]
}

use prometheus_client::{metrics::counter::Counter, registry::Metric};

use crate::server::prelude::*;

pub(super) type Labels<const D: usize> = [(&'static str, &'static str); D];

pub(super) type Counters<const D: usize> = Family<Labels<D>, Counter>;

pub(super) const RESULTS: [&str; 2] = ["success", "failure"];

/// `taken` is whether the new value was applied.
pub(super) const fn result(taken: bool) -> Labels<1> {
    [("result", RESULTS[!taken as usize])]
}

/// Creates metrics that are exported at zero too, so that a rate includes the first increment.
pub(super) fn from_zero<M: Clone + Default>(
    label: &'static str,
    values: &[&'static str],
) -> Family<Labels<1>, M> {
    let family = Family::default();
    for value in values {
        family.get_or_create_owned(&[(label, *value)]);
    }
    family
}

/// prometheus-client adds the final dot of the help text and the `_total` of a counter.
pub(super) fn add<M: Metric + Clone>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    metric: M,
) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// See [`add`].
macro_rules! metric {
    ($registry:ident $name:literal = $metric:expr, $help:literal) => {
        $crate::server::metrics::labels::add($registry, $name, $help, $metric)
    };
}
pub(super) use metric;

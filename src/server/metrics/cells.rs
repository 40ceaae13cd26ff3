//! Metrics that count without a lock.
//!
//! prometheus-client's `Family` and `Histogram` take a lock. Our labels have closed sets of values,
//! so there is a cell for each combination from the start, and counting is one atomic addition.

use std::{
    array, fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder, NoLabelSet},
    metrics::MetricType,
};

/// The values of the label `result`.
pub(crate) const RESULTS: [&str; 2] = ["success", "failure"];

/// Returns the value of the label `result`; `taken` is whether the new value was applied.
pub(crate) const fn result(taken: bool) -> &'static str {
    if taken { "success" } else { "failure" }
}

/// A label and all its possible values.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The name of the label.
    pub name: &'static str,
    /// The values of the label.
    pub values: Vec<&'static str>,
}

/// Counters with fewer combinations than this also export those that are zero, so that a rate
/// includes the first increment.
const SHOW_ZEROS_BELOW: usize = 16;

/// A counter for each combination of `D` labels.
#[derive(Clone, Debug)]
pub(crate) struct Counters<const D: usize>(Arc<Cells<D>>);

#[derive(Debug)]
struct Cells<const D: usize> {
    labels: [Label; D],
    counts: Vec<AtomicU64>,
}

impl<const D: usize> Counters<D> {
    /// Creates counters for these labels, all zero.
    pub(crate) fn new(labels: [Label; D]) -> Self {
        let size = labels.iter().map(|label| label.values.len()).product();
        let counts = (0..size).map(|_| AtomicU64::new(0)).collect();
        Counters(Arc::new(Cells { labels, counts }))
    }

    /// Increments the counter for these values. Ignores values outside the closed sets.
    pub(crate) fn inc(&self, values: [&str; D]) {
        let cell = self.0.index(values).and_then(|index| self.0.counts.get(index));
        debug_assert!(cell.is_some(), "{values:?} is outside the closed sets of labels");
        if let Some(cell) = cell {
            cell.fetch_add(1, Relaxed);
        }
    }
}

impl<const D: usize> Cells<D> {
    fn index(&self, values: [&str; D]) -> Option<usize> {
        self.labels.iter().zip(values).try_fold(0, |index, (label, value)| {
            let position = label.values.iter().position(|known| *known == value)?;
            Some(index * label.values.len() + position)
        })
    }

    /// Returns the labels of a cell: the inverse of `index`.
    fn labels(&self, mut index: usize) -> [(&'static str, &'static str); D] {
        let mut values: [&'static str; D] = [""; D];
        for (label, value) in self.labels.iter().zip(&mut values).rev() {
            let count = label.values.len().max(1);
            *value = label.values.get(index % count).copied().unwrap_or_default();
            index /= count;
        }
        array::from_fn(|i| (self.labels[i].name, values[i]))
    }
}

impl<const D: usize> EncodeMetric for Counters<D> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let cells = &self.0;
        for (index, cell) in cells.counts.iter().enumerate() {
            let count = cell.load(Relaxed);
            if count > 0 || cells.counts.len() < SHOW_ZEROS_BELOW {
                let labels = cells.labels(index);
                let mut encoder = encoder.encode_family(&labels)?;
                encoder.encode_counter::<NoLabelSet, u64, u64>(&count, None)?;
            }
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// The upper bounds of the buckets, from the fastest answers to the longest timeouts in common use.
const BUCKETS: [Duration; 17] = [
    Duration::from_micros(50),
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2_500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(3),
    Duration::from_secs(5),
];

/// A histogram of durations for each of the `N` values of a label.
#[derive(Clone, Debug)]
pub(crate) struct Durations<const N: usize>(Arc<Histograms<N>>);

#[derive(Debug)]
struct Histograms<const N: usize> {
    label: &'static str,
    cells: [(&'static str, Histogram); N],
}

#[derive(Debug, Default)]
struct Histogram {
    /// One for each of [`BUCKETS`], and one for longer durations.
    counts: [AtomicU64; BUCKETS.len() + 1],
    nanos: AtomicU64,
}

impl<const N: usize> Durations<N> {
    /// Creates the histograms, all empty.
    pub(crate) fn new(label: &'static str, values: [&'static str; N]) -> Self {
        let cells = values.map(|value| (value, Histogram::default()));
        Durations(Arc::new(Histograms { label, cells }))
    }

    /// Records a duration. Ignores a value outside the closed set.
    pub(crate) fn observe(&self, value: &str, duration: Duration) {
        let cell = self.0.cells.iter().find(|(known, _)| *known == value);
        debug_assert!(cell.is_some(), "{value:?} is outside the closed set of the label");
        if let Some((_, histogram)) = cell {
            histogram.observe(duration);
        }
    }
}

impl Histogram {
    fn observe(&self, duration: Duration) {
        let bucket = BUCKETS.partition_point(|bound| *bound < duration);
        self.counts[bucket].fetch_add(1, Relaxed);
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Relaxed);
    }

    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        // The encoder writes infinity as +Inf.
        let bounds = BUCKETS.iter().map(Duration::as_secs_f64).chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = Duration::from_nanos(self.nanos.load(Relaxed)).as_secs_f64();
        encoder.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
    }
}

impl<const N: usize> EncodeMetric for Durations<N> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let Histograms { label, cells } = &*self.0;
        cells.iter().try_for_each(|(value, histogram)| {
            histogram.encode(encoder.encode_family(&[(*label, *value)])?)
        })
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Histogram
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::{encoding::text::encode, registry::Registry};

    use super::*;

    #[test]
    fn each_combination_has_its_own_cell() {
        let label = |name, values: &[&'static str]| Label { name, values: values.to_vec() };
        let counters = Counters::new([
            label("a", &["x", "y"]),
            label("b", &["x", "y", "z"]),
            label("c", &["1", "2", "3", "4"]),
        ]);
        counters.inc(["y", "x", "3"]);
        counters.inc(["y", "x", "3"]);
        counters.inc(["x", "z", "1"]);
        let mut registry = Registry::default();
        registry.register("things", "Things", counters);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            lines,
            [r#"things_total{a="x",b="z",c="1"} 1"#, r#"things_total{a="y",b="x",c="3"} 2"#]
        );
    }

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_holds_it() {
        let durations = Durations::new("at", ["a", "b"]);
        durations.observe("a", Duration::from_micros(50));
        durations.observe("a", Duration::from_micros(51));
        durations.observe("b", Duration::from_secs(4));
        durations.observe("b", Duration::from_secs(60));
        let mut registry = Registry::default();
        registry.register("took", "Took", durations);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"took_bucket{le="0.00005",at="a"} 1"#,
            r#"took_bucket{le="0.0001",at="a"} 2"#,
            r#"took_bucket{le="3.0",at="b"} 0"#,
            r#"took_bucket{le="5.0",at="b"} 1"#,
            r#"took_bucket{le="+Inf",at="b"} 2"#,
            r#"took_count{at="a"} 2"#,
        ] {
            assert!(text.lines().any(|have| have == line), "no {line} in\n{text}");
        }
    }
}

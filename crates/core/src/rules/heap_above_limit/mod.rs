//! A Java heap that may grow as large as its container's memory limit.

use k8s_openapi::api::core::v1::{Container, PodSpec};

use crate::rules::prelude::*;
use crate::{
    finding::Field,
    kubernetes::{
        absent::{list, text},
        containers::visit,
        quantity::Quantity,
    },
};

pub(super) static RULE: Rule = rule! {
    id: "heap-above-limit",
    title: "the Java heap reaches the memory limit",
    summary: "a Java heap as large as the memory limit, so that the container is killed",
    group: NeverStarts,
    mode: Mode::Warn,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    visit(spec, &POD_SPEC, &mut |container, path| {
        let Some((limit, shown)) = limit(container, spec) else { return };
        let Some(heap) = smallest_heap(container, path, limit) else { return };
        if heap.bytes >= limit {
            let message = format!(
                "the heap may take {} of the memory limit {shown}, so the container is killed when the heap is full",
                heap.option
            );
            let help = "leave a quarter of the limit to the rest of the JVM, for example with -XX:MaxRAMPercentage=75";
            found.report_at(heap.field, Reason::Invalid, message, help);
        }
    });
}

struct Heap {
    option: String,
    bytes: u128,
    field: Field,
}

/// Any of the arguments and variables may count, so the smallest heap is certain.
fn smallest_heap(container: &Container, path: &Path<'_>, limit: u128) -> Option<Heap> {
    let mut heaps = Vec::new();
    let at = path.child("env");
    for (i, env) in list(&container.env).iter().enumerate() {
        heaps.extend(heap(text(&env.value), &at.index(i).child("value"), limit));
    }
    for (name, words) in [("command", &container.command), ("args", &container.args)] {
        let at = path.child(name);
        for (i, word) in list(words).iter().enumerate() {
            heaps.extend(heap(word, &at.index(i), limit));
        }
    }
    heaps.into_iter().min_by_key(|it| it.bytes)
}

/// The last option counts, and a size outranks a percentage.
fn heap(text: &str, path: &Path<'_>, limit: u128) -> Option<Heap> {
    let words = || text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    let mut size = words().filter_map(|word| {
        let size = word.strip_prefix("-Xmx").or_else(|| word.strip_prefix("-XX:MaxHeapSize="))?;
        Some((word, bytes(size)?))
    });
    let mut percent = words().filter_map(|word| {
        let percent: f64 = word.strip_prefix("-XX:MaxRAMPercentage=")?.parse().ok()?;
        (percent >= 100.0).then_some((word, limit))
    });
    let (option, bytes) = size.next_back().or_else(|| percent.next_back())?;
    Some(Heap { option: option.to_owned(), bytes, field: path.to_field() })
}

/// The JVM's sizes, such as `2g`.
fn bytes(size: &str) -> Option<u128> {
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let size = size.to_ascii_lowercase();
    let unit = units.into_iter().find_map(|(unit, shift)| Some((size.strip_suffix(unit)?, shift)));
    let (number, shift) = unit.unwrap_or((&size, 0));
    Some(u128::from(number.parse::<u64>().ok()?) << shift)
}

/// In bytes, and as it is written.
fn limit<'a>(container: &'a Container, spec: &'a PodSpec) -> Option<(u128, &'a str)> {
    let all = [container.resources.as_ref(), spec.resources.as_ref()];
    let limit = all.into_iter().flatten().find_map(|it| it.limits.as_ref()?.get("memory"))?;
    Some((Quantity::parse_resource(&limit.0)?.thousandths()? / 1_000, &limit.0))
}

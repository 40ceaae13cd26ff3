use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "heap-above-limit", group: NeverStarts;
    title: "the heap reaches the memory limit",
    summary: "a heap or cache as large as the memory limit, so that the container is killed",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

fn check(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    for (i, env) in list(&container.env).iter().enumerate() {
        if let Some((option, units)) = malformed(&env.name, text(&env.value)) {
            let message = format!(
                "the program does not start with {option}, because it does not know the unit"
            );
            let path = path.item("env", i);
            let help = format!("write a whole number with {units}");
            found.report(&path.child("value"), Reason::Invalid, message, help);
        }
    }
    let Some((limit, shown)) = limit(container, spec) else { return };
    let Some(heap) = smallest_heap(container, path, limit) else { return };
    if heap.bytes >= limit {
        let message = format!(
            "the heap may take {} of the memory limit {shown}, so the container is killed when the heap is full",
            heap.option
        );
        let help = match heap.option.starts_with("-X") {
            true => {
                "leave a quarter of the limit to the rest of the JVM, for example with -XX:MaxRAMPercentage=75"
            }
            false => "leave a part of the limit to the rest of the program, for example a quarter",
        };
        let is_soft = heap.option.starts_with("GOMEMLIMIT");
        found.report(heap.field, Reason::Invalid, message, help).noted_if(is_soft);
    }
}

/// Returns a size with a unit of Kubernetes or of another language, and the right units.
///
/// Go: `readGOMEMLIMIT`, src/runtime/mgcpacer.go; OpenJDK: `parse_integer`, src/hotspot/share/utilities/parseInteger.hpp.
fn malformed<'a>(name: &str, value: &'a str) -> Option<(Cow<'a, str>, &'static str)> {
    let is_size = |text: &str, units: &[&str]| {
        let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
        unit.len() < text.len() && (unit.is_empty() || units.contains(&unit))
    };
    if name == "GOMEMLIMIT" {
        let is_known = value.is_empty() || value == "off" || value.contains(['$', '{']);
        let is_wrong = !is_known && !is_size(value, &["B", "KiB", "MiB", "GiB", "TiB"]);
        return is_wrong.then(|| (format!("{name}={value}").into(), "KiB, MiB or GiB"));
    }
    let is_wrong = |word: &&str| {
        let size = ["-Xmx", "-Xms", "-Xmn", "-Xss"].iter().find_map(|it| word.strip_prefix(it));
        let units = ["k", "K", "m", "M", "g", "G", "t", "T"];
        size.is_some_and(|it| !it.contains(['$', '{']) && !is_size(it, &units))
    };
    let is_java =
        ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS", "_JAVA_OPTIONS"].contains(&name);
    let words = value.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    words.filter(|_| is_java).find(is_wrong).map(|it| (it.into(), "k, m or g"))
}

struct Heap {
    option: String,
    bytes: u128,
    field: Field,
}

/// Any of the arguments and variables may count, so the smallest heap is certain.
fn smallest_heap(container: &Container, path: &Path<'_>, limit: u128) -> Option<Heap> {
    let mut heaps = Vec::new();
    for (i, env) in list(&container.env).iter().enumerate() {
        let (value, path) = (text(&env.value), path.item("env", i));
        let go = (env.name == "GOMEMLIMIT").then(|| format!("GOMEMLIMIT={value}"));
        let value = go.as_deref().unwrap_or(value);
        heaps.extend(heap(value, &path.child("value"), limit, OPTIONS));
    }
    let words = list(&container.command).iter().chain(list(&container.args));
    let program = words.map(|it| read::program(it)).next().unwrap_or_default();
    for (name, words) in [("command", &container.command), ("args", &container.args)] {
        let next = list(words).iter().skip(1).map(String::as_str).chain([""]);
        for (i, (word, next)) in list(words).iter().zip(next).enumerate() {
            let of_cache = matches!(
                (program, word.as_str()),
                ("redis-server" | "valkey-server", "--maxmemory") | ("memcached", "-m")
            );
            let cache = of_cache.then(|| format!("{word}={next}"));
            heaps.extend(cache.and_then(|it| heap(&it, &path.item(name, i), limit, CACHES)));
            heaps.extend(heap(word, &path.item(name, i), limit, OPTIONS));
        }
    }
    heaps.into_iter().min_by_key(|it| it.bytes)
}

/// Suffixes, each with its power of two.
type Units = &'static [(&'static str, u32)];

const JAVA: Units = &[("k", 10), ("m", 20), ("g", 30), ("t", 40), ("", 0)];
const MEBIBYTES: Units = &[("", 20)];
type Options = &'static [(&'static str, Units)];

/// The options of Java, Node.js and Go.
const OPTIONS: Options = &[
    ("-Xmx", JAVA),
    ("-XX:MaxHeapSize=", JAVA),
    ("--max-old-space-size=", MEBIBYTES),
    ("GOMEMLIMIT=", &[("kib", 10), ("mib", 20), ("gib", 30), ("tib", 40)]),
];
/// The options of Redis and Memcached, for these programs only. Without `b`, the units of Redis are decimal.
const CACHES: Options =
    &[("--maxmemory=", &[("kb", 10), ("mb", 20), ("gb", 30)]), ("-m=", MEBIBYTES)];

/// The last option counts, and a size outranks a percentage.
fn heap(text: &str, path: &Path<'_>, limit: u128, options: Options) -> Option<Heap> {
    let words = || text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    let mut size = words().filter_map(|word| {
        let mut options = options.iter();
        Some((word, options.find_map(|(flag, units)| bytes(word.strip_prefix(flag)?, units))?))
    });
    let mut percent = words().filter_map(|word| {
        let percent: f64 = word.strip_prefix("-XX:MaxRAMPercentage=")?.parse().ok()?;
        (percent >= 100.0).then_some((word, limit))
    });
    let (option, bytes) = size.next_back().or_else(|| percent.next_back())?;
    Some(Heap { option: option.to_owned(), bytes, field: path.to_field() })
}

fn bytes(size: &str, units: Units) -> Option<u128> {
    let size = size.to_ascii_lowercase();
    let parse = |(unit, shift): &(&str, u32)| {
        let number: u64 = size.strip_suffix(unit)?.parse().ok()?;
        Some(u128::from(number) << shift)
    };
    units.iter().find_map(parse)
}

/// In bytes, and as it is written.
pub(super) fn limit<'a>(container: &'a Container, spec: &'a PodSpec) -> Option<(u128, &'a str)> {
    let all = [container.resources.as_ref(), spec.resources.as_ref()];
    let limit = all.into_iter().flatten().find_map(|it| it.limits.as_ref()?.get("memory"))?;
    Some((Quantity::parse_resource(&limit.0)?.thousandths()? / 1_000, &limit.0))
}

//! setguard beside what it could be measured by, in one run, as one table.

use crate::{Arguments, api_server, check, throughput::Figures};

/// Measures at the API server and `check`, and prints all as a table, with what was measured under
/// load.
pub(crate) fn measure(arguments: &Arguments, throughput: &Figures) {
    let figures = api_server::measure(arguments);
    let check = check::measure();
    println!("\n| what | setguard | beside |\n|---|---|---|");
    let of = |name: &str| figures.iter().find(|figure| figure.name == name);
    if let (Some(validating), Some(both), Some(empty)) =
        (of("validating"), of("mutating and validating"), of("an empty validating webhook"))
    {
        let others: String = figures[4..]
            .iter()
            .map(|other| format!("; {:+.2} ms for {}", other.added, other.name))
            .collect();
        println!(
            "| dry-run create, validating webhook, p50 | {:+.2} ms | {:+.2} ms for an empty webhook; \
             {:.2} ms in all without any{others} |",
            validating.added, empty.added, figures[0].p50
        );
        println!(
            "| the same, mutating and validating | {:+.2} ms | {:+.2} ms more than validating alone |",
            both.added,
            both.p50 - validating.p50
        );
    }
    let [ours, bare] = throughput.per_second;
    let [our_time, bare_time] = throughput.processor;
    println!(
        "| throughput on one core, 7 KB UPDATE | {ours:.0} req/s, {our_time:.0} us of processor | bare \
         server {bare:.0} req/s, {bare_time:.0} us: {:.2} |",
        ours / bare
    );
    println!("| memory after those requests | {:.1} MiB | |", throughput.memory);
    println!("| `check`, 10,000 manifests | {:.2} s, {:.1} MiB | |", check.seconds, check.memory);
}

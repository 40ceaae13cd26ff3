//! Compares setguard with similar programs, in one run, as one table.

use crate::{Arguments, api_server, check, throughput::Figures};

/// Measures at the API server and `check`, and prints all results as a table, with those under
/// load.
pub(crate) fn measure(arguments: &Arguments, throughput: &[Figures]) {
    let figures = api_server::measure(arguments);
    let check = check::measure();
    println!("\n| measurement | setguard | others |\n|---|---|---|");
    let of = |name: &str| figures.iter().find(|figure| figure.name == name);
    if let (Some(validating), Some(both), Some(empty)) =
        (of("validating"), of("mutating and validating"), of("an empty validating webhook"))
    {
        let others: String = figures
            .iter()
            .filter(|figure| figure.external)
            .map(|other| format!("; {:+.2} ms for {}", other.writes[0].added, other.name))
            .collect();
        println!(
            "| dry-run create, validating webhook, p50 | {:+.2} ms | {:+.2} ms for an empty webhook; \
             {:.2} ms in all without any{others} |",
            validating.writes[0].added, empty.writes[0].added, figures[0].writes[0].p50
        );
        for (both, validating) in both.writes.iter().zip(&validating.writes) {
            println!(
                "| mutating and validating, {} | {:+.2} ms | {:+.2} ms more than validating alone |",
                both.write,
                both.added,
                both.p50 - validating.p50
            );
        }
    }
    let [ours, others @ ..] = throughput else { return };
    let others_text: Vec<String> = others
        .iter()
        .map(|other| {
            let Figures { name, per_second, processor, .. } = other;
            let ratio = ours.per_second / per_second;
            format!("{name} {per_second:.0} req/s, {processor:.0} us: {ratio:.2} times")
        })
        .collect();
    println!(
        "| throughput on one core, 7 KB UPDATE | {:.0} req/s, {:.0} us of processor | {} |",
        ours.per_second,
        ours.processor,
        others_text.join("; ")
    );
    let others_text: Vec<String> =
        others.iter().map(|other| format!("{} {:.1} MiB", other.name, other.memory)).collect();
    println!(
        "| memory after those requests | {:.1} MiB | {} |",
        ours.memory,
        others_text.join("; ")
    );
    println!("| `check`, 10,000 manifests | {:.2} s, {:.1} MiB | |", check.seconds, check.memory);
}

//! One log line and one update of the metrics for each request. Neither ever contains an object.

use setguard_core::admission::Answer;

use super::http_error::HttpError;
use crate::server::prelude::*;

pub(crate) fn outcome(
    app: &App,
    endpoint: Endpoint,
    outcome: &Result<Answer, HttpError>,
    took: Duration,
) {
    let duration_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    match outcome {
        Ok(Answer { record, .. }) => {
            app.metrics.answered(endpoint, record, took);
            app.calls.answered(endpoint, record);
            let findings = record.findings.len();
            let rules = rules(record.findings.iter().map(|(rule, _)| *rule));
            tracing::info!(
                endpoint = endpoint.path(),
                uid = clip(&record.uid),
                kind = record.kind,
                namespace = clip(&record.namespace),
                name = clip(&record.name),
                operation = record.operation.as_str(),
                decision = record.decision.as_str(),
                dry_run = record.dry_run,
                findings,
                rules,
                injected = record.injected.join(","),
                duration_us,
                "review"
            );
        }
        Err(error) => {
            app.metrics.unanswered(endpoint, error.decision());
            tracing::warn!(
                endpoint = endpoint.path(),
                decision = error.decision(),
                status = error.status().as_u16(),
                why = error.log_text(),
                duration_us,
                "review"
            );
        }
    }
}

fn rules(found: impl Iterator<Item = &'static str>) -> String {
    let mut unique: Vec<&str> = Vec::new();
    for rule in found {
        if !unique.contains(&rule) {
            unique.push(rule);
        }
    }
    unique.join(",")
}

/// Cuts to 253 bytes, the longest name that the API server allows, so that a client cannot flood the log.
fn clip(text: &str) -> &str {
    text.get(..text.floor_char_boundary(253)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named_once() {
        assert_eq!(rules(["b", "a", "b"].into_iter()), "b,a");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(clip("short"), "short");
        assert_eq!(clip(&"é".repeat(200)).chars().count(), 126);
    }
}

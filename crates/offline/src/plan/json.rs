//! The plan as one JSON document. The format has its own types, so the simulation's types can change.

use setguard_files::report::json::{DifferenceV1, ObjectV1};

use super::pod_counts::{count, replaced};
use crate::plan::prelude::*;

/// The maximum number of candidates listed where the controller chooses at random. Beyond it, only the first step
/// lists them.
const MOST_CANDIDATES: usize = 10_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanV1<'a> {
    api_version: &'static str,
    kind: &'static str,
    objects: Vec<ForecastV1<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unknown: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForecastV1<'a> {
    object: ObjectV1<'a>,
    /// The file, if several files contain the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    change: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingV1<'a>>,
    changes: Vec<DifferenceV1<'a>>,
    steps: Vec<StepV1<'a>>,
    summary: SummaryV1,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

#[derive(Serialize)]
struct FindingV1<'a> {
    rule: &'static str,
    field: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct StepV1<'a> {
    wave: usize,
    action: &'static str,
    pod: Option<String>,
    node: Option<&'a str>,
    revision: &'static str,
    claims: ClaimsV1<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<Vec<&'a str>>,
}

#[derive(Default, Serialize)]
struct ClaimsV1<'a> {
    created: &'a [String],
    deleted: &'a [String],
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryV1 {
    created: usize,
    deleted: usize,
    replaced: usize,
    kept: usize,
    at_most_unavailable: usize,
    at_least_seconds: i64,
    /// An estimate from the past times to ready of the set's pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_seconds: Option<i64>,
    waves: usize,
    stops_at: Option<String>,
    why: Option<String>,
}

pub(super) fn print(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let plan = PlanV1 {
        api_version: "setguard.io/v1",
        kind: "Plan",
        objects: plan.forecasts.iter().map(object).collect(),
        unknown: &plan.unknown,
        errors: &plan.errors,
    };
    // Each write is searched for what a terminal would obey.
    out.write_all(&serde_json::to_vec_pretty(&plan)?)?;
    writeln!(out)
}

fn object(forecast: &Forecast) -> ForecastV1<'_> {
    let findings = forecast.refusals.iter().chain(&forecast.exceeded);
    let changes = forecast.differences.iter().map(DifferenceV1::from);
    ForecastV1 {
        object: (&forecast.id).into(),
        file: forecast.file.as_deref(),
        change: forecast.change.as_str(),
        findings: findings
            .map(|it| FindingV1 { rule: it.rule, field: &it.field, message: &it.message })
            .collect(),
        changes: changes.collect(),
        steps: forecast.rollout.as_ref().map(|it| steps(it, forecast)).unwrap_or_default(),
        summary: forecast.rollout.as_ref().map(|it| summary(it, forecast)).unwrap_or_default(),
        notes: &forecast.notes,
    }
}

fn summary(rollout: &Rollout, forecast: &Forecast) -> SummaryV1 {
    let course = &rollout.course;
    let Tally { created, deleted } = Tally::of(course);
    let replaced = replaced(course);
    let why = course.stop.as_ref().map(|stop| forecast.why(stop));
    SummaryV1 {
        created: created - replaced,
        deleted: deleted - replaced,
        replaced,
        kept: rollout.kept.iter().map(|it| count(&it.target)).sum(),
        at_most_unavailable: course.at_most_unavailable,
        at_least_seconds: course.at_least_seconds,
        estimated_seconds: rollout.estimate.as_ref().map(|it| it.seconds),
        waves: course.waves,
        stops_at: course.stop.as_ref().map(|stop| forecast.name(&stop.target)),
        why: why.or_else(|| rollout.why_kept.clone()),
    }
}

fn steps<'a>(rollout: &'a Rollout, forecast: &'a Forecast) -> Vec<StepV1<'a>> {
    let mut room = MOST_CANDIDATES;
    let mut is_first = true;
    let mut step = |wave, action, target: &'a Target, revision: Revision, claims| {
        let (mut count, mut candidates) = (None, None);
        if let Target::SomeNodes { count: some, candidates: all } = target {
            count = Some(*some);
            if all.len() <= room || is_first {
                room = room.saturating_sub(all.len());
                is_first = false;
                candidates = Some(all.iter().map(|index| forecast.node(*index)).collect());
            }
        }
        StepV1 {
            wave,
            action,
            pod: matches!(target, Target::Ordinal(_)).then(|| forecast.name(target)),
            node: match target {
                Target::Node(index) => Some(forecast.node(*index)),
                Target::Ordinal(_) | Target::SomeNodes { .. } => None,
            },
            revision: revision.as_str(),
            claims,
            count,
            candidates,
        }
    };
    let mut steps = Vec::new();
    for Step { wave, action, target, revision, claims } in &rollout.course.steps {
        let claims = match action {
            Action::Create => ClaimsV1 { created: claims, deleted: &[] },
            Action::Delete => ClaimsV1 { created: &[], deleted: claims },
        };
        steps.push(step(*wave, action.as_str(), target, *revision, claims));
    }
    for Kept { target, revision } in &rollout.kept {
        steps.push(step(0, "keep", target, *revision, ClaimsV1::default()));
    }
    steps
}

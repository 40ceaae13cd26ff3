//! The plan as one JSON document. The format has its own types, so the simulation's types can change.

use std::io::{self, Write};

use serde::Serialize;
use setguard_core::rollout::{Action, Target};
use setguard_files::report::json::DifferenceV1;

use super::{
    forecast::{Forecast, Kept, Rollout},
    forecaster::Plan,
    pod_counts::{Tally, count, replaced},
};

/// The maximum number of candidates listed where the controller chooses at random. Beyond it, only the first step
/// lists them.
const MOST_CANDIDATES: usize = 10_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanV1<'a> {
    api_version: &'static str,
    kind: &'static str,
    objects: Vec<ObjectV1<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unknown: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectV1<'a> {
    object: IdV1<'a>,
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
#[serde(rename_all = "camelCase")]
struct IdV1<'a> {
    api_version: &'a str,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
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
    serde_json::to_writer_pretty(&mut *out, &plan)?;
    writeln!(out)
}

fn object(forecast: &Forecast) -> ObjectV1<'_> {
    let id = &forecast.id;
    let findings = forecast.refusals.iter().chain(forecast.exceeded.iter().map(|it| &it.what));
    let changes = forecast.differences.iter().map(DifferenceV1::from);
    ObjectV1 {
        object: IdV1 {
            api_version: &id.api_version,
            kind: &id.kind,
            namespace: &id.namespace,
            name: &id.name,
        },
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
    let mut chance = |target: &Target| {
        let Target::SomeNodes { count, candidates } = target else { return (None, None) };
        let is_listed = candidates.len() <= room || is_first;
        if is_listed {
            room = room.saturating_sub(candidates.len());
            is_first = false;
        }
        let names = || candidates.iter().map(|index| forecast.node(*index)).collect();
        (Some(*count), is_listed.then(names))
    };
    let steps = rollout.course.steps.iter().map(|step| {
        let (count, candidates) = chance(&step.target);
        StepV1 {
            wave: step.wave,
            action: step.action.as_str(),
            pod: pod(&step.target, forecast),
            node: node(&step.target, forecast),
            revision: step.revision.as_str(),
            claims: match step.action {
                Action::Create => ClaimsV1 { created: &step.claims, deleted: &[] },
                Action::Delete => ClaimsV1 { created: &[], deleted: &step.claims },
            },
            count,
            candidates,
        }
    });
    let mut steps: Vec<_> = steps.collect();
    steps.extend(rollout.kept.iter().map(|Kept { target, revision }| {
        let (count, candidates) = chance(target);
        StepV1 {
            wave: 0,
            action: "keep",
            pod: pod(target, forecast),
            node: node(target, forecast),
            revision: revision.as_str(),
            claims: ClaimsV1::default(),
            count,
            candidates,
        }
    }));
    steps
}

fn pod(target: &Target, forecast: &Forecast) -> Option<String> {
    matches!(target, Target::Ordinal(_)).then(|| forecast.name(target))
}

fn node<'a>(target: &Target, forecast: &'a Forecast) -> Option<&'a str> {
    match target {
        Target::Node(index) => Some(forecast.node(*index)),
        Target::Ordinal(_) | Target::SomeNodes { .. } => None,
    }
}

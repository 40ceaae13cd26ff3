//! Checks that a document decodes as the resource that it declares, as strictly as kube-apiserver with
//! `fieldValidation=Strict`: no unknown field, no wrong type.
//!
//! k8s-openapi's types pass their fields to serde, so the types are the schema of the newest release. `fields` lists
//! how other releases differ.

mod fields;

use k8s_openapi::{
    api::apps::v1::{DaemonSetStatus, StatefulSetStatus},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube_yaml::{
    Node, Problem, Replacements, Value,
    de::{
        self,
        progress::{Fields, Unknown},
    },
    documents,
};
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{
    kruise::KruiseSpec,
    spec::{DaemonSetSpec, StatefulSetSpec},
};
use crate::{
    finding::Path,
    kubernetes::{
        quantity::Quantity,
        resource::{Resource, WorkloadKind},
        version::Version,
    },
};

/// Returns the problems of a document that declares this resource, for a cluster of this release.
pub fn strict(node: &Node<'_>, resource: &'static Resource, release: Version) -> Vec<Problem> {
    read_for(node, resource, release).problems
}

/// A document, checked against the schema of its resource.
#[derive(Debug)]
pub struct Reading {
    /// The problems, in the order of the text.
    pub problems: Vec<Problem>,
    instead: Replacements,
}

impl Reading {
    /// Returns the document as JSON, as the API server understands it: a quantity becomes text, and null becomes the
    /// zero value if the type has no null. `node` must be the node that was read.
    pub fn json(&self, node: &Node<'_>) -> String {
        node.to_json_with(&self.instead)
    }
}

/// Returns an object as the API server reads it (see [`Reading::json`]), or `None` if it is not JSON. The API server
/// accepts null where the types here do not, for example in a list of strings.
pub fn normalize(json: &str, resource: &'static Resource) -> Option<String> {
    let document = documents(json).next()?.ok()?;
    Some(read(&document.root, resource).json(&document.root))
}

/// Reads a document by the newest release's schema of its resource.
pub fn read(node: &Node<'_>, resource: &'static Resource) -> Reading {
    read_for(node, resource, Version::NEWEST)
}

/// Checks a document against the schema that its resource has in this release.
pub fn read_for(node: &Node<'_>, resource: &'static Resource, release: Version) -> Reading {
    match (resource.kind, resource.is_kruise()) {
        (WorkloadKind::DaemonSet, false) => {
            let mut reading =
                read_as::<DaemonSetSpec, DaemonSetStatus>(node, Unknown::Found, release);
            reading.problems.extend(template_generation(node));
            reading
        }
        (WorkloadKind::StatefulSet, false) => {
            read_as::<StatefulSetSpec, StatefulSetStatus>(node, Unknown::Found, release)
        }
        (WorkloadKind::DaemonSet, true) => read_kruise::<DaemonSetSpec>(node),
        (WorkloadKind::StatefulSet, true) => read_kruise::<StatefulSetSpec>(node),
    }
}

/// An annotation in the API, but a field of the DaemonSet inside the API server. Kubernetes:
/// `Convert_v1_DaemonSet_To_apps_DaemonSet`, `pkg/apis/apps/v1/conversion.go`.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn template_generation(node: &Node<'_>) -> Option<Problem> {
    let annotation = node.get("metadata")?.get("annotations")?.get(TEMPLATE_GENERATION)?;
    let text = annotation.as_str().filter(|text| text.parse::<i64>().is_err())?;
    let path = Path::new("metadata");
    let path = path.child("annotations");
    let mut problem =
        Problem::at(annotation.mark, format!("expected a whole number, got {text:?}"));
    problem.field = path.key(TEMPLATE_GENERATION).to_field();
    Some(problem)
}

/// Checks only the known fields. A custom resource has others, and its pod template may contain anything.
fn read_kruise<Shared: DeserializeOwned>(node: &Node<'_>) -> Reading {
    let mut reading = read_as::<Shared, IgnoredAny>(node, Unknown::Ignored, Version::NEWEST);
    let own = read_as::<KruiseSpec, IgnoredAny>(node, Unknown::Ignored, Version::NEWEST);
    for problem in own.problems {
        if !reading.problems.contains(&problem) {
            reading.problems.push(problem);
        }
    }
    reading.problems.sort_by_key(|problem| problem.mark);
    reading.instead.extend(own.instead);
    reading
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound = "Spec: DeserializeOwned, Status: DeserializeOwned")]
#[allow(dead_code)]
struct Manifest<Spec, Status> {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<ObjectMeta>,
    spec: Option<Spec>,
    status: Option<Status>,
}

fn read_as<Spec: DeserializeOwned, Status: DeserializeOwned>(
    node: &Node<'_>,
    unknown: Unknown,
    release: Version,
) -> Reading {
    let absent = |of: &str, field: &str| fields::absent(of, field, release);
    let extra = |of: &str, field: &str| fields::extra(of, field, release);
    let fields = Fields { absent: &absent, extra: &extra };
    let mut read = de::read_with::<Manifest<Spec, Status>>(node, inspect, unknown, fields);
    for problem in read.problems.iter_mut().filter(|it| it.message == NO_QUANTITY) {
        problem.help = node.text_at(problem.mark).and_then(quantity_help);
    }
    Reading { problems: read.problems, instead: read.instead }
}

/// Checks the types that have their own decoders.
fn inspect(name: &'static str, node: &Node<'_>) -> Result<Option<String>, String> {
    match name {
        "Quantity" => quantity(node).map(Some),
        "Time" | "MicroTime" => {
            let time = node.as_str().and_then(rfc3339).map(Some);
            time.ok_or_else(|| "expected a time such as 2027-03-31T12:00:00Z".to_owned())
        }
        _ => Ok(None),
    }
}

/// The API server's own text.
const NO_QUANTITY: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Returns how to write a quantity of bytes, such as 1 GB. `None` for a placeholder.
fn quantity_help(text: &str) -> Option<String> {
    if text.contains(['$', '{']) {
        return None;
    }
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let unit = unit.trim().to_ascii_uppercase();
    let unit = unit.trim_end_matches('B').trim_end_matches('I');
    Some(match number.parse::<f64>() {
        Ok(_) if ["K", "M", "G", "T"].contains(&unit) => format!("write {number}{unit}i"),
        Ok(_) if text.len() > number.len() && text.ends_with('m') => format!("write {number}m"),
        _ => "write a number with a unit, such as 500m or 128Mi".to_owned(),
    })
}

/// Kubernetes: `Quantity.UnmarshalJSON`, apimachinery `pkg/api/resource/quantity.go`.
fn quantity(node: &Node<'_>) -> Result<String, String> {
    let text = match &node.value {
        Value::Null => return Ok("0".to_owned()),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => serde_json::json!(number).to_string(),
        Value::Str(text) => text.trim().to_owned(),
        Value::Bool(_) | Value::Seq(_) | Value::Map(_) => {
            return Err("expected a quantity such as 100m or 1Gi".to_owned());
        }
    };
    if Quantity::parse(&text).is_some() { Ok(text) } else { Err(NO_QUANTITY.to_owned()) }
}

/// `time.Parse(time.RFC3339, …)` in Go: an hour may have one digit, and an offset 24 hours and 60 minutes. Returns the
/// text as the type takes it. The type checks the other ranges.
fn rfc3339(text: &str) -> Option<String> {
    let matches = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(c, f)| match f {
                b'0' => c.is_ascii_digit(),
                b'+' => matches!(c, b'+' | b'-'),
                f => c == f,
            })
    };
    let (date, time) = text.split_once('T')?;
    let zero = if time.find(':') == Some(1) { "0" } else { "" };
    let text = format!("{date}T{zero}{time}");
    let (moment, rest) = text.split_at_checked("0000-00-00T00:00:00".len())?;
    let zone = match rest.strip_prefix(['.', ',']) {
        None => rest,
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if zone.len() == fraction.len() {
                return None;
            }
            zone
        }
    };
    // The type takes leap seconds.
    if !matches(moment, "0000-00-00T00:00:00") || moment.ends_with(":60") {
        return None;
    }
    if zone == "Z" {
        return Some(text);
    }
    let offset = zone.get(1..).filter(|_| matches(zone, "+00:00"))?;
    let (hours, minutes) = offset.split_once(':')?;
    let (hours, minutes) = (hours.parse::<u32>().ok()?, minutes.parse::<u32>().ok()?);
    let start = text.strip_suffix(offset).filter(|_| hours <= 24 && minutes <= 60)?;
    Some(format!("{start}{:02}:{:02}", hours + minutes / 60, minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_distinguished_from_text() {
        for right in ["2027-03-31T12:00:00Z", "2027-03-31T12:00:00.123456789+01:00"] {
            assert_eq!(rfc3339(right).as_deref(), Some(right));
        }
        for (odd, read) in [
            ("2027-03-31T1:00:00Z", "2027-03-31T01:00:00Z"),
            ("2027-03-31T12:00:00+00:60", "2027-03-31T12:00:00+01:00"),
            ("2027-03-31T12:00:00.5-24:60", "2027-03-31T12:00:00.5-25:00"),
        ] {
            assert_eq!(rfc3339(odd).as_deref(), Some(read), "{odd}");
            assert!(read.parse::<jiff::Timestamp>().is_ok(), "{read}");
        }
        for wrong in [
            "", "2027-03-31", "2027-03-31 12:00:00Z", "2027-03-31T12:00:00",
            "2027-03-31T12:00:60Z", "2027-03-31T12:00:00+25:00", "2027-03-31T12:00:00+00:61",
            "now",
        ] {
            assert_eq!(rfc3339(wrong), None, "{wrong}");
        }
    }
}

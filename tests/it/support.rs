use setguard::{
    engine::{
        self, Origin,
        verdict::{Verdict, Violation},
    },
    inject::Injection,
    inventory::{Inventory, object_summary::ObjectSummary},
    kubernetes::cluster::parse_gates,
    manifests::volumes,
    object::{DecodeError, Metadata, storage::Storage},
    observed::Observed,
    rules::{
        rule::{inventory::Coverage, status::Audit},
        schema::SCHEMA,
    },
};

use crate::prelude::*;
pub use setguard_testing::{
    harness::process::feed,
    manifests::{cases, fixtures},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub rule: String,
    pub mode: String,
    pub reason: String,
    pub field: String,
    pub pointer: String,
    pub text: String,
}

/// The text of a file of the repository.
pub fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

pub fn to_json(text: &str) -> Vec<String> {
    // The API server generates different name suffixes.
    let named = |(i, item): (usize, &Value)| {
        let mut item = item.clone();
        let prefix = item["metadata"]["generateName"].as_str().map(str::to_owned);
        if let Some(prefix) = prefix {
            item["metadata"]["name"] = format!("{prefix}{i:05}").into();
        }
        item.to_string()
    };
    let objects = |json: String| {
        let list: Value = serde_json::from_str(&json).unwrap();
        match list["items"].as_array().filter(|_| list["kind"] == "List") {
            Some(items) => items.iter().enumerate().map(named).collect(),
            None => vec![json],
        }
    };
    let text = expanded(text);
    let documents = yaml::parse(&text).into_iter();
    documents.flat_map(|document| objects(document.unwrap().root.to_json())).collect()
}

pub fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            places(value, &format!("{at}/{key}"), found);
        }),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, it)| places(it, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

pub fn resource(json: &str) -> Option<&'static Resource> {
    let object: Value = serde_json::from_str(json).unwrap();
    Resource::of(object["apiVersion"].as_str()?, object["kind"].as_str()?)
}

pub fn resource_of(object: &Value) -> &'static Resource {
    let text = |key: &str| object[key].as_str().unwrap();
    Resource::of(text("apiVersion"), text("kind")).unwrap()
}

pub fn evaluate(json: &str, old: Option<&str>) -> Vec<Found> {
    evaluate_in(json, old, &Cluster::default(), &Storage::default())
}

fn context(policy: &Policy) -> Context<'_> {
    Context { origin: Origin::Manifest, ..Context::of_review(policy, date(2026, 1, 1)) }
}

pub fn evaluate_in(
    json: &str,
    old: Option<&str>,
    cluster: &Cluster,
    storage: &Storage,
) -> Vec<Found> {
    let Some(resource) = resource(json) else { return Vec::new() };
    let mut policy = Policy::default();
    policy.cluster = cluster.clone();
    let cx = context(&policy);
    let verdict = match (Object::parse(resource, json), old) {
        (Ok(object), old) => {
            let subject = match old {
                Some(old) => Subject::update(object, old),
                None => Subject::create(object),
            };
            engine::evaluate(&subject.with_storage(storage), &cx)
        }
        (Err(DecodeError::TooLarge(size)), old) => {
            engine::evaluate_too_large(&size, "default", "", old, &cx)
        }
        (Err(_), _) => return Vec::new(),
    };
    verdict.violations.iter().map(flat).collect()
}

pub fn evaluate_update(policy: &Policy, old: &str, new: &str) -> Vec<Found> {
    let [old, new] = [old, new].map(|text| to_json(text).remove(0));
    let object = Object::parse(resource(&new).unwrap(), &new).unwrap();
    let verdict = engine::evaluate(&Subject::update(object, &old), &context(policy));
    verdict.violations.iter().map(flat).collect()
}

fn flat(judged: &Violation) -> Found {
    Found {
        rule: judged.finding.rule.id.to_owned(),
        mode: judged.mode.to_string(),
        reason: judged.finding.reason.as_str().to_owned(),
        field: judged.finding.field.to_string(),
        pointer: judged.finding.field.pointer(),
        // `check` and the webhook keep the API server's words.
        text: match judged.finding.rule.adjustable {
            true => judged.finding.text().into_owned(),
            false => judged.finding.message.clone(),
        },
    }
}

/// Returns the findings of the cross-object rules. `before` has old states of some objects.
pub fn evaluate_change(objects: &[String], before: &[String], policy: &Policy) -> Vec<Found> {
    let (inventory, before) = (inventory(objects), inventory(before));
    let cx = context(policy);
    let kinds = inventory.items().map(|(_, item)| item.kind()).collect();
    let coverage = Coverage { kinds, is_whole: true, is_final: true, ..Coverage::default() };
    let verdicts = engine::evaluate_cross_object(&inventory, &coverage, &before, &cx);
    verdicts.values().flat_map(|verdict| &verdict.violations).map(flat).collect()
}

fn inventory(objects: &[String]) -> Inventory {
    let mut inventory = Inventory::default();
    for json in objects {
        let item = match resource(json) {
            Some(resource) => Object::parse(resource, json)
                .ok()
                .map(|object| {
                    let template = object.template();
                    ObjectSummary::of(&object).with_refusals(template).with_template(template)
                })
                .map(|item| item.with_replicas_set(json.contains("\"replicas\":"))),
            None => ObjectSummary::of_json(json),
        };
        item.map(|item| inventory.add(item));
    }
    inventory
}

/// Splits the objects of an example: if an object occurs twice, the first one is its old state.
pub fn changes(objects: Vec<String>) -> (Vec<String>, Vec<String>) {
    let id = |json: &String| {
        let object: Value = serde_json::from_str(json).unwrap();
        (object["kind"].clone(), object["metadata"]["name"].clone())
    };
    let ids: Vec<_> = objects.iter().map(id).collect();
    let is_last = |(i, _): &(usize, String)| !ids[*i + 1..].contains(&ids[*i]);
    let (new, old): (Vec<_>, Vec<_>) = objects.into_iter().enumerate().partition(is_last);
    let without_index = |list: Vec<(usize, String)>| list.into_iter().map(|it| it.1).collect();
    (without_index(new), without_index(old))
}

pub fn evaluate_injection(injection: &Injection) -> Verdict {
    let policy = Policy::default();
    let cx = context(&policy);
    engine::evaluate_injection(injection, &Metadata::default(), &cx)
}

pub fn old_of(path: &Path) -> Option<String> {
    let old = fs::read_to_string(path.with_extension("old.yaml")).ok()?;
    Some(to_json(&old).remove(0))
}

pub fn decodes(json: &str) -> bool {
    resource(json).is_some_and(|resource| Object::parse(resource, json).is_ok())
}

pub fn check(text: &str) -> Vec<Found> {
    fixture(Path::new(""), text)
}

pub fn fixture(path: &Path, text: &str) -> Vec<Found> {
    let (old, text) = (old_of(path), &expanded(text));
    let mut storage = Storage::default();
    volumes::add(&mut storage, text);
    let documents = yaml::parse(text).into_iter();
    let mut found: Vec<Found> = documents
        .flat_map(|document| {
            let document = document.unwrap();
            let mut found = schema(&document);
            let json = document.root.to_json();
            found.extend(evaluate_in(&json, old.as_deref(), &cluster_of(text), &storage));
            found
        })
        .collect();
    let before: Vec<_> = old.into_iter().collect();
    found.extend(evaluate_change(&to_json(text), &before, &Policy::default()));
    found
}

/// Returns the findings of the status rules for the documents of a stream. The first line is the time of observation.
pub fn status(text: &str) -> Vec<Found> {
    let now = text.lines().find_map(|line| line.strip_prefix("# Seen at "));
    let now = now.expect("a line `# Seen at TIME`").parse().unwrap();
    evaluate_status(&observe_in(Observed::at(now), &to_json(text)), now)
}

pub fn evaluate_status(observed: &Observed, now: Timestamp) -> Vec<Found> {
    violations(observed, now).iter().map(flat).collect()
}

fn violations(observed: &Observed, now: Timestamp) -> Vec<Violation> {
    let policy = Policy::default();
    let (cluster, patience) = (&policy.cluster, Audit::PATIENCE);
    let audit = Audit { observed, cluster, now, patience, context: None };
    let verdicts = engine::status::evaluate_status(&audit, &context(&policy));
    verdicts.into_values().flat_map(|it| it.verdict.violations).collect()
}

pub fn observe(objects: &[String]) -> Observed {
    observe_in(Observed::default(), objects)
}

fn observe_in(mut observed: Observed, objects: &[String]) -> Observed {
    let read = |json: &String| -> (String, String) {
        let object: Value = serde_json::from_str(json).unwrap();
        let text = |key: &str| object[key].as_str().unwrap().to_owned();
        (text("apiVersion"), text("kind"))
    };
    // Sets come first.
    let (sets, others): (Vec<_>, Vec<_>) =
        objects.iter().partition(|json| resource(json).is_some());
    for json in sets.into_iter().chain(others) {
        let (api_version, kind) = read(json);
        let kind = Kind::named(&kind).filter(|it| it.api_version() == api_version).unwrap();
        observed.add(kind, json).unwrap();
    }
    observed
}

pub fn cluster_of_release(version: &str) -> Cluster {
    Cluster::new(version.parse().unwrap(), std::collections::BTreeMap::new())
}

/// The cluster of a fixture or an example: a comment may set `--kube-version 1.36` or `--feature-gates A=true`.
fn cluster_of(text: &str) -> Cluster {
    let flag = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let version = flag("# --kube-version ").map(|version| version.parse().unwrap());
    let gates = parse_gates(flag("# --feature-gates ").unwrap_or_default()).unwrap();
    Cluster::new(version.unwrap_or(Cluster::default().version), gates)
}

/// Whether fixtures and examples of the rule `id` may have this finding of a different rule: immutable-field adds
/// advice to an error of the API server, and a hostname can be dropped. The API server also warns about minor faults.
pub fn may_accompany(found: &Found, id: &str) -> bool {
    let pair = (id, found.rule.as_str());
    pair == ("immutable-field", API_VALIDATION.id)
        || found.rule == "api-warning" && found.mode == "audit" && id != found.rule
        || pair == ("template-hostname-ignored", "field-dropped")
        // Passwords and stored objects are no matter of the other rules.
        || ["database-variables", "resource-version-set"].contains(&&*found.rule) && id != found.rule
        || pair == ("pdb-keeps-broken-pods", "replicas-without-budget")
        || matches!(
            pair,
            (
                "max-unavailable-everything" | "parallel-rollout-stuck" | "rollout-blocked",
                "many-pods-at-once"
            )
        )
}

/// Returns the findings of `check` in an example of a rule. If an object occurs twice, the second one is its update.
pub fn example(text: &str) -> Vec<Found> {
    let (objects, before) = changes(to_json(text));
    let [old] = &before[..] else { return check(text) };
    let new = objects.last().unwrap();
    let mut found = evaluate_in(new, Some(old), &cluster_of(text), &Storage::default());
    found.extend(evaluate_change(&objects, &before, &Policy::default()));
    found
}

/// Expands each comment `# … and 9 more` to nine more lines like the previous one.
fn expanded(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let more =
            line.trim_start().strip_prefix("# … and ").and_then(|it| it.strip_suffix(" more"));
        match more.map(|count| count.replace(',', "").parse().unwrap()) {
            Some(count) => lines.extend(vec![*lines.last().unwrap(); count]),
            None => lines.push(line),
        }
    }
    lines.join("\n")
}

fn schema(document: &yaml::Document<'_>) -> Vec<Found> {
    let json = document.root.to_json();
    let Some(resource) = resource(&json) else { return Vec::new() };
    let problems = document.problems.clone().into_iter();
    let problems =
        problems.chain(setguard::object::schema::strict(&document.root, resource, Version::NEWEST));
    let found = problems.map(|problem| Found {
        rule: SCHEMA.id.to_owned(),
        mode: Mode::Deny.to_string(),
        reason: String::new(),
        field: problem.field.to_string(),
        pointer: problem.field.pointer(),
        text: problem.message,
    });
    found.collect()
}

//! The growth of each rule's cost with its input: no rule may be slower than n log n.
//!
//! Every list and every map of an object that has one of each is made eight times as long, alone
//! and all of them together. Between the two lengths, n log n grows tenfold and n² sixty-four
//! times, so the bound in the middle leaves a wide margin on both sides. The tests compare the
//! processor time of this thread, and measure parts that seem slow again.

use std::{fs, path::Path};

use jiff::civil::date;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use setguard::{
    engine::{self, Context},
    finding::Findings,
    inject::{self, pod::PartialPod},
    inventory::{object_summary::ObjectSummary, view::View},
    kubernetes::{cluster::Cluster, kind::Kind, resource::Resource},
    object::{Object, Str, Subject, User, size},
    policy::Policy,
    rules::{
        api_validation::{self, API_VALIDATION},
        cross_object,
        rule::inventory::Query,
        traps,
    },
};

use crate::view::view_of_json;

const SHORT: usize = 64;
const LONG: usize = 8 * SHORT;
const MAX_GROWTH: u64 = 24; // Between 10 (n log n) and 64 (n²).
const CONFIRMATIONS: usize = 4; // Measurements of a part that seems slow.
/// A rule that takes less than this for the long input is not slow, whatever the short one takes.
const NEGLIGIBLE_NS: u64 = 1_000_000;

/// The differences between the elements of a long list.
#[derive(Clone, Copy, Debug)]
pub enum Elements {
    /// No differences, and the elements are as short as JSON can be.
    Empty,
    /// No differences.
    Same,
    /// Every text and number in one is different from that in the others.
    Distinct,
    /// The differences of `Distinct`, and operators and effects take turns.
    Mixed,
}

/// The objects whose lists are made longer: they have one of every list and map in their schema.
pub fn objects() -> [Value; 2] {
    let read = |name: &str| -> Value {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/growth");
        serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    let pod_spec = read("pod-spec.json");
    ["daemonset.json", "statefulset.json"].map(|name| {
        let mut object = read(name);
        object["spec"]["template"]["spec"] = pod_spec.clone();
        object
    })
}

/// The addresses of all lists, and of all maps whose values are texts.
pub fn lists(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            found.push(at.to_owned());
            for (i, item) in items.iter().enumerate() {
                lists(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(entries) => {
            const MAPS: [&str; 7] = [
                "labels",
                "annotations",
                "matchLabels",
                "nodeSelector",
                "limits",
                "requests",
                "overhead",
            ];
            if MAPS.iter().any(|name| at.ends_with(&format!("/{name}"))) {
                found.push(at.to_owned());
            } else {
                for (key, item) in entries {
                    lists(item, &format!("{at}/{key}"), found);
                }
            }
        }
        _ => {}
    }
}

pub fn lengthen(value: &mut Value, length: usize, elements: Elements) {
    match value {
        Value::Array(items) => {
            let first = items[0].clone();
            items.extend((1..length).map(|i| changed(&first, i, elements)));
        }
        Value::Object(entries) => {
            let (key, first) = entries.iter().next().map(|(k, v)| (k.clone(), v.clone())).unwrap();
            for i in 1..length {
                entries.insert(format!("{key}-{i}"), first.clone());
            }
        }
        other => panic!("{other} is no list"),
    }
}

fn changed(value: &Value, i: usize, elements: Elements) -> Value {
    let pick = |words: &[&str]| Value::from(words[i % words.len()]);
    match (elements, value) {
        (Elements::Same, value) => value.clone(),
        (Elements::Empty, Value::Object(_)) => json!({}),
        (Elements::Empty, Value::Number(_)) => json!(0),
        (Elements::Empty, _) => json!(""),
        (_, Value::String(text)) => format!("{text}-{i}").into(),
        (_, Value::Number(number)) => number.as_i64().map_or(0, |n| n + i as i64).into(),
        (_, Value::Array(items)) => items.iter().map(|item| changed(item, i, elements)).collect(),
        (_, Value::Object(entries)) => {
            let changed = |(key, item): (&String, &Value)| {
                let item = match (elements, key.as_str()) {
                    (Elements::Mixed, "operator") => pick(&["In", "NotIn", "Exists", "Equal", ""]),
                    (Elements::Mixed, "effect") => pick(&["NoExecute", "NoSchedule", ""]),
                    // One key for all of them, so that the requirements on it add up.
                    (Elements::Mixed, "key" | "topologyKey") => item.clone(),
                    _ => changed(item, i, elements),
                };
                (key.clone(), item)
            };
            Value::Object(entries.iter().map(changed).collect())
        }
        (_, value) => value.clone(),
    }
}

/// Returns the processor time of `work`.
fn nanoseconds(work: &dyn Fn()) -> u64 {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
    };
    let start = now();
    work();
    now() - start
}

/// Returns the minimum processor time of `work` in a few attempts.
fn at_best(work: &dyn Fn()) -> u64 {
    let first = nanoseconds(work);
    // A part that is very slow once is slow.
    if first >= 50 * NEGLIGIBLE_NS {
        return first;
    }
    first.min(nanoseconds(work)).min(nanoseconds(work))
}

/// An object, read and ready to be evaluated.
struct Review<'a> {
    create: Subject<'a>,
    update: Subject<'a>,
    pod: PartialPod<'a>,
    /// The object among others.
    item: ObjectSummary,
    /// A cluster that has one like it.
    view: View,
}

/// A part of the work for an object, with its name.
type Part = (String, Box<dyn Fn(&Review<'_>)>);

fn parts() -> Vec<Part> {
    // The cluster in which most rules apply.
    let mut cluster = Cluster::default();
    cluster.set_gate("MaxUnavailableStatefulSet", true);
    [parts_of_an_evaluation(&cluster), parts_in_a_cluster(&cluster)].into_iter().flatten().collect()
}

fn parts_of_an_evaluation(cluster: &Cluster) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |name: &str, run: Box<dyn Fn(&Review<'_>)>| parts.push((name.to_owned(), run));
    for is_update in [false, true] {
        let subject = move |review: &Review<'_>, run: &dyn Fn(&Subject<'_>)| {
            run(if is_update { &review.update } else { &review.create });
        };
        let operation = if is_update { "UPDATE" } else { "CREATE" };
        let own = cluster.clone();
        add(
            &format!("api-validation on {operation}"),
            Box::new(move |review| {
                subject(review, &|subject| {
                    api_validation::validate(subject, &own, &mut Findings::of(API_VALIDATION));
                });
            }),
        );
        for trap in traps() {
            let own = cluster.clone();
            add(
                &format!("{} on {operation}", trap.meta.id),
                Box::new(move |review| {
                    subject(review, &|subject| {
                        trap.run(subject, &own, &mut Findings::of(&trap.meta));
                    });
                }),
            );
        }
        let policy = Policy::default();
        add(
            &format!("the engine on {operation}"),
            Box::new(move |review| {
                let cx = Context::of_review(&policy, date(2026, 1, 1));
                subject(review, &|subject| drop(engine::evaluate(subject, &cx)));
            }),
        );
    }
    parts
}

fn parts_in_a_cluster(cluster: &Cluster) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |name: &str, run: Box<dyn Fn(&Review<'_>)>| parts.push((name.to_owned(), run));
    for rule in cross_object() {
        let own = cluster.clone();
        add(
            &format!("{} in a cluster", rule.meta.id),
            Box::new(move |review| {
                let template = review.create.object.template();
                let query = Query::in_cluster(&review.view, &review.item, template, &own);
                drop(rule.run_among(&query));
            }),
        );
    }
    add(
        "injection into a template",
        Box::new(|review| {
            drop(inject::template(&review.create.object, true, &Policy::default().injection));
        }),
    );
    add(
        "injection into a pod",
        Box::new(|review| {
            let user =
                User { username: Str("system:kube-controller-manager".into()), groups: None };
            drop(inject::pod(&review.pod, &user, &Policy::default().injection));
        }),
    );
    parts
}

/// An object as JSON, and the texts that belong to it. They are made of one text, since writing and
/// reading them takes most of the time of these tests.
struct Texts {
    resource: &'static Resource,
    object: String,
    /// The object before an UPDATE of its template.
    old: String,
    /// A pod of the object.
    pod: String,
    /// Another object like this one, and objects of other kinds that matter to it.
    around: Vec<String>,
}

impl Texts {
    fn of(mut object: Value) -> Self {
        let text = |field: &str| object[field].as_str().unwrap();
        let resource = Resource::of(text("apiVersion"), text("kind")).unwrap();
        let namespace = object["metadata"]["namespace"].clone();
        let selector = object["spec"]["selector"].clone();
        let spec = object["spec"]["template"]["spec"].take().to_string();
        let object = instead(&object.to_string(), "\"spec\":null", &format!("\"spec\":{spec}"));

        let level = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let of = |kind: Kind, metadata: Value, spec: Value| {
            json!({"apiVersion": kind.api_version(), "kind": kind.as_str(), "metadata": metadata,
                "spec": spec})
            .to_string()
        };
        let budget = json!({"name": "all", "namespace": namespace});
        Texts {
            resource,
            old: instead(&object, "\"dnsPolicy\":\"None\"", "\"dnsPolicy\":\"Default\""),
            pod: format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"agent",
                "annotations":{{"setguard.io/node":"worker-0"}}}},"spec":{spec}}}"#
            ),
            around: vec![
                instead(&object, "\"name\":\"agent\"", "\"name\":\"twin\""),
                of(Kind::Namespace, json!({"name": namespace, "labels": level}), json!({})),
                of(Kind::Node, json!({"name": "worker-0", "labels": {"zone": "a"}}), json!({})),
                of(
                    Kind::PodDisruptionBudget,
                    budget,
                    json!({"minAvailable": 1, "selector": selector}),
                ),
            ],
            object,
        }
    }

    /// Runs something with the object, once it was read.
    fn review<T>(&self, run: impl FnOnce(&Review<'_>) -> T) -> T {
        let json = &self.object;
        let parse =
            || Object::parse(self.resource, json).unwrap_or_else(|e| panic!("{e}: {json:.300}"));
        let create = Subject::create(parse());
        let review = Review {
            item: ObjectSummary::of(&create.object),
            create,
            update: Subject::update(parse(), &self.old),
            pod: PartialPod::parse(&self.pod).unwrap(),
            view: view_of_json(&self.around),
        };
        // The old object is read once, and not by the rule that happens to ask first.
        assert!(review.update.old().is_some());
        run(&review)
    }
}

/// The text with the first `old` replaced.
fn instead(text: &str, old: &str, new: &str) -> String {
    let (before, after) = text.split_once(old).unwrap();
    [before, new, after].concat()
}

/// The parts that are slow for the long object, with how slow.
fn slow_parts(parts: &[Part], short: &dyn Fn() -> Texts, long: &Texts) -> Vec<String> {
    let costs = long.review(|review| {
        let costs = parts.iter().map(|part| (part, nanoseconds(&|| part.1(review))));
        costs.filter(|(_, cost)| *cost >= NEGLIGIBLE_NS).collect::<Vec<_>>()
    });
    if costs.is_empty() {
        return Vec::new();
    }
    // Measured once, as the first to use the object: the long one does not fit into the caches either.
    let short = short();
    let short_costs = short.review(|review| {
        costs.iter().map(|((_, run), _)| nanoseconds(&|| run(review))).collect::<Vec<_>>()
    });
    let is_slow = |(((name, run), mut cost), mut short_cost): ((&Part, u64), u64)| {
        // Programs that use the same caches can lengthen one measurement, but not each time.
        for _ in 0..CONFIRMATIONS {
            if cost < NEGLIGIBLE_NS || cost <= MAX_GROWTH * short_cost {
                return None;
            }
            cost = long.review(|review| at_best(&|| run(review)));
            short_cost = short.review(|review| nanoseconds(&|| run(review)));
        }
        let times = cost / short_cost.max(1);
        let text = format!("{name}: {short_cost} ns became {cost} ns, {times} times");
        (cost >= NEGLIGIBLE_NS && times > MAX_GROWTH).then_some(text)
    };
    costs.into_iter().zip(short_costs).filter_map(is_slow).collect()
}

#[test]
fn no_rule_is_slower_than_n_log_n() {
    let slow: Vec<String> = std::thread::scope(|scope| {
        let threads = objects().map(|object| scope.spawn(move || slow_cases(&object)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(slow.is_empty(), "{} cases:\n{}", slow.len(), slow.join("\n"));
}

/// The cases in which a part is slow, with each list of this object made long.
fn slow_cases(object: &Value) -> Vec<String> {
    let parts = parts();
    let kind = object["kind"].as_str().unwrap();
    let mut all = Vec::new();
    lists(object, "", &mut all);
    assert!(all.len() > 100, "only {} lists", all.len());
    // All lists that are in no other list: a rule that multiplies two of them shows here.
    let is_outer = |at: &&String| !at.split('/').any(|step| step.parse::<usize>().is_ok());
    let outer: Vec<String> = all.iter().filter(is_outer).cloned().collect();
    let mut cases: Vec<Vec<String>> = all.into_iter().map(|at| vec![at]).collect();
    cases.push(outer);
    let mut slow = Vec::new();
    for case in &cases {
        for elements in [Elements::Same, Elements::Distinct, Elements::Mixed] {
            let with = |length: usize| {
                let mut object = object.clone();
                for at in case {
                    lengthen(object.pointer_mut(at).unwrap(), length, elements);
                }
                Texts::of(object)
            };
            // Both are shorter if the object would be too large to evaluate.
            let evaluated = |shorter: usize| {
                let long = with(LONG / shorter);
                size::too_large(&long.object).unwrap().is_none().then_some((shorter, long))
            };
            let (shorter, long) = [1, 2, 4, 8, 16, 32].into_iter().find_map(evaluated).unwrap();
            let name = if let [one] = &case[..] { one } else { "all lists" };
            let slow_now = slow_parts(&parts, &|| with(SHORT / shorter), &long);
            slow.extend(slow_now.iter().map(|it| format!("{elements:?} {name} of a {kind}: {it}")));
        }
    }
    slow
}

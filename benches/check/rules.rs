//! The growth of each rule's cost with its input: no rule may be slower than n log n.
//!
//! The benchmark lengthens every list and every map of a complete object eightfold, alone and all together. Between
//! the two lengths, n log n grows tenfold and n² sixty-four times, so the bound in the middle leaves a wide margin on
//! both sides. Parts that seem slow are measured again.

use jiff::civil::date;
use serde_json::{Value, json};
use setguard::{
    engine::{self, Context},
    finding::Findings,
    inject::{self, pod::PartialPod},
    inventory::{
        kind::kinds,
        object_summary::ObjectSummary,
        view::{Freshness, View},
    },
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

use crate::{
    growth::processor_time,
    lengthen::{Elements, lengthen, lists, objects},
};

const SHORT: usize = 64;
const LONG: usize = 8 * SHORT;
pub(crate) const MAX_GROWTH: f64 = 24.0; // Between 10 (n log n) and 64 (n²).
/// The maximum number of measurements of a seemingly slow part. Other programs can slow down one, but not all.
pub(crate) const MEASUREMENTS: usize = 5;
/// A rule that takes less time than this for the long input is not slow, whatever the short input takes.
const NEGLIGIBLE: f64 = 1e-3;

pub(crate) fn measure() {
    let slow: Vec<String> = objects().iter().flat_map(slow_cases).collect();
    assert!(slow.is_empty(), "{} cases are slower than n log n:\n{}", slow.len(), slow.join("\n"));
    println!("\nno rule is slower than n log n");
}

fn slow_cases(object: &Value) -> Vec<String> {
    let parts = parts();
    let kind = &object["kind"];
    let mut all = Vec::new();
    lists(object, "", &mut all);
    assert!(all.len() > 100, "only {} lists", all.len());
    // All outermost lists together, to find a rule that multiplies two of them.
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
                    lengthen(object.pointer_mut(at).expect("a list"), length, elements);
                }
                Texts::of(object)
            };
            // Shorten both if the object would be too large to evaluate.
            let evaluated = |shorter: usize| {
                let long = with(LONG / shorter);
                size::too_large(&long.object).expect("JSON").is_none().then_some((shorter, long))
            };
            let found = [1, 2, 4, 8, 16, 32].into_iter().find_map(evaluated);
            let (shorter, long) = found.expect("an object that is evaluated");
            let name = if let [one] = &case[..] { one } else { "all lists" };
            let slow_now = slow_parts(&parts, &|| with(SHORT / shorter), &long);
            slow.extend(slow_now.iter().map(|it| format!("{elements:?} {name} of a {kind}: {it}")));
        }
    }
    slow
}

fn slow_parts(parts: &[Part], short: &dyn Fn() -> Texts, long: &Texts) -> Vec<String> {
    let seconds = |(_, run): &Part, review: &Review<'_>| {
        let start = processor_time();
        run(review);
        processor_time() - start
    };
    // Reading an object takes longer than most parts, so read it once for all parts.
    let costs: Vec<_> = long.review(|review| {
        let costs = parts.iter().map(|part| (part, seconds(part, review)));
        costs.filter(|(_, cost)| *cost >= NEGLIGIBLE).collect()
    });
    if costs.is_empty() {
        return Vec::new();
    }
    let short = short();
    let is_slow = |(part, mut cost): (&Part, f64)| {
        let mut times = 0.0;
        for _ in 0..MEASUREMENTS {
            // Each starts with cold caches, since the long object does not fit into them either.
            times = cost / short.review(|review| seconds(part, review));
            if cost < NEGLIGIBLE || times <= MAX_GROWTH {
                return None;
            }
            cost = long.review(|review| seconds(part, review));
        }
        Some(format!("{}: {times:.0} times, {:.1} ms", part.0, cost * 1e3))
    };
    costs.into_iter().filter_map(is_slow).collect()
}

type Part = (String, Box<dyn Fn(&Review<'_>)>);

struct Review<'a> {
    create: Subject<'a>,
    update: Subject<'a>,
    pod: PartialPod<'a>,
    view: View,
}

fn parts() -> Vec<Part> {
    // The cluster where most rules apply.
    let mut cluster = Cluster::default();
    cluster.set_gate("MaxUnavailableStatefulSet", true);
    let (cluster, policy): (&Cluster, &Policy) =
        (Box::leak(Box::new(cluster)), Box::leak(Box::default()));
    let mut parts: Vec<Part> = Vec::new();
    let mut add = |name: String, run: Box<dyn Fn(&Review<'_>)>| parts.push((name, run));
    for on_update in [false, true] {
        let operation = if on_update { "UPDATE" } else { "CREATE" };
        let mut add = |name: &str, run: Box<dyn Fn(&Subject<'_>)>| {
            let run = move |it: &Review<'_>| run(if on_update { &it.update } else { &it.create });
            add(format!("{name} on {operation}"), Box::new(run));
        };
        let api = |subject: &Subject<'_>| {
            api_validation::validate(subject, cluster, &mut Findings::of(API_VALIDATION));
        };
        add("api-validation", Box::new(api));
        for trap in traps() {
            let run =
                |subject: &Subject<'_>| trap.run(subject, cluster, &mut Findings::of(&trap.meta));
            add(trap.meta.id, Box::new(run));
        }
        let cx = move || Context::of_review(policy, date(2026, 1, 1));
        add("the engine", Box::new(move |subject| drop(engine::evaluate(subject, &cx()))));
    }
    for rule in cross_object() {
        let run = |review: &Review<'_>| {
            drop(rule.run_among(&Query::in_cluster(&review.view, &review.create, cluster)));
        };
        add(format!("{} in a cluster", rule.meta.id), Box::new(run));
    }
    let template = |review: &Review<'_>| {
        drop(inject::template(&review.create.object, true, &policy.injection));
    };
    add("injection into a template".to_owned(), Box::new(template));
    let pod = |review: &Review<'_>| {
        let user = User { username: Str("system:kube-controller-manager".into()), groups: None };
        drop(inject::pod(&review.pod, &user, &policy.injection));
    };
    add("injection into a pod".to_owned(), Box::new(pod));
    parts
}

/// An object as JSON, and its related texts. All come from one text, because reading and writing them dominates the
/// run time.
struct Texts {
    resource: &'static Resource,
    object: String,
    /// The object before an UPDATE of its template.
    old: String,
    pod: String,
    /// A similar object, and objects of other kinds that matter to it.
    around: Vec<String>,
}

impl Texts {
    fn of(mut object: Value) -> Self {
        let text = |field: &str| object[field].as_str().expect("it is there");
        let resource = Resource::of(text("apiVersion"), text("kind")).expect("it is there");
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

    fn review<T>(&self, run: impl FnOnce(&Review<'_>) -> T) -> T {
        let json = &self.object;
        let parse =
            || Object::parse(self.resource, json).unwrap_or_else(|e| panic!("{e}: {json:.300}"));
        let create = Subject::create(parse());
        let review = Review {
            create,
            update: Subject::update(parse(), &self.old),
            pod: PartialPod::parse(&self.pod).expect("it is there"),
            view: view_of(&self.around),
        };
        // Read the old object here once, so that no single rule pays for it.
        assert!(review.update.old_template().is_some());
        run(&review)
    }
}

fn view_of(objects: &[String]) -> View {
    let mut view = View::default();
    for object in objects {
        view.inventory.put(ObjectSummary::of_json(object).expect("an item"));
    }
    kinds().for_each(|kind| view.set_freshness(kind, Freshness::Fresh));
    view
}

/// Replaces the first `old` in the text.
fn instead(text: &str, old: &str, new: &str) -> String {
    let (before, after) = text.split_once(old).expect("it is there");
    [before, new, after].concat()
}

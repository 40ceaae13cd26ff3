//! Objects with random changes: evaluating a decodable object never panics.

use std::cell::Cell;

use proptest::{prelude::*, test_runner::TestRunner};
use setguard::rules::api_validation;

use crate::prelude::*;
use crate::support::places;

const BASES: [&str; 4] = [
    include_str!("../conformance/bases/ds-min.json"),
    include_str!("../conformance/bases/ds-rich.json"),
    include_str!("../conformance/bases/sts-min.json"),
    include_str!("../conformance/bases/sts-rich.json"),
];

#[derive(Clone, Debug)]
struct Change {
    place: prop::sample::Index,
    new: New,
}

#[derive(Clone, Debug)]
enum New {
    Alike { text: String, number: i64 },
    Any(Value),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let alike = (text(), number()).prop_map(|(text, number)| New::Alike { text, number });
    let new = prop_oneof![4 => alike, 1 => value().prop_map(New::Any)];
    let change = (any::<prop::sample::Index>(), new);
    prop::collection::vec(change.prop_map(|(place, new)| Change { place, new }), 1..5)
}

fn number() -> impl Strategy<Value = i64> {
    let chosen = vec![i64::MIN, -1, 0, 1, 65536, i64::from(i32::MAX), i64::MAX];
    prop_oneof![2 => prop::sample::select(chosen), 1 => -5i64..100]
}

/// Texts that rules split, cut or count.
fn text() -> impl Strategy<Value = String> {
    let chosen = "|/|//|a/|-|é-|é|\n|%|99999999999999999999%|-1%|In|OnDelete|RollingUpdate|\
                  Always|-1Gi|1e999|..|localhost/../x|::|:|example.com/name|\
                  kubernetes.io/config.mirror|2026-01-01T00:00:00Z|TCP|\u{212a}";
    let chosen = prop::sample::select(chosen.split('|').collect::<Vec<_>>());
    prop_oneof![
        4 => chosen.prop_map(str::to_owned),
        1 => (58usize..66).prop_map(|n| "é".repeat(n)),
        1 => (250usize..256).prop_map(|n| "a".repeat(n)),
        2 => any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..3)
                .prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn change(object: &mut Value, Change { place, new }: Change) {
    let mut all = Vec::new();
    places(&object["metadata"], "/metadata", &mut all);
    places(&object["spec"], "/spec", &mut all);
    let place: &String = place.get(&all);
    let Some(here) = object.pointer_mut(place) else { return };
    let (text, number) = match new {
        New::Any(value) => {
            *here = value;
            return;
        }
        New::Alike { text, number } => (text, number),
    };
    match here {
        Value::Null => {}
        Value::Bool(on) => *on = !*on,
        Value::Number(old) => *old = number.into(),
        Value::String(old) => *old = text,
        Value::Array(items) => items.extend(items.clone()),
        Value::Object(entries) => {
            let key =
                entries.keys().nth(number.unsigned_abs() as usize % entries.len().max(1)).cloned();
            let value = key.and_then(|key| entries.shift_remove(&key));
            if let Some(value) = value.filter(|_| number > 0) {
                entries.insert(text, value);
            }
        }
    }
}

fn clusters() -> [Cluster; 3] {
    let gate = BTreeMap::from([("MaxUnavailableStatefulSet".to_owned(), true)]);
    [
        Cluster::new("1.33".parse().unwrap(), BTreeMap::new()),
        Cluster::new("1.36".parse().unwrap(), gate),
        Cluster::default(),
    ]
}

fn evaluate(json: &str, old: Option<&str>) -> Option<Vec<String>> {
    let object: Value = serde_json::from_str(json).unwrap();
    let resource = Resource::of("apps/v1", object["kind"].as_str()?)?;
    let mut texts = Vec::new();
    for cluster in clusters() {
        let object = Object::parse(resource, json).ok()?;
        let subject = match old {
            None => Subject::create(object),
            Some(old) => Subject::update(object, old),
        };
        let mut found = Findings::of(API_VALIDATION);
        let tolerated = api_validation::validate(&subject, &cluster, &mut found);
        for finding in found.into_vec().into_iter().chain(tolerated) {
            assert!(finding.field.pointer().starts_with('/'));
            texts.push(format!("{}: {}", finding.field, finding.message));
        }
    }
    Some(texts)
}

#[test]
fn the_bases_are_valid() {
    for base in BASES {
        assert_eq!(evaluate(base, None), Some(Vec::new()));
        assert_eq!(evaluate(base, Some(base)), Some(Vec::new()));
    }
}

#[test]
fn nothing_that_can_be_read_makes_a_rule_panic() {
    let mut runner = TestRunner::new(ProptestConfig { cases: 1000, ..ProptestConfig::default() });
    let (read, faulty) = (Cell::new(0), Cell::new(0));
    let strategy = (prop::sample::select(BASES.to_vec()), changes());
    runner
        .run(&strategy, |(base, changes)| {
            let mut object: Value = serde_json::from_str(base).unwrap();
            for one in changes {
                change(&mut object, one);
            }
            let json = object.to_string();
            let created = evaluate(&json, None);
            read.set(read.get() + usize::from(created.is_some()));
            faulty.set(faulty.get() + usize::from(created.is_some_and(|texts| !texts.is_empty())));
            evaluate(&json, Some(base));
            evaluate(base, Some(&json));
            // An unchanged object violates no rule about changes.
            for text in evaluate(&json, Some(&json)).into_iter().flatten() {
                let about_change = text.contains("immutable") || text.contains("updates to");
                prop_assert!(!about_change || text.starts_with("metadata.deletion"), "{}", text);
            }
            Ok(())
        })
        .unwrap();
    assert!(read.get() > 400, "only {} of 1000 could be read", read.get());
    assert!(faulty.get() > 200, "only {} of 1000 had a fault", faulty.get());
}

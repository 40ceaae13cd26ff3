//! Compares the schema pass with the objects that a real API server failed to decode.

use setguard::object::schema::{read, strict};

use crate::prelude::*;
use crate::{corpus::cases, support::places};

/// The release of the recorded verdicts.
const RECORDED: Version = Version::of_minor(36);

#[test]
fn an_unknown_field_is_the_one_that_the_api_server_names() {
    let bases = bases();
    let mut seen = 0;
    for case in cases() {
        let message = &case.verdict.message;
        let Some((_, quoted)) = message.split_once("unknown field \"") else { continue };
        let Some(object) = case.object(&bases) else { continue };
        let expected = quoted.split('"').next().unwrap();
        seen += 1;
        // The tree from YAML must be the same.
        let text = format!("# as YAML\n{object}\n");
        let document = yaml::parse(&text).remove(0).unwrap();
        let resource = Resource::of("apps/v1", object["kind"].as_str().unwrap()).unwrap();
        let problems = strict(&document.root, resource, RECORDED);
        let fields: Vec<_> = problems.iter().map(|problem| problem.field.to_string()).collect();
        assert_eq!(fields, [expected], "{}", case.id);
        let help = expected.ends_with("maxUnavailble").then_some("did you mean maxUnavailable?");
        assert!(help.is_none() || problems[0].help.as_deref() == help, "{problems:?}");
    }
    assert!(seen > 20, "only {seen} cases");
}

/// The engine can read every object that passes the schema, with any value anywhere.
#[test]
fn an_object_that_passes_the_schema_can_be_evaluated() {
    let odd = json!([null, true, 0, -1, 1.5, 3_000_000_000_u64, u64::MAX, "", "1",
        "2027-03-31T12:00:00Z", [], [null], [null, "x", 1], {}, {"x": null},
        {"name": null, "x": {"y": []}}]);
    let odd = odd.as_array().unwrap();
    let (mut passed, mut refused) = (0, 0);
    let bases = bases();
    for base in ["ds-rich", "sts-rich"] {
        let base = bases[base].clone();
        let resource = Resource::of("apps/v1", base["kind"].as_str().unwrap()).unwrap();
        let mut all = Vec::new();
        places(&base, "", &mut all);
        for (place, value) in all.iter().flat_map(|place| odd.iter().map(move |v| (place, v))) {
            // Without these, setguard would not evaluate the object.
            if matches!(place.as_str(), "" | "/kind" | "/apiVersion") {
                continue;
            }
            let mut object = base.clone();
            *object.pointer_mut(place).unwrap() = value.clone();
            let text = object.to_string();
            let document = yaml::parse(&text).remove(0).unwrap();
            let reading = read(&document.root, resource);
            if !reading.problems.is_empty() {
                refused += 1;
                continue;
            }
            passed += 1;
            let json = reading.json(&document.root);
            let read = Object::parse(resource, &json);
            assert!(read.is_ok(), "{place} = {value}: {}", read.unwrap_err());
        }
    }
    assert!(passed > 500 && refused > 500, "{passed} passed, {refused} refused");
}

/// <https://github.com/setguard/setguard/issues/29>
#[test]
fn of_many_unknown_fields_a_hundred_are_described_and_the_others_counted() {
    let mut text = "apiVersion: apps/v1\nkind: DaemonSet\nspec:\n".to_owned();
    (0..250).for_each(|i| text.push_str(&format!("  unknown{i}: 1\n")));
    let document = yaml::parse(&text).remove(0).unwrap();
    let resource = Resource::of("apps/v1", "DaemonSet").unwrap();
    let problems = strict(&document.root, resource, RECORDED);
    assert_eq!(problems.len(), 101);
    let last = problems.last().unwrap();
    assert_eq!(last.message, "and 150 more problems, from here on");
    assert_eq!(last.mark.line, 104);
}

/// Comparing a key with the known fields takes little time and memory, whatever its length.
#[test]
fn a_long_unknown_field_costs_no_more_than_its_text() {
    let key = "a".repeat(4 << 20);
    // A YAML key has at most 1,024 characters.
    let spec = json!({ key: 1 });
    let text = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": spec}).to_string();
    let document = yaml::parse(&text).remove(0).unwrap();
    let resource = Resource::of("apps/v1", "DaemonSet").unwrap();
    let problems = strict(&document.root, resource, RECORDED);
    assert!(problems[0].message.starts_with("unknown field"));
    assert_eq!(problems[0].help, None);
}

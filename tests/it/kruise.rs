//! OpenKruise sets: rules evaluate the fields of the built-in sets, and ignore OpenKruise's own fields.

use setguard::kubernetes::resource::RESOURCES;

use crate::prelude::*;

fn good(resource: &Resource) -> Value {
    json!({
        "apiVersion": resource.api_version(), "kind": resource.kind.as_str(),
        "metadata": {"name": "a"},
        "spec": {
            "serviceName": "a",
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {
                    "tolerations": [{
                        "key": "node-role.kubernetes.io/control-plane", "operator": "Exists",
                        "effect": "NoSchedule",
                    }],
                    "containers": [{"name": "a", "image": "registry.example.com/a:1.0"}],
                },
            },
        },
    })
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
    object
}

fn found(object: &Value, old: Option<&Value>) -> Vec<Found> {
    support::evaluate(&object.to_string(), old.map(Value::to_string).as_deref())
}

fn pairs() -> impl Iterator<Item = (&'static Resource, &'static Resource)> {
    let kruise = RESOURCES.iter().filter(|resource| resource.is_kruise());
    kruise.map(|own| {
        let of_the_kind = |r: &&Resource| !r.is_kruise() && r.kind == own.kind;
        (RESOURCES.iter().find(of_the_kind).unwrap(), own)
    })
}

#[test]
fn shared_fields_are_evaluated_alike() {
    let mut seen = 0;
    for (built_in, own) in pairs() {
        assert_eq!(found(&good(own), None), [], "{own:?}");
        for (pointer, value) in [
            ("/metadata/name", json!("A")),
            ("/metadata/name", json!("a".repeat(250))),
            ("/spec/selector", json!({})),
            ("/spec/selector", json!({"matchLabels": {"app": "b"}})),
            ("/spec/template/spec/restartPolicy", json!("Never")),
            ("/spec/template/spec/activeDeadlineSeconds", json!(5)),
            ("/spec/template/spec/containers/0/image", json!("")),
            ("/spec/template/spec/nodeName", json!("n")),
            ("/spec/template/metadata/finalizers", json!(["example.com/f"])),
            ("/spec/updateStrategy", json!({"type": "Other"})),
            ("/spec/revisionHistoryLimit", json!(0)),
        ] {
            let bad = |resource| with(good(resource), pointer, value.clone());
            let expected = found(&bad(built_in), None);
            assert!(!expected.is_empty(), "{pointer} {value}");
            assert_eq!(found(&bad(own), None), expected, "{own:?} {pointer} {value}");
            seen += 1;
        }
    }
    assert_eq!(seen, 3 * 11);
}

//! OpenKruise's sets: fields that the built-in sets have too are evaluated alike, and fields that
//! only OpenKruise has are left to it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use setguard::{
    kubernetes::{
        cluster::Cluster,
        resource::{RESOURCES, Resource},
        version::Version,
    },
    object::{schema::strict, storage::Storage},
    yaml,
};

use crate::support::{self, Found};

/// A set without findings.
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

/// The object with another value at a JSON pointer.
fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let mut at = &mut object;
    for step in parent.split('/').skip(1) {
        at = &mut at[step];
    }
    at[name] = value;
    object
}

fn found(object: &Value, old: Option<&Value>) -> Vec<Found> {
    support::evaluate(&object.to_string(), old.map(Value::to_string).as_deref())
}

fn ids(found: &[Found]) -> Vec<(&str, &str)> {
    found.iter().map(|found| (found.rule.as_str(), found.field.as_str())).collect()
}

fn problems(object: &Value) -> Vec<String> {
    let text = object.to_string();
    let document = yaml::parse(&text).remove(0).unwrap();
    let resource = support::resource(&text).unwrap();
    let problems = strict(&document.root, resource, Version::NEWEST);
    problems.iter().map(|problem| problem.field.to_string()).collect()
}

/// The built-in and the OpenKruise resources of the same kind.
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
            let bad = |resource| match pointer {
                "/spec/template/spec/containers/0/image" => {
                    let mut object = good(resource);
                    *object.pointer_mut(pointer).unwrap() = value.clone();
                    object
                }
                _ => with(good(resource), pointer, value.clone()),
            };
            let expected = found(&bad(built_in), None);
            assert!(!expected.is_empty(), "{pointer} {value}");
            assert_eq!(found(&bad(own), None), expected, "{own:?} {pointer} {value}");
            seen += 1;
        }
    }
    assert_eq!(seen, 3 * 11);
}

#[test]
fn the_selector_cannot_change_but_claim_templates_can() {
    for (_, own) in pairs() {
        let old = good(own);
        let other = json!({"app": "b"});
        let new = with(good(own), "/spec/selector/matchLabels", other.clone());
        let new = with(new, "/spec/template/metadata/labels", other);
        let found = found(&new, Some(&old));
        assert!(ids(&found).iter().any(|(rule, _)| *rule == "api-validation"), "{found:?}");
    }
    let own = Resource::of("apps.kruise.io/v1beta1", "StatefulSet").unwrap();
    let claim = |size: &str| {
        json!([{
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                "resources": {"requests": {"storage": size}},
            },
        }])
    };
    let mount = json!([{"name": "data", "mountPath": "/data"}]);
    let set = |resource, size| {
        let mut set = with(good(resource), "/spec/volumeClaimTemplates", claim(size));
        set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = mount.clone();
        set
    };
    assert_eq!(found(&set(own, "2Gi"), Some(&set(own, "1Gi"))), []);
    let built_in = Resource::of("apps/v1", "StatefulSet").unwrap();
    assert_ne!(found(&set(built_in, "2Gi"), Some(&set(built_in, "1Gi"))), []);
}

#[test]
fn max_unavailable_of_a_stateful_set_needs_no_feature_gate() {
    let own = Resource::of("apps.kruise.io/v1beta1", "StatefulSet").unwrap();
    let built_in = Resource::of("apps/v1", "StatefulSet").unwrap();
    let set = |resource, value: Value| {
        let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": value}});
        let set = with(good(resource), "/spec/podManagementPolicy", json!("Parallel"));
        with(with(set, "/spec/replicas", json!(4)), "/spec/updateStrategy", strategy)
    };
    // Without the gate, which is on by default since 1.37.
    let off = Cluster::new("1.36".parse().unwrap(), BTreeMap::new());
    let found =
        |object: &Value| support::evaluate_in(&object.to_string(), None, &off, &Storage::default());
    let field = "spec.updateStrategy.rollingUpdate.maxUnavailable";
    assert_eq!(ids(&found(&set(built_in, json!(2)))), [("max-unavailable-ignored", field)]);
    assert_eq!(found(&set(own, json!(2))), []);
    assert_eq!(ids(&found(&set(own, json!(0)))), [("api-validation", field)]);
    assert_eq!(ids(&found(&set(own, json!("x"))))[0], ("api-validation", field));
    assert_eq!(ids(&found(&set(own, json!(4)))), [("max-unavailable-everything", field)]);
}

/// OpenKruise's webhook validates no value of a DaemonSet that it takes for 0.
#[test]
fn a_text_without_a_number_is_zero() {
    let own = Resource::of("apps.kruise.io/v1beta1", "DaemonSet").unwrap();
    let set = |unavailable: &str, surge: &str| {
        let rolling = json!({"maxUnavailable": unavailable, "maxSurge": surge});
        with(good(own), "/spec/updateStrategy", json!({"rollingUpdate": rolling}))
    };
    for nothing in ["x", " 5%", "-1%", "0%", ""] {
        assert_eq!(found(&set("20%", nothing), None), [], "{nothing:?}");
        let field = "spec.updateStrategy.rollingUpdate.maxUnavailable";
        assert_eq!(ids(&found(&set(nothing, nothing), None)), [("api-validation", field)]);
    }
    assert!(!found(&set("5", "0%"), None).is_empty(), "a number in quotes is not a percentage");
}

#[test]
fn known_fields_must_have_their_type_and_unknown_ones_are_allowed() {
    for (_, own) in pairs() {
        let object = with(good(own), "/spec/anything", json!({"a": [1, null]}));
        let object = with(object, "/spec/template/spec/anything", json!(true));
        let object = with(object, "/status", json!({"conditions": "none"}));
        assert_eq!(problems(&object), Vec::<String>::new(), "{own:?}");
        assert!(support::decodes(&object.to_string()), "{own:?}");
        let places = [
            ("/spec/template/spec/hostNetwork", json!("yes"), "spec.template.spec.hostNetwork"),
            (
                "/spec/updateStrategy",
                json!({"rollingUpdate": {"partition": true}}),
                "spec.updateStrategy.rollingUpdate.partition",
            ),
            ("/spec/revisionHistoryLimit", json!("1"), "spec.revisionHistoryLimit"),
        ];
        for (pointer, value, field) in places {
            let object = with(good(own), pointer, value);
            assert_eq!(problems(&object)[0], field, "{own:?}");
            assert!(!support::decodes(&object.to_string()), "{own:?} {field}");
        }
    }
    // Only the partition of a DaemonSet may be a percentage.
    let share = json!({"rollingUpdate": {"partition": "50%"}});
    for (_, own) in pairs() {
        let object = with(good(own), "/spec/updateStrategy", share.clone());
        assert_eq!(problems(&object).is_empty(), own.kind.as_str() == "DaemonSet", "{own:?}");
    }
}

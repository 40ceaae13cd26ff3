//! `setguard export`. The end-to-end tests compare how the API server finds and injects with the policies.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use setguard::{rules::in_cel, yaml};

use crate::folder::{self, Folder, Ran};

fn export(form: &str, policy: &str, args: &[&str]) -> Ran {
    let folder = Folder::new([("policy.yaml", &*folder::policy(policy))]);
    folder.setguard(&[&["export", form, "--policy", "policy.yaml"], args].concat())
}

fn objects(ran: &Ran) -> Vec<Value> {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    parsed(&ran.stdout)
}

fn parsed(text: &str) -> Vec<Value> {
    let documents = yaml::parse(text).into_iter().map(Result::unwrap);
    documents.map(|it| serde_json::from_str(&it.root.to_json()).unwrap()).collect()
}

fn names(objects: &[Value], kind: &str) -> Vec<String> {
    let of_kind = objects.iter().filter(|object| object["kind"] == kind);
    of_kind.map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_policy_has_a_binding_with_the_mode_of_the_rule() {
    let modes = "rules: {surge-host-port: audit, grace-period-zero: deny, claim-unmounted: off}";
    let objects = objects(&export("vap", modes, &[]));
    let policies = names(&objects, "ValidatingAdmissionPolicy");
    assert_eq!(policies, names(&objects, "ValidatingAdmissionPolicyBinding"));
    assert_eq!(BTreeSet::from_iter(&policies).len(), policies.len(), "{policies:?}");
    let actions = |rule: &str| {
        let name = format!("{rule}.setguard.io");
        let mut found = objects.iter().filter(|it| it["spec"]["policyName"] == name.as_str());
        found.next().map(|binding| binding["spec"]["validationActions"].to_string())
    };
    for (rule, expected) in [
        ("surge-host-port", Some("[\"Audit\"]")),
        ("surge-host-port.had-before", None),
        ("grace-period-zero", Some("[\"Deny\"]")),
        ("grace-period-zero.had-before", Some("[\"Warn\"]")),
        ("claim-unmounted", None),
        ("claim-hides-volume", Some("[\"Warn\"]")),
    ] {
        assert_eq!(actions(rule).as_deref(), expected, "{rule}");
    }
}

#[test]
fn a_group_has_the_same_validations_in_fewer_policies() {
    let text = "rules: {surge-host-port: audit, claim-unmounted: off}\nlimits: [{deletesClaims: false, reason: r}]";
    let validations = |args: &[&str]| {
        let objects = objects(&export("vap", text, args));
        let policies = names(&objects, "ValidatingAdmissionPolicy");
        assert_eq!(policies, names(&objects, "ValidatingAdmissionPolicyBinding"));
        assert_eq!(BTreeSet::from_iter(&policies).len(), policies.len(), "{policies:?}");
        let mut found = BTreeSet::new();
        for [policy, binding] in objects.as_chunks().0 {
            let (spec, name) = (&policy["spec"], &policy["metadata"]["name"]);
            assert_eq!(binding["spec"]["policyName"], *name);
            let validations = spec["validations"].as_array().unwrap();
            assert!(validations.len() <= 5, "{name}");
            for validation in validations {
                let actions = &binding["spec"]["validationActions"];
                found.insert(format!("{actions} {} {validation}", spec["matchConstraints"]));
            }
        }
        (policies.len(), found)
    };
    let (count, each) = validations(&[]);
    let (groups, grouped) = validations(&["--group"]);
    assert_eq!(each, grouped);
    assert!(count > 40 && groups < count / 2, "{count} {groups}");
}

#[test]
fn every_expression_is_about_an_object() {
    let all: String = in_cel().map(|(rule, _)| format!("  {}: deny\n", rule.meta.id)).collect();
    let objects = objects(&export("vap", &format!("rules:\n{all}"), &[]));
    let mut seen = 0;
    for object in objects.iter().filter(|it| it["kind"] == "ValidatingAdmissionPolicy") {
        let spec = &object["spec"];
        let validation = &spec["validations"][0];
        for field in ["expression", "messageExpression", "message"] {
            let text = validation[field].as_str().unwrap_or_default();
            assert!(!text.contains('@') && !text.contains('\n'), "{text}");
        }
        // The API server evaluates a message expression in each write, even without a fault.
        let message = validation["messageExpression"].as_str();
        assert!(message.is_none_or(|it| it.contains("bject.")), "{message:?}");
        assert!(validation["expression"].as_str().unwrap().contains("object."));
        assert_eq!(spec["failurePolicy"], "Ignore");
        seen += 1;
    }
    assert!(seen >= in_cel().count(), "{seen}");
}

#[test]
fn an_export_is_compared_with_what_the_api_server_has() {
    let folder = Folder::new([("policy.yaml", &*folder::policy(""))]);
    let export = |more: &[&str]| {
        folder.setguard(&[&["export", "vap", "--policy", "policy.yaml"], more].concat())
    };
    let check = ["--check", "policies.yaml"];
    // Comments and order don't count.
    let text = export(&[]).stdout;
    let mut documents: Vec<_> = text.split("---\n").skip(1).collect();
    documents.reverse();
    folder.write("policies.yaml", documents.join("---\n"));
    assert_eq!(export(&check).code, 0);

    // As `kubectl get -o yaml` prints it: a list, with defaults of the API server.
    let stored = |mut object: Value| {
        object["metadata"]["uid"] = "u".into();
        object["status"] = json!({ "observedGeneration": 1 });
        if let Some(matched) = object["spec"].get_mut("matchConstraints") {
            matched["matchPolicy"] = "Equivalent".into();
            matched["objectSelector"] = json!({});
            matched["resourceRules"][0]["scope"] = "*".into();
        }
        object
    };
    let mut list = json!({ "apiVersion": "v1", "kind": "List" });
    list["items"] = parsed(&text).into_iter().map(stored).collect();
    folder.write("policies.yaml", list.to_string());
    assert_eq!(export(&check).code, 0, "{:?}", export(&check));
    list["items"][0]["spec"]["matchConstraints"]["objectSelector"] =
        json!({ "matchLabels": { "a": "b" } });
    folder.write("policies.yaml", list.to_string());
    assert_eq!(export(&check).stdout.lines().count(), 2, "{:?}", export(&check));
}

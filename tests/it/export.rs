//! `setguard export vap`. What the API server finds by the policies, the end-to-end tests compare.

use std::collections::BTreeSet;

use serde_json::Value;
use setguard::{rules::traps::IN_CEL, yaml};

use crate::folder::{Folder, Ran};

fn export(policy: &str, args: &[&str]) -> Ran {
    let policy = format!("apiVersion: setguard.io/v1alpha1\nkind: Policy\n{policy}");
    let folder = Folder::new([("policy.yaml", &*policy)]);
    folder.setguard(&[&["export", "vap", "--policy", "policy.yaml"], args].concat())
}

fn objects(ran: &Ran) -> Vec<Value> {
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let documents = yaml::parse(&ran.stdout).into_iter().map(Result::unwrap);
    documents.map(|it| serde_json::from_str(&it.root.to_json()).unwrap()).collect()
}

fn names(objects: &[Value], kind: &str) -> Vec<String> {
    let of_kind = objects.iter().filter(|object| object["kind"] == kind);
    of_kind.map(|it| it["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_rule_that_denies_has_two_policies() {
    insta::assert_snapshot!(export("", &["--rules", "surge-host-port"]).stdout);
}

#[test]
fn each_policy_has_a_binding_with_the_mode_of_the_rule() {
    let modes = "rules: {surge-host-port: audit, grace-period-zero: deny, claim-unmounted: off}";
    let objects = objects(&export(modes, &[]));
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
fn every_expression_is_about_an_object() {
    let all: String =
        IN_CEL.iter().map(|(rule, _)| format!("  {}: deny\n", rule.meta.id)).collect();
    let objects = objects(&export(&format!("rules:\n{all}"), &["--kube-version", "1.37"]));
    let mut seen = 0;
    for object in objects.iter().filter(|it| it["kind"] == "ValidatingAdmissionPolicy") {
        let spec = &object["spec"];
        let validation = &spec["validations"][0];
        for text in [&validation["expression"], &validation["messageExpression"]] {
            let text = text.as_str().unwrap();
            assert!(!text.contains('@') && !text.contains('\n'), "{text}");
        }
        assert!(validation["expression"].as_str().unwrap().contains("object."));
        assert_eq!(spec["failurePolicy"], "Ignore");
        seen += 1;
    }
    assert!(seen >= IN_CEL.len(), "{seen}");
}

#[test]
fn exceptions_are_conditions_with_their_patterns_escaped() {
    let exception = "exceptions:\n- {rules: [grace-period-zero], names: [\"a.b-*\", \"it's\\\\\"], reason: r}\n";
    let objects = objects(&export(exception, &["--rules", "grace-period-zero"]));
    let conditions = objects[0]["spec"]["matchConditions"].as_array().unwrap();
    let of_exception = conditions.iter().find(|it| it["name"] == "no-exception").unwrap();
    assert_eq!(
        of_exception["expression"],
        r"!((object.metadata.name.matches('^(a\\.b-.*|it\\\'s\\\\)$')))"
    );
}

#[test]
fn a_gate_that_is_off_and_a_rule_that_is_unknown_are_said() {
    let ran = export("", &["--kube-version", "1.34", "--rules", "max-unavailable-ordered"]);
    let why = "the feature gate MaxUnavailableStatefulSet is off in this release";
    assert!(ran.stdout.contains(why), "{ran:?}");
    let ran = export("", &["--rules", "surge-hostport"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.stderr.contains("did you mean surge-host-port?"), "{ran:?}");
}

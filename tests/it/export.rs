//! `setguard export`. What the API server finds and injects by the policies, the end-to-end tests compare.

use std::collections::BTreeSet;

use serde_json::Value;
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
        // The API server evaluates such an expression in each write, also without a fault.
        let message = validation["messageExpression"].as_str();
        assert!(message.is_none_or(|it| it.contains("bject.")), "{message:?}");
        assert!(validation["expression"].as_str().unwrap().contains("object."));
        assert_eq!(spec["failurePolicy"], "Ignore");
        seen += 1;
    }
    assert!(seen >= in_cel().count(), "{seen}");
}

#[test]
fn mutating_policies_have_the_version_of_the_release() {
    for (release, expected) in
        [("1.34", "v1beta1"), ("1.35", "v1beta1"), ("1.36", "v1"), ("1.37", "v1")]
    {
        let ran = export("map", "", &["--kube-version", release]);
        let objects = objects(&ran);
        let mutating: Vec<_> = objects
            .iter()
            .filter(|it| it["kind"].as_str().unwrap().starts_with("Mutating"))
            .collect();
        assert_eq!(mutating.len(), 8, "{ran:?}");
        let expected_version = format!("admissionregistration.k8s.io/{expected}");
        assert!(mutating.iter().all(|it| it["apiVersion"] == *expected_version), "{ran:?}");
        assert_eq!(ran.stdout.contains("--runtime-config"), expected == "v1beta1", "{ran:?}");
    }
    let ran = export("map", "", &["--kube-version", "1.33"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(ran.stderr.contains("are an alpha feature before 1.34"), "{ran:?}");
}

/// kube-apiserver does not start if a file breaks one of these conditions.
#[test]
fn static_policies_meet_the_conditions_of_files() {
    let pods = ["--rules", "node-pin-conflict,unpaired-node-annotation"];
    for (form, plugin, more) in
        [("vap", "Validating", &[][..]), ("vap", "Validating", &pods), ("map", "Mutating", &[])]
    {
        let ran = export(form, "", &[&["--static"], more].concat());
        let objects = objects(&ran);
        assert!(!objects.is_empty() && !ran.stdout.contains("feature-gates"), "{ran:?}");
        let policies = names(&objects, &format!("{plugin}AdmissionPolicy"));
        let mut bindings = names(&objects, &format!("{plugin}AdmissionPolicyBinding"));
        assert_eq!(policies, bindings);
        bindings.extend(policies);
        assert_eq!(bindings.len(), objects.len(), "a folder has the policies of one plugin");
        for object in &objects {
            assert_eq!(object["apiVersion"], "admissionregistration.k8s.io/v1");
            let spec = &object["spec"];
            assert!(spec["paramKind"].is_null() && spec["paramRef"].is_null(), "{object}");
            let name =
                spec["policyName"].as_str().unwrap_or(object["metadata"]["name"].as_str().unwrap());
            assert!(name.ends_with(".setguard.static.k8s.io"), "{name}");
        }
        // A document with only comments has no kind.
        let documents: Vec<_> = ran.stdout.split("---\n").collect();
        assert!(documents.iter().all(|it| it.contains("\nkind: ")), "{ran:?}");
    }
}

#[test]
fn an_export_that_is_not_up_to_date_is_said() {
    let policy = folder::policy(
        "exceptions: [{rules: [surge-host-port], reason: r, expires: 2999-01-01}]\n",
    );
    let folder = Folder::new([("policy.yaml", &*policy)]);
    let export = |more: &[&str]| {
        folder.setguard(&[&["export", "vap", "--policy", "policy.yaml"], more].concat())
    };
    let text = export(&[]).stdout;
    folder.write("policies.yaml", &text);
    let check = ["--check", "policies.yaml"];
    let ran = export(&check);
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (0, "", ""));

    // Comments and the order don't count.
    let documents: Vec<_> = text.split("---\n").skip(1).collect();
    let others: Vec<_> = documents.iter().rev().copied().collect();
    folder.write("policies.yaml", others.join("---\n"));
    assert_eq!(export(&check).code, 0);

    // As `kubectl get -o yaml` prints it: a list, with defaults of the API server.
    let stored = |mut object: Value| {
        object["metadata"]["uid"] = "u".into();
        object["status"] = serde_json::json!({ "observedGeneration": 1 });
        if let Some(matched) = object["spec"].get_mut("matchConstraints") {
            matched["matchPolicy"] = "Equivalent".into();
            matched["objectSelector"] = serde_json::json!({});
            matched["resourceRules"][0]["scope"] = "*".into();
        }
        object
    };
    let mut list = serde_json::json!({ "apiVersion": "v1", "kind": "List" });
    list["items"] = parsed(&text).into_iter().map(stored).collect();
    folder.write("policies.yaml", list.to_string());
    assert_eq!(export(&check).code, 0, "{:?}", export(&check));
    list["items"][0]["spec"]["matchConstraints"]["objectSelector"] =
        serde_json::json!({ "matchLabels": { "a": "b" } });
    folder.write("policies.yaml", list.to_string());
    assert_eq!(export(&check).stdout.lines().count(), 2, "{:?}", export(&check));

    let less = documents[1..].join("---\n").replace("[Warn]", "[Deny]");
    let others = "---\nkind: ValidatingAdmissionPolicy\nmetadata: {name: old.setguard.io}\n\
                  ---\nkind: ValidatingAdmissionPolicy\nmetadata: {name: mine}\n";
    folder.write("policies.yaml", less + others);
    let ran = export(&check).ends(1);
    assert!(ran.stdout.starts_with("policies.yaml is not up to date; export again:\n"), "{ran:?}");
    assert!(ran.stdout.contains(" is missing\n"), "{ran:?}");
    let gone = "  ValidatingAdmissionPolicy old.setguard.io is not exported any more\n";
    assert!(ran.stdout.contains(gone) && !ran.stdout.contains("mine"), "{ran:?}");

    // The day after an exception ends, the condition goes.
    folder.write("policies.yaml", &text);
    folder.write("policy.yaml", policy.replace("2999", "2020"));
    let ran = export(&check).ends(1);
    let changed = "ValidatingAdmissionPolicy surge-host-port.setguard.io has changed\n";
    assert!(ran.stdout.contains(changed), "{ran:?}");

    folder.write("policies.yaml", "a: [");
    export(&check).ends(2).reports("cannot read policies.yaml: line ");
}

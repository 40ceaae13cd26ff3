//! `setguard export`. The end-to-end tests compare how the API server finds and injects with the policies.

use setguard::rules::in_cel;

use crate::folder;
use crate::prelude::*;

fn export(form: &str, policy: &str, args: &[&str]) -> Ran {
    let folder = Folder::new([("policy.yaml", &*folder::policy(policy))]);
    folder.setguard(&[&["export", form, "--policy", "policy.yaml"], args].concat())
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

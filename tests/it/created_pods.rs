//! Compares the rules about pods that are never created with recordings of real controllers and a real API server
//! (`tests/conformance/pods.jsonl`).

use setguard::finding::Finding;

use crate::prelude::*;
use crate::{
    corpus::patched,
    support::{cluster_of_release, resource_of},
};

/// The rules about refused claims and pods.
const OF_CLAIMS: &str = "claim-metadata-invalid";
const OF_PODS: [&str; 2] = ["pod-never-created", "name-too-long"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    base: String,
    patch: json_patch::Patch,
    /// The text of the controller's event. `None` if the controller created the pod.
    refused: Option<String>,
}

fn cases() -> Vec<Case> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/pods.jsonl");
    let file = env::var_os("POD_CASES").map_or(own, Into::into);
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn evaluate(object: &Value, release: &str) -> Vec<Finding> {
    let json = object.to_string();
    let subject = Subject::create(Object::parse(resource_of(object), &json).unwrap());
    let cluster = cluster_of_release(release);
    let is_asked = |id: &str| OF_PODS.contains(&id) || id == OF_CLAIMS;
    let mut found = Findings::of(&traps().next().unwrap().meta);
    for trap in traps().filter(|trap| is_asked(trap.meta.id)) {
        found.set_rule(&trap.meta);
        trap.run(&subject, &cluster, &mut found);
    }
    found.into_vec()
}

/// Returns whether the findings match the controller's event: the right rule, in the API server's words. The event has
/// only the first refusal of an admission plugin, and at most 1,024 characters.
fn agree(refused: Option<&str>, found: &[Finding]) -> bool {
    let Some(said) = refused else { return found.is_empty() };
    let of_claim = said.starts_with("Create Claim");
    let asked = |finding: &&Finding| (finding.rule.id == OF_CLAIMS) == of_claim;
    let is_said = |finding: &Finding| {
        let (_, text) = finding.message.split_once(" created: ").unwrap_or_default();
        let text = text.strip_prefix("Forbidden: ").unwrap_or(text);
        let text = text.strip_suffix(": reference is missing").unwrap_or(text);
        finding.rule.id == "name-too-long" || (!text.is_empty() && said.contains(text))
    };
    let mut asked = found.iter().filter(asked).peekable();
    let is_whole = said.contains("is invalid:") && said.len() < 1_000;
    let late = |finding: &Finding| {
        ["overhead", "resourceVersion"].iter().any(|it| finding.field.to_string().ends_with(it))
    };
    asked.peek().is_some()
        && asked.clone().any(is_said)
        && (!is_whole || asked.all(|finding| is_said(finding) || late(finding)))
}

#[test]
fn what_no_controller_could_create_is_found_and_nothing_else() {
    let bases = bases();
    let cases = cases();
    let mut wrong = Vec::new();
    for case in &cases {
        let object = patched(&bases[&case.base], &case.patch).unwrap();
        let found = evaluate(&object, "1.36");
        if !agree(case.refused.as_deref(), &found) {
            let ours: String = found
                .iter()
                .map(|it| format!("\n    {} {}: {}", it.rule.id, it.field, it.message))
                .collect();
            let theirs = case.refused.as_deref().unwrap_or("created");
            wrong.push(format!("{}: {theirs}{ours}", case.id));
        }
    }
    let refused = cases.iter().filter(|case| case.refused.is_some()).count();
    println!("{} cases, {refused} refused, {} wrong", cases.len(), wrong.len());
    assert!(refused > 300 && cases.len() - refused > 300, "cases are missing");
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Up to 1.33, the API server does not validate these. Later it does, and setguard must not repeat the error.
#[test]
fn where_a_stateful_set_is_not_validated_its_pods_and_claims_still_are() {
    let mut object = bases().remove("sts-min").unwrap();
    object["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 0}]);
    object["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    }]);
    let fields = |release| -> Vec<String> {
        evaluate(&object, release).iter().map(|finding| finding.field.to_string()).collect()
    };
    assert_eq!(
        fields("1.33"),
        [
            "spec.volumeClaimTemplates[0].spec.accessModes",
            "spec.template.spec.containers[0].ports[0].containerPort",
        ]
    );
    assert_eq!(fields("1.34"), Vec::<String>::new());
}

/// Too long for the recorded cases. With one byte less, the controller created the claim.
#[test]
fn annotations_of_a_claim_have_a_limit() {
    let mut object = bases().remove("sts-min").unwrap();
    let spec = json!({
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    });
    let mut with = |length| {
        let metadata = json!({"name": "data", "annotations": {"a": "x".repeat(length)}});
        object["spec"]["volumeClaimTemplates"] = json!([{"metadata": metadata, "spec": spec}]);
        evaluate(&object, "1.36").into_iter().map(|finding| finding.message).collect::<Vec<_>>()
    };
    assert_eq!(with(262_143), Vec::<String>::new());
    assert_eq!(
        with(262_144),
        ["no claim, and so no pod, can be created: Too long: may not be more than 262144 bytes"]
    );
}

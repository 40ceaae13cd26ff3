//! Tests of the rule catalogue and of the source tree itself.

use setguard::{
    finding::Meta,
    inject::{self, Injection, pod::PartialPod},
    object::{Str, User},
    rules::{
        control_plane_injection::CONTROL_PLANE_INJECTION,
        control_plane_tolerations_left::CONTROL_PLANE_TOLERATIONS_LEFT, cross_object,
        limit_exceeded::LIMIT_EXCEEDED, policy_weakened::POLICY_WEAKENED,
        unpaired_node_annotation::UNPAIRED_NODE_ANNOTATION,
    },
};

use crate::prelude::*;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn ids_are_unique_sorted_and_kebab_case() {
    let ids: Vec<_> = catalogue::all().iter().map(|rule| rule.meta.id).collect();
    let unique: BTreeSet<_> = ids.iter().copied().collect();
    assert_eq!(ids, unique.into_iter().collect::<Vec<_>>());
    for id in ids {
        let words: Vec<_> = id.split('-').collect();
        let is_word =
            |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
        assert!(words.iter().all(is_word), "{id}");
    }
}

#[test]
fn every_rule_has_a_title_a_summary_and_a_why() {
    for rule in catalogue::all() {
        let (meta, id) = (&rule.meta, rule.meta.id);
        assert!((10..=80).contains(&meta.summary.chars().count()), "{id}: summary");
        assert!(!meta.summary.ends_with('.'), "{id}: summary");
        let words = meta.title.split_whitespace().count();
        assert!((1..=8).contains(&words) && !meta.title.ends_with('.'), "{id}: title");
        assert!(meta.why.len() > 100, "{id}: why");
        assert!(meta.why.lines().all(|line| line.chars().count() <= 110), "{id}: why");
        assert!(!rule.kinds().is_empty(), "{id}: kinds");
    }
}

/// The rules that report an example. Examples of injection rules go through injection with a paired controller as the
/// creator, except for `unpaired-node-annotation`.
fn run(meta: &Meta, yaml: &str) -> Vec<String> {
    if meta == CONTROL_PLANE_INJECTION {
        let json = support::to_json(yaml).remove(0);
        let object = Object::parse(support::resource(&json).unwrap(), &json).unwrap();
        return injected(&inject::template(&object, false, &Policy::default().injection));
    }
    if meta == CONTROL_PLANE_TOLERATIONS_LEFT {
        let [old, new] = support::to_json(yaml).try_into().expect("the old object and the new one");
        let object = Object::parse(support::resource(&new).unwrap(), &new).unwrap();
        let mut found = Findings::of(API_VALIDATION);
        let subject = Subject::update(object, &old);
        inject::left_over::find(&subject, None, &Policy::default().injection, &mut found);
        return found.into_vec().iter().map(|found| found.rule.id.to_owned()).collect();
    }
    if meta == POLICY_WEAKENED {
        let found = Policy::parse(yaml).unwrap().weaker_than(&Policy::default(), "main");
        return found.into_vec().iter().map(|found| found.rule.id.to_owned()).collect();
    }
    if meta == LIMIT_EXCEEDED {
        let documents: Vec<_> = yaml.split("---\n").collect();
        let [policy, old, new] = documents[..] else {
            panic!("a policy, the old object, the new one")
        };
        let policy = Policy::parse(policy).unwrap();
        return support::evaluate_update(&policy, old, new)
            .into_iter()
            .map(|found| found.rule)
            .filter(|rule| rule != "claims-deleted-on-scale-down")
            .collect();
    }
    if yaml.starts_with("# Seen at ") {
        // Some findings have their own status finding too, such as a node that is down, even when a set depends on
        // them.
        let found = support::status(yaml).into_iter().map(|found| found.rule);
        let others = match meta.id {
            "class-of-claims-missing" => "claim-pending",
            _ => "node-down",
        };
        return found.filter(|rule| rule == meta.id || rule != others).collect();
    }
    if !yaml.contains("kind: Pod\n") {
        let mut found = support::example(yaml);
        found.retain(|found| !support::may_accompany(found, meta.id));
        return found.into_iter().map(|found| found.rule).collect();
    }
    let json = support::to_json(yaml).remove(0);
    let pod = PartialPod::parse(&json).unwrap();
    let name =
        if meta == UNPAIRED_NODE_ANNOTATION { "alice" } else { "system:kube-controller-manager" };
    let user = User { username: Str(name.into()), groups: None };
    injected(&inject::pod(&pod, &user, &Policy::default().injection))
}

fn injected(injection: &Injection) -> Vec<String> {
    let verdict = support::evaluate_injection(injection);
    verdict.violations.iter().map(|it| it.finding.rule.id.to_owned()).collect()
}

#[test]
fn every_rule_reports_its_bad_example_and_not_its_good_one() {
    for meta in catalogue::all().iter().map(|rule| &rule.meta) {
        let bad = run(meta, meta.bad);
        assert!(!bad.is_empty(), "{}: nothing found in the bad example", meta.id);
        assert!(bad.iter().all(|id| id == meta.id), "{}: bad example: {bad:?}", meta.id);
        assert_eq!(run(meta, meta.good), Vec::<String>::new(), "{}: good example", meta.id);
    }
}

#[test]
fn every_rule_about_manifests_has_cases_of_both_kinds() {
    for Meta { id, mode, .. } in traps().chain(cross_object()).map(|rule| &rule.meta) {
        let folder = root().join(format!("crates/core/src/rules/{}/cases", id.replace('-', "_")));
        let names: Vec<String> = fs::read_dir(folder)
            .unwrap_or_else(|e| panic!("{id}: {e}"))
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mode = format!("{mode}.");
        assert!(names.iter().any(|name| name.starts_with(&mode)), "{id}: no {mode}*.yaml");
        assert!(names.iter().any(|name| name.starts_with("allow.")), "{id}: no allow.*.yaml");
    }
}

#[test]
fn every_fixture_has_only_the_findings_that_its_name_promises() {
    let mut seen = 0;
    for (path, text) in support::cases() {
        let folder = path.parent().and_then(Path::parent).and_then(Path::file_name).unwrap();
        let id = &*folder.to_str().unwrap().replace('_', "-");
        let name = path.file_name().unwrap().to_str().unwrap();
        let mut found = support::fixture(&path, &text);
        found.retain(|found| !support::may_accompany(found, id));
        let expected = match name.split('.').next().unwrap() {
            "allow" => None,
            mode @ ("audit" | "deny" | "warn") => Some(mode),
            other => panic!("{name}: {other} is not a mode"),
        };
        assert_eq!(found.is_empty(), expected.is_none(), "{id}/{name}: {found:?}");
        for Found { rule, mode, .. } in &found {
            assert_eq!((rule.as_str(), Some(mode.as_str())), (id, expected), "{name}: {found:?}");
        }
        seen += 1;
    }
    assert!(seen > 20, "only {seen} fixtures");
}

#[test]
fn findings_of_traps_point_at_existing_fields_and_have_a_help() {
    for (path, text) in support::cases() {
        let place = path.display();
        let objects: Vec<serde_json::Value> = support::to_json(&text)
            .iter()
            .map(|json| serde_json::from_str(json).unwrap())
            .collect();
        let is_ours =
            |found: &Found| traps().chain(cross_object()).any(|rule| rule.meta.id == found.rule);
        for found in support::fixture(&path, &text).into_iter().filter(is_ours) {
            let pointer = &found.pointer;
            let exists = objects.iter().any(|object| object.pointer(pointer).is_some());
            let is_of_api_server = found.rule == "api-warning";
            assert!(exists || is_of_api_server, "{place}: {pointer} is not in the object");
            assert!(!found.text.ends_with('.'), "{place}: {}", found.text);
            let has_help = found.text.contains("; ") || is_of_api_server && found.mode == "audit";
            assert!(has_help, "{place}: no help in {}", found.text);
            let first = found.text.chars().next().unwrap();
            assert!(!first.is_uppercase(), "{place}: {}", found.text);
        }
    }
}

#[test]
fn examples_from_the_kubernetes_documentation_have_no_findings() {
    let mut seen = 0;
    for (path, text) in support::fixtures("good") {
        let found = support::check(&text);
        assert!(found.is_empty(), "{}: {found:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 2, "only {seen} fixtures");
}

#[test]
fn each_broken_variant_has_a_finding_at_its_field() {
    let mut seen = 0;
    for (path, text) in support::fixtures("broken") {
        let field = text
            .lines()
            .find_map(|line| line.strip_prefix("# field: "))
            .unwrap_or_else(|| panic!("{}: no line `# field: …`", path.display()));
        let fields: Vec<_> = support::check(&text).into_iter().map(|found| found.field).collect();
        assert!(fields.iter().any(|f| f == field), "{}: {fields:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 10, "only {seen} fixtures");
}

#[test]
fn the_examples_about_several_objects_are_found_whichever_comes_first() {
    // The example of a rule that is a trap too has the trap.
    for rule in cross_object().filter(|rule| rule.phase().is_none()) {
        let (mut objects, before) = support::changes(support::to_json(rule.meta.bad));
        objects.reverse();
        let found = support::evaluate_change(&objects, &before, &Policy::default());
        let found: Vec<_> = found.into_iter().map(|found| found.rule).collect();
        assert_eq!(found, [rule.meta.id]);
    }
}

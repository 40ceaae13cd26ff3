//! The schema pass against what a real API server refused to decode.

use setguard::{
    subject::Resource,
    yaml::{self, strict::strict},
};

use crate::corpus::{bases, cases};

#[test]
fn what_the_api_server_cannot_decode_is_a_schema_problem_and_nothing_else_is() {
    let mut wrong = Vec::new();
    let mut refused = 0;
    let bases = bases();
    for case in cases() {
        let Some(object) = case.object(&bases) else { continue };
        let text = object.to_string();
        let document = yaml::parse(&text).remove(0).unwrap();
        let resource = Resource::of("apps/v1", object["kind"].as_str().unwrap()).unwrap();
        let problems = strict(&document.root, resource);
        let verdict = &case.verdict;
        refused += usize::from(verdict.code == 400);
        if problems.is_empty() == (verdict.code == 400) {
            wrong.push(format!("{} {} {}: {problems:?}", case.id, verdict.code, verdict.message));
        }
    }
    assert!(refused > 250, "the cases are there");
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

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
        // Read as YAML this time: the same tree must come of it.
        let text = format!("# as YAML\n--- {object}\n");
        let document = yaml::parse(&text).remove(0).unwrap();
        let resource = Resource::of("apps/v1", object["kind"].as_str().unwrap()).unwrap();
        let problems = strict(&document.root, resource);
        let fields: Vec<_> = problems.iter().map(|problem| problem.field.to_string()).collect();
        assert_eq!(fields, [expected], "{}", case.id);
        let help = expected.ends_with("maxUnavailble").then_some("did you mean maxUnavailable?");
        assert!(help.is_none() || problems[0].help.as_deref() == help, "{problems:?}");
    }
    assert!(seen > 20, "only {seen} cases");
}

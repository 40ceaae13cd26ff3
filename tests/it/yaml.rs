mod scalars;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use setguard::{
    finding::Path,
    yaml::{self, Document, Problem, Value},
};
use setguard_testing::recorded::snapshot;

fn one(text: &str) -> Document<'_> {
    let mut all = yaml::parse(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0).unwrap_or_else(|problem| panic!("{problem:?}"))
}

fn json(text: &str) -> Json {
    serde_json::from_str(&one(text).root.to_json()).unwrap()
}

fn error(text: &str) -> Problem {
    yaml::parse(text).into_iter().find_map(Result::err).expect("an error")
}

#[test]
fn merge_keys_work_as_with_kubectl() {
    assert_eq!(json("<<: {a: 2, b: 3}\na: 1\n"), json!({"a": 1, "b": 3}));
    assert_eq!(json("a: 1\n<<: {a: 2, b: 3}\n"), json!({"a": 2, "b": 3}));
    let text = "q: &q {a: 1, b: 1}\nr: &r {b: 2, c: 2}\nz:\n  <<: [*q, *r]\n";
    assert_eq!(json(text)["z"], json!({"a": 1, "b": 1, "c": 2}));
    assert_eq!(json("'<<': {a: 2}\n"), json!({"<<": {"a": 2}}));
    assert!(one("<<: {a: 2}\na: 1\n").problems.is_empty(), "an override is not a duplicate");
    error("<<: 5\n");
    error("a: &a [1]\n<<: *a\n");
}

#[test]
fn duplicate_keys_are_reported_with_both_lines_and_the_last_wins() {
    for text in ["a:\n  - b: 1\n    b: 2\n", "{\"a\":\n [{\"b\": 1,\n    \"b\": 2}]}"] {
        let document = one(text);
        assert_eq!(json(text), json!({"a": [{"b": 2}]}));
        let [problem] = document.problems.as_slice() else { panic!("{document:?}") };
        assert_eq!(problem.field.to_string(), "a[0].b");
        assert_eq!((problem.mark.line, problem.mark.column), (3, 5));
        assert!(problem.message.contains("line 2 and on line 3"), "{}", problem.message);
    }
    let many: String = (0..100).map(|i| format!("k{i}: {i}\n")).collect();
    assert_eq!(one(&format!("{many}k3: x\nk70: x\n")).problems.len(), 2);
}

#[test]
fn a_syntax_error_does_not_affect_the_other_documents() {
    let text = "a: 1\n---\nb: [1\n---\n\"c: 2\n---\nd:\n\t- x\n---\ne: 5\n";
    let all = yaml::parse(text);
    let lines: Vec<_> = all
        .iter()
        .map(|document| match document {
            Ok(document) => (document.root.mark.line, false),
            Err(problem) => (problem.mark.line, true),
        })
        .collect();
    assert_eq!(lines.len(), 5, "{all:?}");
    assert_eq!((lines[0], lines[4]), ((1, false), (10, false)));
    for (i, range) in [(1, 3..=4), (2, 5..=6), (3, 7..=8)] {
        assert!(lines[i].1 && range.contains(&lines[i].0), "{:?}", lines[i]);
    }
}

#[test]
fn odd_streams() {
    for empty in
        ["", "\n", "---\n", "---\n...\n", "---\n---\n", "# only a comment\n", "\u{feff}", "~\n"]
    {
        assert!(yaml::parse(empty).is_empty(), "{empty:?}");
    }
    assert_eq!(json("\u{feff}a: 1\r\nb:\r\n- x\r\n"), json!({"a": 1, "b": ["x"]}));
    assert!(error("%YAML 1.1\n---\na: 1\n").message.contains("directive"));
    assert!(error("a: 1\n--- {b: 1}\n").message.contains("may follow ---"));
    assert_eq!(yaml::parse("a: 1\n...\n---\nb: 1\n...\n").len(), 2);
    let ignored = error("a: 1\n...\nb: 1\n");
    assert!(ignored.message.contains("kubectl ignores"), "{ignored}");
    assert_eq!((ignored.mark.line, ignored.mark.column), (3, 1));
    assert_eq!(yaml::parse("{\"a\":1}{\"b\":1}\n{\"c\":1}").len(), 3);
    assert_eq!(yaml::parse("{\"a\":1}\n---\n{\"b\":1}").len(), 2);
    // After two documents, kubectl accepts only JSON.
    assert_eq!(error("{\"a\":1}{\"b\":1}\n---\n{\"c\":1}").mark.line, 2);
}

#[test]
fn json_is_read_as_json() {
    let text = r#"{"a":"\/\ud83d\ude00\ud83d \t","n":[1.0,1.5,-2,1e2],"e":{},"l":[]}"#;
    let expected = json!({"a": "/😀\u{fffd} \t", "n": [1, 1.5, -2, 100], "e": {}, "l": []});
    assert_eq!(json(text), expected);
    assert!(error(&format!("---\n{text}\n")).message.contains("\\/ is not an escape"));
    // `yes` is not JSON, so this is YAML flow style.
    assert_eq!(json("{a: yes, b: [x, 'y'],}"), json!({"a": true, "b": ["x", "y"]}));
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let flow = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    let block: String = (0..10_000).map(|i| format!("{}a:\n", " ".repeat(i.min(3_000)))).collect();
    for text in [
        flow("[", "]"),
        flow("{", "}"),
        "[".repeat(10_000),
        "{".repeat(10_000),
        flow("{\"a\":", "}"),
        flow("{a: ", "}"),
        "- ".repeat(10_000),
        "? ".repeat(10_000),
        block,
        (0..10_000)
            .map(|i| format!("k{i}: &a{} [*a{i}]\n", i + 1))
            .collect::<String>()
            .replacen("*a0", "1", 1),
    ] {
        error(&text);
    }
    let levels = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
    let deepest = levels(yaml::MAX_DEPTH);
    assert_eq!(one(&deepest).root.to_json(), deepest);
    error(&levels(yaml::MAX_DEPTH + 1));
}

#[test]
fn aliases_of_aliases_do_not_fill_the_memory() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..20 {
        let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
    }
    assert!(error(&text).message.contains("aliases"));
    assert_eq!(json("a: &a {b: 1}\nc: [*a, *a]\n")["c"], json!([{"b": 1}, {"b": 1}]));
}

const MANIFEST: &str = "\
metadata:
  name: x
spec:
  ordinals: {start: -1}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: \"a b\"
    spec:
      containers:
      - name: one
      - image: two
        ports: [{containerPort: 0}]
        resources:
          requests:
            storage: 1Gi
      volumes:
";

#[test]
fn fields_are_found_in_the_text() {
    let root = one(MANIFEST).root;
    let place = |path: &Path<'_>| {
        let mark = root.locate(&path.to_field());
        let line = MANIFEST.lines().nth(mark.line - 1).unwrap();
        line.get(mark.column - 1..mark.column - 1 + mark.width).unwrap().to_owned()
    };
    let spec = Path::new("spec");
    assert_eq!(place(&Path::new("metadata").child("name")), "x", "a scalar: its value");
    assert_eq!(root.locate_key(&Path::new("metadata").child("name").to_field()).column, 3);
    assert_eq!(place(&spec), "spec", "a mapping: its key");
    assert_eq!(place(&spec.child("selector")), "spec", "missing: the nearest parent");
    assert_eq!(place(&spec.child("ordinals.start")), "-1");
    assert_eq!(place(&spec.child("ordinals").child("start")), "-1");
    let template = spec.child("template");
    assert_eq!(place(&template.child("labels")), "labels", "metadata is left out");
    assert_eq!(place(&template.child("labels").key("app.kubernetes.io/name")), "\"a b\"");
    assert_eq!(place(&template.child("annotations")), "metadata");
    let pod = template.child("spec");
    assert_eq!(place(&pod.child("volumes")), "volumes", "null: its key");
    let containers = pod.child("containers");
    assert_eq!(place(&containers.index(0)), "name", "an element: its first line");
    assert_eq!(place(&containers.index(7)), "containers");
    let second = containers.index(1);
    assert_eq!(place(&second.child("name")), "image");
    assert_eq!(place(&second.child("ports").index(0).child("containerPort")), "0");
    assert_eq!(place(&second.child("resources").key("storage")), "1Gi");
    assert_eq!(place(&second.child("resources").key("cpu")), "resources");
}

#[test]
fn a_type_gets_all_its_problems_at_once() {
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[allow(dead_code)]
    struct Outer {
        must: String,
        #[serde(default)]
        count: u8,
        #[serde(default)]
        inner: Vec<Inner>,
        #[serde(default)]
        words: std::collections::BTreeMap<String, Word>,
    }
    #[derive(Debug, serde::Deserialize)]
    #[allow(dead_code)]
    struct Inner {
        active: bool,
        reason: String,
    }
    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        Warn,
        Deny,
    }
    let text = "cuont: 3\ncount: 300\ninner:\n- active: 'true'\n- active: true\n  reason: 5\n- x\n\
                words: {a: wran, b: deny, c: nope, d: 1}\n";
    let problems = yaml::read_one::<Outer>(text).unwrap_err();
    let lines: Vec<_> = problems
        .iter()
        .map(|p| {
            let help = p.help.as_deref().unwrap_or("-");
            format!("{}:{} {}: {} ({help})", p.mark.line, p.mark.column, p.field, p.message)
        })
        .collect();
    snapshot("yaml/a_type_gets_all_its_problems_at_once", &lines.join("\n"));

    let (value, root) = yaml::read_one::<Outer>("must: x\nwords: {a: warn, b: deny}\n").unwrap();
    assert!(matches!(value.words["a"], Word::Warn) && matches!(value.words["b"], Word::Deny));
    assert_eq!(root.get("must").unwrap().value, Value::Str("x".into()));
    for (wrong, part) in [
        ("", "found none"),
        ("must: a\n---\nmust: b\n", "second"),
        ("[]", "expected a mapping"),
        ("must: a\nmust: b\n", "twice"),
        ("must: [", "not YAML"),
    ] {
        let problems = yaml::read_one::<Outer>(wrong).unwrap_err();
        assert!(problems[0].message.contains(part), "{wrong:?}: {problems:?}");
    }
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        // Whole floats become integers; a separate test covers them.
        any::<i32>().prop_map(|n| Json::from(f64::from(n) + 0.25)),
        any::<String>().prop_map(Json::from),
        "[-+0-9.eExXob_~yYnNoOfF:# ]{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
            prop::collection::hash_map(any::<String>(), inner, 0..8)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        yaml::parse(&text);
    }

    #[test]
    fn no_yaml_makes_the_parser_panic(
        text in "([-a-c?:,&*!|>'\"%@`{}\\[\\]# \t\n\r~.0-9\u{feff}é]|- |: |---\n|<<: |&a |\\*a |!!int ){0,60}"
    ) {
        for document in yaml::parse(&text).into_iter().flatten() {
            let json = document.root.to_json();
            prop_assert!(serde_json::from_str::<Json>(&json).is_ok(), "{}", json);
        }
    }

    #[test]
    fn json_is_unchanged_by_a_round_trip(value in any_json()) {
        // Text that starts with a brace is read as JSON.
        let object = json!({"value": value});
        let text = object.to_string();
        prop_assert_eq!(&json(&text), &object);
    }

    #[test]
    fn quoted_text_in_yaml_is_text(text in "[^\\p{C}\u{feff}\u{2028}\u{2029}]{0,20}") {
        let yaml = format!("---\n{{k: '{}'}}\n", text.replace('\'', "''"));
        prop_assert_eq!(&json(&yaml)["k"], &Json::from(text));
    }
}

//! Names and values that try to inject into a terminal, a pipeline log or Markdown. One generator tests every format.

#[cfg(unix)]
mod audit;

use proptest::{prelude::*, test_runner::Config};
use serde_json::{Value, json};

use crate::{folder::Folder, folder::Ran, json_schema};

fn pieces() -> Vec<&'static str> {
    let all = "\n¦\r\n¦\r¦\u{2028}¦\u{85}¦\t¦\x1b[31m¦\x1b]0;x\x07¦\u{9b}1m¦\u{202e}¦\u{2066}¦\
               ::stop-commands::x¦::error::x¦  ::set-output name=a::b¦##[group]¦##vso[task.x]¦\
               ##teamcity[x]¦`¦```¦``````¦~~~¦@everyone¦<img src=x>¦</code>¦<!--¦[a](http://x)¦\
               ![a](http://x)¦| a |¦# a¦* a¦\\¦%0A¦&amp;¦]]>¦a¦ ¦é";
    all.split('¦').collect()
}

fn hostile() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(pieces()), 1..6).prop_map(|pieces| pieces.concat())
}

fn sets(texts: &[String; 4]) -> [Value; 2] {
    let [name, namespace, image, other] = texts;
    let set = |image: &str, strategy: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": name, "namespace": namespace, "annotations": {other: other}},
            "spec": {
                "serviceName": other, "replicas": 2, "podManagementPolicy": other,
                "updateStrategy": {"type": strategy, "rollingUpdate": {"partition": 4}},
                "selector": {"matchLabels": {"app": name, other: other}},
                "template": {
                    "metadata": {"labels": {"app": name, other: namespace}},
                    "spec": {"restartPolicy": other, "nodeSelector": {other: other}, "containers": [
                        {"name": name, "image": image, "ports": [{"name": other, "containerPort": 99999}]},
                    ]},
                },
            },
        })
    };
    [set(other, "RollingUpdate"), set(image, other)]
}

fn is_inert(format: &str, text: &str, ran: &Ran) {
    for c in text.chars() {
        let is_line = matches!(c, '\n' | '\t');
        let steers = c.is_control() && !is_line
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!steers, "{format}: {c:?} in {ran:?}");
    }
    for command in ["##[", "##vso[", "##teamcity["] {
        assert!(!text.contains(command), "{format}: {command} in {ran:?}");
    }
    for line in text.lines().map(str::trim_start) {
        let ours = format == "github"
            && ["::error ", "::warning ", "::notice "].iter().any(|it| line.starts_with(it))
            && line.contains("title=setguard");
        assert!(ours || !line.starts_with("::"), "{format}: {line:?} in {ran:?}");
    }
}

fn prose(markdown: &str) -> String {
    let mut prose = String::new();
    let mut fence: Option<String> = None;
    for line in markdown.lines() {
        let run: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if *open == line => fence = None,
            Some(_) => {}
            None if run.len() > 2 && line.ends_with("text") => fence = Some(run),
            None => prose.push_str(&without_spans(line)),
        }
        prose.push('\n');
    }
    assert_eq!(fence, None, "{markdown}");
    prose
}

fn without_spans(line: &str) -> String {
    let Some(start) = line.find('`') else { return line.to_owned() };
    let run = line[start..].len() - line[start..].trim_start_matches('`').len();
    let (before, rest) = (&line[..start], &line[start + run..]);
    let mut from = 0;
    while let Some(at) = rest[from..].find('`').map(|at| from + at) {
        let length = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        if length == run {
            return format!("{before}{}", without_spans(&rest[at + length..]));
        }
        from = at + length;
    }
    line.to_owned()
}

fn summary_is_inert(summary: &str, ran: &Ran) {
    is_inert("summary", summary, ran);
    for live in ["@", "<", "](", "`"] {
        let escaped: String = live.chars().flat_map(|c| ['\\', c]).collect();
        let left = summary.replace(&escaped, "");
        assert!(!left.contains(live), "{live} in {summary}");
    }
}

fn try_all(texts: &[String; 4]) {
    let [old, new] = sets(texts);
    let folder = Folder::new([]);
    // No path has a NUL, a slash or a name longer than 255 bytes.
    let file = format!("{}.yaml", texts[3].replace('/', "-"));
    folder.write(&format!("new/{file}"), new.to_string());
    folder.write(&format!("new/bad {file}"), "{a: [");
    folder.write(&format!("new/odd {file}"), b"apiVersion: v1\nkind: A\na: \xff\xfe\xff\n");
    folder.write("old.json", old.to_string());
    for format in ["text", "github"] {
        let summary = folder.path("summary.md");
        let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
        command.args(["check", "new", "--against", "old.json", "--format", format]);
        let ran: Ran = command.env("GITHUB_STEP_SUMMARY", &summary).output().unwrap().into();
        assert_ne!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("this is not UTF-8"), "{ran:?}");
        if format == "github" {
            let summary = folder.read("summary.md");
            summary_is_inert(&summary, &ran);
            let findings = ran.stdout.lines().filter(|line| line.starts_with("::")).count();
            assert_eq!(findings + 1, ran.stdout.lines().count(), "{ran:?}");
            let rows: Vec<_> = summary.lines().filter(|line| line.starts_with('|')).collect();
            assert_eq!(rows.len(), findings + 2, "{summary}");
            let has_cells = |row: &&str| row.replace("\\|", "").matches('|').count() == 6;
            assert!(rows.iter().all(has_cells), "{summary}");
        }
        is_inert(format, &ran.stdout, &ran);
        is_inert(format, &ran.stderr, &ran);
    }
    for format in ["json", "sarif", "gitlab"] {
        let ran = folder.setguard(&["check", "new", "--format", format]);
        is_inert(format, &ran.stdout, &ran);
        match format {
            "json" => json_schema::report(&ran.stdout),
            _ => serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}")),
        };
    }
    let ran = folder.setguard(&["check", "new", "--format", "junit"]);
    let report = roxmltree::Document::parse(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let mut files = report.descendants().filter_map(|it| it.attribute("classname"));
    let is_shown = files.any(|it| it == format!("new/{file}"));
    assert!(is_shown || !file.chars().all(|c| c.is_ascii_graphic()), "{ran:?}");
    for command in [["plan", "text"], ["plan", "json"], ["try", ""], ["inject", ""]] {
        let mut args = vec![command[0], "new"];
        if command[0] == "plan" {
            args.extend(["--against", "old.json", "--format", command[1]]);
        }
        let ran = folder.setguard(&args);
        is_inert(command[0], &ran.stderr, &ran);
        // inject prints manifests unchanged.
        if command[0] != "inject" {
            is_inert(command[0], &ran.stdout, &ran);
        }
    }
    plans_are_inert(&folder);
}

fn plans_are_inert(folder: &Folder) {
    let ran = folder.setguard(&["plan", "new", "--against", "old.json", "--format", "svg"]);
    is_inert("svg", &ran.stdout, &ran);
    let drawn = ran.stdout.find("<svg").zip(ran.stdout.find("</svg>"));
    let (start, end) = drawn.unwrap_or_else(|| panic!("{ran:?}"));
    let drawn = &ran.stdout[start..end + "</svg>".len()];
    let drawn = roxmltree::Document::parse(drawn).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    let ours = ["svg", "title", "desc", "style", "rect", "line", "g", "text"];
    let mut tags = drawn.descendants().filter(|it| it.is_element()).map(|it| it.tag_name());
    assert!(tags.all(|tag| ours.contains(&tag.name())), "{ran:?}");
    for live in ["<img", "</code>", "<!--"] {
        assert!(!ran.stdout.contains(live), "{live} in {ran:?}");
    }
    plan_as_markdown_is_inert(folder);
}

fn plan_as_markdown_is_inert(folder: &Folder) {
    let ran = folder.setguard(&["plan", "new", "--against", "old.json", "--format", "markdown"]);
    is_inert("markdown", &ran.stdout, &ran);
    let ours = |line: &&str| !["<details><summary>Steps</summary>", "</details>"].contains(line);
    let prose = prose(&ran.stdout);
    let prose = prose.lines().filter(ours).collect::<Vec<_>>().join("\n");
    for live in ["@", "<", "](", "|"] {
        assert!(!prose.contains(live), "{live} in {prose}: {ran:?}");
    }
}

#[test]
fn no_text_of_a_manifest_acts() {
    for text in pieces().into_iter().map(str::to_owned) {
        try_all(&[text.clone(), text.clone(), text.clone(), text]);
    }
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn no_mixture_acts(texts in prop::array::uniform4(hostile())) {
        try_all(&texts);
    }
}

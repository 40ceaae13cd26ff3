//! The formats of `check`, each read by a program that is not ours.

mod sarif;

use std::{collections::BTreeSet, fs, process::Command};

use crate::cli::{Folder, GOOD, MISSPELT, Ran, policy, setguard};

/// Warned about in line 14, and not denied.
const WARNED: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: cache, namespace: shop}
spec:
  serviceName: cache
  replicas: 2
  selector: {matchLabels: {app: cache}}
  template:
    metadata: {labels: {app: cache}}
    spec:
      containers: [{name: cache, image: a}]
  updateStrategy:
    rollingUpdate:
      partition: 4
";

/// A name that tries to break out of every format.
const HOSTILE: &str = r#"
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: "x\n::stop-commands::all\r\n##[error]%0A::warning::, ]]> <b>&amp; |*`[a](http://b) \a\u2028"}
spec: {}
"#;

/// A repository with a subfolder, and a policy that runs one trap.
fn repository<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Folder {
    let folder = Folder::new(files);
    folder.write(".git/HEAD", b"");
    folder.write(".quiet.yaml", policy(&[("partition-covers-all", "warn")], "").as_bytes());
    folder
}

fn three() -> Folder {
    repository([("deploy/a.yaml", MISSPELT), ("deploy/b c.yaml", WARNED), ("deploy/d.yaml", GOOD)])
}

fn run_in(folder: &Folder, below: &str, args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command: Command = setguard(folder.0.path(), args);
    command.current_dir(folder.0.path().join(below)).envs(environment.iter().copied());
    command.output().unwrap().into()
}

/// The text without its line about the policy, which is in a folder with another name each time.
fn without_policy(text: &str) -> String {
    let (of_policy, others): (Vec<&str>, Vec<&str>) =
        text.split_inclusive('\n').partition(|line| line.contains("quiet"));
    assert_eq!(of_policy.len(), 1, "{text}");
    others.concat().replace("\n\n\n", "\n\n")
}

/// Returns the commands that the runner finds in a log, with the escapes undone.
///
/// See `TryParseV2` and `TryParse` of `ActionCommand.cs` in github.com/actions/runner.
fn commands(log: &str) -> Vec<(String, String)> {
    let undo = |text: &str| {
        let pairs = [("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")];
        pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    };
    let lines = log.split(['\r', '\n']);
    let parse = |line: &str| match line.trim_start().strip_prefix("::") {
        Some(rest) => {
            let (head, message) = rest.split_once("::")?;
            Some((head.split(' ').next()?.to_owned(), undo(message)))
        }
        // The older form counts anywhere in a line.
        None => line.contains("##[").then(|| ("##".to_owned(), line.to_owned())),
    };
    lines.filter_map(parse).collect()
}

#[test]
fn a_manifest_cannot_give_commands_to_the_runner() {
    let name = "a\n::error::x, y.yaml";
    let folder =
        repository([(name, HOSTILE), ("b.yaml", "apiVersion: v1\nkind: A\na: [ ::error::\n")]);
    folder.write("c\n::set-env name=a::b.yaml", b"apiVersion: v1\nkind: A\na: \xff\xfe\xff\n");
    let summary = folder.0.path().join("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let environment = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    let ran = run_in(&folder, "", &["check", ".", "--format", "github"], &environment).ends(2);
    let stdout = without_policy(&ran.stdout);
    let all = commands(&stdout);
    let kinds: BTreeSet<&str> = all.iter().map(|(command, _)| command.as_str()).collect();
    assert!(kinds.is_subset(&BTreeSet::from(["error", "warning", "notice"])), "{}", ran.stdout);
    // One line for each finding, and one for the summary.
    assert_eq!(all.len() + 1, stdout.lines().count(), "{stdout}");
    let hostile = all.iter().filter(|(_, message)| message.contains("x\n::stop-commands::all"));
    assert!(hostile.count() > 0, "{}", ran.stdout);
    let errors = commands(&ran.stderr);
    assert_eq!(errors.len(), 1, "{}", ran.stderr);
    assert!(errors[0].1.contains("this is not UTF-8"), "{}", ran.stderr);

    let summary = fs::read_to_string(summary).unwrap();
    let table = summary.strip_prefix("before\n").unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), all.len() + 2, "{table}");
    for row in rows {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 6, "{row}");
        assert!(
            !row.replace("\\<", "").contains('<') && !row.replace("\\]", "").contains("]("),
            "{row}"
        );
    }
}

#[test]
fn junit_is_xml_whatever_a_manifest_contains() {
    let folder = repository([("a<&>.yaml", HOSTILE)]);
    let ran = folder.run(&["check", ".", "--format", "junit"]);
    let document = roxmltree::Document::parse(&ran.stdout).unwrap();
    let case = document.descendants().find(|node| node.has_tag_name("testcase")).unwrap();
    assert_eq!(case.attribute("classname"), Some("a<&>.yaml"));
    // The bell and the carriage return are left out.
    let name = case.attribute("name").unwrap();
    let wanted = "DaemonSet default/x\n::stop-commands::all\n##[error]%0A::warning::, ]]> <b>&amp; |*`[a](http://b) \u{2028}";
    assert!(name.starts_with(wanted), "{name:?}");
}

#[test]
fn the_excerpt_of_a_minified_line_has_only_the_line() {
    let json = format!(
        r#"{{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"name":"a","annotations":{{"b":"{}"}}}},"spec":{{"selector":{{"matchLabels":{{"app":"b"}}}},"template":{{"metadata":{{"labels":{{"app":"a"}}}},"spec":{{"containers":[{{"name":"a","image":"a"}}]}}}}}}}}"#,
        "x".repeat(400)
    );
    let folder = repository([("a.json", json.as_str())]);
    let ran = folder.run(&["check", "a.json"]);
    let expected = " --> a.json:1:562\n  |\n1 | ";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}

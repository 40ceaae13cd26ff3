//! The texts, files and folders that the command reads.

#[cfg(unix)]
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Folder, GOOD, MISSPELT, Ran, check, indent};

/// Feeds `check -` one text without a DaemonSet or StatefulSet.
fn check_others(text: &str) -> Ran {
    Folder::new([]).feed(&["check", "-", "--allow-empty"], text.as_bytes())
}

#[test]
fn unreadable_input_is_exit_code_2_and_the_rest_is_checked() {
    let folder = Folder::new([("a.yaml", MISSPELT), ("c.yaml", "a: [\n---\nb: {{ .Values.b }}\n")]);
    folder.write("b.yaml", b"ok: 1\ntext: \xff\xfe\n");
    folder
        .run(&["check", "a.yaml", "b.yaml", "c.yaml"])
        .ends(2)
        .reports("b.yaml:2: this is not UTF-8")
        .prints("unknown field")
        .prints("helm template")
        .prints("1 denied, 0 warned, 2 documents not readable");
    let (_, report) = folder.json(&["c.yaml"]);
    assert_eq!(report["findings"][0]["line"], 1);
    assert_eq!(report["findings"][0].get("object"), None);
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_reported() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new([("a.yaml", GOOD), ("b.yaml", GOOD)]);
    let path = folder.0.path().join("a.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        return; // root may read everything
    }
    folder
        .run(&["check", "."])
        .ends(2)
        .reports("a.yaml: cannot be read")
        .prints("1 object checked in 1 file");
}

#[test]
fn folders_are_read_in_order_with_hidden_files() {
    let folder = Folder::new([
        ("b.yml", MISSPELT),
        ("a/z.yaml", MISSPELT),
        ("a/.hidden/x.yaml", MISSPELT),
        (".x.yaml", MISSPELT),
        ("README.md", "not: [yaml"),
        ("c.txt", MISSPELT),
        ("d.json", "{\"kind\": \"ConfigMap\", \"apiVersion\": \"v1\"}"),
    ]);
    let (code, report) = folder.json(&["."]);
    let files: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| Path::new(f["file"].as_str().unwrap()))
        .collect();
    let wanted = ["./.x.yaml", "./a/.hidden/x.yaml", "./a/z.yaml", "./b.yml"].map(Path::new);
    assert_eq!((code, files), (1, wanted.to_vec()));
    // With the policy of these tests, whose name is hidden.
    assert_eq!(report["summary"]["files"], 6);
    // A file that is given as an argument is read, whatever its name is.
    assert_eq!(folder.run(&["check", "c.txt"]).code, 1);
    assert_eq!(folder.run(&["check", ".x.yaml"]).code, 1);
}

#[test]
fn lists_and_streams_are_searched_for_objects() {
    let one = |name: &str, kind: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, x: 1}}, spec: {{}}}}"
        )
    };
    let text = format!(
        "kind: ConfigMap\napiVersion: v1\ndata: {{a: 1}}\n---\nkind: List\napiVersion: v1\nitems:\n\
         - {}\n- {{kind: Pod, apiVersion: v1}}\n- {{kind: List, apiVersion: v1, items: [{}]}}\n---\n\
         kind: DaemonSetList\napiVersion: apps/v1\nitems:\n- {{metadata: {{name: c, x: 1}}}}\n---\n\
         # nothing\n",
        one("a", "DaemonSet"),
        one("b", "StatefulSet"),
    );
    let folder = Folder::new([("list.yaml", text.as_str())]);
    let (_, report) = folder.json(&["list.yaml"]);
    let found: Vec<_> = report["findings"].as_array().unwrap().iter().collect();
    let unknown: Vec<_> = found
        .iter()
        .filter(|f| f["rule"] == "schema")
        .map(|f| {
            assert_eq!(f["field"], "metadata.x", "fields are relative to the object");
            (f["object"]["kind"].as_str().unwrap(), f["object"]["name"].as_str().unwrap())
        })
        .collect();
    assert_eq!(unknown, [("DaemonSet", "a"), ("StatefulSet", "b"), ("DaemonSet", "c")]);
    assert_eq!(report["summary"]["objects"], 3);
    folder.run(&["check", "list.yaml"]).prints(", 2 of other kinds skipped\n");
}

#[test]
fn a_duplicate_key_is_an_error_where_it_matters() {
    const TWO_KINDS: &str = "{apiVersion: v1, kind: Pod, kind: Pod}";
    let twice = GOOD.replace("kind: DaemonSet", "kind: DaemonSet\nkind: DaemonSet");
    let list = format!("kind: List\napiVersion: v1\nitems:\n- {TWO_KINDS}\n- {twice:?}");
    let nested = format!(
        "kind: List\napiVersion: v1\nitems:\n- {TWO_KINDS}\n-\n  {}",
        twice.replace('\n', "\n  ")
    );
    for (text, line) in [(twice.as_str(), 3), (nested.as_str(), 8)] {
        let folder = Folder::new([("a.yaml", text)]);
        let (code, report) = folder.json(&["a.yaml"]);
        let findings = report["findings"].as_array().unwrap();
        assert_eq!((code, findings.len()), (1, 1), "{report}");
        assert_eq!((&findings[0]["field"], &findings[0]["line"]), (&"kind".into(), &line.into()));
    }
    assert_eq!(check(&list).code, 2, "text in a list is not an object");
    let other = "apiVersion: v1\nkind: ConfigMap\ndata: {a: 1, a: 2}\n";
    assert_eq!(check_others(other).code, 0);
}

#[test]
fn hostile_input_is_an_error_not_a_crash() {
    let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..30 {
        let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
        laughs.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
    }
    for text in [laughs, "[".repeat(10_000), "{".repeat(10_000), "{\"a\":".repeat(10_000)] {
        check(&text).ends(2).prints("error[schema]");
    }
    // A managedFields entry may hold any JSON.
    let deep = format!("{}1{}", "{\"a\":".repeat(90), "}".repeat(90));
    let text = GOOD.replace(
        "metadata: {name: agent}",
        &format!("metadata: {{name: agent, managedFields: [{{fieldsV1: {deep}}}]}}"),
    );
    assert_eq!(check(&text).code, 0, "{}", check(&text).stdout);
}

#[test]
fn odd_text_is_read() {
    for text in ["", "\n", "---\n", "# nothing\n", "\u{feff}", "~\n"] {
        check_others(text).ends(0).reports_only("");
    }
    let windows = format!("\u{feff}{}", GOOD.replace('\n', "\r\n"));
    assert_eq!(check(&windows).code, 0, "{}", check(&windows).stdout);
    let windows = format!("\u{feff}{}", MISSPELT.replace('\n', "\r\n"));
    assert!(check(&windows).stdout.contains("<stdin>:5:3"), "{}", check(&windows).stdout);
}

#[test]
fn other_encodings_are_read_as_by_kubectl() {
    let folder = Folder::new([]);
    let utf_16 = |bytes: fn(u16) -> [u8; 2]| {
        format!("\u{feff}{MISSPELT}").encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
    };
    for text in [utf_16(u16::to_le_bytes), utf_16(u16::to_be_bytes)] {
        folder.feed(&["check", "-"], &text).ends(1).prints("<stdin>:5:3");
    }
    let comment = [b"# caf\xe9\n", GOOD.as_bytes()].concat();
    assert_eq!(folder.feed(&["check", "-"], &comment).code, 0);
    // kubectl would replace the byte silently.
    let value = [GOOD.as_bytes(), b"# fine\nextra: caf\xe9 # x\n"].concat();
    folder.feed(&["check", "-"], &value).ends(2).reports("this is not UTF-8");
}

#[test]
fn what_kubectl_ignores_is_reported() {
    for text in [format!("{GOOD}...\n{MISSPELT}"), format!("---\n%YAML 1.1\n{GOOD}")] {
        check(&text).ends(2).prints("kubectl ignores the text from here on");
    }
    assert_eq!(check(&format!("{GOOD}...\n# the end\n---\n{GOOD}...\n")).code, 0);
}

#[test]
fn inject_prints_what_kubectl_reads() {
    let texts = [
        "\tx\ny\n",
        "\n\tx\n",
        "  x\n\ty\n",
        "x\n \n\n",
        "\n\n",
        "a: b\n- c",
        "\u{2028}\nx",
        "#\n",
    ];
    for text in texts {
        let value =
            serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text}});
        let ran = Folder::new([]).feed(&["inject", "-"], value.to_string().as_bytes()).ends(0);
        let read = setguard::yaml::parse(&ran.stdout).remove(0).unwrap().root.to_json();
        assert_eq!(serde_json::from_str::<Value>(&read).unwrap(), value, "{}", ran.stdout);
    }
}

#[test]
fn a_near_miss_is_an_error_with_a_suggestion() {
    let set = |api_version: &str, kind: &str| {
        GOOD.replace("apps/v1", api_version).replace("kind: DaemonSet", &format!("kind: {kind}"))
    };
    for (api_version, kind, place, help) in [
        ("v1", "DaemonSet", "1:13", "write apps/v1"),
        ("app/v1", "StatefulSet", "1:13", "write apps/v1"),
        ("apps/v2", "DaemonSet", "1:13", "write apps/v1"),
        ("extensions/v1beta1", "DaemonSet", "1:13", "use apps/v1, and set a selector"),
        ("apps/v1", "Daemonset", "2:7", "did you mean DaemonSet?"),
        ("apps/v1", "StatefullSet", "2:7", "did you mean StatefulSet?"),
        ("v1", "daemonset", "2:7", "did you mean DaemonSet in apps/v1?"),
        ("apps.kruise.io/v1beta1", "Statefulset", "2:7", "did you mean StatefulSet?"),
    ] {
        let ran = check(&set(api_version, kind));
        assert_eq!(ran.code, 1, "{api_version} {kind}: {}", ran.stdout);
        assert!(ran.stdout.contains(&format!("<stdin>:{place}")), "{}", ran.stdout);
        assert!(ran.stdout.contains(help), "{}", ran.stdout);
    }
    let list = "apiVersion: apps/v1\nkind: DaemonsetList\nitems: [{metadata: {name: a}}]\n";
    assert_eq!(check(list).code, 1, "{}", check(list).stdout);
    for (api_version, kind) in [
        ("apps.example.com/v1", "DaemonSet"),
        ("apps.example.com/v1", "Daemonset"),
        ("apps.kruise.io/v1alpha2", "DaemonSet"),
        ("apps.kruise.io/v1alpha1", "CloneSet"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "Deployment"),
        ("batch/v1", "Job"),
        ("v1", "Service"),
    ] {
        let ran = check_others(&set(api_version, kind));
        assert_eq!(ran.code, 0, "{api_version} {kind}: {}", ran.stdout);
        assert!(ran.stdout.contains("1 of other kinds skipped"), "{}", ran.stdout);
    }
    for kind in ["kind: List\napiVersion: apps/v1", "kind: List", "kind: ConfigMap"] {
        let list = format!("{kind}\nitems:\n- {}", indent(MISSPELT));
        assert_eq!(check(&list).code, 1, "to kubectl this is a list: {kind}");
    }
}

#[test]
fn a_document_that_is_not_an_object_is_not_readable() {
    for (text, message) in [
        ("plain text\n", "this isn't a Kubernetes object but only text"),
        ("Error: chart not found\n", "this isn't a Kubernetes object: it has no kind"),
        ("[1, 2]\n", "this isn't a Kubernetes object but a list"),
        ("apiVersion: apps/v1\nKind: DaemonSet\n", "write kind instead of Kind"),
        ("apiversion: apps/v1\nkind: DaemonSet\n", "write apiVersion instead of apiversion"),
        ("kind: DaemonSet\nmetadata: {name: a}\n", "it has no apiVersion"),
        ("apiVersion: v1\nkind: [Pod]\n", "it has no kind"),
        ("kind: List\napiVersion: v1\nitems: [{a: 1}]\n", "it has no kind"),
        ("// no JSON\n{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}\n", "not YAML"),
        ("{\"apiVersion\": \"v1\", // no JSON\n\"kind\": \"Pod\"}\n", "not YAML"),
    ] {
        let ran = check(text);
        assert_eq!(ran.code, 2, "{text:?}: {}", ran.stdout);
        assert!(ran.stdout.contains(message), "{text:?}: {}", ran.stdout);
    }
}

#[test]
fn a_set_without_a_selector_is_told_so() {
    let without: String =
        GOOD.split_inclusive('\n').filter(|line| !line.contains("selector:")).collect();
    assert_ne!(without, GOOD);
    check(&without).ends(1).prints("help: there is no spec.selector");
}

#[test]
fn a_folder_may_have_files_that_are_not_manifests() {
    let folder = Folder::new([
        ("tool.yaml", "apiVersion: v2\nname: agent\nversion: 1.0.0\n"),
        ("values.yaml", "kind: DaemonSet\nimage: {tag: 1}\n"),
        ("kustomization.yaml", "resources: [agent.yaml]\n"),
        ("patch.json", "[{\"op\": \"remove\", \"path\": \"/spec\"}]"),
        ("agent.yaml", GOOD),
        ("config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ]);
    let (code, report) = folder.json(&["."]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["summary"]["objects"], 1);
    // With the policy of these tests.
    assert_eq!(report["summary"]["skipped"], 2);
    assert_eq!(report["summary"]["passedOver"], 4);
    assert_eq!(report["summary"]["unreadable"], 0);
    folder.run(&["check", "."]).prints(", 4 documents without an object\n");
    // A file that the user names is a manifest.
    assert_eq!(folder.run(&["check", "values.yaml"]).code, 2);
    let texts = [
        ("kind: DaemonSet\nspec: {}\n", 1, 1),
        ("apiVersion: apps/v1\nKind: DaemonSet\n", 1, 1),
        // Nothing is left to check.
        ("apiVersion: v1\nKind: Pod\n", 2, 0),
        ("Kind: Pod\nmetadata: {}\n", 2, 0),
        ("Error\n", 2, 0),
    ];
    for (text, wanted, unreadable) in texts {
        folder.write("agent.yaml", text.as_bytes());
        let (code, report) = folder.json(&["."]);
        assert_eq!(
            (code, &report["summary"]["unreadable"]),
            (wanted, &unreadable.into()),
            "{text:?}"
        );
    }
}

#[test]
fn what_the_api_server_accepts_is_accepted() {
    let nulls = GOOD
        .replace("metadata: {name: agent}", "metadata: {name: agent, labels: {a: null}}")
        .replace("image: example.com/agent:1", "image: a\n        args: [null, x]\n        env:")
        .replace("cpu: 1,", "cpu: 0.5, ephemeral-storage: 1e3,");
    check(&nulls).ends(0);
}

#[test]
fn a_removed_api_version_is_reported() {
    check(&GOOD.replace("apps/v1", "extensions/v1beta1"))
        .ends(1)
        .prints("apiVersion: Kubernetes 1.16 and later");
    assert_eq!(check(&GOOD.replace("apps/v1", "apps.kruise.io/v1alpha1")).code, 0);
}

#[test]
fn check_and_inject_agree_on_lists_whose_items_have_no_kind() {
    let list = "\
apiVersion: apps/v1
kind: DaemonSetList
items:
- metadata: {name: agent, labels: {setguard.io/control-plane: 'true'}}
  spec:
    selector: {matchLabels: {app: agent}}
    template:
      metadata: {labels: {app: agent}}
      spec: {containers: [{name: agent, image: a}]}
";
    let folder = Folder::new([("list.yaml", list)]);
    let (_, report) = folder.json(&["list.yaml"]);
    assert_eq!(report["summary"]["objects"], 1);
    let injected = folder.run(&["inject", "list.yaml"]);
    assert!(
        injected.stdout.contains("node-role.kubernetes.io/control-plane"),
        "{}",
        injected.stdout
    );
    assert!(
        !injected.stdout.contains("kind: DaemonSet\n"),
        "printed as it was: {}",
        injected.stdout
    );
}

#[test]
fn a_template_generation_is_a_number() {
    let with = |value: &str| {
        let annotations = format!("deprecated.daemonset.template.generation: {value:?}");
        check(&GOOD.replace(
            "{name: agent}\n",
            &format!("{{name: agent, annotations: {{{annotations}}}}}\n"),
        ))
    };
    for right in ["1", "+5", "-5"] {
        assert_eq!(with(right).code, 0, "{right}");
    }
    for wrong in ["foo", "", " 5", "99999999999999999999"] {
        let ran = with(wrong);
        assert!(ran.code == 1 && ran.stdout.contains("<stdin>:3:81"), "{wrong}: {}", ran.stdout);
    }
}

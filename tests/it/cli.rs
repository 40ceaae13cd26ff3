//! The command, as users run it.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use setguard::rules::traps::TRAPS;
use setguard_testing::recorded::snapshot;
use tempfile::TempDir;

use crate::{json_schema, support};

pub(crate) const GOOD: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 30
      tolerations: [{operator: Exists, effect: NoSchedule}]
      containers:
      - name: agent
        image: example.com/agent:1
        resources: {requests: {cpu: 1, memory: 64Mi}, limits: {memory: 64Mi}}
";

/// One unknown field, on line 5, column 3.
pub(crate) const MISSPELT: &str = "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system}
spec:
  minReadySecond: 5
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: a}]}
";

/// The policy of every run that names no other. Its name starts with a dot, so `check` does not
/// read it as a manifest.
const QUIET: &str = ".quiet.yaml";

/// A policy that runs only these traps, so that a new trap does not break these tests.
pub(crate) fn policy(traps: &[(&str, &str)], rest: &str) -> String {
    let mut text = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n".to_owned();
    for id in TRAPS.iter().map(|trap| trap.meta.id) {
        let mode = traps.iter().find(|(trap, _)| *trap == id).map_or("off", |(_, mode)| mode);
        text.push_str(&format!("  {id}: {mode}\n"));
    }
    text + rest
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            code: output.status.code().expect("not killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A folder with files, in which the command runs.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let folder = Folder(tempfile::tempdir().unwrap());
        folder.write(QUIET, policy(&[], "").as_bytes());
        for (name, text) in files {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    /// An output without the path of the folder, and without the number of rules that its policy
    /// turns off.
    pub(crate) fn anywhere(&self, output: &str) -> String {
        let output = output.replace(self.0.path().to_str().unwrap(), "FOLDER");
        let mut parts = output.split("rules weakened: ");
        let first = parts.next().unwrap().to_owned();
        parts.fold(first, |text, part| {
            text + "rules weakened: N" + part.trim_start_matches(|c: char| c.is_ascii_digit())
        })
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.feed(args, b"")
    }

    pub(crate) fn feed(&self, args: &[&str], stdin: &[u8]) -> Ran {
        support::feed(&mut setguard(self.0.path(), args), stdin).into()
    }

    pub(crate) fn json(&self, args: &[&str]) -> (i32, Value) {
        let ran = self.run(&[&["check", "--format", "json"], args].concat());
        (ran.code, json_schema::report(&ran.stdout))
    }
}

pub(crate) fn setguard(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    command
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("SETGUARD_POLICY", folder.join(QUIET))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Feeds one text to `check -`.
fn check(text: &str) -> Ran {
    Folder::new([]).feed(&["check", "-"], text.as_bytes())
}

/// Feeds `check -` one text without a DaemonSet or StatefulSet.
fn check_others(text: &str) -> Ran {
    Folder::new([]).feed(&["check", "-", "--allow-empty"], text.as_bytes())
}

#[test]
fn nothing_to_deny_is_exit_code_0() {
    let ran = check(GOOD);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let first = ran.stdout.lines().next();
    assert_eq!(first, Some("1 object checked in 1 file: 0 denied, 0 warned"));
}

#[test]
fn a_report_shows_the_place_and_the_way_out() {
    let folder = Folder::new([("a.yaml", MISSPELT)]);
    let ran = folder.run(&["check", "a.yaml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    snapshot("cli/a_report_shows_the_place_and_the_way_out", &folder.anywhere(&ran.stdout));
}

#[test]
fn the_json_report_is_one_document() {
    let folder = Folder::new([("a.yaml", MISSPELT), ("b.yaml", GOOD)]);
    let ran = folder.run(&["check", ".", "--format", "json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    // The policy is in a folder with another name each time.
    let (before, rest) = ran.stdout.split_once("  \"policy\": {\n").expect("the policy");
    let (policy, after) = rest.split_once("\n  },\n").expect("its end");
    assert!(policy.contains("\"weakened\"") && policy.contains("\"exceptions\": 0"), "{policy}");
    snapshot("cli/the_json_report_is_one_document", &format!("{before}{after}"));
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = Folder::new([("a.yaml", GOOD)]);
    for (args, part) in [
        (&["check"][..], "which manifests"),
        (&["check", "a.yaml", "--format", "xml"], "possible values: text, json"),
        (&["check", "a.yaml", "--kube-version", "1.2"], "Kubernetes 1.2 is not supported"),
        (&["check", "a.yaml", "--feature-gates", "A=perhaps"], "GATE=true or GATE=false"),
        (&["check", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (&["check", "a.yaml", "--policy", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (&["check", "a.yaml", "--against", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (&["chekc"], "check"),
        (&[], "Usage"),
        (&["explain", "schma"], "did you mean schema?"),
        (&["explain", "qqqqqqqq"], "setguard rules"),
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(part), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn unreadable_input_is_exit_code_2_and_the_rest_is_checked() {
    let folder = Folder::new([("a.yaml", MISSPELT), ("c.yaml", "a: [\n---\nb: {{ .Values.b }}\n")]);
    folder.write("b.yaml", b"ok: 1\ntext: \xff\xfe\n");
    let ran = folder.run(&["check", "a.yaml", "b.yaml", "c.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("b.yaml:2: this is not UTF-8"), "{}", ran.stderr);
    assert!(ran.stdout.contains("unknown field"), "{}", ran.stdout);
    assert!(ran.stdout.contains("helm template"), "{}", ran.stdout);
    assert!(ran.stdout.contains("1 denied, 0 warned, 2 documents not readable"), "{}", ran.stdout);
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
    let ran = folder.run(&["check", "."]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("a.yaml: cannot be read"), "{}", ran.stderr);
    assert!(ran.stdout.contains("1 object checked in 1 file"), "{}", ran.stdout);
}

#[test]
fn folders_are_read_in_order_without_hidden_files() {
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
        .map(|f| f["file"].as_str().unwrap())
        .collect();
    assert_eq!((code, files), (1, vec!["./a/z.yaml", "./b.yml"]));
    assert_eq!(report["summary"]["files"], 3);
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
    let ran = folder.run(&["check", "list.yaml"]);
    assert!(ran.stdout.contains(", 2 of other kinds skipped\n"), "{}", ran.stdout);
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
        let ran = check(&text);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stdout.contains("error[schema]"));
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
        let ran = check_others(text);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{text:?}: {}", ran.stdout);
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
        let ran = folder.feed(&["check", "-"], &text);
        assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("<stdin>:5:3"), "{}", ran.stdout);
    }
    let comment = [b"# caf\xe9\n", GOOD.as_bytes()].concat();
    assert_eq!(folder.feed(&["check", "-"], &comment).code, 0);
    // kubectl would replace the byte silently.
    let value = [GOOD.as_bytes(), b"# fine\nextra: caf\xe9 # x\n"].concat();
    let ran = folder.feed(&["check", "-"], &value);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("this is not UTF-8"), "{}", ran.stderr);
}

#[test]
fn what_kubectl_ignores_is_reported() {
    for text in [format!("{GOOD}...\n{MISSPELT}"), format!("---\n%YAML 1.1\n{GOOD}")] {
        let ran = check(&text);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stdout.contains("kubectl ignores the text from here on"), "{}", ran.stdout);
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
        let ran = Folder::new([]).feed(&["inject", "-"], value.to_string().as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
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
    let ran = check(&without);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("help: there is no spec.selector"), "{}", ran.stdout);
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
    assert_eq!(report["summary"]["skipped"], 1);
    assert_eq!(report["summary"]["passedOver"], 4);
    assert_eq!(report["summary"]["unreadable"], 0);
    let ran = folder.run(&["check", "."]);
    assert!(ran.stdout.contains(", 4 documents without an object\n"), "{}", ran.stdout);
    // A file that the user names is a manifest.
    assert_eq!(folder.run(&["check", "values.yaml"]).code, 2);
    let texts = [
        ("kind: DaemonSet\nspec: {}\n", 1),
        ("apiVersion: v1\nKind: Pod\n", 1),
        ("Kind: Pod\nmetadata: {}\n", 0),
        ("Error\n", 0),
    ];
    for (text, unreadable) in texts {
        folder.write("agent.yaml", text.as_bytes());
        let (code, report) = folder.json(&["."]);
        assert_eq!((code, &report["summary"]["unreadable"]), (2, &unreadable.into()), "{text:?}");
    }
}

#[test]
fn what_the_api_server_accepts_is_accepted() {
    let nulls = GOOD
        .replace("metadata: {name: agent}", "metadata: {name: agent, labels: {a: null}}")
        .replace("image: example.com/agent:1", "image: a\n        args: [null, x]\n        env:")
        .replace("cpu: 1,", "cpu: 0.5, ephemeral-storage: 1e3,");
    let ran = check(&nulls);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
}

#[test]
fn a_removed_api_version_is_reported() {
    let ran = check(&GOOD.replace("apps/v1", "extensions/v1beta1"));
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("apiVersion: Kubernetes 1.16 and later"), "{}", ran.stdout);
    assert_eq!(check(&GOOD.replace("apps/v1", "apps.kruise.io/v1alpha1")).code, 0);
}

const WEB: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 2
  updateStrategy:
    type: OnDelete
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: 'registry.local/web:1'}
";

#[test]
fn against_means_apply_unless_it_says_replace() {
    let rolling = WEB.replace("  updateStrategy:\n    type: OnDelete\n", "");
    let folder = Folder::new([("new.yaml", WEB), ("old.yaml", rolling.as_str())]);
    for verb in ["apply", "server-side-apply"] {
        let (code, report) = folder.json(&["new.yaml", "--against", "old.yaml", "--as", verb]);
        assert_eq!(code, 1, "{verb}: {report}");
        // The block is a default of the old object, so the nearest mapping of the new one is shown.
        let finding = &report["findings"][0];
        assert_eq!(finding["field"], "spec.updateStrategy.rollingUpdate", "{verb}: {report}");
        assert_eq!((&finding["line"], &finding["column"]), (&7.into(), &3.into()), "{verb}");
    }
    let replace = ["check", "new.yaml", "--against", "old.yaml", "--as", "replace"];
    assert_eq!(folder.run(&replace).code, 0);
    assert_eq!(folder.run(&["check", "new.yaml", "--as", "replace"]).code, 2, "against what?");
}

#[test]
fn a_field_that_another_owns_stays() {
    let scaled = WEB
        .replace("replicas: 2", "replicas: 5")
        .replace("{name: web}\nspec", "\n  name: web\n  uid: u\nspec");
    let with_claims = |text: &str| {
        format!(
            "{text}  persistentVolumeClaimRetentionPolicy: {{whenScaled: Delete}}
  volumeClaimTemplates:
    - metadata: {{name: data}}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {{requests: {{storage: 1Gi}}}}
"
        )
    };
    let bare = with_claims(&WEB.replace("  replicas: 2\n", ""));
    let folder = Folder::new([
        ("new.yaml", bare.as_str()),
        ("live.yaml", &with_claims(&scaled)),
        ("manifest.yaml", &with_claims(&WEB.replace("replicas: 2", "replicas: 5"))),
        ("policy.yaml", "apiVersion: setguard.io/v1alpha1\nkind: Policy\n"),
    ]);
    let removes = |old: &str, verb: &str| {
        let arguments = ["new.yaml", "--policy", "policy.yaml", "--against", old, "--as", verb];
        let (_, report) = folder.json(&arguments);
        report.to_string().contains("claims-deleted-on-scale-down")
    };
    assert!(!removes("live.yaml", "apply"), "nothing says that replicas were applied");
    assert!(!removes("live.yaml", "server-side-apply"));
    assert!(removes("live.yaml", "replace"));
    assert!(removes("manifest.yaml", "apply"), "replicas are no longer in the manifest");
}

#[test]
fn against_makes_it_an_update() {
    let changed = GOOD.replace("app: agent", "app: other");
    let folder = Folder::new([
        ("new/a.yaml", changed.as_str()),
        ("old/b.yaml", &format!("kind: List\napiVersion: v1\nitems:\n- {}", indent(GOOD))),
    ]);
    assert_eq!(folder.run(&["check", "new"]).code, 0);
    let (code, report) = folder.json(&["new", "--against", "old"]);
    assert_eq!(code, 1, "{report}");
    let finding = &report["findings"][0];
    assert_eq!(finding["field"], "spec.selector");
    assert!(finding["message"].as_str().unwrap().contains("immutable"), "{finding}");
    // An object in another namespace is another object.
    let elsewhere = changed.replace("{name: agent}", "{name: agent, namespace: other}");
    folder.write("new/a.yaml", elsewhere.as_bytes());
    assert_eq!(folder.run(&["check", "new", "--against", "old"]).code, 0);
}

fn indent(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// A StatefulSet with a trap: its partition is above its replicas, so no pod is ever updated.
const PARTITIONED: &str = "\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 5}}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: a}]}
";

#[test]
fn warnings_are_denied_by_a_flag_and_turned_off_by_policy() {
    let warn = [("partition-covers-all", "warn")];
    let excepted = "exceptions:\n- rules: [partition-covers-all]\n  reason: staged by hand\n";
    let expired = format!("{excepted}  expires: 2020-01-01\n");
    let folder = Folder::new([
        ("a.yaml", PARTITIONED),
        ("off.yaml", &policy(&[], "")),
        ("warn.yaml", &policy(&warn, "")),
        ("deny.yaml", &policy(&[("partition-covers-all", "deny")], "")),
        ("excepted.yaml", &policy(&warn, excepted)),
        ("expired.yaml", &policy(&warn, &expired)),
    ]);
    let run = |args: &[&str]| {
        let ran = folder.run(&[&["check", "a.yaml"], args].concat());
        assert_eq!(ran.stderr, "");
        (ran.code, ran.stdout)
    };
    let (code, text) = run(&["--policy", "warn.yaml"]);
    assert_eq!(code, 0);
    assert!(text.contains("warning[partition-covers-all]"), "{text}");
    assert!(text.contains("0 denied, 1 warned"), "{text}");
    let (code, text) = run(&["--policy", "warn.yaml", "--deny-warnings"]);
    assert_eq!(code, 1);
    assert!(text.contains("error[partition-covers-all]"), "{text}");
    assert_eq!(run(&["--policy", "off.yaml"]).0, 0);
    assert_eq!(run(&["--policy", "deny.yaml"]).0, 1);
    let (code, text) = run(&["--policy", "excepted.yaml", "--deny-warnings"]);
    assert_eq!(code, 0);
    assert!(text.contains("note[partition-covers-all]"), "{text}");
    assert!(text.contains("exempted by the policy: staged by hand"), "{text}");
    let (code, text) = run(&["--policy", "expired.yaml"]);
    assert_eq!(code, 0);
    assert!(text.contains("expired on 2020-01-01"), "{text}");
    let (_, report) = folder.json(&["a.yaml", "--policy", "expired.yaml"]);
    assert_eq!(report["remarks"][0]["object"]["name"], "db");
}

#[test]
fn an_exception_applies_to_findings_about_a_pod() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata:
  generateName: agent-
  namespace: ops
  annotations: {setguard.io/node: worker-0}
spec:
  containers: [{name: agent, image: a}]
";
    let deny = "injection: {unpairedAnnotation: deny}\n";
    let excepted = "exceptions:\n- rules: [unpaired-node-annotation]\n  namespaces: [ops]\n  \
                    names: ['agent-*']\n  reason: made by hand\n";
    let folder = Folder::new([
        ("pod.yaml", pod),
        ("deny.yaml", &policy(&[], deny)),
        ("excepted.yaml", &policy(&[], &format!("{deny}{excepted}"))),
    ]);
    let inject =
        |policy: &str| folder.run(&["inject", "pod.yaml", "--user", "bob", "--policy", policy]);
    let denied = inject("deny.yaml");
    assert_eq!(denied.code, 1);
    assert!(denied.stderr.contains("agent-: deny: unpaired-node-annotation"), "{}", denied.stderr);
    let excepted = inject("excepted.yaml");
    assert_eq!((excepted.code, excepted.stderr.as_str()), (0, ""));
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
fn a_wrong_policy_is_shown_with_its_lines() {
    let policy = "\
apiVersion: setguard.io/v1alpha1
kind: Policy
rules:
  partition-covers-al: warn
  schema: off
  surge-host-port: wran
exceptions:
- rules: []
  raeson: x
injection: {nodePin: 'yes'}
";
    let folder = Folder::new([("a.yaml", GOOD), ("policy.yaml", policy)]);
    let ran = folder.run(&["check", "a.yaml", "--policy", "policy.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    snapshot("cli/a_wrong_policy_is_shown_with_its_lines", &ran.stderr);
}

#[test]
fn a_policy_cannot_inject_what_no_pod_may_have() {
    for (toleration, field) in [
        ("{key: bad key}", "key"),
        ("{key: a/b/c}", "key"),
        ("{key: '', operator: Equal}", "operator"),
        ("{key: a, operator: Equal, value: b c}", "value"),
    ] {
        let policy = format!(
            "apiVersion: setguard.io/v1alpha1\nkind: Policy\ninjection: {{tolerations: [{toleration}]}}\n"
        );
        let folder = Folder::new([("a.yaml", GOOD), ("policy.yaml", policy.as_str())]);
        let ran = folder.run(&["check", "a.yaml", "--policy", "policy.yaml"]);
        let named = ran.stderr.contains(&format!("injection.tolerations[0].{field}"));
        assert!(ran.code == 2 && named, "{toleration}: {}", ran.stderr);
    }
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

#[test]
fn printed_commands_can_be_pasted() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rules");
    let printed = |fixture: &str, change: &dyn Fn(String) -> String| {
        let read = |end: &str| {
            change(fs::read_to_string(fixtures.join(fixture.to_owned() + end)).unwrap())
        };
        let folder = Folder::new([
            ("new.yaml", read(".yaml").as_str()),
            ("old.yaml", &read(".old.yaml")),
            ("policy.yaml", "apiVersion: setguard.io/v1alpha1\nkind: Policy\n"),
        ]);
        let arguments = ["check", "new.yaml", "--against", "old.yaml", "--policy", "policy.yaml"];
        folder.run(&arguments).stdout
    };
    let larger = printed("immutable-field/warn.claim-size", &|text| text);
    assert!(larger.contains("\n  kubectl delete sts --cascade=orphan web\n"), "{larger}");
    let larger = printed("immutable-field/warn.claim-size-in-namespace", &|text| text);
    assert!(larger.contains("\n  kubectl delete sts --cascade=orphan -n shop web\n"), "{larger}");
    assert!(larger.contains("\n  kubectl edit pvc -n shop data-web-0\n"), "{larger}");
    // web-1 is below the partition: if it is deleted, it comes back with the old template.
    let stuck = printed("ordered-rollout-stuck/warn.updating", &|text| {
        text.replacen(
            "  replicas: 3",
            "  updateStrategy: {rollingUpdate: {partition: 2}}\n  replicas: 3",
            1,
        )
        .replace(
            "updateRevision: web-7c9b\n  replicas: 3",
            "updateRevision: web-6d8f\n  replicas: 2",
        )
        .replace("readyReplicas: 2", "readyReplicas: 1")
    });
    let advice = "lower the partition to 1 or less and then run command 2 (restarts 1 pod)";
    assert!(stuck.contains(advice), "{stuck}");
    assert!(stuck.contains("\n  kubectl delete pod web-1\n"), "{stuck}");
}

#[test]
fn colours_are_for_terminals_unless_forced() {
    let folder = Folder::new([("a.yaml", MISSPELT)]);
    let plain = folder.run(&["check", "a.yaml"]).stdout;
    assert!(!plain.contains('\u{1b}'), "not a terminal");
    let with = |name: &str| {
        let output = setguard(folder.0.path(), &["check", "a.yaml"]).env(name, "1").output();
        Ran::from(output.unwrap()).stdout
    };
    assert!(with("CLICOLOR_FORCE").contains("\u{1b}["));
    assert_eq!(with("NO_COLOR"), plain);
}

#[test]
fn a_manifest_cannot_send_control_characters_to_the_terminal() {
    // ESC, CSI in one character, and a reversal of the line.
    let text = MISSPELT.replace("minReadySecond", "\"min\\e[2J\\x9b2J\\u202e\"");
    let run = |args: &[&str], text: &str| Folder::new([]).feed(args, text.as_bytes());
    for format in ["text", "json"] {
        let ran = run(&["check", "--format", format, "-"], &text);
        assert_eq!(ran.code, 1);
        assert!(ran.stdout.contains("\\u009b2J"), "{:?}", ran.stdout);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{:?}", ran.stdout);
    }
    let ran = run(&["check", "no\u{1b}[2Jsuch\u{9b}file\u{202e}"], "");
    assert!(!ran.stderr.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{:?}", ran.stderr);
    assert!(ran.stderr.contains("\\u001b[2Jsuch\\u009bfile\\u202e"), "{:?}", ran.stderr);
}

#[test]
fn a_long_line_is_cut_around_the_finding() {
    let pad = "é".repeat(5_000);
    let text = GOOD.replace(
        "{name: agent}",
        &format!("{{name: agent, annotations: {{a: {pad}}}, x: 1, uid: {pad}}}"),
    );
    let ran = check(&text);
    let longest = ran.stdout.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(longest < 200, "{}", ran.stdout);
    let column = 1 + "metadata: {name: agent, annotations: {a: }, ".len() + 5_000;
    assert!(ran.stdout.contains(&format!("<stdin>:3:{column}\n")), "{}", ran.stdout);
    assert!(ran.stdout.contains("}, x: 1, uid: é"), "{}", ran.stdout);
    // A long value does not make a long report either.
    let ran = check(&GOOD.replace("{name: agent}", &format!("{{name: {}}}", "a".repeat(50_000))));
    assert_eq!(ran.code, 1);
    let length = ran.stdout.len();
    assert!(length < 10_000, "{length} bytes");
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let many = [MISSPELT; 2_000].join("---\n");
    let folder = Folder::new([("a.yaml", many.as_str())]);
    for args in [
        &["check", "a.yaml"][..],
        &["check", "a.yaml", "--format", "json"],
        &["rules"],
        &["completions", "bash"],
    ] {
        // The pipe is closed before the first byte, so that even a short output fails.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = Ran::from(setguard(folder.0.path(), args).stdout(writer).output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (2, ""), "{args:?}");
    }
    // The other reports are complete.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["check", "a.yaml", "--output", "concise=report", "--output", "text=report.txt"];
    let ran = Ran::from(setguard(folder.0.path(), &args).stdout(writer).output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (2, ""), "{ran:?}");
    for report in ["report", "report.txt"] {
        let report = fs::read_to_string(folder.0.path().join(report)).unwrap();
        assert!(report.contains("2000 objects checked in 1 file: 2000 denied"), "{report}");
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::new([]);
    let text = |name: &str| fs::read_to_string(folder.0.path().join(name)).unwrap();
    let page = folder.run(&["man"]).stdout;
    assert!(page.contains(".TH setguard 1"), "{page}");
    let ran = folder.run(&["man", "."]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    assert_eq!(text("setguard.1"), page);
    let check = text("setguard-check.1");
    assert!(check.contains("setguard\\-check") && check.contains("Exit codes:"), "{check}");
    let ran = folder.run(&["man", "none"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: none: cannot be written"), "{ran:?}");
}

#[test]
fn the_rules_are_listed_and_explained() {
    let folder = Folder::new([]);
    let table = folder.run(&["rules"]);
    let json: Value =
        serde_json::from_str(&folder.run(&["rules", "--format", "json"]).stdout).unwrap();
    let rules = json.as_array().unwrap();
    assert_eq!(table.stdout.lines().count(), rules.len() + 1, "{}", table.stdout);
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        let line = table.stdout.lines().find(|line| line.split(' ').next() == Some(id)).unwrap();
        assert!(line.contains(rule["mode"].as_str().unwrap()), "{line}");
        let explained = folder.run(&["explain", id]);
        assert_eq!(explained.code, 0);
        assert!(explained.stdout.starts_with(&format!("{id}: ")), "{}", explained.stdout);
    }
    let explained = folder.run(&["explain", "partition-covers-all"]).stdout;
    for part in ["Mode:", "Why:", "Bad:", "Good:"] {
        assert!(explained.contains(part), "{explained}");
    }
}

#[test]
fn help_shows_how() {
    let folder = Folder::new([]);
    let help = folder.run(&["check", "--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for part in ["Exit codes:", "Examples:", "--against", "--deny-warnings"] {
        assert!(help.stdout.contains(part), "{}", help.stdout);
    }
    let version = folder.run(&["--version"]).stdout;
    assert_eq!(version, format!("setguard {}\n", env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&["completions", shell]);
        assert_eq!(script.code, 0);
        assert!(script.stdout.contains("deny-warnings"), "{shell}");
    }
}

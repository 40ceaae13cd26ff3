//! Objects that Helm, or a tool with server-side apply, changes: setguard predicts whether fields missing from the new
//! manifest are removed, without knowing the program.

use setguard::{
    kubernetes::resource::Resource,
    object::{Object, Workload, schema},
    proposal::apply::{self, Delivery},
    yaml,
};

use super::HELM;
use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::new("fields-go-as-with-server-side-apply", |namespace| {
        let manager = "--field-manager=kustomize-controller";
        let flags = ["apply", "--server-side", "--force-conflicts", manager, "-f", "-"];
        changes(namespace, &|object| {
            namespace.kubectl(&flags, &object.to_string()).accepted();
        });
    }),
    Case::needing(&[HELM], "fields-go-as-with-helm", with_helm),
    Case::needing(&[HELM], "an-upgrade-of-a-release-is-planned", of_release),
];

fn of_release(namespace: &Namespace<'_>) {
    let helm = helm::find().expect("helm");
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path().join("chart");
    let write = |name: &str, text: &str| fs::write(chart.join(name), text).expect("a file");
    fs::create_dir_all(chart.join("templates")).expect("a folder");
    write("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n");
    let set = |name: &str, image: &str, annotations: &Value| {
        let mut set = with_app(stateful_set(name), name);
        set["metadata"]["annotations"] = annotations.clone();
        set["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        set
    };
    let none = json!({});
    let keep = json!({"helm.sh/resource-policy": "keep"});
    let before = [set("db", "a:1", &none), set("cache", "a:1", &none), set("kept", "a:1", &keep)];
    write("templates/sets.yaml", &before.map(|it| it.to_string()).join("\n---\n"));
    // A set of nobody's release stays.
    namespace.kubectl(&["apply", "-f", "-"], &set("other", "a:1", &none).to_string()).accepted();
    let kubeconfig = &namespace.control_plane.kubectl.kubeconfig;
    let installed = Command::new(&helm)
        .args(["install", "shop", "--namespace", namespace.name])
        .arg(&chart)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .expect("helm");
    assert!(installed.status.success(), "{installed:?}");
    write("templates/sets.yaml", &set("db", "a:2", &none).to_string());
    let path = env::join_paths([helm.parent().expect("a folder")]).expect("a path");
    let plan = |release: &str| {
        Command::new(env!("CARGO_BIN_EXE_setguard"))
            .args([
                "plan", "--no-config", "--namespace", namespace.name, "--against-release", release,
            ])
            .args(["--release", "shop", "--chart"])
            .arg(&chart)
            .env("KUBECONFIG", kubeconfig)
            .env("PATH", &path)
            .output()
            .expect("setguard")
    };
    let planned = plan("shop");
    let text = String::from_utf8_lossy(&planned.stdout);
    assert!(planned.status.success(), "{planned:?}");
    let named = |name: &str| format!("StatefulSet {}/{name}", namespace.name);
    assert!(text.contains("image: a:1 -> a:2"), "{text}");
    let deleted = format!("{} in {}\n  is deleted", named("cache"), chart.display());
    assert!(text.contains(&deleted), "{text}");
    assert!(!text.contains(&named("kept")) && !text.contains(&named("other")), "{text}");
    let unknown = plan("shops");
    assert_eq!(unknown.status.code(), Some(2));
    let why = String::from_utf8_lossy(&unknown.stderr);
    assert!(why.contains("--against-release shops: release: not found"), "{why}");
}

fn with_helm(namespace: &Namespace<'_>) {
    let helm = helm::find().expect("helm");
    let folder = tempfile::tempdir().expect("a folder");
    let chart = folder.path().join("chart");
    fs::create_dir_all(chart.join("templates")).expect("a folder");
    let about = "apiVersion: v2\nname: writers\nversion: 0.1.0\n";
    fs::write(chart.join("Chart.yaml"), about).expect("a file");
    changes(namespace, &|object| upgrade(namespace, &helm, &chart, object));
}

fn upgrade(namespace: &Namespace<'_>, helm: &Path, chart: &Path, object: &Value) {
    fs::write(chart.join("templates/set.yaml"), object.to_string()).expect("a file");
    // A release for each object.
    let release = object["metadata"]["name"].as_str().expect("a name");
    let version = Command::new(helm).args(["version", "--short"]).output().expect("helm");
    // Without this flag, Helm 4 refuses to take fields over from kubectl.
    let force = version.stdout.starts_with(b"v4").then_some("--force-conflicts");
    let output = Command::new(helm)
        .args(["upgrade", "--install", release, "--namespace", namespace.name])
        .args(force)
        .arg(chart)
        .env("KUBECONFIG", &namespace.control_plane.kubectl.kubeconfig)
        .output()
        .expect("helm");
    assert!(output.status.success(), "{output:?}");
}

const SETS: usize = 25;

fn changes(namespace: &Namespace<'_>, write: &dyn Fn(&Value)) {
    let mut dice = Dice(20_261_125);
    let mut wrong = BTreeMap::new();
    for number in 0..SETS {
        let name = format!("set-{number}");
        let reference = format!("statefulset/{name}");
        write(&object(&mut dice, &name));
        for change in 0..3 {
            meddle(namespace, &mut dice, &reference);
            let get = format!("get {reference} -o json --show-managed-fields");
            let before = namespace.does(&get).stdout;
            let new = object(&mut dice, &name);
            write(&new);
            let (expected, stored) = (expected(&new, &before), namespace.read(&reference));
            let mut differ = Vec::new();
            differences("", &expected, &fields(&stored.to_string()), &mut differ);
            if !differ.is_empty() {
                wrong.insert(format!("{name} {change}"), differ);
            }
        }
    }
    assert!(wrong.is_empty(), "{} changes are wrong: {wrong:#?}", wrong.len());
}

fn differences(path: &str, expected: &Value, stored: &Value, lines: &mut Vec<String>) {
    match (expected, stored) {
        (Value::Object(one), Value::Object(other)) => {
            for name in one.keys().chain(other.keys().filter(|it| !one.contains_key(*it))) {
                let of = |map: &serde_json::Map<String, Value>| map.get(name).cloned();
                let (one, other) = (of(one).unwrap_or_default(), of(other).unwrap_or_default());
                differences(&format!("{path}.{name}"), &one, &other, lines);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differences(&format!("{path}[{index}]"), one, other, lines);
            }
        }
        // An absent field with the same meaning.
        _ if [expected, stored]
            .iter()
            .all(|it| [Value::Null, json!({}), json!(0)].contains(it)) => {}
        _ if expected == stored => {}
        _ => lines.push(format!("{path}: expected {expected}, stored {stored}")),
    }
}

/// Changes the stored object as a different client.
fn meddle(namespace: &Namespace<'_>, dice: &mut Dice, reference: &str) {
    match dice.below(4) {
        0 => {
            namespace.does(&format!("scale {reference} --replicas={}", dice.below(4)));
        }
        1 => {
            namespace.does(&format!("set env {reference} --containers=main MEDDLED=yes"));
        }
        _ => {}
    }
}

fn expected(new: &Value, before: &str) -> Value {
    let new = new.to_string();
    let manifest = yaml::parse(&new).remove(0).expect("YAML").root;
    let outcomes = apply::outcomes(&Delivery::default(), &manifest, resource(), before, before);
    let last = outcomes.last().expect("an object").to_json();
    fields(&schema::normalize(&last, resource()).expect("an object"))
}

fn fields(json: &str) -> Value {
    let object = Object::parse(resource(), json).expect("an object");
    let Workload::StatefulSet(spec) = &object.workload else { panic!("a StatefulSet") };
    let mut spec = serde_json::to_value(spec).expect("JSON");
    // The API server may or may not store these defaults; the controller treats both alike.
    let strategy = &mut spec["updateStrategy"];
    assert_eq!(strategy["type"], "RollingUpdate");
    for (field, default) in [("partition", json!(0)), ("maxUnavailable", json!(1))] {
        let value = &mut strategy["rollingUpdate"][field];
        if value.is_null() {
            *value = default;
        }
    }
    let metadata: Value = serde_json::from_str(json).expect("JSON");
    // The managed-by label is Helm's.
    json!([spec, metadata["metadata"]["labels"]["tier"]])
}

fn resource() -> &'static Resource {
    Resource::of("apps/v1", "StatefulSet").expect("a resource")
}

/// The fields of a set by path, each with its values.
const FIELDS: &str = include_str!("../../fixtures/writers/fields.jsonl");

fn object(dice: &mut Dice, name: &str) -> Value {
    let labels = json!({ "app": name });
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": { "name": name },
        "spec": {
            "serviceName": name,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "main", "image": dice.pick(&["a:1", "a:2"]) }] },
            },
        },
    });
    for line in FIELDS.lines() {
        let (path, values): (String, Vec<Value>) = serde_json::from_str(line).expect("JSON");
        if dice.percent(50) {
            put(&mut set, &path, dice.pick(&values));
        }
    }
    if set["spec"]["updateStrategy"]["rollingUpdate"].is_object() {
        set["spec"]["updateStrategy"]["type"] = json!("RollingUpdate");
    }
    set
}

fn put(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for name in path.split('/').skip(1) {
        at = match name.parse::<usize>() {
            Ok(index) => {
                let items = at.as_array_mut().expect("a list");
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            Err(_) => &mut at[name],
        };
    }
    *at = value;
}

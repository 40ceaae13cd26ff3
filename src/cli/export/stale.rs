use anyhow::anyhow;
use setguard_files::manifests::source::Source;

use super::{
    map,
    objects::{STATIC_SUFFIX, SUFFIX},
};
use crate::cli::prelude::*;

/// `path` is an export, or the output of `kubectl get -o yaml`. Comments, order and API server defaults don't count.
///
/// `is_map` is whether `new` is the export of the injections.
pub(super) fn check(path: &Path, new: &str, is_map: bool) -> anyhow::Result<Exit> {
    let is_stdin = path == Path::new("-");
    let file = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
    let source = if is_stdin { Source::Stdin } else { Source::named_file(path) };
    let old = source.read()?;
    let old = objects(old.text()).with_context(|| format!("cannot read {file}"))?;
    let new = objects(new)?;
    let mut missing: BTreeSet<&String> = new.keys().collect();
    let (mut differences, mut gone) = (Vec::new(), Vec::new());
    for (name, mut there) in old {
        let known =
            new.get_key_value(&name).or_else(|| new.get_key_value(&without_release(&name)?));
        if let Some((plain, object)) = known {
            missing.remove(plain);
            // A binding of a release has the release's name for its policy.
            if there["spec"]["policyName"] == there["metadata"]["name"] {
                there["spec"]["policyName"] = object["spec"]["policyName"].clone();
            }
            if !is_stored(object, &there) {
                differences.push(format!("{name} has changed"));
            }
        } else if is_own(&name, is_map) {
            gone.push(format!("{name} is not exported any more"));
        }
    }
    differences.extend(missing.into_iter().map(|name| format!("{name} is missing")));
    differences.sort();
    differences.extend(gone);
    if differences.is_empty() {
        return Ok(Exit::Clean);
    }
    let mut output = Printable::new(anstream::stdout().lock()).guarded();
    writeln!(output, "{file} is not up to date; export again:")?;
    for difference in differences {
        writeln!(output, "  {difference}")?;
    }
    Ok(Exit::Denied)
}

/// A cluster also has unrelated policies, and the policies of the other export.
fn is_own(name: &str, is_map: bool) -> bool {
    let (kind, policy) = name.split_once(' ').unwrap_or_default();
    let rule = policy.split('.').next().unwrap_or_default();
    let is_injection = kind.starts_with("Mutating") || map::RULES.iter().any(|it| it.id == rule);
    (policy.ends_with(SUFFIX) || policy.ends_with(STATIC_SUFFIX)) && is_injection == is_map
}

/// Returns the name without the release's name. The chart puts that before the suffix.
fn without_release(name: &str) -> Option<String> {
    let (rule, _) = name.strip_suffix(SUFFIX)?.strip_suffix('.')?.rsplit_once('.')?;
    Some(format!("{rule}.{SUFFIX}"))
}

fn is_stored(exported: &Value, stored: &Value) -> bool {
    let parts = ["apiVersion", "kind", "spec"];
    parts.iter().all(|part| is_with_defaults(&exported[part], &stored[part]))
}

/// Defaults of the API server don't count. Kubernetes: `pkg/apis/admissionregistration/v1/defaults.go`.
fn is_with_defaults(exported: &Value, stored: &Value) -> bool {
    match (exported, stored) {
        (Value::Object(exported), Value::Object(stored)) => {
            let defaults = [
                ("matchPolicy", json!("Equivalent")),
                ("namespaceSelector", json!({})),
                ("objectSelector", json!({})),
                ("scope", json!("*")),
            ];
            let is_default = |name: &str, value: &Value| {
                defaults.iter().any(|(key, default)| *key == name && default == value)
            };
            exported.keys().all(|name| stored.contains_key(name))
                && stored.iter().all(|(name, value)| match exported.get(name) {
                    Some(exported) => is_with_defaults(exported, value),
                    None if name == "matchResources" => is_with_defaults(&json!({}), value),
                    None => is_default(name, value),
                })
        }
        (Value::Array(exported), Value::Array(stored)) => {
            exported.len() == stored.len()
                && exported.iter().zip(stored).all(|(one, other)| is_with_defaults(one, other))
        }
        (exported, stored) => exported == stored,
    }
}

/// The objects of a stream, including list items, by kind and name.
fn objects(text: &str) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    for document in kube_yaml::parse(text) {
        let document = document.map_err(|e| anyhow!("line {}: {}", e.mark.line, e.message))?;
        let mut object: Value = serde_json::from_str(&document.root.to_json())?;
        let items = match object.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => vec![object],
        };
        for object in items {
            let part =
                |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("?");
            let name = format!("{} {}", part("/kind"), part("/metadata/name"));
            objects.insert(name, object);
        }
    }
    Ok(objects)
}

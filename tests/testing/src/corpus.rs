//! The recorded verdicts of a real kube-apiserver (`tests/conformance`).

use std::fmt;

use serde::{Deserialize, de::DeserializeOwned};

use crate::prelude::*;

/// Cases recorded as 400 because `containers` was an object, although their patches make no such object; the recording
/// sent something else. ds-min-0878 equals ds-min-0070, but that is recorded as 422.
const MISRECORDED: [&str; 3] = ["ds-min-0878", "ds-rich-1545", "sts-min-2701"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    pub id: String,
    pub op: String,
    pub scope: String,
    pub base: String,
    pub patch: json_patch::Patch,
    pub old_patch: Option<json_patch::Patch>,
    /// Whether the gates of alpha fields were on. Only `alpha.jsonl` has this field.
    #[serde(default)]
    pub alpha: bool,
    pub verdict: Verdict,
}

#[derive(Deserialize)]
pub struct Verdict {
    pub code: u16,
    #[serde(default)]
    pub message: String,
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// The fields of the request that the stored object lacks.
    #[serde(default)]
    pub dropped: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    pub field: String,
    pub reason: String,
    pub message: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.reason, self.field, self.message)
    }
}

impl Case {
    /// The object in the request. `None` if unknown: a patch step leads below a value that an earlier step removed, or
    /// the case is one of [`MISRECORDED`].
    pub fn object(&self, bases: &Bases) -> Option<Value> {
        if MISRECORDED.contains(&self.id.as_str()) {
            return None;
        }
        patched(&bases[&self.base], &self.patch)
    }

    /// The stored object that an UPDATE replaces. If the server drops fields from the new object because their gate is
    /// off, the old object lacks them too.
    pub fn old(&self, bases: &Bases) -> Option<Value> {
        assert_eq!(self.op == "UPDATE", self.old_patch.is_some(), "{}", self.id);
        let patch = self.old_patch.as_ref()?;
        let mut old = patched(&bases[&self.base], patch).expect("it was stored");
        for path in &self.verdict.dropped {
            let pointer = path.replace(['.', '['], "/").replace(']', "");
            let (parent, name) = pointer.rsplit_once('/').expect("it is below spec");
            let parent = old.pointer_mut(&format!("/{parent}"));
            parent.and_then(Value::as_object_mut).map(|parent| parent.remove(name));
        }
        Some(old)
    }
}

/// The patched base. `None` if a step does not apply.
pub fn patched(base: &Value, patch: &json_patch::Patch) -> Option<Value> {
    let mut object = base.clone();
    json_patch::patch(&mut object, patch).ok()?;
    Some(object)
}

/// The bases of the cases' patches, by name.
pub type Bases = BTreeMap<String, Value>;

pub fn bases() -> Bases {
    let files = fs::read_dir(folder().join("bases")).unwrap();
    files
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
        })
        .collect()
}

/// The cases with values of 1.37's alpha fields.
pub fn alpha_cases() -> Vec<Case> {
    read(&folder().join("alpha.jsonl"))
}

/// The cases with this release's verdicts: 1.36's, except where the release differs, for all objects that its API
/// server accepts as requests. Other cases, see [`cases`], have the verdicts of 1.36 only.
pub fn cases_of(release: &str) -> Vec<Case> {
    #[derive(Deserialize)]
    struct Other {
        id: String,
        verdict: Verdict,
    }
    let mut all = cases();
    if others().is_none() {
        all.extend(read(&folder().join("gated.jsonl")));
    }
    if release != "1.36" {
        let others = read::<Other>(&folder().join(format!("releases/{release}.jsonl")));
        let mut others: BTreeMap<_, _> = others.into_iter().map(|it| (it.id, it.verdict)).collect();
        for case in &mut all {
            if let Some(verdict) = others.remove(&case.id) {
                case.verdict = verdict;
            }
        }
        assert!(others.is_empty(), "verdicts of unknown cases");
    }
    all.retain(|case| case.verdict.code != 0);
    all
}

/// The recorded cases, or the cases in the file `CONFORMANCE_CASES`. Both use the same bases.
pub fn cases() -> Vec<Case> {
    let own = ["cases.jsonl", "podspec.jsonl", "workload.jsonl"].map(|name| folder().join(name));
    let files = others().map_or_else(|| own.into(), |file| vec![file]);
    files.iter().flat_map(|file| read(file)).collect()
}

pub fn others() -> Option<PathBuf> {
    env::var_os("CONFORMANCE_CASES").map(PathBuf::from)
}

fn read<T: DeserializeOwned>(file: &Path) -> Vec<T> {
    let text = fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn folder() -> PathBuf {
    Path::new(ROOT).join("tests/conformance")
}

//! Traces: the steps of the real controllers, to compare with the output of `setguard plan`.

use serde::{Deserialize, Serialize};

use crate::harness::process::feed;
use crate::prelude::*;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trace {
    pub name: String,
    pub flags: Vec<String>,
    /// The old manifest, with its pods and claims if they matter.
    pub old: Option<Value>,
    pub new: Value,
    pub nodes: Value,
    /// The pods that are terminating at the time of the change, and the nodes of such daemons. A plan ignores them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub ending: BTreeSet<String>,
    /// Whether the API server refused the controller something until the change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_refused: bool,
    pub rounds: Vec<Round>,
    pub claims_deleted: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<BTreeSet<Left>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    /// The name of the pod, or of the node of a daemon.
    pub pod: String,
    pub revision: String,
    pub is_available: bool,
    /// Whether the controller counts the pod as made from the new template.
    pub is_current: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// The preceding event that the controller waited for.
    pub after: After,
    pub events: BTreeSet<Event>,
}

/// The events that a controller waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum After {
    Change,
    /// The end of deleted pods.
    Gone,
    /// Pods that became ready, but not yet available.
    Ready,
    Available,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    pub action: String,
    /// The name of the pod, or of the node of a daemon.
    pub pod: String,
    pub revision: String,
    pub claims: BTreeSet<String>,
}

impl Trace {
    /// Returns the waves: consecutive steps that wait for nothing except the end of replaced pods. With `Recreate`,
    /// each pod waits for the end of all.
    pub fn waves(&self) -> Vec<Vec<Event>> {
        let recreates = self.new["spec"]["updateStrategy"]["type"] == "Recreate";
        let mut waves: Vec<Vec<Event>> = Vec::new();
        for round in &self.rounds {
            let mut events: Vec<_> = round.events.iter().cloned().collect();
            if round.after == After::Gone && waves.is_empty() && !self.ending.is_empty() {
                // The controller waited for the end of pods that were already terminating.
                waves.push(events);
                continue;
            }
            let is_first = waves.len() == 1;
            if let (After::Gone, Some(wave), false) = (round.after, waves.last_mut(), recreates) {
                let gone: BTreeSet<_> = wave.iter().filter(|it| it.action == "delete").collect();
                let mut gone: BTreeSet<_> = gone.into_iter().map(|it| it.pod.clone()).collect();
                if is_first {
                    gone.extend(self.ending.iter().cloned());
                }
                let is_back = |event: &Event| event.action == "create" && gone.contains(&event.pod);
                let (back, others): (Vec<_>, Vec<_>) = events.into_iter().partition(is_back);
                wave.extend(back);
                events = others;
            }
            if !events.is_empty() {
                waves.push(events);
            }
        }
        waves.retain(|wave| !wave.is_empty());
        waves
    }

    pub fn plan(&self, program: &Path, folder: &Path) -> Value {
        let write = |name: &str, value: &Value| {
            let path = folder.join(format!("{}-{name}.json", self.name));
            std::fs::write(&path, value.to_string()).expect("a file");
            path
        };
        let mut command = Command::new(program);
        command.args(["plan", "-", "--format", "json", "--nodes"]).arg(write("nodes", &self.nodes));
        if let Some(old) = &self.old {
            command.arg("--against").arg(write("old", old));
        }
        let output = feed(command.args(&self.flags), self.new.to_string().as_bytes());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}: {output:?}", self.name))
    }

    pub fn differences(&self, plan: &Value) -> Vec<String> {
        let object = &plan["objects"][0];
        let mut planned: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
        for step in list(&object["steps"]) {
            // The end of an already terminating pod matters only for its claims.
            let has_begun = step["action"] == "delete"
                && list(&step["claims"]["deleted"]).next().is_some()
                && step["pod"].as_str().is_some_and(|pod| self.ending.contains(pod));
            if step["action"] != "keep" && !has_begun {
                planned.entry(step["wave"].as_u64().unwrap()).or_default().push(step);
            }
        }
        let planned: Vec<_> = planned.into_values().collect();
        let waves = self.waves();
        let kind = self.new["kind"].as_str().unwrap_or_default();
        let mut differences = Vec::new();
        if self.items(kind).any(|set| set["metadata"]["deletionTimestamp"].is_string()) {
            differences.extend(self.differences_of_deletion(object));
            differences.extend(self.differences_of_claims(object));
            return differences;
        }
        let is_told = || notes(object).any(|it| it.starts_with("the API server refused "));
        if self.refuses(planned.first()) && !is_told() {
            differences.push("the plan doesn't say that the API server refuses pods".to_owned());
        }
        let early = claims_for_pods_that_wait(object);
        if notes(object).any(|it| it.contains("at random")) {
            return self.differences_by_chance(&planned, &waves);
        }
        if planned.len() != waves.len() {
            differences.push(format!("{} waves planned, {} seen", planned.len(), waves.len()));
        }
        for (i, (steps, events)) in planned.iter().zip(&waves).enumerate() {
            let (mut left, mut taken) = (events.clone(), Vec::new());
            let (random, known): (Vec<_>, Vec<_>) =
                steps.iter().partition(|step| step.get("count").is_some());
            // The recording has one event for two pods of a node that end together.
            let is_first = |i: &usize| !known[..*i].contains(&known[*i]);
            for step in (0..known.len()).filter(is_first).map(|i| known[i]) {
                match left.iter().position(|event| self.is_as_planned(step, event, &early)) {
                    Some(at) => taken.push(left.remove(at)),
                    None => differences.push(format!("wave {}: not seen: {step}", i + 1)),
                }
            }
            for step in random {
                let count = step["count"].as_u64().unwrap();
                let missing = take_random(step, count, &mut left);
                // A random pod may be the second one of a node.
                let missing = take_random(step, missing, &mut taken);
                differences
                    .extend((0..missing).map(|_| format!("wave {}: not seen: {step}", i + 1)));
            }
            differences
                .extend(left.iter().map(|it| format!("wave {}: not planned: {it:?}", i + 1)));
        }
        differences.extend(self.differences_of_claims(object));
        differences.extend(self.differences_at_the_end(object));
        differences
    }

    /// The objects of this kind before the change.
    pub fn items(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.old.iter().flat_map(|old| list(&old["items"])).filter(move |it| it["kind"] == kind)
    }

    /// Whether the API server refused one of these steps before the change.
    fn refuses(&self, steps: Option<&Vec<&Value>>) -> bool {
        let kind = self.new["kind"].as_str().unwrap_or_default();
        let is_known = self.is_refused && self.items(kind).next().is_some();
        self.items("Event").filter(|_| is_known).any(|event| {
            let message = event["message"].as_str().unwrap_or_default();
            let action = if event["reason"] == "FailedCreate" { "create" } else { "delete" };
            let mut steps = steps.into_iter().flatten().filter(|step| step["action"] == action);
            steps.any(|step| match step["pod"].as_str() {
                Some(pod) => message.contains(&format!(" {pod} ")),
                None => true,
            })
        })
    }

    fn differences_of_claims(&self, object: &Value) -> Option<String> {
        let deleted = list(&object["steps"]).flat_map(|step| list(&step["claims"]["deleted"]));
        let deleted: BTreeSet<_> =
            deleted.filter_map(|claim| claim.as_str().map(str::to_owned)).collect();
        let seen = &self.claims_deleted;
        (deleted != *seen).then(|| format!("claims deleted: planned {deleted:?}, seen {seen:?}"))
    }

    /// Compares the end of a set that the cluster deletes: all of its pods go, or none does. A plan has no steps for
    /// the pods of a DaemonSet.
    fn differences_of_deletion(&self, object: &Value) -> Option<String> {
        let stay = !notes(object).any(|it| it.contains("its pods go with it"));
        let mut planned = BTreeSet::new();
        for pod in self.items("Pod").filter(|_| !stay) {
            let metadata = &pod["metadata"];
            if metadata["ownerReferences"].is_array() && metadata["deletionTimestamp"].is_null() {
                planned.insert(("delete", node_or_name(pod)?));
            }
        }
        let events = self.rounds.iter().flat_map(|round| &round.events);
        let seen: BTreeSet<_> = events.map(|it| (&*it.action, &*it.pod)).collect();
        let steps = list(&object["steps"]).filter_map(|step| step["pod"].as_str());
        let steps: BTreeSet<_> = steps.map(|pod| ("delete", pod)).collect();
        let is_drawn = self.new["kind"] == "DaemonSet" || planned.is_subset(&steps);
        (planned != seen || !is_drawn)
            .then(|| format!("its end: planned {planned:?}, drawn {steps:?}, seen {seen:?}"))
    }

    /// Compares the pods at the end, and whether the rollout stopped earlier.
    fn differences_at_the_end(&self, object: &Value) -> Vec<String> {
        let Some(left) = &self.left else { return Vec::new() };
        let mut differences = Vec::new();
        // A node with a pod of each template counts as new.
        let mut revisions: BTreeMap<&str, &str> = BTreeMap::new();
        for pod in left {
            let revision = revisions.entry(&pod.pod).or_insert(&pod.revision);
            *revision = std::cmp::min(*revision, &*pod.revision);
        }
        let by_revision = |revision| revisions.values().filter(|it| **it == revision).count();
        let seen = (by_revision("old"), by_revision("new"));
        let planned = planned_at_the_end(object);
        if planned != seen {
            differences
                .push(format!("old and new pods at the end: planned {planned:?}, seen {seen:?}"));
        }
        // A DaemonSet waits only for pods that count as new.
        let is_daemon = self.new["kind"] == "DaemonSet";
        let is_down = |it: &Left| !(it.is_available || is_daemon && !it.is_current);
        let names: BTreeSet<_> = left.iter().map(|it| it.pod.clone()).collect();
        let stopped = left.iter().any(is_down) || self.ordinals().is_some_and(|it| it != names);
        let stops = !object["summary"]["stopsAt"].is_null();
        if stops != stopped {
            differences.push(format!("stops: planned {stops}, seen {stopped}"));
        }
        differences
    }

    /// Compares a random course: the steps of all waves together.
    fn differences_by_chance(&self, planned: &[Vec<&Value>], seen: &[Vec<Event>]) -> Vec<String> {
        let count = |action: &str| {
            let steps = planned.iter().flatten().filter(|step| step["action"] == action);
            let planned: u64 = steps.map(|step| step["count"].as_u64().unwrap_or(1)).sum();
            let seen = seen.iter().flatten().filter(|event| event.action == action).count();
            (planned != seen as u64).then(|| format!("{action}: planned {planned}, seen {seen}"))
        };
        ["create", "delete"].into_iter().filter_map(count).collect()
    }

    /// Whether an event matches a step of the plan. With `whenScaled: Retain`, the controller does not wait for the
    /// end of a claim that a pod takes with it: it may find the claim before the garbage collector does. `early` are
    /// claims created before their pods but recorded with them.
    fn is_as_planned(&self, step: &Value, event: &Event, early: &BTreeSet<&str>) -> bool {
        let name = step["pod"].as_str().or_else(|| step["node"].as_str());
        let claims = list(&step["claims"]["created"]).filter_map(Value::as_str);
        let claims: BTreeSet<_> = claims.map(str::to_owned).collect();
        let retention = &self.new["spec"]["persistentVolumeClaimRetentionPolicy"];
        let waits = retention["whenScaled"] == "Delete";
        let mut unlike = claims.symmetric_difference(&event.claims);
        step["action"] == event.action.as_str()
            && name == Some(&event.pod)
            && step["revision"] == event.revision.as_str()
            && unlike.all(|claim| {
                early.contains(claim.as_str()) || !waits && self.claims_deleted.contains(claim)
            })
    }

    fn ordinals(&self) -> Option<BTreeSet<String>> {
        let spec = &self.new["spec"];
        let start = spec["ordinals"]["start"].as_u64().unwrap_or(0);
        let end = start + spec["replicas"].as_u64()?;
        let set = self.new["metadata"]["name"].as_str().unwrap_or_default();
        Some((start..end).map(|ordinal| format!("{set}-{ordinal}")).collect())
    }
}

pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn notes(object: &Value) -> impl Iterator<Item = &str> {
    list(&object["notes"]).filter_map(Value::as_str)
}

/// Returns the node of a daemon pod, or the name of any other pod.
pub fn node_or_name(pod: &Value) -> Option<&str> {
    let path = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
                /nodeSelectorTerms/0/matchFields/0/values/0";
    pod.pointer(path).unwrap_or(&pod["metadata"]["name"]).as_str()
}

/// Returns the planned final numbers of pods with old templates and with the new template. A node with a pod of each
/// counts as new.
fn planned_at_the_end(object: &Value) -> (usize, usize) {
    let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
    let (mut some_old, mut some_new, mut surging) = (0, 0, 0);
    for step in list(&object["steps"]) {
        let is_new = step["revision"] == "new";
        let action = step["action"].as_str().unwrap_or_default();
        if let Some(count) = step["count"].as_i64() {
            match (action, is_new) {
                ("keep", false) => some_old += count,
                ("create", true) => (some_new, surging) = (some_new + count, surging + count),
                ("delete", false) => surging -= count,
                _ => {}
            }
            continue;
        }
        let name = step["pod"].as_str().or_else(|| step["node"].as_str()).unwrap_or_default();
        let pods = if is_new { &mut new } else { &mut old };
        match action {
            "create" | "keep" => drop(pods.insert(name)),
            _ => drop(pods.remove(name)),
        }
    }
    let old = old.difference(&new).count() as i64 + some_old - surging.max(0);
    let new = new.len() as i64 + some_new;
    [old, new].map(|count| usize::try_from(count).unwrap_or_default()).into()
}

/// Removes up to `missing` events on the random nodes of a step. Returns the number of events not found.
fn take_random(step: &Value, mut missing: u64, left: &mut Vec<Event>) -> u64 {
    let candidates = step["candidates"].as_array().unwrap();
    let fits = |event: &Event| {
        step["action"] == event.action.as_str()
            && step["revision"] == event.revision.as_str()
            && candidates.iter().any(|node| *node == event.pod.as_str())
    };
    while missing > 0
        && let Some(at) = left.iter().position(fits)
    {
        left.remove(at);
        missing -= 1;
    }
    missing
}

/// The claims that the controller creates for waiting pods.
fn claims_for_pods_that_wait(object: &Value) -> BTreeSet<&str> {
    let lists =
        notes(object).filter_map(|note| note.strip_prefix("created for pods that wait for it: "));
    lists.flat_map(|list| list.split(", ")).collect()
}

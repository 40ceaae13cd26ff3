//! Runs a change on the real controllers, one round at a time: pods become available, and deleted pods
//! are gone, only when the controller has nothing left to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::{
    apps::v1::ControllerRevision,
    core::v1::{PersistentVolumeClaim, Pod},
};
use kube::{
    Api, Client, ResourceExt,
    api::{
        ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
        WatchEvent, WatchParams,
    },
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::scenario::{BETWEEN, Scenario};
use crate::{
    harness::process::DEADLINE,
    traces::{After, Event, Round, Trace},
};

/// How long a controller must have done nothing to count as waiting. There is no event for that.
const QUIET: Duration = Duration::from_millis(1500);
/// How long it may take to do what the plan says that it will do.
const PATIENCE: Duration = Duration::from_secs(30);
/// The limit after pods became ready: most controllers then do nothing yet.
const LITTLE_PATIENCE: Duration = Duration::from_secs(4);
/// Since when available pods have been ready: longer than any `minReadySeconds`.
const LONG_AGO: &str = "1900-01-01T00:00:00Z";
/// Since when pods have been ready that are not available yet: if they became ready before the last
/// change, and if they did after it.
const NOT_LONG_AGO: [&str; 2] = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"];

/// When each set's pods and claims changed last. The key is the set's name.
pub(crate) type Activity = Arc<Mutex<BTreeMap<String, Instant>>>;

/// Watches pods for as long as the runtime lives.
pub(crate) fn watch(client: &Client, activity: &Activity) {
    use WatchEvent::{Added, Deleted, Modified};
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let (seen, params) = (activity.clone(), WatchParams::default());
    tokio::spawn(async move {
        // The API server ends each watch after some minutes. The next begins with what there is.
        while let Ok(changes) = pods.watch(&params, "0").await {
            let mut changes = changes.boxed();
            while let Ok(Some(change)) = changes.try_next().await {
                if let Added(pod) | Modified(pod) | Deleted(pod) = change
                    && let Some(set) = pod.labels().get("app")
                {
                    seen.lock().expect("a lock").insert(set.clone(), Instant::now());
                }
            }
        }
    });
}

/// One change on the real controllers.
pub(crate) struct Lockstep<'a> {
    client: Client,
    activity: &'a Activity,
    scenario: &'a Scenario,
    sets: Api<DynamicObject>,
    pods: Api<Pod>,
    claims: Api<PersistentVolumeClaim>,
    /// Pods by uid, and whether they are terminating.
    known: BTreeMap<String, (String, bool, String)>,
    /// Whether the last change has been made: pods that are created from then on become ready, even
    /// those of the change in between.
    is_last: bool,
    /// Claims by uid, with their names.
    known_claims: BTreeMap<String, String>,
}

impl<'a> Lockstep<'a> {
    pub(crate) fn new(client: Client, activity: &'a Activity, scenario: &'a Scenario) -> Self {
        let kind = scenario.new["kind"].as_str().expect("a kind");
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
        Lockstep {
            sets: Api::namespaced_with(client.clone(), "default", &resource),
            pods: Api::namespaced(client.clone(), "default"),
            claims: Api::namespaced(client.clone(), "default"),
            client,
            activity,
            scenario,
            known: BTreeMap::new(),
            is_last: false,
            known_claims: BTreeMap::new(),
        }
    }

    /// Makes the change and records what the controller does. `expected` is the number of waves that
    /// were planned: it is only used to know how long to wait.
    pub(crate) async fn run(
        mut self,
        mut flags: Vec<String>,
        nodes: Value,
        planned: impl FnOnce(&Trace) -> Vec<usize>,
    ) -> Trace {
        flags.extend(self.scenario.never_ready.iter().map(|it| format!("--never-ready={it}")));
        let mut trace = Trace {
            name: self.scenario.name.clone(),
            flags,
            old: self.scenario.old.clone(),
            new: self.scenario.new.clone(),
            nodes,
            ending: BTreeSet::new(),
            rounds: Vec::new(),
            claims_deleted: BTreeSet::new(),
        };
        if let Some(old) = &self.scenario.old {
            self.write(old).await;
            self.settle().await;
        }
        if trace.old.is_some() {
            // The objects are written whole, not applied.
            trace.flags.push("--as=replace".to_owned());
        }
        if let Some(between) = &self.scenario.between {
            self.write(&between.object).await;
            self.go_on_for(between.rounds).await;
            self.claims_deleted().await;
            trace.old = Some(self.world().await);
        }
        self.known_claims = self.list_claims().await;
        self.is_last = true;
        let planned = planned(&trace);
        let all: usize = planned.iter().sum();
        self.write(&self.scenario.new.clone()).await;
        let mut after = After::Change;
        let mut done = 0;
        loop {
            let patience = match after {
                _ if done >= all => Duration::ZERO,
                After::Ready => LITTLE_PATIENCE,
                After::Change | After::Gone | After::Available => PATIENCE,
            };
            let events = self.round(patience).await;
            done += events.len();
            if !events.is_empty() {
                trace.rounds.push(Round { after, events });
            }
            after = if self.end_pods().await {
                After::Gone
            } else if self.is_slow() && self.make_ready(true).await {
                After::Ready
            } else if self.make_available(true).await {
                After::Available
            } else {
                break;
            };
        }
        trace.claims_deleted = self.claims_deleted().await;
        trace
    }

    async fn write(&self, object: &Value) {
        let mut object: DynamicObject = serde_json::from_value(object.clone()).expect("an object");
        let name = object.name_any();
        self.touch();
        if let Some(old) = self.sets.get_opt(&name).await.expect("an answer") {
            object.metadata.resource_version = old.metadata.resource_version;
            self.sets.replace(&name, &PostParams::default(), &object).await.expect("an update");
        } else {
            self.sets.create(&PostParams::default(), &object).await.expect("a new set");
        }
    }

    /// Waits until the set is complete, with all pods available.
    async fn settle(&mut self) {
        let start = Instant::now();
        while !self.is_settled().await {
            assert!(start.elapsed() < DEADLINE, "{} does not settle", self.scenario.name);
            self.end_pods().await;
            self.make_available(false).await;
            sleep(Duration::from_millis(300)).await;
        }
        self.round(Duration::ZERO).await;
    }

    async fn is_settled(&self) -> bool {
        let set = self.sets.get(&self.scenario.name).await.expect("the set");
        let status = |key: &str| set.data["status"][key].as_i64().unwrap_or(0);
        let is_observed = status("observedGeneration") == set.metadata.generation.unwrap_or(0);
        let pods = i64::try_from(self.list().await.len()).expect("a small number");
        let wanted = match set.data["spec"]["replicas"].as_i64() {
            Some(replicas) => {
                let current = &set.data["status"]["currentRevision"];
                if *current != set.data["status"]["updateRevision"] {
                    return false;
                }
                (replicas, status("availableReplicas"))
            }
            None => (status("desiredNumberScheduled"), status("numberAvailable")),
        };
        is_observed && wanted == (pods, pods)
    }

    /// Lets a change be rolled out for some rounds.
    async fn go_on_for(&mut self, rounds: usize) {
        for left in (0..rounds).rev() {
            self.round(PATIENCE).await;
            while self.end_pods().await {
                self.round(PATIENCE).await;
            }
            let is_over = if left == 0 {
                true
            } else if self.is_slow() && left == 1 {
                !self.make_ready(true).await
            } else {
                !self.make_available(true).await
            };
            if is_over {
                break;
            }
        }
    }

    /// The set as it is, with its pods, claims and revisions.
    async fn world(&self) -> Value {
        let of = ListParams::default().labels(&format!("app={}", self.scenario.name));
        let revisions: Api<ControllerRevision> = Api::namespaced(self.client.clone(), "default");
        let mut items = Vec::new();
        let set = self.sets.get(&self.scenario.name).await.expect("the set");
        items.push(serde_json::to_value(set).expect("JSON"));
        let mut add = |api_version: &str, kind: &str, item: Value| {
            let mut item = item;
            item["apiVersion"] = json!(api_version);
            item["kind"] = json!(kind);
            items.push(item);
        };
        for pod in self.list().await {
            add("v1", "Pod", serde_json::to_value(pod).expect("JSON"));
        }
        for claim in self.claims.list(&of).await.expect("claims").items {
            add("v1", "PersistentVolumeClaim", serde_json::to_value(claim).expect("JSON"));
        }
        for revision in revisions.list(&of).await.expect("revisions").items {
            add("apps/v1", "ControllerRevision", serde_json::to_value(revision).expect("JSON"));
        }
        for item in &mut items {
            item["metadata"].as_object_mut().expect("metadata").remove("managedFields");
        }
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }

    /// Waits until the controller waits, and returns what it did. It gets this time to begin.
    async fn round(&mut self, patience: Duration) -> BTreeSet<Event> {
        let start = Instant::now();
        loop {
            sleep(Duration::from_millis(300)).await;
            let last = self.activity.lock().expect("a lock").get(&self.scenario.name).copied();
            let is_quiet = last.is_none_or(|last| last.elapsed() > QUIET);
            let is_observed = self.is_observed().await;
            let is_patient = start.elapsed() < patience && last.is_none_or(|it| it < start);
            if is_quiet && is_observed && !is_patient && start.elapsed() > QUIET {
                break;
            }
        }
        self.events().await
    }

    async fn is_observed(&self) -> bool {
        let set = self.sets.get(&self.scenario.name).await.expect("the set");
        let observed = set.data["status"]["observedGeneration"].as_i64();
        observed >= set.metadata.generation
    }

    async fn list(&self) -> Vec<Pod> {
        let of = ListParams::default().labels(&format!("app={}", self.scenario.name));
        self.pods.list(&of).await.expect("pods").items
    }

    async fn events(&mut self) -> BTreeSet<Event> {
        let claims = self.list_claims().await;
        let new = claims.iter().filter(|(uid, _)| !self.known_claims.contains_key(*uid));
        let new_claims: BTreeSet<_> = new.map(|(_, name)| name.clone()).collect();
        self.known_claims.extend(claims);
        let mut events = BTreeSet::new();
        let mut now = BTreeMap::new();
        for pod in self.list().await {
            let place = self.place(&pod);
            let revision = self.revision(&pod);
            let is_terminating = pod.metadata.deletion_timestamp.is_some();
            now.insert(pod.uid().expect("a uid"), (place, is_terminating, revision));
        }
        let event = |action: &str, place: &str, revision: &str| Event {
            action: action.to_owned(),
            pod: place.to_owned(),
            revision: revision.to_owned(),
            claims: new_claims
                .iter()
                .filter(|claim| action == "create" && claim.ends_with(&format!("-{place}")))
                .cloned()
                .collect(),
        };
        for (uid, (place, is_terminating, revision)) in &now {
            let before = self.known.get(uid);
            if before.is_none() {
                events.insert(event("create", place, revision));
            }
            if *is_terminating && before.is_none_or(|(_, was, _)| !was) {
                events.insert(event("delete", place, revision));
            }
        }
        self.known = now;
        events
    }

    async fn list_claims(&self) -> BTreeMap<String, String> {
        let of = ListParams::default().labels(&format!("app={}", self.scenario.name));
        let claims = self.claims.list(&of).await.expect("claims").items;
        claims.iter().map(|it| (it.uid().expect("a uid"), it.name_any())).collect()
    }

    /// The name of the pod, or of the node that it is for.
    fn place(&self, pod: &Pod) -> String {
        if self.scenario.new["kind"] == "StatefulSet" {
            return pod.name_any();
        }
        let json = serde_json::to_value(pod).expect("JSON");
        let path = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution\
                    /nodeSelectorTerms/0/matchFields/0/values/0";
        json.pointer(path).and_then(Value::as_str).expect("a node").to_owned()
    }

    fn revision(&self, pod: &Pod) -> String {
        let image = image(pod);
        let new = &self.scenario.new["spec"]["template"]["spec"]["containers"][0]["image"];
        if image.as_deref() == new.as_str() { "new".to_owned() } else { "old".to_owned() }
    }

    /// Removes the pods that are being deleted. Returns whether there were any.
    async fn end_pods(&self) -> bool {
        let mut any = false;
        for pod in self.list().await {
            if pod.metadata.deletion_timestamp.is_some() {
                any = true;
                let patch = json!({"metadata": {"finalizers": null}});
                let patch = Patch::Merge(&patch);
                let patched =
                    self.pods.patch(&pod.name_any(), &PatchParams::default(), &patch).await;
                drop(patched);
            }
        }
        if any {
            self.touch();
        }
        any
    }

    /// Whether pods are ready for a while before they are available.
    fn is_slow(&self) -> bool {
        self.scenario.new["spec"]["minReadySeconds"].as_i64().is_some_and(|it| it > 0)
    }

    /// Makes the pods ready that are not, but not available. Returns whether there were any.
    async fn make_ready(&self, heeds_never: bool) -> bool {
        let mut any = false;
        for pod in self.list().await {
            if ready_since(&pod).is_none() && self.may_start(&pod, heeds_never).await {
                any = true;
                self.set_ready(&pod, NOT_LONG_AGO[usize::from(self.is_last)]).await;
            }
        }
        any
    }

    /// Makes the pods available that are not; if they have been ready for different times, those that
    /// were first. Returns whether there were any.
    async fn make_available(&self, heeds_never: bool) -> bool {
        let mut waiting = Vec::new();
        for pod in self.list().await {
            let since = ready_since(&pod);
            if since.as_deref() != Some(LONG_AGO) && self.may_start(&pod, heeds_never).await {
                waiting.push((since, pod));
            }
        }
        let first = waiting.iter().map(|(since, _)| since).min().cloned();
        for (_, pod) in waiting.iter().filter(|(since, _)| Some(since) == first.as_ref()) {
            self.set_ready(pod, LONG_AGO).await;
        }
        !waiting.is_empty()
    }

    async fn set_ready(&self, pod: &Pod, since: &str) {
        let patch = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready",
            "status": "True", "lastTransitionTime": since}]}});
        let (patch, params) = (Patch::Merge(&patch), PatchParams::default());
        self.pods.patch_status(&pod.name_any(), &params, &patch).await.expect("a status");
        self.touch();
    }

    /// Whether a pod becomes ready some time. Breaks it if it is one of those that are to break.
    async fn may_start(&self, pod: &Pod, heeds_never: bool) -> bool {
        if heeds_never && self.is_broken(pod) {
            if !self.is_last {
                self.break_it(pod).await;
            }
            return false;
        }
        let never = heeds_never && self.is_never_ready(pod);
        !never && pod.metadata.deletion_timestamp.is_none()
    }

    /// Whether the pod is of the change in between, and that does not work.
    fn is_broken(&self, pod: &Pod) -> bool {
        let breaks = self.scenario.between.as_ref().is_some_and(|it| it.is_broken);
        let status = pod.status.as_ref();
        let is_broken = status.is_some_and(|status| status.container_statuses.is_some());
        is_broken || (breaks && !self.is_last && image(pod).as_deref() == Some(BETWEEN))
    }

    async fn break_it(&self, pod: &Pod) {
        let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let patch = json!({"status": {"phase": "Running", "containerStatuses": [{"name": "main",
            "image": BETWEEN, "imageID": "", "ready": false, "restartCount": 5, "state": state}]}});
        let (patch, params) = (Patch::Merge(&patch), PatchParams::default());
        // The pod may have been deleted meanwhile.
        drop(self.pods.patch_status(&pod.name_any(), &params, &patch).await);
    }

    fn is_never_ready(&self, pod: &Pod) -> bool {
        self.scenario.never_ready.iter().any(|it| match it.as_str() {
            "new" => self.revision(pod) == "new",
            name => pod.name_any() == name,
        })
    }

    fn touch(&self) {
        let mut activity = self.activity.lock().expect("a lock");
        activity.insert(self.scenario.name.clone(), Instant::now());
    }

    /// The garbage collector works in the background: waits until it has had its time.
    async fn claims_deleted(&self) -> BTreeSet<String> {
        let start = Instant::now();
        loop {
            let left = self.list_claims().await;
            let gone = self.known_claims.iter().filter(|(uid, _)| !left.contains_key(*uid));
            let gone: BTreeSet<_> = gone.map(|(_, name)| name.clone()).collect();
            let owned = self.claims_of_gone_pods().await;
            if owned.is_empty() || start.elapsed() > PATIENCE {
                return gone;
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Claims that are owned by pods that are gone, and so will be deleted.
    async fn claims_of_gone_pods(&self) -> Vec<String> {
        let pods: BTreeSet<_> = self.list().await.iter().filter_map(ResourceExt::uid).collect();
        let of = ListParams::default().labels(&format!("app={}", self.scenario.name));
        let claims = self.claims.list(&of).await.expect("claims").items;
        let is_orphaned = |claim: &PersistentVolumeClaim| {
            claim.metadata.deletion_timestamp.is_some()
                || claim
                    .owner_references()
                    .iter()
                    .any(|owner| owner.kind == "Pod" && !pods.contains(&owner.uid))
        };
        claims.iter().filter(|claim| is_orphaned(claim)).map(ResourceExt::name_any).collect()
    }
}

/// Since when a pod has been ready; `None` if it is not.
fn ready_since(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let ready = conditions.iter().find(|it| it.type_ == "Ready" && it.status == "True")?;
    Some(ready.last_transition_time.as_ref()?.0.to_string())
}

fn image(pod: &Pod) -> Option<String> {
    pod.spec.as_ref().and_then(|spec| spec.containers.first()?.image.clone())
}

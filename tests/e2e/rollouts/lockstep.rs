//! Runs a change on the real controllers, one round at a time: pods become available, and deleted pods end, only when
//! the controller has nothing left to do.

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Node, PersistentVolumeClaim};
use kube::{
    ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, WatchEvent, WatchParams},
};

use super::{
    acts::add_node,
    history::{Act, History, LABEL},
    pods::is_available,
};
use crate::prelude::*;
use crate::traces::{After, Event, Left, Round, Trace, node_or_name};

/// The idle time after which a controller counts as waiting. No event shows that.
const QUIET: Duration = Duration::from_millis(1500);
/// The time limit for planned steps.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The limit after pods became ready: most controllers then do nothing yet.
pub(super) const LITTLE_PATIENCE: Duration = Duration::from_secs(4);

/// The time limit for a set to become complete: many start at the same time.
const SETTLED: Duration = Duration::from_secs(600);

/// The time of the last change to each set's pods and claims, by set name.
pub(crate) type Activity = Arc<Mutex<BTreeMap<String, Instant>>>;

/// Watches pods for as long as the runtime lives.
pub(crate) fn watch(client: &Client, activity: &Activity) {
    use WatchEvent::{Added, Deleted, Modified};
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let (seen, params) = (activity.clone(), WatchParams::default());
    tokio::spawn(async move {
        // The API server ends each watch after some minutes. The next one begins with the current state.
        while let Ok(changes) = pods.watch(&params, "0").await {
            let mut changes = changes.boxed();
            while let Ok(Some(change)) = changes.try_next().await {
                if let Added(pod) | Modified(pod) | Deleted(pod) = change
                    && let Some(set) = pod.labels().get(LABEL)
                {
                    seen.lock().expect("a lock").insert(set.clone(), Instant::now());
                }
            }
        }
    });
}

pub(crate) struct Lockstep<'a> {
    pub(super) client: Client,
    activity: &'a Activity,
    pub(super) history: &'a History,
    pub(super) sets: Api<DynamicObject>,
    pub(super) pods: Api<Pod>,
    pub(super) claims: Api<PersistentVolumeClaim>,
    pub(super) nodes: Api<Node>,
    /// What the API server refuses, by the name of the history.
    pub(super) refusals: Api<ConfigMap>,
    /// Pods by uid, and whether they are terminating.
    known: BTreeMap<String, Seen>,
    /// Whether the last change has happened: new pods then become ready, even with a previously broken image.
    pub(super) is_last: bool,
    /// Claim names by uid.
    pub(super) known_claims: BTreeMap<String, String>,
    /// The names of claims that precede their pods: the controller creates the claims of a pod even while an old pod
    /// with its name is terminating.
    early_claims: BTreeSet<String>,
}

struct Seen {
    /// The name of the pod, or its target node.
    pod: String,
    is_terminating: bool,
    revision: &'static str,
}

impl<'a> Lockstep<'a> {
    pub(crate) fn new(client: Client, activity: &'a Activity, history: &'a History) -> Self {
        let kind = history.last["kind"].as_str().expect("a kind");
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
        Lockstep {
            sets: Api::namespaced_with(client.clone(), "default", &resource),
            pods: Api::namespaced(client.clone(), "default"),
            claims: Api::namespaced(client.clone(), "default"),
            nodes: Api::all(client.clone()),
            refusals: Api::namespaced(client.clone(), "default"),
            client,
            activity,
            history,
            known: BTreeMap::new(),
            is_last: false,
            known_claims: BTreeMap::new(),
            early_claims: BTreeSet::new(),
        }
    }

    /// Runs the history, makes the change and records the controller's actions. `shared` are the nodes of a history
    /// without its own. `expected` is the planned number of waves, used only to know how long to wait.
    pub(crate) async fn run(
        mut self,
        mut flags: Vec<String>,
        shared: &Value,
        planned: impl FnOnce(&Trace) -> Vec<usize>,
    ) -> Trace {
        let history = self.history;
        flags.extend(history.never_ready.iter().map(|it| format!("--never-ready={it}")));
        if history.first.is_some() && !history.is_orphaned {
            // The test replaces whole objects instead of applying.
            flags.push("--as=replace".to_owned());
        }
        let (old, ending) = self.before().await;
        let mut trace = Trace {
            name: history.name.clone(),
            flags,
            old,
            new: history.last.clone(),
            nodes: if history.nodes.is_empty() { shared.clone() } else { self.own_nodes().await },
            ending,
            is_refused: false,
            rounds: Vec::new(),
            claims_deleted: BTreeSet::new(),
            left: None,
        };
        self.known_claims = self.list_claims().await;
        self.early_claims.clear();
        self.is_last = true;
        let planned = planned(&trace).iter().sum();
        let refusal = self.refusals.delete(&history.name, &DeleteParams::default()).await;
        trace.is_refused = refusal.is_ok();
        self.write(&history.last).await;
        trace.rounds = self.rounds(planned).await;
        trace.claims_deleted = self.claims_deleted().await;
        if self.sets.get_opt(&history.name).await.expect("an answer").is_some() {
            trace.left = Some(self.left().await);
        }
        trace
    }

    /// Establishes the state before the change. Returns the object, or all objects if the change begins mid-rollout,
    /// and the terminating pods.
    async fn before(&mut self) -> (Option<Value>, BTreeSet<String>) {
        let history = self.history;
        for node in &history.nodes {
            add_node(&self.nodes, node).await;
        }
        let Some(first) = &history.first else { return (None, BTreeSet::new()) };
        self.write(first).await;
        self.settle().await;
        if history.acts.is_empty() {
            return (Some(first.clone()), BTreeSet::new());
        }
        for act in &history.acts {
            self.act(act).await;
        }
        if history.is_orphaned {
            self.orphan().await;
        }
        self.round(Duration::ZERO).await;
        self.claims_deleted().await;
        let world = self.world().await;
        self.events().await;
        let ending = self.known.values().filter(|seen| seen.is_terminating);
        (Some(world), ending.map(|seen| seen.pod.clone()).collect())
    }

    /// Lets the controller work until it waits for nothing more. `planned` is the number of steps.
    async fn rounds(&mut self, planned: usize) -> Vec<Round> {
        let (mut rounds, mut done) = (Vec::new(), 0);
        let mut after = After::Change;
        let is_deleted = matches!(self.history.acts.last(), Some(Act::Delete(_)));
        loop {
            let patience = match after {
                _ if is_deleted => LITTLE_PATIENCE,
                _ if done >= planned => Duration::ZERO,
                After::Ready => LITTLE_PATIENCE,
                After::Change | After::Gone | After::Available => PATIENCE,
            };
            let mut events = self.round(patience).await;
            if events.is_empty() && patience == PATIENCE {
                // After errors, a controller waits for minutes unless the set changes.
                self.wake().await;
                events = self.round(patience).await;
            }
            // On a busy machine, a controller that seems to wait may only lack processor time.
            while self.has_news().await {
                events.append(&mut self.round(Duration::ZERO).await);
            }
            done += events.len();
            if !events.is_empty() {
                rounds.push(Round { after, events });
            }
            after = if self.end_pods().await {
                After::Gone
            } else if self.history.is_slow() && self.make_ready(true).await {
                After::Ready
            } else if self.make_available(true).await {
                After::Available
            } else if self.release().await {
                After::Change
            } else {
                return rounds;
            };
        }
    }

    /// Returns whether pods were created or deleted since the last round.
    async fn has_news(&self) -> bool {
        self.list().await.iter().any(|pod| {
            let is_own = pod.labels().get("app") == Some(&self.history.name);
            let known = pod.uid().and_then(|uid| self.known.get(&uid));
            let is_terminating = pod.metadata.deletion_timestamp.is_some();
            is_own && known.is_none_or(|known| known.is_terminating != is_terminating)
        })
    }

    pub(super) async fn write(&self, object: &Value) {
        let mut object: DynamicObject = serde_json::from_value(object.clone()).expect("an object");
        let name = object.name_any();
        self.touch();
        // An update without a version ignores the controller's concurrent status writes.
        if let Some(now) = self.sets.get_opt(&name).await.expect("an answer") {
            object.metadata.finalizers = now.metadata.finalizers;
            self.sets.replace(&name, &PostParams::default(), &object).await.expect("an update");
        } else {
            self.sets.create(&PostParams::default(), &object).await.expect("a new set");
        }
    }

    async fn settle(&mut self) {
        let start = Instant::now();
        while !self.is_settled().await {
            assert!(start.elapsed() < SETTLED, "{} does not settle", self.history.name);
            self.end_pods().await;
            self.make_available(false).await;
            sleep(Duration::from_millis(300)).await;
        }
        self.round(Duration::ZERO).await;
    }

    async fn is_settled(&self) -> bool {
        let set = self.sets.get(&self.history.name).await.expect("the set");
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

    /// Waits until the controller is idle, and returns its actions. `patience` is the time to begin.
    pub(super) async fn round(&mut self, patience: Duration) -> BTreeSet<Event> {
        let start = Instant::now();
        loop {
            sleep(Duration::from_millis(300)).await;
            let last = self.activity.lock().expect("a lock").get(&self.history.name).copied();
            let is_quiet = last.is_none_or(|last| last.elapsed() > QUIET);
            let is_patient = start.elapsed() < patience && last.is_none_or(|it| it < start);
            if !is_quiet || is_patient || start.elapsed() <= QUIET {
                continue;
            }
            if self.is_observed().await {
                break;
            }
        }
        self.events().await
    }

    async fn is_observed(&self) -> bool {
        let Some(set) = self.sets.get_opt(&self.history.name).await.expect("an answer") else {
            return true;
        };
        let observed = set.data["status"]["observedGeneration"].as_i64();
        set.metadata.deletion_timestamp.is_some() || observed >= set.metadata.generation
    }

    pub(super) fn own(&self) -> ListParams {
        ListParams::default().labels(&format!("{LABEL}={}", self.history.name))
    }

    pub(super) async fn list(&self) -> Vec<Pod> {
        self.pods.list(&self.own()).await.expect("pods").items
    }

    async fn events(&mut self) -> BTreeSet<Event> {
        let claims = self.list_claims().await;
        let new = claims.iter().filter(|(uid, _)| !self.known_claims.contains_key(*uid));
        let mut new_claims: BTreeSet<_> = new.map(|(_, name)| name.clone()).collect();
        new_claims.append(&mut self.early_claims);
        self.known_claims.extend(claims);
        let mut events = BTreeSet::new();
        let mut now = BTreeMap::new();
        for pod in self.list().await {
            // A set doesn't own a pod that its selector does not match.
            if pod.labels().get("app") != Some(&self.history.name) {
                continue;
            }
            let seen = Seen {
                pod: self.pod(&pod),
                is_terminating: pod.metadata.deletion_timestamp.is_some(),
                revision: self.revision(&pod),
            };
            now.insert(pod.uid().expect("a uid"), seen);
        }
        let event = |action: &str, seen: &Seen| Event {
            action: action.to_owned(),
            pod: seen.pod.clone(),
            revision: seen.revision.to_owned(),
            claims: new_claims
                .iter()
                .filter(|it| action == "create" && it.ends_with(&format!("-{}", seen.pod)))
                .cloned()
                .collect(),
        };
        for (uid, seen) in &now {
            let before = self.known.get(uid);
            if before.is_none() {
                events.insert(event("create", seen));
            }
            if seen.is_terminating && before.is_none_or(|before| !before.is_terminating) {
                events.insert(event("delete", seen));
            }
        }
        self.known = now;
        new_claims.retain(|name| events.iter().all(|it: &Event| !it.claims.contains(name)));
        self.early_claims = new_claims;
        events
    }

    /// The name of the pod, or its target node.
    pub(super) fn pod(&self, pod: &Pod) -> String {
        let json = serde_json::to_value(pod).expect("JSON");
        node_or_name(&json).expect("a node").to_owned()
    }

    pub(super) fn revision(&self, pod: &Pod) -> &'static str {
        let image = image(pod);
        let new = &self.history.last["spec"]["template"]["spec"]["containers"][0]["image"];
        if image.as_deref() == new.as_str() { "new" } else { "old" }
    }

    pub(super) fn touch(&self) {
        let mut activity = self.activity.lock().expect("a lock");
        activity.insert(self.history.name.clone(), Instant::now());
    }

    async fn left(&self) -> BTreeSet<Left> {
        let mut pods = self.list().await;
        pods.retain(|pod| {
            let is_own = pod.labels().get("app") == Some(&self.history.name);
            is_own && pod.metadata.deletion_timestamp.is_none()
        });
        let set = self.sets.get(&self.history.name).await.expect("the set");
        let generation = set.annotations().get("deprecated.daemonset.template.generation");
        let left = pods.iter().map(|pod| Left {
            pod: self.pod(pod),
            revision: self.revision(pod).to_owned(),
            is_available: is_available(pod),
            // Kubernetes: `IsPodUpdated`, pkg/controller/daemon/util/daemonset_util.go.
            is_current: self.revision(pod) == "new"
                || generation
                    .is_some_and(|it| pod.labels().get("pod-template-generation") == Some(it)),
        });
        left.collect()
    }

    async fn own_nodes(&self) -> Value {
        let mut items = Vec::new();
        for node in self.nodes.list(&self.own()).await.expect("nodes").items {
            items.push(json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": node.name_any(), "labels": node.labels()},
                "spec": {"taints": node.spec.and_then(|it| it.taints).unwrap_or_default()},
            }));
        }
        json!({"apiVersion": "v1", "kind": "List", "items": items})
    }
}

pub(super) fn image(pod: &Pod) -> Option<String> {
    pod.spec.as_ref().and_then(|spec| spec.containers.first()?.image.clone())
}

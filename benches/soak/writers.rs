//! Writers that create, change and delete good sets, and try to create bad ones.

use futures::future::join_all;
use k8s_openapi::api::apps::v1::{DaemonSet, StatefulSet};
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    background::{Background, Stop},
    manifests::{daemon_set, stateful_set},
    site::{NAMESPACE, Site},
    tally::{Outcome, Tally},
};
use setguard_testing::prelude::*;

const WRITERS: u32 = 4;
/// The number of writes in a round: create, refuse, change, and delete.
const WRITES: u32 = 4;
/// One in this many objects stays to the end.
const KEPT: usize = 10;
/// After this time, a write counts as unanswered.
const PATIENCE: Duration = Duration::from_secs(15);

/// Starts writers with this total number of writes per second. They return the names of the objects that must exist.
pub(crate) fn start(site: &Site, rate: u32, tally: &Arc<Tally>) -> Background<BTreeSet<String>> {
    let tally = Arc::clone(tally);
    let pace = Duration::from_secs(1) * WRITERS * WRITES / rate.max(1);
    Background::start(&site.plane.kubectl.kubeconfig, move |client, stop| async move {
        let writers = (0..WRITERS).map(|number| {
            let sets = Api::namespaced(client.clone(), NAMESPACE);
            let bad = Api::namespaced(client.clone(), NAMESPACE);
            Writer { number, sets, bad, tally: &tally, kept: BTreeSet::new() }.write(pace, &stop)
        });
        join_all(writers).await.into_iter().flatten().collect()
    })
}

struct Writer<'a> {
    number: u32,
    sets: Api<DaemonSet>,
    bad: Api<StatefulSet>,
    tally: &'a Tally,
    /// The names of confirmed objects that nobody has deleted.
    kept: BTreeSet<String>,
}

impl Writer<'_> {
    async fn write(mut self, pace: Duration, stop: &Stop) -> BTreeSet<String> {
        let mut pace = interval(pace);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut round = 0;
        while !stop.is_set() {
            pace.tick().await;
            self.round(&format!("agent-{}-{round}", self.number), round % KEPT == 0).await;
            round += 1;
        }
        self.kept
    }

    async fn round(&mut self, name: &str, is_kept: bool) {
        let set = serde_json::from_value(daemon_set(name)).expect("a DaemonSet");
        let create = PostParams::default();
        if !self.good(self.sets.create(&create, &set)).await {
            return;
        }
        self.kept.insert(name.to_owned());
        let mut bad = stateful_set(name);
        bad["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(0);
        let bad = serde_json::from_value(bad).expect("a StatefulSet");
        self.bad(name, &bad).await;
        let image = json!([{"name": "main", "image": "registry.example/main:2"}]);
        let patch = json!({"spec": {"template": {"spec": {"containers": image}}}});
        let patch = Patch::Strategic(patch);
        self.good(self.sets.patch(name, &PatchParams::default(), &patch)).await;
        if !is_kept {
            // Without an answer, the object may or may not exist.
            self.kept.remove(name);
            self.good(self.sets.delete(name, &DeleteParams::background())).await;
        }
    }

    async fn good<T>(&self, write: impl Future<Output = kube::Result<T>>) -> bool {
        self.write_once(write, Outcome::Stored, Outcome::WronglyDenied).await == Outcome::Stored
    }

    async fn bad(&self, name: &str, set: &StatefulSet) {
        let create = PostParams::default();
        let write = self.bad.create(&create, set);
        let outcome = self.write_once(write, Outcome::WronglyStored, Outcome::Denied).await;
        if outcome == Outcome::WronglyStored {
            // The next write must not fail because of this object.
            let _ = self.bad.delete(name, &DeleteParams::background()).await;
        }
    }

    /// Counts a write by its outcome: `stored` if the object is stored, `denied` if setguard denies it.
    async fn write_once<T>(
        &self,
        write: impl Future<Output = kube::Result<T>>,
        stored: Outcome,
        denied: Outcome,
    ) -> Outcome {
        let (start, result) = (Instant::now(), tokio::time::timeout(PATIENCE, write).await);
        let (outcome, message) = match result {
            Ok(Ok(_)) => (stored, "it was stored".to_owned()),
            Ok(Err(error)) => (failure(&error, denied), error.to_string()),
            Err(_) => (Outcome::NoServer, "no answer".to_owned()),
        };
        self.tally.add(outcome, start.elapsed(), &message);
        outcome
    }
}

/// Returns the outcome of a failed write; `denied` if setguard denied it.
fn failure(error: &kube::Error, denied: Outcome) -> Outcome {
    let message = error.to_string();
    if message.contains("failed calling webhook") {
        Outcome::NotReached
    } else if message.contains("(setguard: ") {
        denied
    } else {
        Outcome::NoServer
    }
}

pub(crate) fn lost(site: &Site, kept: &BTreeSet<String>) -> Vec<String> {
    let args = ["get", "daemonsets", "-n", NAMESPACE, "-o", "name"];
    let output = site.plane.kubectl.run(&args, "").accepted().stdout;
    let exist: BTreeSet<&str> = output.lines().filter_map(|it| it.rsplit('/').next()).collect();
    kept.iter().filter(|name| !exist.contains(name.as_str())).cloned().collect()
}

//! A stream of writes, and the counts of their outcomes on all sides.

use futures::future::join_all;
use k8s_openapi::api::{apps::v1::DaemonSet, core::v1::Toleration};
use tokio::time::{MissedTickBehavior, interval};

use super::{NAME, Site};
use crate::prelude::*;
use crate::{Background, Stop, node::CONTROL_PLANE_TAINTS};

/// The user that creates the pods: the administrator, a paired controller in the policy.
pub(super) const CONTROLLER: &str = "admin";

/// The number of concurrent writers, and how often each starts a new round.
const WRITERS: usize = 3;
const PACE: Duration = Duration::from_millis(50);

pub(super) struct Load<'a> {
    site: &'a Site<'a>,
    before: Calls,
    writers: Background<Tally>,
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    created: usize,
    updated: usize,
    refused: usize,
    pods: usize,
    /// Rejected good writes, and bad writes rejected with the wrong message.
    failed: Vec<String>,
    /// Writes that were allowed as if nothing had called setguard.
    undecided: Vec<String>,
}

/// The calls that the API server and setguard count.
#[derive(Debug)]
struct Calls {
    /// The API server's count of calls to setguard, by type.
    called: [usize; 2],
    /// The API server's count of failed calls.
    failed: usize,
    /// Reviews in setguard's logs, by type.
    logged: [usize; 2],
    /// The logged reviews from the writers, by endpoint, kind and operation.
    caused: BTreeMap<String, usize>,
}

/// The webhook types in the API server's metrics, with setguard's endpoints.
const TYPES: [(&str, &str); 2] = [("validating", "/validate"), ("admit", "/mutate")];

impl<'a> Load<'a> {
    pub(super) fn start(site: &'a Site<'a>) -> Self {
        let (name, before) = (site.load.name, Calls::count(site));
        let kubeconfig = &site.load.control_plane.kubectl.kubeconfig;
        let work = move |client, stop| write_all(client, name, stop);
        Load { site, before, writers: Background::start(kubeconfig, work) }
    }

    /// Asserts that no write failed or passed without a decision, according to the writers, the API server's metrics
    /// and setguard's logs.
    pub(super) fn assert_all_decided(self) {
        let (site, before) = (self.site, &self.before);
        let tally = self.writers.stop();
        tally.assert_none_failed();
        assert_eq!(tally.undecided, [""; 0]);
        let expected = BTreeMap::from([
            ("/validate DaemonSet CREATE", tally.created + tally.refused),
            ("/validate DaemonSet UPDATE", tally.updated),
            // The rejected objects request no injection.
            ("/mutate DaemonSet CREATE", tally.created),
            ("/mutate DaemonSet UPDATE", tally.updated),
            ("/mutate Pod CREATE", tally.pods),
        ]);
        // A log line may follow its response a moment later.
        eventually("equal counts on all sides", || {
            let after = Calls::count(site);
            let same = after.failed == before.failed
                && expected.iter().all(|(&what, &count)| {
                    let count_of = |calls: &Calls| calls.caused.get(what).copied().unwrap_or(0);
                    count_of(&after) - count_of(before) == count
                })
                && [0, 1].iter().all(|&i| {
                    after.called[i] - before.called[i] == after.logged[i] - before.logged[i]
                });
            if same { Ok(()) } else { Err(format!("{tally:?} {before:?} {after:?}")) }
        });
        eprintln!("reviews under load: {expected:?}");
    }

    pub(super) fn assert_none_failed(self) {
        self.writers.stop().assert_none_failed();
    }
}

impl Tally {
    fn assert_none_failed(&self) {
        assert_eq!(self.failed, [""; 0]);
        let least = self.created.min(self.updated).min(self.pods);
        assert!(least > 20, "{self:?}");
    }
}

impl Calls {
    fn count(site: &Site<'_>) -> Self {
        let kubectl = &site.load.control_plane.kubectl;
        let metrics = kubectl.run(&["get", "--raw", "/metrics"], "").accepted().stdout;
        let sum = |parts: &[&str]| -> usize {
            let lines = metrics.lines().filter(|line| !line.starts_with('#'));
            let lines = lines.filter(|line| parts.iter().all(|part| line.contains(part)));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
        };
        let calls = "apiserver_admission_webhook_request_total{";
        let called = TYPES.map(|(kind, _)| sum(&[calls, &format!("type=\"{kind}\"")]));
        // Calls without an answer: rejected by `Fail`, or skipped by `Ignore`.
        let refusals = "apiserver_admission_webhook_rejection_count{";
        let failed = sum(&[refusals, "error_type=\"calling_webhook_error\""])
            + sum(&["apiserver_admission_webhook_fail_open_count{"]);

        let logs = site.kubelet.logs(NAME);
        let lines = logs.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let reviews: HashMap<String, Value> = lines
            .map(|mut line| line["fields"].take())
            .filter(|line| line["uid"].is_string())
            .map(|line| (format!("{} {}", line["endpoint"], line["uid"]), line))
            .collect();
        let logged =
            TYPES.map(|(_, path)| reviews.values().filter(|it| it["endpoint"] == path).count());
        let mut caused = BTreeMap::new();
        for review in reviews.values().filter(|it| it["namespace"] == site.load.name) {
            let text = |member: &str| review[member].as_str().unwrap_or_default();
            let what = format!("{} {} {}", text("endpoint"), text("kind"), text("operation"));
            *caused.entry(what).or_default() += 1;
        }
        Calls { called, failed, logged, caused }
    }
}

async fn write_all(client: Client, namespace: &str, stop: Stop) -> Tally {
    let writers = (0..WRITERS).map(|i| {
        let writer = Writer {
            name: format!("agent-{i}"),
            sets: Api::namespaced(client.clone(), namespace),
            pods: Api::namespaced(client.clone(), namespace),
            tally: Tally::default(),
        };
        writer.write(&stop)
    });
    join_all(writers).await.into_iter().fold(Tally::default(), |mut all, one| {
        all.created += one.created;
        all.updated += one.updated;
        all.refused += one.refused;
        all.pods += one.pods;
        all.failed.extend(one.failed);
        all.undecided.extend(one.undecided);
        all
    })
}

struct Writer {
    name: String,
    sets: Api<DaemonSet>,
    pods: Api<Pod>,
    tally: Tally,
}

impl Writer {
    async fn write(mut self, stop: &Stop) -> Tally {
        let mut pace = interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !stop.is_set() {
            pace.tick().await;
            self.daemon_set().await;
            self.spoilt().await;
            self.pod().await;
        }
        self.tally
    }

    /// Creates, changes and deletes a DaemonSet. Its tolerations show that setguard was called.
    async fn daemon_set(&mut self) {
        let mut set = daemon_set(&self.name);
        set["metadata"]["labels"] = json!({ "setguard.io/control-plane": "true" });
        let set: DaemonSet = typed(set);
        match self.sets.create(&PostParams::default(), &set).await {
            Err(error) => return self.tally.failed.push(format!("create: {error}")),
            Ok(stored) => {
                self.tally.created += 1;
                let spec = stored.spec.template.spec;
                self.see_tolerations("DaemonSet", spec.and_then(|spec| spec.tolerations));
            }
        }
        let image = json!([{ "name": "main", "image": "registry.example/main:2" }]);
        let patch = json!({ "spec": { "template": { "spec": { "containers": image } } } });
        let patch = Patch::Strategic(patch);
        match self.sets.patch(&self.name, &PatchParams::default(), &patch).await {
            Err(error) => self.tally.failed.push(format!("patch: {error}")),
            Ok(_) => self.tally.updated += 1,
        }
        if let Err(error) = self.sets.delete(&self.name, &DeleteParams::background()).await {
            self.tally.failed.push(format!("delete: {error}"));
        }
    }

    async fn spoilt(&mut self) {
        let name = format!("{}-spoilt", self.name);
        match self.sets.create(&PostParams::default(), &typed(surging(&name))).await {
            Err(kube::Error::Api(status)) if status.message.contains(REFUSED) => {
                self.tally.refused += 1;
            }
            Err(error) => self.tally.failed.push(format!("create of a bad DaemonSet: {error}")),
            Ok(_) => {
                self.tally.undecided.push("a bad DaemonSet".to_owned());
                let _ = self.sets.delete(&name, &DeleteParams::background()).await;
            }
        }
    }

    /// Creates and deletes a pod for a node. Without an answer from setguard, the API server would store it unchanged.
    async fn pod(&mut self) {
        let mut pod = pod(&self.name);
        pod["metadata"]["annotations"] = json!({ "setguard.io/node": "nowhere" });
        match self.pods.create(&PostParams::default(), &typed(pod)).await {
            Err(error) => return self.tally.failed.push(format!("create of a pod: {error}")),
            Ok(stored) => {
                self.tally.pods += 1;
                self.see_tolerations("pod", stored.spec.and_then(|spec| spec.tolerations));
            }
        }
        let now = DeleteParams::default().grace_period(0);
        if let Err(error) = self.pods.delete(&self.name, &now).await {
            self.tally.failed.push(format!("delete of a pod: {error}"));
        }
    }

    fn see_tolerations(&mut self, of: &str, tolerations: Option<Vec<Toleration>>) {
        let tolerations = tolerations.unwrap_or_default();
        let has = |key| tolerations.iter().any(|it| it.key.as_deref() == Some(key));
        if !CONTROL_PLANE_TAINTS.into_iter().all(has) {
            self.tally.undecided.push(format!("a {of} with {tolerations:?}"));
        }
    }
}

pub(super) const REFUSED: &str = "(setguard: surge-host-port";

fn typed<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("a manifest")
}

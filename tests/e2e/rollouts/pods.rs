//! The pods of a history: without a kubelet, the test makes them ready, breaks them and ends them.

use kube::{ResourceExt as _, api::Preconditions};

use super::lockstep::{Lockstep, image};
use crate::prelude::*;

/// The ready time of available pods: longer ago than any `minReadySeconds`.
const LONG_AGO: &str = "1900-01-01T00:00:00Z";
/// The ready time of pods that are not available yet: before and after the last change.
const NOT_LONG_AGO: [&str; 2] = ["2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"];

impl Lockstep<'_> {
    /// Removes terminating pods. Returns whether there were any.
    pub(super) async fn end_pods(&self) -> bool {
        let mut ended = self.list().await;
        ended.retain(|pod| pod.metadata.deletion_timestamp.is_some());
        for pod in &ended {
            self.end_pod(pod).await;
        }
        if ended.iter().any(|pod| pod.owner_references().is_empty()) {
            self.wake().await;
        }
        if !ended.is_empty() {
            self.touch();
        }
        !ended.is_empty()
    }

    /// Makes the controller look at the set: it gets no event for the end of a foreign pod, and retries a taken name
    /// only after a while.
    pub(super) async fn wake(&self) {
        let patch =
            json!({"metadata": {"annotations": {"woken": format!("{:?}", Instant::now())}}});
        self.patch_set(&patch).await;
    }

    pub(super) async fn patch_set(&self, patch: &Value) {
        let (patch, params) = (Patch::Merge(patch), PatchParams::default());
        drop(self.sets.patch(&self.history.name, &params, &patch).await);
    }

    /// Removes a terminating pod, like a kubelet at the end of the grace period.
    pub(super) async fn end_pod(&self, pod: &Pod) {
        // A new pod may have the name meanwhile.
        let preconditions = Some(Preconditions { uid: pod.uid(), resource_version: None });
        let at_once = DeleteParams { preconditions, ..DeleteParams::default().grace_period(0) };
        drop(self.pods.delete(&pod.name_any(), &at_once).await);
        let patch = json!({"metadata": {"finalizers": null, "uid": pod.uid()}});
        self.patch_pod(pod, &patch).await;
    }

    /// Patches a pod. The pod may have ended.
    pub(super) async fn patch_pod(&self, pod: &Pod, patch: &Value) {
        let (patch, params) = (Patch::Merge(patch), PatchParams::default());
        drop(self.pods.patch(&pod.name_any(), &params, &patch).await);
    }

    /// Makes unready pods ready, but not available. Returns whether there were any.
    pub(super) async fn make_ready(&self, heeds_never: bool) -> bool {
        let mut any = false;
        for pod in self.list().await {
            if ready_since(&pod).is_none() && self.may_start(&pod, heeds_never).await {
                any = true;
                self.set_ready(&pod, NOT_LONG_AGO[usize::from(self.is_last)]).await;
            }
        }
        any
    }

    /// Makes unavailable pods available; with different ready times, only the earliest. Returns whether there were
    /// any.
    pub(super) async fn make_available(&self, heeds_never: bool) -> bool {
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
        if self.history.binds {
            self.bind(pod).await;
        }
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
        self.set_status(pod, &json!({"phase": "Running", "conditions": [ready]})).await;
    }

    /// Binds a pod to its target node, or to any.
    async fn bind(&self, pod: &Pod) {
        if pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) {
            return;
        }
        let node = if self.history.is_stateful() { "anywhere".to_owned() } else { self.pod(pod) };
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": pod.name_any(), "namespace": "default"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        let (name, params) = (pod.name_any(), PostParams::default());
        let bound = self.pods.create_subresource::<_, Value>("binding", &name, &params, &binding);
        // The pod may have been deleted meanwhile.
        drop(bound.await);
    }

    pub(super) async fn set_status(&self, pod: &Pod, status: &Value) {
        let patch = json!({ "status": status });
        let (patch, params) = (Patch::Merge(&patch), PatchParams::default());
        // The pod may have been deleted meanwhile.
        drop(self.pods.patch_status(&pod.name_any(), &params, &patch).await);
        self.touch();
    }

    /// Whether a pod may become ready. Breaks a pod that must break first.
    async fn may_start(&self, pod: &Pod, heeds_never: bool) -> bool {
        if pod.metadata.deletion_timestamp.is_some() || has_ended(pod) {
            return false;
        }
        if heeds_never && self.is_broken(pod) {
            if !self.is_last {
                self.break_it(pod).await;
            }
            return false;
        }
        !(heeds_never && self.is_never_ready(pod))
    }

    /// Whether the pod is broken, or has a non-working image before the change.
    fn is_broken(&self, pod: &Pod) -> bool {
        let status = pod.status.as_ref();
        let is_broken = status.is_some_and(|status| status.container_statuses.is_some());
        let breaks = |image: String| self.history.broken.contains(&image);
        is_broken || (!self.is_last && image(pod).is_some_and(breaks))
    }

    pub(super) async fn break_it(&self, pod: &Pod) {
        let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let container = json!({"name": "main", "image": image(pod), "imageID": "", "ready": false,
            "restartCount": 5, "state": state});
        let ready =
            json!({"type": "Ready", "status": "False", "lastTransitionTime": NOT_LONG_AGO[0]});
        let status =
            json!({"phase": "Running", "conditions": [ready], "containerStatuses": [container]});
        self.set_status(pod, &status).await;
    }

    pub(super) async fn make_unready(&self, pod: &Pod) {
        let ready =
            json!({"type": "Ready", "status": "False", "lastTransitionTime": NOT_LONG_AGO[0]});
        self.set_status(pod, &json!({"phase": "Running", "conditions": [ready]})).await;
    }

    /// Asks for more processor time than the node has.
    pub(super) async fn resize(&self, pod: &Pod) {
        let resources = json!({"requests": {"cpu": "64"}});
        let patch = json!({"spec": {"containers": [{"name": "main", "resources": resources}]}});
        let (name, params) = (pod.name_any(), PatchParams::default());
        let patch = Patch::Strategic(&patch);
        drop(self.pods.patch_subresource("resize", &name, &params, &patch).await);
        let pending = json!({"type": "PodResizePending", "status": "True", "reason": "Infeasible"});
        let patch = json!({"status": {"conditions": [pending]}});
        drop(self.pods.patch_status(&name, &params, &Patch::Strategic(&patch)).await);
    }

    fn is_never_ready(&self, pod: &Pod) -> bool {
        self.history.never_ready.iter().any(|it| match it.as_str() {
            "new" => self.revision(pod) == "new",
            name => pod.name_any() == name,
        })
    }
}

fn ready_since(pod: &Pod) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_deref()?;
    let ready = conditions.iter().find(|it| it.type_ == "Ready" && it.status == "True")?;
    Some(ready.last_transition_time.as_ref()?.0.to_string())
}

/// Whether a pod has been ready for long enough for any `minReadySeconds`.
pub(super) fn is_available(pod: &Pod) -> bool {
    ready_since(pod).as_deref() == Some(LONG_AGO)
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

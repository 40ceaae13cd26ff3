//! The events of a history before the change.

use k8s_openapi::api::core::v1::Node;
use kube::{ResourceExt as _, api::EvictParams};

use super::{
    history::{Act, FINALIZER, LABEL},
    lockstep::{LITTLE_PATIENCE, Lockstep},
};
use crate::prelude::*;

pub(crate) async fn add_node(nodes: &Api<Node>, node: &Value) {
    let taints = json!({"spec": {"taints": node["spec"]["taints"]}});
    let node: Node = serde_json::from_value(node.clone()).expect("a node");
    drop(nodes.create(&PostParams::default(), &node).await);
    // The API server taints every new node as not ready.
    let (patch, params) = (Patch::Merge(&taints), PatchParams::default());
    nodes.patch(&node.name_any(), &params, &patch).await.expect("a node");
}

impl Lockstep<'_> {
    pub(super) async fn act(&mut self, act: &Act) {
        match act {
            Act::Change(object) => self.write(object).await,
            Act::Write(object) => return self.write(object).await,
            Act::Rounds(rounds) => return self.go_on_for(*rounds).await,
            Act::Refuse(operation) => self.refuse(operation).await,
            Act::Delete(policy) => {
                let hold = json!({"metadata": {"finalizers": [FINALIZER]}});
                let params = DeleteParams {
                    propagation_policy: Some(policy.clone()),
                    ..DeleteParams::default()
                };
                self.patch_set(&hold).await;
                drop(self.sets.delete(&self.history.name, &params).await);
            }
            Act::Recreate(object) => {
                self.orphan().await;
                self.write(object).await;
            }
            Act::Break(i)
            | Act::Unready(i)
            | Act::End(i, _)
            | Act::DeletePod(i)
            | Act::Evict(i)
            | Act::Resize(i)
            | Act::Relabel(i) => {
                if let Some(pod) = self.choose(*i).await {
                    self.happen_to(&pod, act).await;
                }
            }
            Act::DeleteClaim(i) => {
                let claims = self.all_claims().await;
                if let Some(claim) = claims.get(i % claims.len().max(1)) {
                    drop(self.claims.delete(&claim.name_any(), &DeleteParams::default()).await);
                }
            }
            Act::AddNode(node) => add_node(&self.nodes, node).await,
            Act::RemoveNode(i) => self.remove_node(*i).await,
            Act::Taint(i, taints) => {
                self.patch_node(*i, &json!({"spec": {"taints": taints}})).await;
            }
            Act::Move(i, pool) => {
                self.patch_node(*i, &json!({"metadata": {"labels": {"pool": pool}}})).await;
            }
        }
        self.touch();
        self.round(LITTLE_PATIENCE).await;
    }

    async fn happen_to(&self, pod: &Pod, act: &Act) {
        match act {
            Act::Break(_) => self.break_it(pod).await,
            Act::Unready(_) => self.make_unready(pod).await,
            Act::End(_, phase) => {
                self.set_status(pod, &json!({"phase": phase, "conditions": null})).await;
            }
            Act::DeletePod(_) => {
                drop(self.pods.delete(&pod.name_any(), &DeleteParams::default()).await);
            }
            Act::Resize(_) => self.resize(pod).await,
            Act::Evict(_) => drop(self.pods.evict(&pod.name_any(), &EvictParams::default()).await),
            _ => self.patch_pod(pod, &json!({"metadata": {"labels": {"app": "other"}}})).await,
        }
    }

    /// Refuses the controllers an operation on the pods of this history.
    async fn refuse(&self, operation: &str) {
        let metadata = json!({"name": self.history.name, "labels": {LABEL: "refuses"}});
        let refusal = json!({"metadata": metadata, "data": {"operation": operation}});
        let refusal = serde_json::from_value(refusal).expect("a ConfigMap");
        drop(self.refusals.create(&PostParams::default(), &refusal).await);
    }

    /// Removes the finalizer of a set that is being deleted. Returns whether there was one.
    pub(super) async fn release(&self) -> bool {
        let set = self.sets.get_opt(&self.history.name).await.expect("an answer");
        let is_held = set.is_some_and(|it| it.metadata.deletion_timestamp.is_some());
        if is_held {
            self.patch_set(&json!({"metadata": {"finalizers": null}})).await;
        }
        is_held
    }

    async fn go_on_for(&mut self, rounds: usize) {
        for left in (0..rounds).rev() {
            self.round(LITTLE_PATIENCE).await;
            while self.end_pods().await {
                self.round(LITTLE_PATIENCE).await;
            }
            let is_over = if left == 0 {
                true
            } else if self.history.is_slow() && left == 1 {
                !self.make_ready(true).await
            } else {
                !self.make_available(true).await
            };
            if is_over {
                break;
            }
        }
    }

    /// One of the pods that are not terminating.
    async fn choose(&self, i: usize) -> Option<Pod> {
        let mut pods = self.list().await;
        pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
        pods.sort_by_key(|pod| self.pod(pod));
        (!pods.is_empty()).then(|| pods.swap_remove(i % pods.len()))
    }

    pub(super) async fn orphan(&self) {
        let name = &self.history.name;
        drop(self.sets.delete(name, &DeleteParams::orphan()).await);
        while self.sets.get_opt(name).await.expect("an answer").is_some() {
            sleep(Duration::from_millis(200)).await;
        }
        self.touch();
    }

    async fn chosen_node(&self, i: usize) -> Option<String> {
        let nodes = self.nodes.list(&self.own()).await.expect("nodes").items;
        let mut names: Vec<_> = nodes.iter().map(kube::ResourceExt::name_any).collect();
        names.sort();
        (!names.is_empty()).then(|| names.swap_remove(i % names.len()))
    }

    async fn patch_node(&self, i: usize, patch: &Value) {
        if let Some(name) = self.chosen_node(i).await {
            let (patch, params) = (Patch::Merge(patch), PatchParams::default());
            self.nodes.patch(&name, &params, &patch).await.expect("a node");
        }
    }

    /// Removes a node. Without the pod garbage collector, the test removes the pods bound to the node.
    async fn remove_node(&self, i: usize) {
        let Some(name) = self.chosen_node(i).await else { return };
        self.nodes.delete(&name, &DeleteParams::default()).await.expect("a node");
        for pod in self.list().await {
            if pod.spec.as_ref().is_some_and(|it| it.node_name.as_deref() == Some(name.as_str())) {
                drop(self.pods.delete(&pod.name_any(), &DeleteParams::default()).await);
                self.end_pod(&pod).await;
            }
        }
    }
}

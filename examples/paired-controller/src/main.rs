//! A small, complete controller that pairs with setguard.
//!
//! It watches every PodTemplate with the label `setguard.io/daemon: "true"` and keeps exactly one
//! pod of it on every node that the template's nodeSelector matches. It never sets affinity,
//! tolerations or nodeName. It names the node in the annotation `setguard.io/node`. The webhook
//! pins the pod to that node and adds a daemon's tolerations, and the scheduler places the pod.
//!
//! ```sh
//! cargo run --package paired-controller
//! ```
//!
//! It uses the current kubeconfig context (or the service account, in a cluster). Its user must be
//! on the policy's list `injection.pairedControllers`. docs/pairing.md is the contract, and
//! examples/pairing/ has the manifests.

use std::{collections::BTreeMap, io::IsTerminal, sync::Arc, time::Duration};

use futures::{
    StreamExt,
    future::{Ready, ready},
};
use k8s_openapi::api::core::v1::{Node, Pod, PodTemplate};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, PartialObjectMeta, PostParams},
    runtime::{
        Controller, WatchStreamExt,
        controller::Action,
        reflector::{self, ObjectRef, Store},
        watcher::{self, Event, watcher},
    },
};

/// The label that selects the templates of this controller.
const DAEMON: &str = "setguard.io/daemon";
/// The pod label with the name of the template.
const TEMPLATE: &str = "setguard.io/daemon-template";
/// The pod annotation that shows whether a pod is outdated.
const GENERATION: &str = "setguard.io/daemon-generation";
/// The contract with setguard: the pod's node.
const NODE: &str = "setguard.io/node";

type NodeMeta = PartialObjectMeta<Node>;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Kube(#[from] kube::Error),
    #[error("setguard did not pin the pod: is its webhook running, and does its policy list us?")]
    NotPinned,
}

struct Context {
    client: Client,
    nodes: Store<NodeMeta>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without this, kube and its TLS library pick different crypto providers.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let with_ansi = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(with_ansi).init();
    let client = Client::try_default().await?;

    let (nodes, writer) = reflector::store();
    let node_changes = watcher(Api::<NodeMeta>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .modify(|node| node.managed_fields_mut().clear())
        .reflect(writer)
        .filter_map(wakes());

    let templates = Api::<PodTemplate>::all(client.clone());
    let ours = watcher::Config::default().labels(&format!("{DAEMON}=true"));
    let pods = watcher::Config::default().labels(TEMPLATE);
    let controller = Controller::new(templates, ours);
    let known = controller.store();
    let context = Arc::new(Context { client: client.clone(), nodes });
    controller
        .owns(Api::<Pod>::all(client), pods)
        .watches_stream(node_changes, move |_| {
            known.state().into_iter().map(|template| ObjectRef::from_obj(&*template))
        })
        .shutdown_on_signal()
        .run(reconcile, on_error, context)
        .for_each(|result| async move {
            if let Err(error) = result {
                tracing::warn!(%error, "not reconciled");
            }
        })
        .await;
    Ok(())
}

/// Keeps only the node events that can change the daemons on nodes. A kubelet reports its node's status every few
/// seconds; that must not start a reconciliation.
fn wakes()
-> impl FnMut(watcher::Result<Event<NodeMeta>>) -> Ready<Option<watcher::Result<NodeMeta>>> {
    let mut seen = BTreeMap::new();
    move |event| {
        ready(match event {
            Ok(Event::Apply(node) | Event::InitApply(node)) => {
                let decides = (node.labels().clone(), node.meta().deletion_timestamp.is_some());
                let before = seen.insert(node.name_any(), decides.clone());
                (before != Some(decides)).then_some(Ok(node))
            }
            Ok(Event::Delete(node)) => {
                seen.remove(&node.name_any());
                Some(Ok(node))
            }
            Ok(Event::Init | Event::InitDone) => None,
            Err(error) => Some(Err(error)),
        })
    }
}

async fn reconcile(template: Arc<PodTemplate>, cx: Arc<Context>) -> Result<Action, Error> {
    if template.meta().deletion_timestamp.is_some() {
        // The garbage collector deletes the pods through their owner references.
        return Ok(Action::await_change());
    }
    let namespace = template.namespace().unwrap_or_default();
    let pods = Api::<Pod>::namespaced(cx.client.clone(), &namespace);
    let _ = cx.nodes.wait_until_ready().await;
    let mut on_node = pods_by_node(&pods, &template).await?;

    let mut settled = true;
    let mut outdated = None;
    let mut failed = None;
    for node in cx.nodes.state().iter().filter(|node| wants(&template, node)) {
        let mut there = on_node.remove(&node.name_any()).unwrap_or_default();
        // No pod: create one. Several: keep the oldest. One: fine, unless the template changed.
        there.sort_by_key(|pod| (pod.creation_timestamp(), pod.name_any()));
        let Some((first, younger)) = there.split_first() else {
            settled = false;
            // A failure on one node must not keep the other nodes from getting their pods.
            if let Err(error) = create(&pods, &daemon(&template, node)).await {
                failed = Some(error);
            }
            continue;
        };
        for pod in younger {
            delete(&pods, pod, "the node has an older pod").await?;
        }
        if has_ended(first) {
            delete(&pods, first, "the pod has ended").await?;
        }
        let scheduled = first.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        settled &= scheduled && first.meta().deletion_timestamp.is_none();
        if first.annotations().get(GENERATION) != Some(&generation(&template)) {
            outdated.get_or_insert_with(|| first.clone());
        }
    }
    // The remaining pods are on deleted nodes, or on nodes that the template no longer matches.
    for pod in on_node.values().flatten() {
        delete(&pods, pod, "no longer wanted on its node").await?;
    }
    // One node at a time: the next one after the last pod is scheduled.
    if let Some(pod) = outdated.filter(|_| settled) {
        delete(&pods, &pod, "the template changed").await?;
    }
    // Reconcile again later, to catch changes that no watch reported, such as a node deleted while the watch was
    // disconnected.
    failed.map_or_else(|| Ok(Action::requeue(Duration::from_secs(300))), Err)
}

fn on_error(_: Arc<PodTemplate>, _: &Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

/// The pods of a template, by target node.
///
/// Lists the pods instead of reading a cache: a cache may lack a pod created a moment ago, and the controller would
/// create a second one.
async fn pods_by_node(
    pods: &Api<Pod>,
    template: &PodTemplate,
) -> Result<BTreeMap<String, Vec<Pod>>, Error> {
    let ours = ListParams::default().labels(&format!("{TEMPLATE}={}", template.name_any()));
    let mut on_node: BTreeMap<String, Vec<Pod>> = BTreeMap::new();
    for pod in pods.list(&ours).await?.items {
        // Anybody can set the label.
        if pod.owner_references().iter().any(|owner| Some(&owner.uid) == template.uid().as_ref()) {
            let node = pod.annotations().get(NODE).cloned().unwrap_or_default();
            on_node.entry(node).or_default().push(pod);
        }
    }
    Ok(on_node)
}

fn wants(template: &PodTemplate, node: &NodeMeta) -> bool {
    let spec = template.template.as_ref().and_then(|template| template.spec.as_ref());
    let selector = spec.and_then(|spec| spec.node_selector.as_ref());
    node.meta().deletion_timestamp.is_none()
        && selector.into_iter().flatten().all(|(key, value)| node.labels().get(key) == Some(value))
}

/// The API server increases this number with every change of the template.
fn generation(template: &PodTemplate) -> String {
    template.meta().generation.unwrap_or_default().to_string()
}

fn daemon(template: &PodTemplate, node: &NodeMeta) -> Pod {
    let inner = template.template.clone().unwrap_or_default();
    let metadata = inner.metadata.unwrap_or_default();
    let mut labels = metadata.labels.unwrap_or_default();
    labels.insert(TEMPLATE.to_owned(), template.name_any());
    let mut annotations = metadata.annotations.unwrap_or_default();
    annotations.insert(NODE.to_owned(), node.name_any());
    annotations.insert(GENERATION.to_owned(), generation(template));
    Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-", template.name_any())),
            namespace: template.namespace(),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: template.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: inner.spec,
        status: None,
    }
}

/// Whether a pod will never run again, for example after an eviction.
fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Creates a pod after a dry run shows that setguard pins it: otherwise it could run anywhere.
async fn create(pods: &Api<Pod>, pod: &Pod) -> Result<(), Error> {
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let pinned = pods.create(&dry_run, pod).await?;
    if !is_pinned(&pinned) {
        return Err(Error::NotPinned);
    }
    let created = pods.create(&PostParams::default(), pod).await?;
    tracing::info!(pod = created.name_any(), node = pod.annotations().get(NODE), "created");
    Ok(())
}

fn is_pinned(pod: &Pod) -> bool {
    let affinity =
        pod.spec.as_ref().and_then(|spec| spec.affinity.as_ref()?.node_affinity.as_ref());
    let required =
        affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
    let mut terms = required.into_iter().flat_map(|required| &required.node_selector_terms);
    let node = pod.annotations().get(NODE).map(std::slice::from_ref);
    terms.any(|term| term.match_fields.iter().flatten().any(|it| it.values.as_deref() == node))
}

async fn delete(pods: &Api<Pod>, pod: &Pod, why: &str) -> Result<(), Error> {
    if pod.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    tracing::info!(pod = pod.name_any(), why, "deleting");
    match pods.delete(&pod.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        result => Ok(result.map(drop)?),
    }
}

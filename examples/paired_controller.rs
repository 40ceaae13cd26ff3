//! A small, complete controller that pairs with setguard.
//!
//! It takes every PodTemplate labelled `setguard.io/daemon: "true"` and keeps exactly one pod of it
//! on every node that the template's nodeSelector matches. It never sets affinity, tolerations or
//! nodeName: it names the node in the annotation `setguard.io/node`, the webhook pins the pod to it
//! and gives it a daemon's tolerations, and the scheduler places it.
//!
//! ```sh
//! cargo run --example paired_controller
//! ```
//!
//! It uses the current kubeconfig context (or the service account, in a cluster). Its user must be
//! on the policy's list `injection.pairedControllers`.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod, PodTemplate};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, PartialObjectMeta, PostParams},
    runtime::{
        Controller, PredicateConfig, WatchStreamExt,
        controller::Action,
        reflector::{self, ObjectRef, Store},
        watcher,
    },
};

/// The label of templates that are ours.
const DAEMON: &str = "setguard.io/daemon";
/// The label of pods, by the name of their template.
const TEMPLATE: &str = "setguard.io/daemon-template";
/// The annotation of pods by which an outdated one is told.
const GENERATION: &str = "setguard.io/daemon-generation";
/// The contract with setguard: the node that a pod is made for.
const NODE: &str = "setguard.io/node";

type NodeMeta = PartialObjectMeta<Node>;

struct Context {
    client: Client,
    nodes: Store<NodeMeta>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // kube and its TLS library would each pick a crypto provider of their own.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let client = Client::try_default().await?;

    let (nodes, writer) = reflector::store();
    // Only metadata is watched, and only what decides placement wakes us: a kubelet reports its
    // node's status every few seconds.
    let node_changes = watcher(Api::<NodeMeta>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .modify(|node| node.managed_fields_mut().clear())
        .reflect(writer)
        .touched_objects()
        .predicate_filter(placement, PredicateConfig::default());

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

/// What of a node decides which daemons run there.
fn placement(node: &NodeMeta) -> Option<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (node.labels(), node.meta().deletion_timestamp.is_some()).hash(&mut hasher);
    Some(hasher.finish())
}

async fn reconcile(template: Arc<PodTemplate>, cx: Arc<Context>) -> Result<Action, kube::Error> {
    let namespace = template.namespace().unwrap_or_default();
    let pods = Api::<Pod>::namespaced(cx.client.clone(), &namespace);
    if template.meta().deletion_timestamp.is_some() {
        // The pods' owner references let the garbage collector take them.
        return Ok(Action::await_change());
    }
    let _ = cx.nodes.wait_until_ready().await;

    // Listed, not read from a cache: a cache may not know yet the pod we made a moment ago, and we
    // would make a second one.
    let ours = ListParams::default().labels(&format!("{TEMPLATE}={}", template.name_any()));
    let mut on_node: BTreeMap<String, Vec<Pod>> = BTreeMap::new();
    for pod in pods.list(&ours).await?.items {
        let node = pod.annotations().get(NODE).cloned().unwrap_or_default();
        on_node.entry(node).or_default().push(pod);
    }

    let mut settled = true;
    let mut outdated = None;
    for node in cx.nodes.state().iter().filter(|node| wants(&template, node)) {
        let mut there = on_node.remove(&node.name_any()).unwrap_or_default();
        // None: create. More than one: all but the oldest go. One: fine, unless the template changed.
        there.sort_by_key(|pod| (pod.creation_timestamp(), pod.name_any()));
        let Some((first, younger)) = there.split_first() else {
            let pod = pods.create(&PostParams::default(), &daemon(&template, node)).await?;
            tracing::info!(pod = pod.name_any(), node = node.name_any(), "created");
            settled = false;
            continue;
        };
        for pod in younger {
            delete(&pods, pod, "another one is there").await?;
        }
        let scheduled = first.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
        settled &= scheduled && first.meta().deletion_timestamp.is_none();
        if first.annotations().get(GENERATION) != Some(&generation(&template)) {
            outdated.get_or_insert_with(|| first.clone());
        }
    }
    // What is left is on nodes that are gone, or that the template does not want any more.
    for pod in on_node.values().flatten() {
        delete(&pods, pod, "its node is gone").await?;
    }
    // One node at a time, and the next when the last pod has been scheduled.
    if let Some(pod) = outdated.filter(|_| settled) {
        delete(&pods, &pod, "the template changed").await?;
    }
    Ok(Action::await_change())
}

fn on_error(_: Arc<PodTemplate>, _: &kube::Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

/// Whether a template's pods belong on a node.
fn wants(template: &PodTemplate, node: &NodeMeta) -> bool {
    let spec = template.template.as_ref().and_then(|template| template.spec.as_ref());
    let selector = spec.and_then(|spec| spec.node_selector.as_ref());
    node.meta().deletion_timestamp.is_none()
        && selector.into_iter().flatten().all(|(key, value)| node.labels().get(key) == Some(value))
}

/// A number that the API server raises with every change of the template.
fn generation(template: &PodTemplate) -> String {
    template.meta().generation.unwrap_or_default().to_string()
}

/// A pod of a template, made for a node.
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

async fn delete(pods: &Api<Pod>, pod: &Pod, why: &str) -> Result<(), kube::Error> {
    if pod.meta().deletion_timestamp.is_some() {
        return Ok(());
    }
    tracing::info!(pod = pod.name_any(), why, "deleting");
    match pods.delete(&pod.name_any(), &DeleteParams::default()).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        result => result.map(drop),
    }
}

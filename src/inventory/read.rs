//! From objects to items.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::PodTemplateSpec,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference},
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    item::{Controller, Item, Role, Service},
    labels::{Labels, Selector},
    nodes::{Claim, Nodes},
};
use crate::object::{Object, Workload, marks::IGNORE_ANNOTATION, namespace_or_default};

impl Item {
    /// A DaemonSet or StatefulSet; `None` if it is on its way out.
    pub fn of(object: &Object<'_>) -> Option<Item> {
        self::object(object)
    }

    /// An object of another kind, from JSON; `None` if no rule wants to know of it, or if it cannot
    /// be read.
    pub fn of_json(json: &str) -> Option<Item> {
        self::json(json)
    }

    /// Whether rules want to know of a kind that is neither a DaemonSet nor a StatefulSet.
    pub fn is_of_interest(api_version: &str, kind: &str) -> bool {
        self::kind(api_version, kind).is_some()
    }
}

/// Which kind of interest it is.
#[derive(Clone, Copy)]
pub(crate) enum Reader {
    /// With a label selector and a template.
    Controller,
    Job,
    ReplicationController,
    Service,
}

/// How objects of a kind are read. DaemonSets and StatefulSets are not read here.
pub(crate) fn kind(api_version: &str, kind: &str) -> Option<(&'static str, Reader)> {
    match (api_version, kind) {
        ("apps/v1", "Deployment") => Some(("Deployment", Reader::Controller)),
        ("apps/v1", "ReplicaSet") => Some(("ReplicaSet", Reader::Controller)),
        ("batch/v1", "Job") => Some(("Job", Reader::Job)),
        ("v1", "ReplicationController") => {
            Some(("ReplicationController", Reader::ReplicationController))
        }
        ("v1", "Service") => Some(("Service", Reader::Service)),
        _ => None,
    }
}

/// A DaemonSet or StatefulSet.
pub(crate) fn object(object: &Object<'_>) -> Option<Item> {
    let metadata = &object.metadata;
    if metadata.deletion_timestamp.is_some() {
        return None;
    }
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let selector = object.selector().filter(|_| !is_controlled(owners)).and_then(Selector::of);
    let mut controller = controller(selector, object.template());
    controller.is_judged = true;
    match &object.workload {
        Workload::DaemonSet(spec) => {
            if let Some(pod) = &spec.template.spec {
                controller.claims = Claim::all(pod);
                if !controller.claims.is_empty() {
                    controller.nodes = Nodes::of(pod);
                }
            }
        }
        Workload::StatefulSet(spec) => {
            let name = spec.service_name.as_deref().filter(|name| !name.is_empty());
            controller.service_name = name.map(Into::into);
        }
    }
    Some(Item {
        kind: object.kind().as_str(),
        namespace: metadata.namespace().into(),
        name: object.name().into(),
        is_generated: metadata.name.as_deref().is_none_or(str::is_empty),
        ignore: metadata.annotation(IGNORE_ANNOTATION).map(Into::into),
        role: Role::Controller(Box::new(controller)),
        place: None,
    })
}

/// An object of another kind that rules want to know of.
pub(crate) fn json(json: &str) -> Option<Item> {
    let Head { api_version, kind: said } = serde_json::from_str(json).ok()?;
    let (kind, reader) = self::kind(&api_version, &said)?;
    let (metadata, role) = match reader {
        Reader::Controller => {
            let (metadata, spec) = read::<ControllerSpec>(json)?;
            let selector = spec.selector.as_ref().and_then(Selector::of);
            (metadata, controller(selector, &spec.template).into())
        }
        Reader::Job => {
            let (metadata, spec) = read::<JobSpec>(json)?;
            // The API server makes any other selector, for this Job alone.
            let selector = spec.selector.as_ref().filter(|_| spec.manual_selector);
            (metadata, controller(selector.and_then(Selector::of), &spec.template).into())
        }
        Reader::ReplicationController => {
            let (metadata, spec) = read::<ReplicationControllerSpec>(json)?;
            let labels = spec.template.metadata.as_ref().and_then(|m| m.labels.as_ref());
            let selector = spec.selector.as_ref().filter(|map| !map.is_empty()).or(labels);
            (metadata, controller(Selector::of_map(selector), &spec.template).into())
        }
        Reader::Service => {
            let (metadata, spec) = read::<ServiceSpec>(json)?;
            (metadata, Role::Service(spec.into()))
        }
    };
    if metadata.deletion_timestamp.is_some() {
        return None;
    }
    let name = metadata.name.filter(|name| !name.is_empty());
    let mut item = Item {
        kind,
        namespace: namespace_or_default(metadata.namespace.as_deref()).into(),
        is_generated: name.is_none(),
        name: name.or(metadata.generate_name).unwrap_or_default().into(),
        ignore: None,
        role,
        place: None,
    };
    if let Role::Controller(controller) = &mut item.role
        && is_controlled(&metadata.owner_references.unwrap_or_default())
    {
        controller.selector = None;
    }
    Some(item)
}

fn is_controlled(owners: &[OwnerReference]) -> bool {
    owners.iter().any(|owner| owner.controller == Some(true))
}

/// A selector that does not match the template's labels is refused by the API server.
fn controller(selector: Option<Selector>, template: &PodTemplateSpec) -> Controller {
    let labels = Labels::of(template.metadata.as_ref().and_then(|meta| meta.labels.as_ref()));
    let selector = selector.filter(|selector| selector.matches(&labels));
    Controller { selector, labels, ..Controller::default() }
}

impl From<Controller> for Role {
    fn from(controller: Controller) -> Self {
        Role::Controller(Box::new(controller))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
}

#[derive(Deserialize)]
struct Whole<S> {
    metadata: ObjectMeta,
    spec: S,
}

#[derive(Deserialize)]
struct ControllerSpec {
    selector: Option<LabelSelector>,
    template: PodTemplateSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobSpec {
    selector: Option<LabelSelector>,
    #[serde(default)]
    manual_selector: bool,
    template: PodTemplateSpec,
}

#[derive(Deserialize)]
struct ReplicationControllerSpec {
    selector: Option<BTreeMap<String, String>>,
    template: PodTemplateSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceSpec {
    #[serde(rename = "clusterIP")]
    cluster_ip: Option<String>,
    selector: Option<BTreeMap<String, String>>,
    #[serde(rename = "type")]
    type_: Option<String>,
}

impl From<ServiceSpec> for Service {
    fn from(spec: ServiceSpec) -> Self {
        Service {
            is_headless: spec.cluster_ip.as_deref() == Some("None"),
            is_external: spec.type_.as_deref() == Some("ExternalName"),
            selector: Labels::of(spec.selector.as_ref()),
        }
    }
}

fn read<S: DeserializeOwned>(json: &str) -> Option<(ObjectMeta, S)> {
    let whole: Whole<S> = serde_json::from_str(json).ok()?;
    Some((whole.metadata, whole.spec))
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kubernetes::resource::Resource;

    /// The item of an object of any kind.
    pub(crate) fn item(object: &Value) -> Item {
        let text = object.to_string();
        let kind = object["kind"].as_str().unwrap();
        match Resource::of(object["apiVersion"].as_str().unwrap(), kind) {
            Some(resource) => self::object(&Object::parse(resource, &text).unwrap()).unwrap(),
            None => self::json(&text).unwrap(),
        }
    }

    fn selects(kind: [&str; 2], spec: &Value, owned: bool) -> bool {
        let mut owner = json!({"apiVersion": "example.com/v1", "kind": "Agent", "name": "a"});
        owner["uid"] = json!("1");
        owner["controller"] = json!(owned);
        let item = item(&json!({
            "apiVersion": kind[0], "kind": kind[1],
            "metadata": {"name": "a", "ownerReferences": [owner]}, "spec": spec,
        }));
        let controller = item.controller().unwrap();
        controller.selector.as_ref().is_some_and(|it| it.matches(&controller.labels))
    }

    #[test]
    fn each_kind_has_its_selector() {
        let template = json!({"metadata": {"labels": {"app": "a"}}});
        let equal = json!({"matchLabels": {"app": "a"}});
        let written = json!({"selector": equal, "template": template});
        for kind in ["DaemonSet", "StatefulSet", "Deployment", "ReplicaSet"] {
            assert!(selects(["apps/v1", kind], &written, false), "{kind}");
            assert!(!selects(["apps/v1", kind], &written, true), "owned {kind}");
        }
        let job = ["batch/v1", "Job"];
        assert!(!selects(job, &written, false));
        let manual = json!({"selector": equal, "template": template, "manualSelector": true});
        assert!(selects(job, &manual, false) && !selects(job, &manual, true));
        let controller = ["v1", "ReplicationController"];
        assert!(selects(controller, &json!({"template": template}), false));
        let map = json!({"selector": {"app": "b"}, "template": template});
        assert!(!selects(controller, &map, false), "refused: it does not match the template");
    }
}

mod services;
pub(super) mod shapes;

use super::{details::Details, object_summary::Ports};
use crate::inventory::prelude::*;
use crate::{
    inventory::{fixed, kind},
    object::{Object, Workload},
};

impl ObjectSummary {
    /// Summarizes a DaemonSet or StatefulSet for evaluation.
    pub fn of(object: &Object<'_>) -> ObjectSummary {
        self::object(object)
    }

    /// Reads an object from JSON with `apiVersion` and `kind`; `None` if no rule needs it or it cannot be read.
    pub fn of_json(json: &str) -> Option<ObjectSummary> {
        let Head { api_version, kind } = serde_json::from_str(json).ok()?;
        let kind = kind::of(&api_version, &kind)?;
        let mut item = shapes::read(kind, json)?;
        item.fixed = fixed::read(kind, json).filter(|_| !item.is_generated);
        Some(item)
    }

    /// Returns whether the API server refuses some changes of objects of a kind, other than sets.
    pub fn may_have_fixed_fields(api_version: &str, kind: &str) -> bool {
        kind::of(api_version, kind).is_some_and(fixed::may_have)
    }

    /// Reads an object of this kind from JSON; `None` if it cannot be read.
    ///
    /// The summary of a DaemonSet or StatefulSet has only the data for evaluating other objects.
    pub fn read(kind: Kind, json: &str) -> Option<ObjectSummary> {
        let mut item = shapes::read(kind, json)?;
        if let Role::Service(service) = &mut item.role {
            service.targets = Box::default();
            service.names = Box::default();
            service.node_ports = Box::default();
            service.labels = Labels::default();
        }
        Some(item)
    }

    /// Returns whether rules need a kind, other than DaemonSet and StatefulSet.
    pub fn is_of_interest(api_version: &str, kind: &str) -> bool {
        let kind = kind::of(api_version, kind);
        kind.is_some_and(|kind| !matches!(kind, Kind::DaemonSet | Kind::StatefulSet))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    api_version: String,
    kind: String,
}

fn object(object: &Object<'_>) -> ObjectSummary {
    let metadata = &object.metadata;
    let owners = metadata.owner_references.as_deref().unwrap_or_default();
    let is_owned = owners.iter().any(|owner| owner.controller == Some(true));
    let template = object.template();
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref());
    let selector = object.selector().filter(|_| !is_owned).and_then(Selector::of);
    let mut controller = Controller::of(selector, Labels::of(labels));
    let (kind, has_pods) = match &object.workload {
        Workload::DaemonSet(_) => (Kind::DaemonSet, true),
        Workload::StatefulSet(spec) => (Kind::StatefulSet, spec.replicas != Some(0)),
    };
    if let Some(pod) = template.spec.as_ref().filter(|_| has_pods) {
        controller.ports = Ports::of(HostPort::all(pod), || Nodes::of(pod));
    }
    controller.details = Some(Box::new(Details::of(object)));
    ObjectSummary {
        kind,
        sets_namespace: metadata.namespace.as_deref().is_some_and(|it| !it.is_empty()),
        is_generated: metadata.name.as_deref().is_none_or(str::is_empty),
        is_terminating: metadata.deletion_timestamp.is_some(),
        namespace: Arc::from(metadata.namespace()),
        name: object.name().into(),
        role: Role::Controller(controller),
        fixed: None,
        location: None,
    }
}

impl Controller {
    /// Drops a selector that does not match the labels of the template, because the API server rejects it.
    fn of(selector: Option<Selector>, labels: Labels) -> Self {
        let selector = selector.filter(|selector| selector.matches(&labels));
        Controller { selector, labels, ..Controller::default() }
    }
}

impl Ports {
    fn of(host_ports: Box<[HostPort]>, nodes: impl FnOnce() -> Nodes) -> Option<Box<Self>> {
        (!host_ports.is_empty()).then(|| Box::new(Ports { host_ports, nodes: nodes() }))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kubernetes::resource::Resource;

    pub(crate) fn item(object: &Value) -> ObjectSummary {
        let text = object.to_string();
        let kind = object["kind"].as_str().unwrap();
        match Resource::of(object["apiVersion"].as_str().unwrap(), kind) {
            Some(resource) => ObjectSummary::of(&Object::parse(resource, &text).unwrap()),
            None => ObjectSummary::of_json(&text).unwrap(),
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

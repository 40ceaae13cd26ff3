//! The objects that a plan gets, as in the cluster.

use k8s_openapi::api::{apps::v1::ControllerRevision, core::v1::Event};
use serde::Serialize;
use serde_json::Map;

use super::lockstep::Lockstep;
use crate::prelude::*;

impl Lockstep<'_> {
    /// The current set with its pods, claims and revisions, reduced to the fields that a plan reads.
    pub(super) async fn world(&self) -> Value {
        let mut world = self.items().await;
        loop {
            // An unfinished controller would change something.
            sleep(Duration::from_millis(700)).await;
            let again = self.items().await;
            if again == world {
                break;
            }
            world = again;
        }
        json!({"apiVersion": "v1", "kind": "List", "items": world})
    }

    async fn items(&self) -> Vec<Value> {
        let revisions: Api<ControllerRevision> = Api::namespaced(self.client.clone(), "default");
        let mut items = Vec::new();
        if let Some(set) = self.sets.get_opt(&self.history.name).await.expect("an answer") {
            items.push(item("apps/v1", self.history.last["kind"].as_str().expect("a kind"), &set));
        }
        for pod in self.list().await {
            items.push(item("v1", "Pod", &pod));
        }
        for claim in self.all_claims().await {
            items.push(item("v1", "PersistentVolumeClaim", &claim));
        }
        for revision in revisions.list(&self.own()).await.expect("revisions").items {
            items.push(item("apps/v1", "ControllerRevision", &revision));
        }
        let events: Api<Event> = Api::namespaced(self.client.clone(), "default");
        for reason in ["FailedCreate", "FailedDelete"] {
            let of = format!("involvedObject.name={},reason={reason}", self.history.name);
            let last = events.list(&ListParams::default().fields(&of)).await.expect("events").items;
            let last = last.into_iter().max_by_key(|it| it.last_timestamp.clone());
            items.extend(last.map(|it| item("v1", "Event", &it)));
        }
        items
    }
}

fn item(api_version: &str, kind: &str, object: &impl Serialize) -> Value {
    let mut item = serde_json::to_value(object).expect("JSON");
    item["apiVersion"] = json!(api_version);
    item["kind"] = json!(kind);
    let metadata = item["metadata"].as_object_mut().expect("metadata");
    for key in ["managedFields", "resourceVersion", "selfLink"] {
        metadata.remove(key);
    }
    if kind == "Pod" {
        keep(&mut item["spec"], &["volumes", "nodeName", "affinity"]);
        keep(&mut item["status"], &["phase", "conditions", "containerStatuses"]);
    }
    item
}

fn keep(object: &mut Value, keys: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        *object = std::mem::take(object)
            .into_iter()
            .filter(|(key, _)| keys.contains(&key.as_str()))
            .collect::<Map<_, _>>();
    }
}

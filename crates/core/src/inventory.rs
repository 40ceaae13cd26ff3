//! Many objects in little memory, for the rules about several objects.
//!
//! An [`object_summary::ObjectSummary`] holds the data that those rules need about an object, in a few hundred bytes,
//! so that the object itself can be dropped. An [`Inventory`] finds items without a full scan, and
//! a clone of it is a snapshot that costs next to nothing. A [`view::View`] is the inventory of a
//! running cluster.

pub(crate) mod access;
pub(crate) mod configs;
pub(crate) mod demand;
pub(crate) mod details;
mod file;
pub mod fixed;
/// The ports of nodes that pods need.
pub mod host_port;
pub(crate) mod hosts;
mod index;
pub mod kind;
pub(crate) mod labels;
pub(crate) mod leftovers;
pub(crate) mod links;
pub(crate) mod node;
pub(crate) mod nodes;
pub mod object_summary;
mod prelude;
mod query;
pub(crate) mod read;
pub mod relist;
pub(crate) mod removed_keys;
pub(crate) mod resources;
mod shards;
mod store;
pub(crate) mod system;
pub(crate) mod traffic;
mod unserved;
pub mod view;
pub(crate) mod waits;
mod zones;

pub(crate) use self::index::Selecting;
pub use self::store::Inventory;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{object_summary::ObjectSummary, relist::Relist, *};
    use crate::kubernetes::kind::Kind;

    fn service(namespace: &str, name: &str, cluster_ip: &str) -> ObjectSummary {
        read(&json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"clusterIP": cluster_ip, "selector": {"app": name}}}))
    }

    fn read(object: &Value) -> ObjectSummary {
        ObjectSummary::of_json(&object.to_string()).unwrap()
    }

    #[test]
    fn an_object_is_replaced_by_its_name_and_removed_with_its_indexes() {
        let mut inventory = Inventory::default();
        let empty = inventory.bytes();
        assert!(inventory.put(service("shop", "db", "None")));
        assert!(!inventory.put(service("shop", "db", "None")), "nothing changed");
        assert!(inventory.put(service("shop", "db", "10.0.0.1")));
        assert!(inventory.put(service("bank", "db", "None")));
        assert_eq!(inventory.count(Kind::Service), 2);
        let has = |inventory: &Inventory, namespace, name| {
            inventory.named(Kind::Service, namespace, name).count()
        };
        assert_eq!((has(&inventory, "shop", "db"), has(&inventory, "shop", "web")), (1, 0));
        assert!(inventory.bytes() > empty);
        assert!(inventory.remove(Kind::Service, "shop", "db"));
        assert!(!inventory.remove(Kind::Service, "shop", "db"));
        assert_eq!((has(&inventory, "shop", "db"), inventory.count(Kind::Service)), (0, 1));
        assert!(!inventory.has_any(Kind::Service, "shop"));
    }

    #[test]
    fn a_snapshot_does_not_change() {
        let mut inventory = Inventory::default();
        inventory.put(service("shop", "a", "None"));
        let before = inventory.clone();
        inventory.put(service("shop", "b", "None"));
        inventory.remove(Kind::Service, "shop", "a");
        let names = |inventory: &Inventory| {
            inventory.items().map(|(_, item)| item.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((names(&before), names(&inventory)), (vec!["a".into()], vec!["b".into()]));
        assert_eq!((before.count(Kind::Service), inventory.count(Kind::Service)), (1, 1));
    }

    #[test]
    fn a_new_list_drops_what_it_does_not_have() {
        let mut inventory = Inventory::default();
        for name in ["a", "b", "c"] {
            inventory.put(service("shop", name, "None"));
        }
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}});
        inventory.put(read(&node));
        let mut list = Relist::begin(&inventory, Kind::Service);
        assert!(!list.put(&mut inventory, service("shop", "a", "None")));
        assert!(list.put(&mut inventory, service("shop", "d", "None")));
        list.keep(&inventory, Kind::Service, "shop", "c");
        // A list that ends early changes nothing.
        drop(Relist::begin(&inventory, Kind::Service));
        assert_eq!(list.finish(&mut inventory), 1);
        let names: Vec<_> = inventory.items().map(|(_, item)| item.name()).collect();
        assert_eq!(names, ["a", "c", "b", "d"]);
    }

    #[test]
    fn labels_are_kept_once() {
        let set = |name: &str| {
            let labels = json!({"app.kubernetes.io/managed-by": "Helm", "app": name});
            let template = json!({"metadata": {"labels": labels}});
            read(&json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"namespace": "shop", "name": name},
                "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}))
        };
        let mut inventory = Inventory::default();
        inventory.put(set("a"));
        let (one, before) = (inventory.bytes(), inventory.items().count());
        inventory.put(set("b"));
        let (_, first) = inventory.items().next().unwrap();
        let (_, second) = inventory.items().nth(before).unwrap();
        let label = |item: &ObjectSummary| {
            item.controller().unwrap().labels.get("app.kubernetes.io/managed-by").unwrap().as_ptr()
        };
        assert_eq!(label(first), label(second));
        assert!(inventory.bytes() < 2 * one);
    }
}

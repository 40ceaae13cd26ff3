//! The previously applied fields and their managers.
//!
//! A set of fields has the form of `fieldsV1` in managed fields: `f:` before the name of a field, `k:` before the keys
//! of an item, `v:` before an item that is a value, and `.` for the item itself.

use serde_json::{Map, Value};

use super::{
    lists::Lists,
    verb::{LAST_APPLIED, Verb, Writer},
};

#[derive(Clone, Debug, Default)]
pub(super) struct Owned {
    /// The fields of the current manager. If the manifest omits a field, apply removes it.
    pub(super) mine: Value,
    /// The fields of other managers. Apply keeps these.
    pub(super) others: Value,
}

impl Owned {
    /// Returns the previously applied fields according to the old object; then, if kubectl takes over client-side
    /// fields, the fields that it owns after that.
    pub(super) fn before(writer: &Writer<'_>, old: &Value, lists: Lists) -> Vec<Self> {
        let metadata = &old["metadata"];
        if writer.is_helm_3()
            && let Some(managers) = metadata["managedFields"].as_array()
        {
            let own = Self::managed(managers, |it| writer.owns(it));
            let mine = client_side(lists, "", &own.mine, old);
            return vec![Owned { mine, others: Value::Null }];
        }
        if writer.verb == Verb::ServerSideApply
            && let Some(managers) = metadata["managedFields"].as_array()
        {
            let own = Self::managed(managers, |it| writer.owns(it));
            if managers.iter().any(is_client_side) {
                let both = |it: &Value| writer.owns(it) || is_client_side(it);
                return vec![own, Self::managed(managers, both)];
            }
            return vec![own];
        }
        let applied = metadata["annotations"][LAST_APPLIED].as_str();
        let mine = match applied.map(serde_json::from_str) {
            Some(Ok(applied)) => of(lists, "", &applied),
            // Without apply, an object has no applied fields.
            _ if metadata["uid"].is_string() && !writer.takes_all => Value::Null,
            _ => of(lists, "", old),
        };
        vec![Owned { mine, others: Value::Null }]
    }

    /// Returns the owned fields. `is_mine` selects the writer and the managers that it takes over from.
    fn managed(managers: &[Value], is_mine: impl Fn(&Value) -> bool) -> Self {
        let mut owned = Owned::default();
        for entry in managers {
            let set = if is_mine(entry) { &mut owned.mine } else { &mut owned.others };
            unite(set, &entry["fieldsV1"]);
        }
        owned
    }
}

/// Kubernetes: `migrateToSSAIfNecessary`, kubectl `pkg/cmd/apply/apply.go`.
fn is_client_side(entry: &Value) -> bool {
    let annotations = &entry["fieldsV1"]["f:metadata"]["f:annotations"];
    entry["operation"] == "Update" && annotations.get(format!("f:{LAST_APPLIED}")).is_some()
}

fn unite(set: &mut Value, more: &Value) {
    let Some(more) = more.as_object() else { return };
    if !set.is_object() {
        *set = Value::Object(Map::new());
    }
    if let Some(set) = set.as_object_mut() {
        for (element, fields) in more {
            unite(set.entry(element).or_insert_with(|| Value::Object(Map::new())), fields);
        }
    }
}

/// Returns the fields in a value of a field with this name.
fn of(lists: Lists, name: &str, value: &Value) -> Value {
    let mut fields = Map::new();
    match value {
        Value::Object(map) if !lists.is_atomic(name) => {
            for (name, value) in map {
                fields.insert(format!("f:{name}"), of(lists, name, value));
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(key) = lists.list(name).key(item) {
                    let mut inner = of(lists, "", item);
                    inner[ITSELF] = Value::Object(Map::new());
                    fields.insert(key, inner);
                }
            }
        }
        _ => {}
    }
    Value::Object(fields)
}

/// Returns the fields of a value in a set of managed fields, with the list keys of client-side apply. Server-side
/// apply has more lists and mappings that one manager owns as a whole.
fn client_side(lists: Lists, name: &str, set: &Value, value: &Value) -> Value {
    if set.as_object().is_none_or(Map::is_empty) {
        return of(lists, name, value);
    }
    let mut fields = Map::new();
    match value {
        Value::Object(map) => {
            for (name, value) in map {
                let element = format!("f:{name}");
                if let Some(set) = set.get(&element) {
                    fields.insert(element, client_side(lists, name, set, value));
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                let set = Lists::ServerSide.list(name).key(item).and_then(|key| set.get(&key));
                if let (Some(set), Some(key)) = (set, lists.list(name).key(item)) {
                    let mut inner = client_side(lists, "", set, item);
                    if contains_itself(set) {
                        inner[ITSELF] = Value::Object(Map::new());
                    }
                    fields.insert(key, inner);
                }
            }
        }
        _ => {}
    }
    Value::Object(fields)
}

const ITSELF: &str = ".";

/// Returns whether a set contains the item itself, not only fields in it.
pub(super) fn contains_itself(item: &Value) -> bool {
    item.as_object().is_some_and(|fields| fields.is_empty() || fields.contains_key(ITSELF))
}

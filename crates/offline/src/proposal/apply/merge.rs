//! The merge of a manifest and the old object.
//!
//! Kubernetes: `CreateThreeWayMergePatch` and `StrategicMergePatch`, apimachinery `pkg/util/strategicpatch/patch.go`,
//! taken together; `Updater.Apply`, structured-merge-diff `merge/update.go`.

use std::borrow::Cow;

use kube_yaml::{Key, Value};
use serde_json::Value as Json;

use super::{
    fields::{Owned, contains_itself},
    lists::{List, Lists},
};
use crate::prelude::*;

pub(super) struct Merger {
    pub(super) lists: Lists,
    /// Whether null in the manifest removes a field. Otherwise null is a value.
    pub(super) null_removes: bool,
}

/// The owned fields below one field or item.
#[derive(Clone, Copy)]
struct Below<'o> {
    mine: Option<&'o Json>,
    others: Option<&'o Json>,
}

impl<'o> Below<'o> {
    fn child(self, element: &str) -> Self {
        let get = |set: Option<&'o Json>| set?.get(element);
        Below { mine: get(self.mine), others: get(self.others) }
    }

    fn field(self, name: &str) -> Self {
        self.child(&format!("f:{name}"))
    }
}

/// A field, or an item of a list.
#[derive(Clone, Copy)]
struct At<'f, 'o> {
    /// The name of the field or, for an item, of its list.
    name: &'f str,
    owned: Below<'o>,
    /// The position for values from the old object.
    mark: Mark,
}

enum Item {
    /// The manifest's item at this index, and the old item with the same key.
    Written(usize, Option<usize>),
    /// The old item at this index.
    Old(usize),
}

impl Merger {
    pub(super) fn object<'a>(&self, manifest: &Node<'a>, old: &Json, owned: &Owned) -> Node<'a> {
        let owned = Below { mine: Some(&owned.mine), others: Some(&owned.others) };
        self.node(At { name: "", owned, mark: manifest.mark }, manifest, old)
    }

    fn node<'a>(&self, at: At<'_, '_>, new: &Node<'a>, old: &Json) -> Node<'a> {
        let value = match (&new.value, old) {
            (Value::Map(entries), Json::Object(old)) if !self.lists.is_atomic(at.name) => {
                let merged = self.map(at, entries, old);
                // The API server drops a mapping if apply removes all that is in it.
                let is_dropped = self.lists == Lists::ServerSide && merged.is_empty();
                match is_dropped && !old.is_empty() {
                    true => Value::Null,
                    false => Value::Map(merged),
                }
            }
            (Value::Seq(items), Json::Array(old)) => match self.lists.list(at.name) {
                List::Whole => return new.clone(),
                list => match self.list(at, list, items, old) {
                    Some(items) => Value::Seq(items),
                    None => return new.clone(),
                },
            },
            // Server-side apply treats null like an empty mapping.
            (Value::Null, Json::Object(_)) if !self.lists.is_atomic(at.name) => {
                let empty = Node { value: Value::Map(Vec::new()), mark: new.mark };
                return self.node(at, &empty, old);
            }
            _ => return new.clone(),
        };
        Node { value, mark: new.mark }
    }

    fn map<'a>(
        &self,
        at: At<'_, '_>,
        entries: &[(Key<'a>, Node<'a>)],
        old: &serde_json::Map<String, Json>,
    ) -> Vec<(Key<'a>, Node<'a>)> {
        let At { name, owned, mark } = at;
        let mut merged = Vec::with_capacity(entries.len());
        for (key, node) in entries {
            if self.null_removes && node.value == Value::Null {
                continue;
            }
            let node = match old.get(&*key.name) {
                None | Some(Json::Null) => node.clone(),
                Some(old) => {
                    let owned = owned.field(&key.name);
                    self.node(At { name: &key.name, owned, mark: key.mark }, node, old)
                }
            };
            merged.push((key.clone(), node));
        }
        if self.lists.keeps_only_written(name) {
            return merged;
        }
        let written: HashSet<&str> = entries.iter().map(|(key, _)| &*key.name).collect();
        let left_out = old.iter().filter(|(name, _)| !written.contains(name.as_str()));
        for (name, old) in left_out {
            if let Some(kept) = self.kept(name, old, owned.field(name), true) {
                let key = Key { name: Cow::Owned(name.clone()), mark };
                merged.push((key, Node::of_json(&kept, mark)));
            }
        }
        merged
    }

    /// Merges a list item by item. Returns `None` if two items have the same key.
    fn list<'a>(
        &self,
        at: At<'_, '_>,
        list: List,
        new: &[Node<'a>],
        old: &[Json],
    ) -> Option<Vec<Node<'a>>> {
        let At { name, owned, mark } = at;
        let new_keys: Vec<_> = new.iter().map(|node| list.key(&key_fields(node))).collect();
        let old_keys: Vec<_> = old.iter().map(|item| list.key(item)).collect();
        let below = |key: &Option<String>| match key {
            Some(key) => owned.child(key),
            None => Below { mine: None, others: None },
        };
        let new_at = index(&new_keys);
        let is_unique = |keys: &[Option<String>], at: usize| keys.iter().flatten().count() == at;
        if !is_unique(&new_keys, new_at.len()) || !is_unique(&old_keys, index(&old_keys).len()) {
            return None;
        }
        let is_written =
            |key: &Option<String>| key.as_deref().is_some_and(|key| new_at.contains_key(key));
        let kept: Vec<_> = old
            .iter()
            .zip(&old_keys)
            .map(|(old, key)| {
                let owned = below(key);
                let is_mine = owned.mine.is_some_and(contains_itself);
                let is_left_out = !is_written(key);
                is_left_out.then(|| self.kept(name, old, owned, is_mine)).flatten()
            })
            .collect();
        let items = match self.lists {
            Lists::ServerSide => order_of_server_side(&new_keys, &old_keys),
            Lists::ClientSide | Lists::Whole => {
                // A list of values is copied before items are removed.
                let removes_in_place = list != List::Values;
                order_of_client_side(&new_keys, &old_keys, &kept, removes_in_place)
            }
        };
        let item = |item: Item| match item {
            Item::Written(i, old_index) => {
                let node = new.get(i)?;
                let old = old_index.and_then(|i| old.get(i));
                let owned = below(new_keys.get(i)?);
                Some(match old {
                    Some(old) => self.node(At { name, owned, mark: node.mark }, node, old),
                    None => node.clone(),
                })
            }
            Item::Old(i) => Some(Node::of_json(kept.get(i)?.as_ref()?, mark)),
        };
        Some(items.into_iter().filter_map(item).collect())
    }

    /// Returns the part of an old value that stays although the manifest omits it. `can_go` is false for an item whose
    /// manager applied only fields in it.
    fn kept(&self, name: &str, old: &Json, owned: Below<'_>, can_go: bool) -> Option<Json> {
        if owned.mine.is_none() {
            return Some(old.clone());
        }
        if can_go && owned.others.is_none() {
            return None;
        }
        Some(match old {
            Json::Object(old) if !self.lists.is_atomic(name) => {
                let kept = |(name, value): (&String, &Json)| {
                    Some((name.clone(), self.kept(name, value, owned.field(name), true)?))
                };
                Json::Object(old.iter().filter_map(kept).collect())
            }
            Json::Array(old) => {
                let list = self.lists.list(name);
                let kept = |item: &Json| {
                    let Some(key) = list.key(item) else { return Some(item.clone()) };
                    let owned = owned.child(&key);
                    let is_mine = owned.mine.is_some_and(contains_itself);
                    self.kept(name, item, owned, is_mine)
                };
                Json::Array(old.iter().filter_map(kept).collect())
            }
            other => other.clone(),
        })
    }
}

/// Returns the scalars of an item, including its keys, or the item itself if it is a scalar.
fn key_fields(node: &Node<'_>) -> Json {
    let scalar = |node: &Node<'_>| match &node.value {
        Value::Int(number) => Some(Json::from(*number)),
        Value::Str(text) => Some(Json::from(&**text)),
        Value::Null => Some(Json::Null),
        _ => None,
    };
    match &node.value {
        Value::Map(entries) => {
            let fields = entries.iter();
            let fields = fields.filter_map(|(key, it)| Some((key.name.to_string(), scalar(it)?)));
            Json::Object(fields.collect())
        }
        _ => scalar(node).unwrap_or_default(),
    }
}

fn index(keys: &[Option<String>]) -> HashMap<&str, usize> {
    let mut index = HashMap::new();
    for (i, key) in keys.iter().enumerate() {
        if let Some(key) = key {
            index.insert(key.as_str(), i);
        }
    }
    index
}

/// Orders the items like client-side apply. The manifest's items keep their order, and so do the kept old items. An
/// old item stays before the manifest's items that it preceded. A new item comes last if an old item was removed,
/// because it takes that item's place in kubectl's list; otherwise it precedes the remaining old items.
///
/// Kubernetes: `mergeSortedSlice`, apimachinery `pkg/util/strategicpatch/patch.go`, and
/// `mergeSliceWithSpecialElements`. The latter removes items from the list that gives the order.
fn order_of_client_side(
    new: &[Option<String>],
    old: &[Option<String>],
    kept: &[Option<Json>],
    removes_in_place: bool,
) -> Vec<Item> {
    let old_at = index(old);
    let of_old = |key: &Option<String>| old_at.get(key.as_deref()?).copied();
    let both = new.iter().filter(|key| of_old(key).is_some()).count();
    let left = kept.iter().enumerate().filter(|(_, kept)| kept.is_some()).map(|(i, _)| i);
    let removed = old.len().saturating_sub(both + left.clone().count());
    let mut room = if removes_in_place { removed } else { 0 };
    let mut left = left.peekable();
    let mut items = Vec::with_capacity(new.len() + old.len());
    for (i, key) in new.iter().enumerate() {
        let at = of_old(key);
        let order = at.or_else(|| {
            room = room.checked_sub(1)?;
            Some(old.len())
        });
        while let Some(old) = left.next_if(|old| order.is_some_and(|order| *old < order)) {
            items.push(Item::Old(old));
        }
        items.push(Item::Written(i, at));
    }
    items.extend(left.map(Item::Old));
    items
}

/// Orders the items like server-side apply: old items come first, until the next shared item.
///
/// Kubernetes: `visitListItems`, structured-merge-diff `typed/merge.go`.
fn order_of_server_side(new: &[Option<String>], old: &[Option<String>]) -> Vec<Item> {
    let (new_at, old_at) = (index(new), index(old));
    let of_old = |key: &Option<String>| old_at.get(key.as_deref()?).copied();
    let is_new = |key: &Option<String>| key.as_deref().is_some_and(|k| new_at.contains_key(k));
    let mut shared = new.iter().filter(|key| of_old(key).is_some()).peekable();
    let mut items = Vec::with_capacity(new.len() + old.len());
    let mut merged: HashSet<&str> = HashSet::new();
    let (mut o, mut n) = (0, 0);
    while let (old_key, new_key) = (old.get(o), new.get(n))
        && (old_key.is_some() || new_key.is_some())
    {
        if let (Some(old_key), Some(new_key)) = (old_key, new_key) {
            if old_key.is_some() && old_key == new_key {
                merged.extend(new_key.as_deref());
                items.push(Item::Written(n, of_old(new_key)));
                (o, n) = (o + 1, n + 1);
                shared.next();
                continue;
            }
            if is_new(old_key) && shared.peek().is_some_and(|next| *next != old_key) {
                o += 1;
                continue;
            }
        }
        if let Some(old_key) = old_key {
            if !is_new(old_key) {
                items.push(Item::Old(o));
                o += 1;
                continue;
            }
            if old_key.as_deref().is_some_and(|key| merged.contains(key)) {
                o += 1;
            }
        }
        if let Some(new_key) = new_key {
            merged.extend(new_key.as_deref());
            items.push(Item::Written(n, of_old(new_key)));
            n += 1;
            shared.next_if(|next| *next == new_key);
        }
    }
    items
}

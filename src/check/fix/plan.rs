//! What to change for a finding of a rule.

use crate::{
    finding::{Field, Step, paths::TOLERATIONS},
    yaml::{Node, Value},
};

const OLD_KEY: &str = "node-role.kubernetes.io/master";
const NEW_KEY: &str = "node-role.kubernetes.io/control-plane";

/// A change of an object. Fields are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// This field, or this item of a list, is left out.
    Remove(Field),
    /// Each of these items of a list is followed by a copy of it, which has another text in its field
    /// `key`. They are in order.
    Copy {
        /// The items.
        items: Vec<Field>,
        /// The text that copies have.
        key: &'static str,
    },
}

/// Which changes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those that leave out what has no effect, or add what was meant and has no effect elsewhere.
    Safe,
    /// Also those that change what happens in the cluster.
    Unsafe,
}

/// The rules that are content if the field of their finding is left out, so that it gets its default.
/// That changes what happens.
const CONTENT_WITH_DEFAULT: [&str; 8] = [
    "claim-without-class",
    "grace-period-zero",
    "history-limit-zero",
    "max-unavailable-everything",
    "partition-covers-all",
    "template-finalizers",
    "template-node-name",
    "template-scheduling-gates",
];

/// The rules that are content with the default of the whole `rollingUpdate`.
const CONTENT_WITH_DEFAULT_UPDATE: [&str; 2] = ["surge-host-port", "surge-shared-node-resource"];

/// Whether the change that mends a finding of this rule is safe.
pub(super) fn is_safe(rule: &str) -> bool {
    !CONTENT_WITH_DEFAULT.contains(&rule) && !CONTENT_WITH_DEFAULT_UPDATE.contains(&rule)
}

/// The change that mends a finding of a rule in this field, if there is one.
pub(super) fn plan(rule: &str, field: &str, object: &Node<'_>, reach: Reach) -> Option<Change> {
    if reach == Reach::Safe && !is_safe(rule) {
        return None;
    }
    let is_set = object.get("kind").and_then(Node::as_str) == Some("StatefulSet");
    let remove = match rule {
        "toleration-duplicate" | "on-delete-ignores-rolling-update" | "max-unavailable-ignored" => {
            parse(field)?
        }
        // A DaemonSet does not ignore it.
        "template-hostname-ignored" if is_set && !field.ends_with("hostnameOverride") => {
            parse(field)?
        }
        _ if CONTENT_WITH_DEFAULT.contains(&rule) => parse(field)?,
        _ if CONTENT_WITH_DEFAULT_UPDATE.contains(&rule) => parse(field.rsplit_once('.')?.0)?,
        "legacy-master-toleration" => return copy_tolerations(object),
        _ => return None,
    };
    Some(Change::Remove(without_empty_parents(&remove, object)))
}

/// The path that was written as this text, if it has only names and indexes.
fn parse(field: &str) -> Option<Field> {
    let mut steps = Vec::new();
    for part in field.split('.') {
        let (name, index) =
            part.split_once('[').map_or((part, None), |(name, it)| (name, Some(it)));
        steps.push(Step::Child(name));
        if let Some(index) = index {
            steps.push(Step::Index(index.strip_suffix(']')?.parse().ok()?));
        }
    }
    Some(Field::of(steps))
}

/// The outermost field that would be empty without this one, or this one.
fn without_empty_parents(field: &Field, object: &Node<'_>) -> Field {
    let mut steps: Vec<_> = field.steps().collect();
    while let [parents @ .., _] = steps.as_slice()
        && parents.len() > 1
        && let Some(parent) = get(object, parents.iter().copied())
        && matches!(&parent.value, Value::Map(entries) if entries.len() == 1)
    {
        steps.pop();
    }
    Field::of(steps)
}

fn copy_tolerations(object: &Node<'_>) -> Option<Change> {
    let list = get(object, TOLERATIONS.to_field().steps())?;
    let Value::Seq(items) = &list.value else { return None };
    let is_old = |item: &Node<'_>| item.get("key").and_then(Node::as_str) == Some(OLD_KEY);
    let old = items.iter().enumerate().filter(|(i, item)| {
        let is_new = || items.iter().take(*i).all(|other| other.to_json() != item.to_json());
        is_old(item) && is_new()
    });
    let items = old.map(|(i, _)| TOLERATIONS.index(i).to_field()).collect();
    Some(Change::Copy { items, key: NEW_KEY })
}

/// The value of a field, which must be there as its path says.
pub(super) fn get<'n, 'a, 's>(
    object: &'n Node<'a>,
    mut steps: impl Iterator<Item = Step<'s>>,
) -> Option<&'n Node<'a>> {
    steps.try_fold(object, |node, step| match (step, &node.value) {
        (Step::Index(index), Value::Seq(items)) => items.get(index),
        (Step::Child(name) | Step::Key(name), _) => node.get(name),
        _ => None,
    })
}

impl Change {
    /// Changes an object that is JSON. `None` if it does not have what is to be changed.
    pub(super) fn apply_to(&self, object: &mut serde_json::Value) -> Option<()> {
        match self {
            Change::Remove(field) => {
                let pointer = field.pointer();
                let (parent, last) = pointer.rsplit_once('/')?;
                match object.pointer_mut(parent)? {
                    serde_json::Value::Object(map) => {
                        let last = last.replace("~1", "/").replace("~0", "~");
                        map.shift_remove(&last).map(drop)
                    }
                    serde_json::Value::Array(list) => {
                        let index = last.parse().ok().filter(|index| *index < list.len())?;
                        list.remove(index);
                        Some(())
                    }
                    _ => None,
                }
            }
            Change::Copy { items, key } => items.iter().rev().try_for_each(|field| {
                let pointer = field.pointer();
                let (parent, last) = pointer.rsplit_once('/')?;
                let list = object.pointer_mut(parent)?.as_array_mut()?;
                let index: usize = last.parse().ok()?;
                let mut copy = list.get(index)?.clone();
                *copy.get_mut("key")? = (*key).into();
                list.insert(index + 1, copy);
                Some(())
            }),
        }
    }
}

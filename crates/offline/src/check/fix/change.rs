//! The change that a fix makes to one manifest.

use kube_yaml::{Node, Value};
use setguard_core::finding::{Change, Field, Fix, Step};

/// Returns the change for a fix. Also removes each parent that would become empty.
pub(super) fn in_object(fix: &Fix, object: &Node<'_>) -> Change {
    match &fix.change {
        Change::Remove(field) => Change::Remove(without_empty_parents(field, object)),
        Change::Copy { .. } | Change::Rename(..) => fix.change.clone(),
    }
}

/// Returns the outermost field that would become empty without this field, or this field itself.
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

/// Returns the value at a path; `None` unless every field exists.
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

/// Changes a JSON object. Returns `None` if the object lacks the field.
pub(super) fn apply(change: &Change, object: &mut serde_json::Value) -> Option<()> {
    match change {
        Change::Remove(field) | Change::Rename(field, _) => {
            let pointer = field.pointer();
            let (parent, last) = pointer.rsplit_once('/')?;
            match object.pointer_mut(parent)? {
                serde_json::Value::Object(map) => {
                    let last = last.replace("~1", "/").replace("~0", "~");
                    let value = map.shift_remove(&last)?;
                    if let Change::Rename(_, to) = change {
                        map.insert(to.clone(), value);
                    }
                    Some(())
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

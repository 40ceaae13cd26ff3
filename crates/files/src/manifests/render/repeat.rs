//! Values that a chart prints anew each time, such as a random password or the time.

use std::collections::HashMap;

use serde_json::Value;

use super::{Rendered, Settings, one};
use crate::{
    error::FileError,
    manifests::{document::documents, git::Commit, id::ObjectId, listing::Listing, source::Source},
    report,
};

/// A value in an object, by its JSON pointer.
pub(super) type Changing = (ObjectId, String, Value);

/// Makes the output of charts at a commit comparable with that of the work tree. A root that the change does not touch
/// has one output. Of the others, values that differ at each rendering on both sides have one value, with a note. Fails
/// if git cannot list what the change edits.
pub fn settle(
    commit: &Commit,
    settings: &Settings,
    new: &Listing,
    old: &mut Listing,
) -> Result<(), FileError> {
    let new = new.sources.iter().flatten().filter_map(|it| Some((it.rendered()?.name(), it)));
    let new: HashMap<_, _> = new.collect();
    let mut edits = None;
    for source in old.sources.iter_mut().flatten() {
        let Some(was) = source.rendered().filter(|it| it.root.is_chart()) else { continue };
        let now = new.get(&was.name()).filter(|it| it.text() != source.text());
        let Some((now, is)) = now.and_then(|it| Some((it, it.rendered()?))) else { continue };
        let edits = match &mut edits {
            Some(edits) => edits,
            none => none.insert(commit.edits()?),
        };
        if !edits.may_touch(&[was.root.parts(), is.root.parts()].concat()) {
            *source = now.copy_of_rendered();
            continue;
        }
        let of = |source: &Source, rendered: &Rendered| {
            let again = one(&rendered.root, settings).ok()?;
            Some(changing(source, &again, settings))
        };
        let (Some(before), Some(mut random)) = (of(source, was), of(now, is)) else { continue };
        random.retain(|(id, path, _)| before.iter().any(|(it, at, _)| it == id && at == path));
        if let [(id, path, _), ..] = &random[..] {
            let more = if random.len() > 1 { ", and others" } else { "" };
            let (name, path) = (is.name(), path.trim_start_matches('/').replace('/', "."));
            let path = path.replace("~1", "/");
            report::note(&format!(
                "{name}: {id}: {path}{more} differs at each rendering, and counts as unchanged"
            ));
        }
        source.rendered_mut().into_iter().for_each(|it| it.random = std::mem::take(&mut random));
    }
    Ok(())
}

/// Returns the values of sets that differ between two renderings, with those of the first.
fn changing(one: &Source, other: &Source, settings: &Settings) -> Vec<Changing> {
    let [one, other] = [one, other].map(|source| {
        let namespace = source.namespace(settings.namespace.as_deref());
        let objects = documents(source.text(), true).flatten();
        let sets = objects.flat_map(|it| it.in_namespace(namespace).manifests);
        let json = |it: &str| serde_json::from_str::<Value>(it).unwrap_or_default();
        sets.map(|it| (ObjectId::of(&it.node), json(&it.node.to_json()))).collect::<HashMap<_, _>>()
    });
    let mut found = Vec::new();
    for (id, one) in one {
        let mut paths = Vec::new();
        if let Some(other) = other.get(&id) {
            differences(&one, other, "", &mut paths);
        }
        found.extend(paths.into_iter().map(|(path, value)| (id.clone(), path, value)));
    }
    found
}

fn differences(one: &Value, other: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for ((key, one), other) in one.iter().zip(other.values()) {
                let key = key.replace('~', "~0").replace('/', "~1");
                differences(one, other, &format!("{path}/{key}"), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (i, (one, other)) in one.iter().zip(other).enumerate() {
                differences(one, other, &format!("{path}/{i}"), found);
            }
        }
        _ if one != other => found.push((path.to_owned(), one.clone())),
        _ => {}
    }
}

impl Rendered {
    /// Returns the JSON of an object of an earlier version, with the values of now where they differ at each rendering.
    pub fn settled(&self, id: &ObjectId, json: String) -> String {
        let mut random = self.random.iter().filter(|(of, ..)| of == id).peekable();
        if random.peek().is_none() {
            return json;
        }
        let mut object = serde_json::from_str::<Value>(&json).unwrap_or_default();
        for (_, path, value) in random {
            if let Some(at) = object.pointer_mut(path) {
                at.clone_from(value);
            }
        }
        object.to_string()
    }
}

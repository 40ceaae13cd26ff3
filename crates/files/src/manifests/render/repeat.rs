//! Values that a chart prints anew each time, such as a random password or the time.

use std::collections::HashMap;

use serde_json::Value;

use super::{Rendered, Settings, applied::not_compared, one};
use crate::{
    error::FileError,
    manifests::{document::sets, git::Commit, id::ObjectId, listing::Listing, source::Source},
};

/// A text that differs between two renderings.
#[derive(Debug)]
pub(super) struct Changing {
    id: ObjectId,
    /// A JSON pointer.
    path: String,
    values: [String; 2],
}

/// Makes the output of charts at a commit comparable with the output of the work tree. A root that the change does not
/// touch gets one output. In other roots, texts that differ in each rendering on both sides, and are otherwise equal,
/// get one value. Returns the notes about them. Fails if git cannot list the edited files.
pub fn settle(
    commit: &Commit,
    settings: &Settings,
    new: &Listing,
    old: &mut Listing,
) -> Result<Vec<String>, FileError> {
    old.not_compared.extend(not_compared(&new.applied, &old.applied));
    let new = new.sources.iter().flatten().filter_map(|it| Some((it.rendered()?.name(), it)));
    let new: HashMap<_, _> = new.collect();
    let mut notes = Vec::new();
    for source in old.sources.iter_mut().flatten() {
        let Some(was) = source.rendered().filter(|it| it.root.is_chart()) else { continue };
        let now = new.get(&was.name()).filter(|it| it.text() != source.text());
        let Some((now, is)) = now.and_then(|it| Some((it, it.rendered()?))) else { continue };
        let edits = commit.edits()?;
        if ![was, is].iter().any(|it| edits.may_touch(&it.root)) {
            *source = now.copy_of_rendered();
            continue;
        }
        let of = |source: &Source, rendered: &Rendered| {
            let again = one(&rendered.root, settings).ok()?;
            Some(changing(source, &again, settings))
        };
        let (Some(before), Some(mut random)) = (of(source, was), of(now, is)) else { continue };
        let is_same = |now: &Changing, was: &Changing| {
            (&now.id, &now.path) == (&was.id, &was.path) && frame(now) == frame(was)
        };
        random.retain(|now| before.iter().any(|was| is_same(now, was)));
        if let [Changing { id, path, .. }, ..] = &random[..] {
            let more = if random.len() > 1 { ", and others" } else { "" };
            let (name, path) = (is.name(), path.trim_start_matches('/').replace('/', "."));
            let path = path.replace("~1", "/");
            let text = format!(
                "{id}, {path}{more} is different each time it is rendered, so it counts as unchanged"
            );
            // An upgrade has it too.
            if !notes.iter().any(|it: &String| it.ends_with(&text)) {
                notes.push(format!("{name}: {text}"));
            }
        }
        source.rendered_mut().into_iter().for_each(|it| it.random = std::mem::take(&mut random));
    }
    Ok(notes)
}

/// Returns the texts before and after the difference between two renderings. The differing parts may begin and end
/// alike, so the texts end at the end of a word.
fn frame(Changing { values: [one, other], .. }: &Changing) -> [&str; 2] {
    let alike = |both: &mut dyn Iterator<Item = (char, char)>| {
        both.take_while(|(a, b)| a == b).map(|(it, _)| it.len_utf8()).sum::<usize>()
    };
    let head = alike(&mut one.chars().zip(other.chars()));
    let tail = alike(&mut one.chars().rev().zip(other.chars().rev()));
    let (head, tail) = (&one[..head], &one[one.len() - tail..]);
    let [head, tail] = [
        head.trim_end_matches(char::is_alphanumeric),
        tail.trim_start_matches(char::is_alphanumeric),
    ];
    // The other parts of a date differ too.
    let is_word = |it: char| it.is_alphabetic() && it != 'T';
    [head, tail].map(|it| if it.contains(is_word) { it } else { "" })
}

/// Returns the texts of sets that differ between two renderings.
fn changing(one: &Source, other: &Source, settings: &Settings) -> Vec<Changing> {
    let [one, other] = [one, other].map(|source| {
        let sets = sets(source, settings.namespace.as_deref());
        let json = |it: &str| serde_json::from_str::<Value>(it).unwrap_or_default();
        sets.map(|it| (ObjectId::of(&it.node), json(&it.node.to_json()))).collect::<HashMap<_, _>>()
    });
    let mut found = Vec::new();
    for (id, one) in one {
        let mut paths = Vec::new();
        if let Some(other) = other.get(&id) {
            differences(&one, other, "", &mut paths);
        }
        found.extend(paths.into_iter().map(|(path, values)| Changing {
            id: id.clone(),
            path,
            values,
        }));
    }
    found
}

fn differences(one: &Value, other: &Value, path: &str, found: &mut Vec<(String, [String; 2])>) {
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
        (Value::String(one), Value::String(other)) if one != other => {
            found.push((path.to_owned(), [one, other].map(Clone::clone)));
        }
        _ => {}
    }
}

impl Rendered {
    /// Returns the JSON of an object of an earlier version, with current values where they differ in each rendering.
    pub fn settled(&self, id: &ObjectId, json: String) -> String {
        let mut random = self.random.iter().filter(|it| it.id == *id).peekable();
        if random.peek().is_none() {
            return json;
        }
        let mut object = serde_json::from_str::<Value>(&json).unwrap_or_default();
        for Changing { path, values: [value, _], .. } in random {
            if let Some(at) = object.pointer_mut(path) {
                *at = Value::from(value.as_str());
            }
        }
        object.to_string()
    }
}

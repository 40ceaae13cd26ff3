//! Output of a cluster: the items of a long list, one at a time, to avoid holding all trees in memory; and texts
//! without objects.

use std::iter;

use kube_yaml::{Document, Problem, Value};
use serde::Deserialize;
use serde_json::value::RawValue;
use setguard_files::manifests::{objects::ManifestObject, source::Source};

type Read<'a> = Result<Document<'a>, Problem>;

/// Returns the documents of a text, and the items of a kubectl list one by one, with their lines in the whole text.
pub(crate) fn parts(text: &str) -> Box<dyn Iterator<Item = Read<'_>> + '_> {
    let Some(items) = items_of_json(text).or_else(|| items_of_yaml(text)) else {
        return Box::new(kube_yaml::documents(text));
    };
    let (mut rest, mut lines) = (text, 0);
    Box::new(items.into_iter().flat_map(move |item| {
        let start = item.as_ptr().addr() - rest.as_ptr().addr();
        let (before, from_item) = rest.split_at_checked(start).unwrap_or((rest, ""));
        lines += before.matches('\n').count();
        rest = from_item;
        kube_yaml::documents_after(lines, item).map(|it| it.map(item_of))
    }))
}

/// Returns the only element of a list as a document. The paths of its problems begin in it.
fn item_of(mut document: Document<'_>) -> Document<'_> {
    if let Value::Seq(items) = &mut document.root.value
        && items.len() == 1
        && let Some(item) = items.pop()
    {
        document.root = item;
    }
    document
}

fn items_of_json(text: &str) -> Option<Vec<&str>> {
    #[derive(Deserialize)]
    struct List<'a> {
        kind: String,
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    if !text.starts_with('{') {
        return None;
    }
    let list: List<'_> =
        serde_json::from_str(text).ok().filter(|it: &List<'_>| it.kind == "List")?;
    Some(list.items.into_iter().map(RawValue::get).collect())
}

/// Splits a YAML list before each line that begins with a dash. `None` if the text has more documents, or if one item
/// refers to a different item.
fn items_of_yaml(text: &str) -> Option<Vec<&str>> {
    let head = text.split_inclusive('\n').take_while(|line| *line != "items:\n");
    let start: usize = head.clone().map(str::len).sum::<usize>() + "items:\n".len();
    let is_setting = |line: &str| matches!(line, "apiVersion: v1\n" | "kind: List\n");
    let body = text.get(start..).filter(|_| head.clone().all(is_setting))?;
    if !body.starts_with("- ") || [": &", "- &", ": *", "- *"].iter().any(|it| body.contains(it)) {
        return None;
    }
    let mut end = body.len();
    let mut cuts = Vec::new();
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        match line.as_bytes().first() {
            Some(b'-') if line.starts_with("- ") && end == body.len() => cuts.push(at),
            Some(b' ' | b'\n') => {}
            _ if ["kind: List\n", "metadata:\n"].contains(&line) => end = end.min(at),
            _ => return None,
        }
        at += line.len();
    }
    let is_list = head.chain(body.get(end..)?.split_inclusive('\n')).any(|it| it == "kind: List\n");
    let ends = cuts.iter().copied().skip(1).chain(iter::once(end));
    is_list
        .then(|| cuts.iter().zip(ends).filter_map(|(start, end)| body.get(*start..end)).collect())
}

/// Returns whether a text has no objects. With `may_list_none`, it is from a cluster, where each object has a
/// kind and a list may have no items.
pub(crate) fn is_empty(source: &Source, may_list_none: bool) -> bool {
    let is_object = |it: ManifestObject<'_>| match it.kind() {
        "Status" | "Table" => false,
        // Its items would be here instead.
        kind if kind.ends_with("List") => may_list_none,
        "" if may_list_none => false,
        _ => it.node.value != Value::Null,
    };
    let has = |it: Document<'_>| ManifestObject::all(it.root).into_iter().any(is_object);
    let is_list = |it: Document<'_>| {
        let items = it.root.get("items").map(|it| &it.value);
        matches!(items, Some(Value::Seq(_))) && it.root.get("kind").is_some()
    };
    let mut documents = kube_yaml::documents(source.text()).flatten();
    let has_any = parts(source.text()).any(|it| it.map_or(true, has));
    !(has_any || may_list_none && documents.any(is_list))
}

pub(crate) fn nothing_in(source: &Source) -> String {
    let name = source.name();
    format!("{name} has no objects; the command that wrote it may have failed ({ALLOW_EMPTY})")
}

pub(crate) const ALLOW_EMPTY: &str = "--allow-empty accepts this";

#[cfg(test)]
mod tests {
    use super::*;

    /// The object names, with the first line of each object.
    fn names(text: &str) -> Vec<(String, usize)> {
        let all = parts(text).map(|document| {
            let root = &document.as_ref().unwrap().root;
            let name = root.get("name").and_then(kube_yaml::Node::as_str).unwrap_or("(list)");
            (name.to_owned(), root.mark.line)
        });
        all.collect()
    }

    #[test]
    fn a_list_of_kubectl_is_read_item_by_item() {
        let items = "items:\n- name: a\n  text: |\n    - b\n\n- name: c\n  list:\n  - d\n";
        let both = [("a".to_owned(), 3), ("c".to_owned(), 7)];
        let tail = "kind: List\nmetadata:\n  resourceVersion: \"\"\n";
        assert_eq!(names(&format!("apiVersion: v1\n{items}{tail}")), both);
        let head = "apiVersion: v1\nkind: List\n";
        assert_eq!(names(&format!("{head}{items}")), both.map(|(name, line)| (name, line + 1)));
        let json = "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{\"name\": \"a\"}]}";
        assert_eq!(names(json), [("a".to_owned(), 2)]);
    }

    #[test]
    fn other_texts_are_read_as_they_are() {
        let whole = [("(list)".to_owned(), 1)];
        for text in [
            "apiVersion: v1\nkind: List\nitems:\n- &a {name: a}\n- *a\n",
            "apiVersion: v1\nkind: PodList\nitems:\n- name: a\n",
            "apiVersion: v1\nitems:\n- name: a\n",
            "{\"kind\": \"PodList\", \"items\": []}",
        ] {
            assert_eq!(names(text), whole, "{text}");
        }
        let two = "apiVersion: v1\nkind: List\nitems:\n- name: a\n---\nname: b\n";
        assert_eq!(names(two), [whole[0].clone(), ("b".to_owned(), 6)]);
    }
}

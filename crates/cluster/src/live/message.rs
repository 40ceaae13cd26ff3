//! The messages of the API server: pages of a list, and the events of a watch.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The annotation of the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A page of a list. Its objects are not parsed yet.
#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    pub(super) metadata: PageMeta,
    /// The objects; Go writes an empty list as null.
    #[serde(borrow)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageMeta {
    pub(super) resource_version: Option<String>,
    #[serde(rename = "continue")]
    pub(super) next: Option<String>,
}

/// An event of a watch.
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// An object that existed before, was created or has changed.
    Applied {
        /// The JSON of the object.
        object: &'a str,
        meta: Meta<'a>,
    },
    /// An object that is gone.
    Deleted(Meta<'a>),
    /// Nothing has happened up to this version.
    Bookmark {
        version: Cow<'a, str>,
        /// Whether all initial events were sent.
        complete: bool,
    },
    /// The watch failed.
    Failed(Status<'a>),
}

/// The metadata that every object needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) resource_version: Cow<'a, str>,
}

/// An error of the API server.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Status<'a> {
    #[serde(default)]
    pub(super) code: u16,
    #[serde(borrow, default)]
    pub(super) message: Cow<'a, str>,
    #[serde(default)]
    pub(super) metadata: PageMeta,
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct WithMeta<'a> {
    #[serde(borrow)]
    metadata: Meta<'a>,
}

#[derive(Deserialize)]
struct Marked {
    metadata: Marks,
}

#[derive(Deserialize)]
struct Marks {
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

/// Returns the name and version of an object.
pub(super) fn meta(object: &str) -> serde_json::Result<Meta<'_>> {
    serde_json::from_str::<WithMeta<'_>>(object).map(|it| it.metadata)
}

/// Reads a line of a watch. `None` for an event of an unknown type.
pub(super) fn event(line: &str) -> serde_json::Result<Option<Event<'_>>> {
    let Line { kind, object } = serde_json::from_str(line)?;
    let object = object.get();
    Ok(Some(match &*kind {
        "ADDED" | "MODIFIED" => Event::Applied { object, meta: meta(object)? },
        "DELETED" => Event::Deleted(meta(object)?),
        "BOOKMARK" => {
            let marks = serde_json::from_str::<Marked>(object)?.metadata.annotations;
            let complete = marks.get(INITIAL_EVENTS_END).is_some_and(|it| it == "true");
            Event::Bookmark { version: meta(object)?.resource_version, complete }
        }
        "ERROR" => Event::Failed(serde_json::from_str(object)?),
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_watch_are_distinguished() {
        let read = |line: &str| format!("{:?}", event(line).unwrap());
        let line = r#"{"type":"ADDED","object":{"kind":"DaemonSet","metadata":{"name":"a","namespace":"b","resourceVersion":"7"}}}"#;
        assert!(read(line).starts_with("Some(Applied"), "{}", read(line));
        let line = r#"{"type":"BOOKMARK","object":{"kind":"DaemonSet","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"selector":null}}}"#;
        assert_eq!(read(line), r#"Some(Bookmark { version: "7", complete: true })"#);
        let line =
            r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old \"x\""}}"#;
        assert!(matches!(event(line), Ok(Some(Event::Failed(Status { code: 410, .. })))));
        assert!(matches!(event(r#"{"type":"NEW","object":{}}"#), Ok(None)));
        for garbage in ["", "[]", "{", r#"{"type":"ADDED"}"#, r#"{"type":"ADDED","object":[]}"#] {
            assert!(event(garbage).is_err(), "{garbage}");
        }
    }

    #[test]
    fn a_page_may_be_empty() {
        let page: Page<'_> =
            serde_json::from_str(r#"{"metadata":{"resourceVersion":"5"},"items":null}"#).unwrap();
        assert!(page.items.is_none() && page.metadata.next.is_none());
    }
}

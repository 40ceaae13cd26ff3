use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

/// The annotation of the bookmark that ends the initial events of a streaming list.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

#[derive(Debug, Deserialize)]
pub(super) struct Page<'a> {
    pub(super) metadata: PageMeta,
    /// Go writes an empty list as null.
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

#[derive(Debug)]
pub(super) enum Event<'a> {
    Applied {
        /// As JSON.
        object: &'a str,
        meta: Meta<'a>,
    },
    Deleted(Meta<'a>),
    /// Nothing has changed up to this version.
    Bookmark {
        version: Cow<'a, str>,
        /// Whether all initial events were sent.
        complete: bool,
    },
    Failed(Status<'a>),
}

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

pub(super) fn meta(object: &str) -> serde_json::Result<Meta<'_>> {
    serde_json::from_str::<WithMeta<'_>>(object).map(|it| it.metadata)
}

/// Parses a line of a watch. Returns `None` for an unknown type of event.
pub(super) fn event(line: &str) -> serde_json::Result<Option<Event<'_>>> {
    let Line { kind, object } = serde_json::from_str(line)?;
    let object = object.get();
    Ok(Some(match &*kind {
        "ADDED" | "MODIFIED" => Event::Applied { object, meta: meta(object)? },
        "DELETED" => Event::Deleted(meta(object)?),
        "BOOKMARK" => {
            let bookmark: Value = serde_json::from_str(object)?;
            let complete = bookmark["metadata"]["annotations"][INITIAL_EVENTS_END] == "true";
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

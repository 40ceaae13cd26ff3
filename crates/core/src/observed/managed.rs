use crate::observed::prelude::*;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Managed {
    manager: Box<str>,
    subresource: Box<str>,
    time: Option<Time>,
}

/// In seconds since 1970, if known.
pub(super) struct Writes {
    pub(super) status: Option<i64>,
    /// Anything but the status.
    pub(super) spec: Option<i64>,
    /// The same, by a different manager than the last one.
    pub(super) by_other: Option<i64>,
}

impl Writes {
    pub(super) fn of(managed: &[Managed]) -> Self {
        let is_status = |it: &&Managed| &*it.subresource == "status";
        let time = |it: &Managed| it.time.as_ref().map(|time| time.0.as_second());
        let spec = managed.iter().filter(|it| !is_status(it));
        let last = spec.clone().max_by_key(|it| time(it));
        // An autoscaler writes the subresource `scale`.
        let others = spec.filter(|it| it.subresource.is_empty());
        let others = others.filter(|it| last.is_some_and(|last| last.manager != it.manager));
        Writes {
            status: managed.iter().filter(is_status).filter_map(time).max(),
            spec: last.and_then(time),
            by_other: others.filter_map(time).max(),
        }
    }
}

//! Reads the usual review in one pass: envelope and objects.
//!
//! [`Request::parse`] skips the objects, so that those who need them read their bytes once more.
//! Nearly all reviews are of a kind that is known before its object comes, and of objects that can
//! be read. All others are for `Request::parse`, which says what is wrong with them.

use serde::Deserialize;

use super::review::{Operation, Request};
use crate::{
    kubernetes::resource::{Kind, Resource},
    object::{
        DaemonSetSpec, DecodeError, KruiseSpec, Object, Raw, StatefulSetSpec, Subject, Unread,
        weight,
    },
};

/// What stands in a review before the name of its kind: at the beginning, since the API server
/// writes the `uid` and the `kind` of a request first.
const BEFORE_KIND: &str = r#""kind":{"group":"apps","version":"v1","kind":""#;
/// Within this many bytes.
const BEGINNING: usize = 256;

/// The request of a review, without its objects, and what to judge: an object that is created or
/// updated. `None` if it is not a usual review.
pub(super) fn read(body: &[u8]) -> Option<(Request<'_>, Subject<'_>)> {
    let text = std::str::from_utf8(body).ok()?;
    if !weight::is_certainly_light(text) {
        return None;
    }
    let beginning = text.get(..text.floor_char_boundary(BEGINNING))?;
    let (_, kind) = beginning.split_once(BEFORE_KIND)?;
    let resource = Resource::of_gvk("apps", "v1", kind.split('"').next()?)?;
    match resource.kind {
        Kind::DaemonSet => read_as::<Box<DaemonSetSpec>, Box<DaemonSetSpec<_>>>(
            text,
            resource,
            Object::of_daemon_set,
            Object::of_daemon_set,
        ),
        Kind::StatefulSet => read_as::<Box<StatefulSetSpec>, Box<StatefulSetSpec<_>>>(
            text,
            resource,
            Object::of_stateful_set,
            Object::of_stateful_set,
        ),
    }
}

type Check<'a, S, O> =
    fn(&'static Resource, Raw<'a, S>, Option<KruiseSpec>) -> Result<O, DecodeError>;

fn read_as<'a, New: Deserialize<'a>, Old: Deserialize<'a>>(
    text: &'a str,
    resource: &'static Resource,
    new: Check<'a, New, Object<'a>>,
    old: Check<'a, Old, Object<'a, Unread<'a>>>,
) -> Option<(Request<'a>, Subject<'a>)> {
    let (request, object, former) = Request::<Raw<'a, New>, Raw<'a, Old>>::read(text).ok()?.split();
    let kind = &request.kind;
    let is_usual = Resource::of_gvk(&kind.group, &kind.version, &kind.kind) == Some(resource)
        && request.sub_resource.is_empty();
    if !is_usual {
        return None;
    }
    let object = new(resource, object?, None).ok()?.with_template_defaults();
    let subject = match (request.operation, former) {
        (Operation::Create, _) | (Operation::Update, None) => Subject::create(object),
        (Operation::Update, Some(former)) => {
            Subject::update_of(object, old(resource, former, None).ok()?)
        }
        (Operation::Connect | Operation::Delete | Operation::Unknown, _) => return None,
    };
    Some((request, subject))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads its cases")]
    fn what_api_servers_sent_is_read_in_one_pass() {
        for (case, is_usual) in [
            ("daemonset-create", true),
            ("daemonset-update-image", true),
            ("statefulset-create", true),
            ("statefulset-update-partition", true),
            ("daemonset-update-status", false),
            ("daemonset-delete", false),
            ("pod-create", false),
        ] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire/validate");
            let text = fs::read_to_string(format!("{folder}/{case}/request.json")).unwrap();
            // On the wire it is one line.
            let review: serde_json::Value = serde_json::from_str(&text).unwrap();
            let body = review.to_string().into_bytes();
            assert_eq!(read(&body).is_some(), is_usual, "{case}");
        }
    }
}

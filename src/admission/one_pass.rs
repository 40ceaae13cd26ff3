//! Reads the usual review in one pass: the envelope and the objects, without the parts that rules
//! seldom need.
//!
//! [`Request::parse`] skips the objects, so that reading them later reads their bytes once more. In
//! nearly all reviews, the kind comes before its object, and the objects can be read.
//! `Request::parse` handles all other reviews, and reports what is wrong with them.

use serde::Deserialize;

use super::{
    review::{Operation, Request},
    shortened::{Parts, Shortened},
};
use crate::{
    kubernetes::resource::{Resource, WorkloadKind},
    object::{
        DaemonSetSpec, DecodeError, KruiseSpec, Object, Raw, StatefulSetSpec, Subject, Unread, size,
    },
};

/// Shortens a review whose objects are small enough to be read without weighing them; `None` for
/// any other review.
pub(super) fn shorten(body: &[u8]) -> Option<Shortened<'_>> {
    let text = std::str::from_utf8(body).ok().filter(|text| size::is_certainly_small(text))?;
    Shortened::of(text)
}

/// Returns the request of a review, without its objects, and the subject: an object that is created
/// or updated. `None` for an unusual review.
pub(super) fn read<'a>(review: &'a Shortened<'a>) -> Option<(Request<'a>, Subject<'a>)> {
    let kind = review.kind.strip_prefix(r#"{"group":"apps","version":"v1","kind":""#)?;
    let resource = Resource::of_gvk("apps", "v1", kind.strip_suffix("\"}")?)?;
    match resource.kind {
        WorkloadKind::DaemonSet => read_as::<Box<DaemonSetSpec>, Box<DaemonSetSpec<_>>>(
            review,
            resource,
            Object::of_daemon_set,
            Object::of_daemon_set,
        ),
        WorkloadKind::StatefulSet => read_as::<Box<StatefulSetSpec>, Box<StatefulSetSpec<_>>>(
            review,
            resource,
            Object::of_stateful_set,
            Object::of_stateful_set,
        ),
    }
}

type Check<'a, S, O> =
    fn(&'static Resource, Raw<'a, S>, Option<KruiseSpec>) -> Result<O, DecodeError>;

fn read_as<'a, New: Deserialize<'a>, Old: Deserialize<'a>>(
    review: &'a Shortened<'a>,
    resource: &'static Resource,
    new: Check<'a, New, Object<'a>>,
    old: Check<'a, Old, Object<'a, Unread<'a>>>,
) -> Option<(Request<'a>, Subject<'a>)> {
    let (request, object, former) =
        Request::<Raw<'a, New>, Raw<'a, Old>>::read(&review.text).ok()?.split();
    if !request.sub_resource.is_empty() {
        return None;
    }
    let mut object = new(resource, object?, None).ok()?.with_template_defaults();
    put_back(&mut object, &review.object);
    let subject = match (request.operation, former) {
        (Operation::Create, _) | (Operation::Update, None) => Subject::create(object),
        (Operation::Update, Some(former)) => {
            let mut former = old(resource, former, None).ok()?;
            put_back(&mut former, &review.old_object);
            former.template_mut().put_back(review.old_object.template);
            Subject::update_of(object, former).with_template_text(review.object.template)
        }
        (Operation::Connect | Operation::Delete | Operation::Unknown, _) => return None,
    };
    Some((request, subject))
}

fn put_back<'a, T>(object: &mut Object<'a, T>, parts: &Parts<'a>) {
    object.metadata.managed_fields.put_back(parts.managed_fields);
    object.status.put_back(parts.status);
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
            // The review is one line on the wire.
            let review: serde_json::Value = serde_json::from_str(&text).unwrap();
            let body = review.to_string().into_bytes();
            let shortened = shorten(&body).unwrap();
            assert_eq!(read(&shortened).is_some(), is_usual, "{case}");
        }
    }
}

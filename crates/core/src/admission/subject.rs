use std::cell::OnceCell;

use serde_json::value::RawValue;

use super::{
    reply::Reply,
    review::{Operation, Rejection, Request},
};
use crate::{
    kubernetes::resource::Resource,
    object::{DecodeError, Object, Subject, schema},
};

pub(super) fn subject<'a>(
    request: &'a Request<'a>,
    reply: &mut Reply<'a>,
) -> Result<Option<Subject<'a>>, Rejection> {
    // DELETE and CONNECT have no new state.
    let old = match request.operation {
        Operation::Create => None,
        Operation::Update => request.old_object.map(RawValue::get),
        Operation::Connect | Operation::Delete | Operation::Unknown => return Ok(None),
    };
    let Some(resource) = resource(request, reply) else { return Ok(None) };
    let json = object(request)?;
    let (object, old) = match Object::parse(resource, json) {
        Ok(object) => (object, old),
        Err(error @ DecodeError::TooLarge(_)) => return Err(error.into()),
        // The cause may be a null. The API server accepts null in many more places.
        Err(error) => {
            let [new, former] = &request.normalized;
            let Some(json) = normalized(json, resource, new) else { return Err(error.into()) };
            let old = old.map(|old| normalized(old, resource, former).unwrap_or(old));
            (Object::parse(resource, json).map_err(|_| error)?, old)
        }
    };
    reply.name(object.name());
    Ok(Some(match old {
        Some(old) => Subject::update(object, old),
        None => Subject::create(object),
    }))
}

/// In bytes. Normalizing a larger object would take far more memory and time.
const MAX_NORMALIZED: usize = 256 << 10;

fn normalized<'a>(
    json: &str,
    resource: &'static Resource,
    keep: &'a OnceCell<String>,
) -> Option<&'a str> {
    if json.len() > MAX_NORMALIZED {
        return None;
    }
    let normalized = schema::normalize(json, resource)?;
    Some(keep.get_or_init(|| normalized))
}

/// An object of an unknown kind is allowed with a warning; a subresource has no spec to evaluate.
fn resource<'a>(request: &Request<'a>, reply: &mut Reply<'a>) -> Option<&'static Resource> {
    let kind = &request.kind;
    let resource = Resource::of_gvk(&kind.group, &kind.version, &kind.kind);
    if resource.is_none() && request.sub_resource.is_empty() {
        reply.response.warn(&format!(
            "setguard does not check {} here: remove it from the rules of this webhook",
            kind.kind
        ));
    }
    resource.filter(|_| request.sub_resource.is_empty())
}

pub(super) fn object<'a>(request: &Request<'a>) -> Result<&'a str, Rejection> {
    let missing = Rejection::NoObject(request.operation.as_str());
    request.object.map(|raw| raw.get()).ok_or(missing)
}

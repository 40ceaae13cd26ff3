use json_patch::{AddOperation, PatchOperation, jsonptr::PointerBuf};

use crate::finding::Path;

pub(super) fn add(path: &Path<'_>, last: Option<&str>, value: serde_json::Value) -> PatchOperation {
    let mut pointer = path.to_field().pointer();
    if let Some(last) = last {
        pointer.push('/');
        pointer.push_str(last);
    }
    // A pointer from `Field` is always valid. The root would only make the patch fail.
    let path = PointerBuf::parse(pointer).unwrap_or_default();
    PatchOperation::Add(AddOperation { path, value })
}

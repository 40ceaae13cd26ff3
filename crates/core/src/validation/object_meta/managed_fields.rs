use serde::Deserialize;

use crate::object::Str;
use crate::validation::prelude::*;

const MANAGER_LIMIT: usize = 128;
const SUBRESOURCE_LIMIT: usize = 256;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, bound(deserialize = "'de: 'a"))]
struct Entry<'a> {
    manager: Option<Str<'a>>,
    operation: Option<Str<'a>>,
    api_version: Option<Str<'a>>,
    fields_type: Option<Str<'a>>,
    subresource: Option<Str<'a>>,
}

impl Entry<'_> {
    /// If the server cannot decode the entry, it discards all entries. Kubernetes: `DecodeManagedFields`, apimachinery
    /// `pkg/util/managedfields/internal/managedfields.go`.
    fn is_readable(&self) -> bool {
        let text = |value: &Option<Str<'_>>| value.as_deref().unwrap_or_default().to_owned();
        ["Apply", "Update"].contains(&text(&self.operation).as_str())
            && !text(&self.api_version).is_empty()
            && text(&self.fields_type) == "FieldsV1"
    }
}

/// Kubernetes: `ValidateManagedFields` and `ValidateFieldManager`, apimachinery
/// `pkg/apis/meta/v1/validation/validation.go`.
pub(crate) fn validate(json: &str, path: &At<'_>) {
    let Ok(entries) = serde_json::from_str::<Vec<Entry<'_>>>(json) else { return };
    if !entries.iter().all(Entry::is_readable) {
        return;
    }
    for (entry, path) in path.items(entries.iter()) {
        let manager = entry.manager.as_deref().unwrap_or_default();
        if manager.len() > MANAGER_LIMIT {
            path.child("manager").too_long(MANAGER_LIMIT);
        }
        for (at, c) in manager.char_indices() {
            if c.is_control() || (c.is_whitespace() && c != ' ') {
                let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(c));
                path.child("manager").invalid(manager, detail);
            }
        }
        if entry.subresource.as_deref().unwrap_or_default().len() > SUBRESOURCE_LIMIT {
            path.child("subresource").too_long(SUBRESOURCE_LIMIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_may_have_spaces() {
        let entry = r#"{"manager": "kubectl apply", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1"}"#;
        let mut found = Findings::of(&crate::finding::TEST_RULE);
        validate(&format!("[{entry}]"), &found.at(&Path::new("managedFields")));
        assert!(found.into_vec().is_empty());
    }
}

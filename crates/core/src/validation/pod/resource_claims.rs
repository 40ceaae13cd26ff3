use k8s_openapi::api::core::v1::PodResourceClaim;
use serde_json::json;

use crate::validation::prelude::*;

/// Follows `gatherPodResourceClaimNames`, but sorts the names.
pub(crate) fn names(claims: &[PodResourceClaim]) -> Vec<&str> {
    let named = claims.iter().map(|claim| claim.name.as_str()).filter(|name| !name.is_empty());
    let mut names: Vec<&str> = named.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Follows `validatePodResourceClaims`.
pub(crate) fn validate(claims: &[PodResourceClaim], path: &At<'_>) {
    let mut seen = Seen::new();
    for (claim, path) in path.items(claims) {
        let at = path.child("name");
        if claim.name.is_empty() {
            at.required("");
        } else if !seen.insert(claim.name.as_str()) {
            at.duplicate(&claim.name);
        } else {
            label(&claim.name, &at);
        }
        let (name, template) = (&claim.resource_claim_name, &claim.resource_claim_template_name);
        let wrong = match (name, template) {
            (Some(_), Some(_)) => Some(
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be \
                 specified",
            ),
            (None, None) => {
                Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
            }
            _ => None,
        };
        if let Some(why) = wrong {
            let value = Value::json(&json!({
                "Name": claim.name,
                "ResourceClaimName": name,
                "ResourceClaimTemplateName": template,
            }));
            path.invalid(value, why);
        }
        if let Some(name) = name {
            subdomain(name, &path.child("resourceClaimName"));
        }
        if let Some(name) = template {
            subdomain(name, &path.child("resourceClaimTemplateName"));
        }
    }
}

//! Claims of a pod for devices and the like.
//!
//! Kubernetes: `validatePodResourceClaims` in `pkg/apis/core/validation/validation.go`.

use k8s_openapi::api::core::v1::PodResourceClaim;
use serde_json::json;

use super::util::{go_struct, label, subdomain};
use crate::{field::Path, finding::Findings};

/// `gatherPodResourceClaimNames`.
pub(crate) fn claim_names(claims: &[PodResourceClaim]) -> Vec<&str> {
    claims.iter().map(|claim| claim.name.as_str()).filter(|name| !name.is_empty()).collect()
}

/// `validatePodResourceClaims`.
pub(crate) fn validate(claims: &[PodResourceClaim], path: &Path<'_>, found: &mut Findings) {
    for (i, claim) in claims.iter().enumerate() {
        let path = path.index(i);
        let at = path.child("name");
        if claim.name.is_empty() {
            found.required(&at, "");
        } else if claims[..i].iter().any(|earlier| earlier.name == claim.name) {
            found.duplicate(&at, &claim.name);
        } else {
            label(&claim.name, &at, found);
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
            let value = go_struct(&json!({
                "Name": claim.name,
                "ResourceClaimName": name,
                "ResourceClaimTemplateName": template,
            }));
            found.invalid(&path, value, why);
        }
        if let Some(name) = name {
            subdomain(name, &path.child("resourceClaimName"), found);
        }
        if let Some(name) = template {
            subdomain(name, &path.child("resourceClaimTemplateName"), found);
        }
    }
}

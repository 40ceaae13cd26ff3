//! Roles and their bindings, for the rule about ServiceAccounts without rights.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;
use serde::Deserialize;

use super::labels::ALLOCATION;
use crate::kubernetes::{
    containers::containers,
    image::{image, numbers},
    kind::Kind,
};

/// An API group and a resource in it.
pub(crate) type Resource = (Box<str>, Box<str>);
/// The namespace, if it is written, and the name of a ServiceAccount.
pub(crate) type Account = (Option<Box<str>>, Box<str>);

/// A right that an image needs.
#[derive(Debug, PartialEq)]
pub(crate) struct Need {
    pub(crate) image: &'static str,
    /// The first major release that needs it.
    since: u32,
    pub(crate) group: &'static str,
    pub(crate) resource: &'static str,
    /// The consequence without it.
    pub(crate) effect: &'static str,
}

/// Sources: CHANGELOG-3.0.md of github.com/kubernetes-csi/external-attacher; deploy/kubernetes/rbac.yaml of
/// github.com/kubernetes-csi/external-resizer.
const NEEDS: [Need; 2] = [
    Need {
        image: "csi-attacher",
        since: 3,
        group: "storage.k8s.io",
        resource: "volumeattachments/status",
        effect: "no volume is attached",
    },
    Need {
        image: "csi-resizer",
        since: 0,
        group: "",
        resource: "persistentvolumeclaims/status",
        effect: "no claim grows",
    },
];

/// Returns the rights that the containers need.
pub(super) fn needs(pod: &PodSpec) -> Box<[&'static Need]> {
    let images = containers(pod).map(image);
    let needs = images.flat_map(|(image, tag)| {
        let release = numbers(tag).map(|it| it.0);
        let name = image.rsplit('/').next().unwrap_or_default();
        NEEDS
            .iter()
            .filter(move |it| it.image == name && release.is_some_and(|own| it.since <= own))
    });
    needs.collect()
}

/// A Role, ClusterRole, RoleBinding or ClusterRoleBinding.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Access {
    /// The resources in a role's rules. `None` if the role takes its rules from others, or others take them.
    Role(Option<Box<[Resource]>>),
    /// The role that a binding grants, and the ServiceAccounts that it names.
    Binding(Kind, Box<str>, Box<[Account]>),
    /// A ServiceAccount that keeps its token from pods that do not ask for it.
    NoToken,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAccess {
    metadata: Marks,
    rules: Option<Vec<RawRule>>,
    aggregation_rule: Option<serde::de::IgnoredAny>,
    role_ref: Option<Reference>,
    subjects: Option<Vec<Reference>>,
}

#[derive(Deserialize)]
struct Marks {
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRule {
    api_groups: Option<Vec<Box<str>>>,
    resources: Option<Vec<Box<str>>>,
}

#[derive(Deserialize)]
struct Reference {
    kind: String,
    name: Box<str>,
    namespace: Option<Box<str>>,
}

impl Access {
    pub(super) fn read(json: &str) -> Option<Self> {
        let raw: RawAccess = serde_json::from_str(json).ok()?;
        let Some(role) = raw.role_ref else {
            let of_others = |it: &String| it.starts_with("rbac.authorization.k8s.io/aggregate-to-");
            let is_shared = raw.aggregation_rule.is_some()
                || raw.metadata.labels.iter().flat_map(BTreeMap::keys).any(of_others);
            let rules = raw.rules.iter().flatten().flat_map(|rule| {
                let groups = rule.api_groups.iter().flatten();
                groups.flat_map(|group| {
                    let resources = rule.resources.iter().flatten();
                    resources.map(|it| (group.clone(), it.clone()))
                })
            });
            return Some(Access::Role((!is_shared).then(|| rules.collect())));
        };
        let accounts = raw.subjects.into_iter().flatten().filter(|it| it.kind == "ServiceAccount");
        let accounts = accounts.map(|it| (it.namespace.filter(|it| !it.is_empty()), it.name));
        Some(Access::Binding(Kind::named(&role.kind)?, role.name, accounts.collect()))
    }

    pub(super) fn bytes(&self) -> usize {
        let texts = |it: (usize, usize)| it.0 + it.1 + 4 * ALLOCATION;
        match self {
            Access::Role(rules) => {
                rules.iter().flatten().map(|(a, b)| texts((a.len(), b.len()))).sum()
            }
            Access::Binding(_, role, accounts) => {
                let of = |it: &Option<Box<str>>| it.as_ref().map_or(0, |it| it.len());
                role.len() + accounts.iter().map(|(a, b)| texts((of(a), b.len()))).sum::<usize>()
            }
            Access::NoToken => 0,
        }
    }
}

//! The part of `warningsForPodSpecAndMeta` about a single container.

use k8s_openapi::api::core::v1::{AppArmorProfile, EnvVar};

use super::{Harm, TWICE, amounts, say};
use crate::rules::prelude::*;
use crate::{kubernetes::cluster::since, validation::pod::util::Seen};

pub(super) const SECCOMP: &str =
    "non-functional in v1.27+; use the \"seccompProfile\" field instead";

pub(super) fn warn(
    container: &Container,
    path: &Path<'_>,
    metadata: Option<&ObjectMeta>,
    spec: &PodSpec,
    cluster: &Cluster,
    found: &mut Findings,
) {
    annotations(container, metadata, spec, cluster, found);
    if let Some(resources) = &container.resources {
        let path = path.child("resources");
        let names = ["memory", "ephemeral-storage"];
        amounts(resources.limits.as_ref(), &names, &path.child("limits"), found);
        amounts(resources.requests.as_ref(), &names, &path.child("requests"), found);
    }
    let mut seen = Seen::new();
    for (i, env) in list(&container.env).iter().enumerate() {
        if !seen.insert(env.name.as_str()) && is_hidden(env) {
            let name = Value::Str(&env.name);
            let text = format!(
                "hides previous definition of {name}, which may be dropped when using apply"
            );
            say(&path.item("env", i), text, TWICE, found);
        }
    }
}

/// Returns whether an earlier list entry defines the variable too.
pub(in crate::rules) fn is_hidden(env: &EnvVar) -> bool {
    let reference = format!("$({})", env.name);
    let value = text(&env.value);
    env.value_from.is_some() || value == reference || !value.contains(&reference)
}

fn annotations(
    container: &Container,
    metadata: Option<&ObjectMeta>,
    spec: &PodSpec,
    cluster: &Cluster,
    found: &mut Findings,
) {
    let Some(annotations) = metadata.and_then(|it| it.annotations.as_ref()) else { return };
    let path = TEMPLATE.below("metadata.annotations");
    let context = container.security_context.as_ref();
    let key = format!("container.seccomp.security.alpha.kubernetes.io/{}", container.name);
    if context.is_none_or(|it| it.seccomp_profile.is_none())
        && let Some(value) = annotations.get(&key)
    {
        say(&path.key(&key), SECCOMP, of_seccomp(value, spec), found);
    }
    let key = format!("container.apparmor.security.beta.kubernetes.io/{}", container.name);
    if context.is_none_or(|it| it.app_armor_profile.is_none())
        && let Some(value) = annotations.get(&key)
    {
        let of_pod = spec.security_context.as_ref().and_then(|it| it.app_armor_profile.as_ref());
        // Before 1.34, any profile in the pod was enough.
        let is_same = |profile: &AppArmorProfile| {
            !cluster.has(since::APP_ARMOR_COMPARED) || profile_of(value).as_ref() == Some(profile)
        };
        if !of_pod.is_some_and(is_same) {
            let text = "deprecated since v1.30; use the \"appArmorProfile\" field instead";
            say(&path.key(&key), text, None, found);
        }
    }
}

pub(super) fn of_seccomp(value: &str, spec: &PodSpec) -> Harm {
    let of_pod = spec.security_context.as_ref().and_then(|it| it.seccomp_profile.as_ref());
    let is_lost = value != "unconfined" && of_pod.is_none();
    is_lost.then_some(
        "without the field nothing limits its system calls: set securityContext.seccompProfile",
    )
}

/// Follows `ApparmorFieldForAnnotation`, pkg/api/pod/util.go.
fn profile_of(annotation: &str) -> Option<AppArmorProfile> {
    let (type_, name) = match annotation {
        "unconfined" => ("Unconfined", None),
        "runtime/default" => ("RuntimeDefault", None),
        _ => {
            let name = annotation.strip_prefix("localhost/").filter(|name| !name.is_empty())?;
            ("Localhost", Some(name.to_owned()))
        }
    };
    Some(AppArmorProfile { type_: type_.to_owned(), localhost_profile: name })
}

use k8s_openapi::api::core::v1::{SeccompProfile, Toleration};
use serde::de::IgnoredAny;

use super::tolerations;
use crate::validation::prelude::*;

const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

type Annotations = BTreeMap<String, String>;

/// Follows `ValidateTolerationsInPodAnnotations`. `path` is the path of the annotations.
pub(crate) fn tolerations(annotations: &Annotations, opts: &Options, path: &At<'_>) {
    let Some(text) = annotations.get(TOLERATIONS).filter(|text| !text.is_empty()) else { return };
    match serde_json::from_str::<Option<Vec<Toleration>>>(text) {
        Ok(all) => {
            let path = path.child(TOLERATIONS);
            tolerations::validate(&all.unwrap_or_default(), opts, &path);
        }
        Err(error) => {
            let why = error_in_go(text).unwrap_or_else(|| error.to_string());
            path.invalid(TOLERATIONS, why);
        }
    }
}

/// Go's message for the most common errors in JSON that should be a list of tolerations.
fn error_in_go(text: &str) -> Option<String> {
    let kind = match text.trim_start().chars().next() {
        None => return Some("unexpected end of JSON input".to_owned()),
        Some('{') => "object",
        Some('"') => "string",
        Some('t' | 'f') => "bool",
        Some('-' | '0'..='9') => "number",
        Some('[' | 'n') => return None,
        Some(c) if c.is_ascii_graphic() && !matches!(c, '\'' | '\\') => {
            return Some(format!("invalid character '{c}' looking for beginning of value"));
        }
        Some(_) => return None,
    };
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    is_json
        .then(|| format!("json: cannot unmarshal {kind} into Go value of type []core.Toleration"))
}

/// Follows `validateSeccompAnnotationsAndFields` and `validateAppArmorAnnotationsAndFieldsMatchOnCreate`. `path` is the
/// path of the pod spec.
pub(crate) fn match_fields(annotations: &Annotations, spec: &PodSpec, path: &At<'_>) {
    let context = spec.security_context.as_ref();
    if let Some(profile) = context.and_then(|context| context.seccomp_profile.as_ref())
        && let Some(annotation) = annotations.get(SECCOMP_POD)
    {
        seccomp(annotation, profile, &path.child("securityContext"));
    }
    visit(spec, path, &mut |container, path| {
        let context = container.security_context.as_ref();
        if let Some(profile) = context.and_then(|context| context.seccomp_profile.as_ref())
            && let Some(annotation) = of_container(annotations, SECCOMP_CONTAINER, &container.name)
        {
            seccomp(annotation, profile, &path.child("securityContext"));
        }
    });
    if spec.os.as_ref().is_some_and(|os| os.name == "windows") {
        return;
    }
    let of_pod = context.and_then(|context| context.app_armor_profile.as_ref());
    visit(spec, path, &mut |container, path| {
        let context = container.security_context.as_ref();
        let own = context.and_then(|context| context.app_armor_profile.as_ref());
        if let Some(profile) = own.or(of_pod)
            && let Some(annotation) = of_container(annotations, APP_ARMOR, &container.name)
        {
            let (kind, local) = (&profile.type_, profile.localhost_profile.as_deref());
            let wrong = disagreement(annotation, kind, local, &["runtime/default"]);
            report("apparmor", wrong, &path.below("securityContext.appArmorProfile"));
        }
    });
}

fn of_container<'a>(annotations: &'a Annotations, prefix: &str, name: &str) -> Option<&'a str> {
    annotations.get(&format!("{prefix}{name}")).map(String::as_str)
}

/// Follows `validateSeccompAnnotationsAndFieldsMatch`. `path` is the path of the security context.
fn seccomp(annotation: &str, profile: &SeccompProfile, path: &At<'_>) {
    let defaults = &["runtime/default", "docker/default"];
    let local = profile.localhost_profile.as_deref();
    let wrong = disagreement(annotation, &profile.type_, local, defaults);
    report("seccomp", wrong, &path.child("seccompProfile"));
}

fn report(what: &str, wrong: Option<&'static str>, path: &At<'_>) {
    if let Some(field) = wrong {
        let part = if field == "type" { "type" } else { "profile" };
        path.child(field).forbidden(format!("{what} {part} in annotation and field must match"));
    }
}

fn disagreement(
    annotation: &str,
    kind: &str,
    local: Option<&str>,
    defaults: &[&str],
) -> Option<&'static str> {
    let same_type = match kind {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => defaults.contains(&annotation),
        "Localhost" => match annotation.strip_prefix("localhost/") {
            Some(named) if local != Some(named) => return Some("localhostProfile"),
            named => named.is_some(),
        },
        _ => true,
    };
    (!same_type).then_some("type")
}

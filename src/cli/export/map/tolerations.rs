use k8s_openapi::api::core::v1::Toleration;
use setguard_core::{
    inject::settings::Settings,
    kubernetes::tolerations::{of_daemons, text},
};

use super::super::objects::quote;

pub(super) fn of_pod(settings: &Settings) -> Vec<String> {
    let list = ("object.spec.?tolerations.orValue([])", "/spec/tolerations");
    let mut all: Vec<_> =
        settings.tolerations.iter().map(|it| add(list, &it.into(), None)).collect();
    if settings.daemon_tolerations {
        let always = of_daemons(false).count();
        all.extend(of_daemons(true).enumerate().map(|(i, toleration)| {
            let only = (i >= always).then_some("object.spec.?hostNetwork.orValue(false)");
            add(list, &toleration, only)
        }));
    }
    all
}

pub(super) fn of_template(settings: &Settings) -> Vec<String> {
    let list =
        ("object.spec.template.spec.?tolerations.orValue([])", "/spec/template/spec/tolerations");
    settings.tolerations.iter().map(|it| add(list, &it.into(), None)).collect()
}

/// CEL for a patch that adds a toleration before any that ends sooner, unless one in the list covers it. The list is
/// given in CEL, and by its path in the patch.
fn add((list, path): (&str, &str), toleration: &Toleration, only: Option<&str>) -> String {
    let fields = [
        ("key", &toleration.key),
        ("operator", &toleration.operator),
        ("value", &toleration.value),
        ("effect", &toleration.effect),
    ];
    let fields: Vec<_> = fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("'{name}': {}", quote(value.as_deref()?))))
        .collect();
    // A map, not a typed object: kube-apiserver 1.36.3 panics on a list of typed objects
    // (`ConvertToNative` of baseList, cel-go).
    let value = format!("{{{}}}", fields.join(", "));
    let covered = covers(toleration);
    let only = only.map(|only| format!("!{only} ? [] : ")).unwrap_or_default();
    let first = format!(
        "size({list}) == 0 ? [JSONPatch{{op: 'add', path: '{path}', value: [{value}]}}] : "
    );
    let Some(limited) = ends_before(toleration) else {
        return format!(
            "{only}{first}{list}.exists(it, {covered}) ? [] : \
             [JSONPatch{{op: 'add', path: '{path}/-', value: {value}}}]"
        );
    };
    let index = |test: &str| format!("{list}.map(it, {test}).indexOf(true)");
    let (cover, limit) = (index(&covered), index(&limited));
    format!(
        "{only}{first}[[{cover}, {limit}]].map(at, \
         at[0] >= 0 && (at[1] < 0 || at[0] < at[1]) ? [] : [JSONPatch{{op: 'add', \
         path: '{path}/' + (at[1] < 0 ? '-' : string(at[1])), value: {value}}}])[0]"
    )
}

/// CEL: `it` tolerates everything that a toleration without an end tolerates.
fn covers(toleration: &Toleration) -> String {
    let either = |name: &str, value: &str| {
        let all = format!("it.?{name}.orValue('') == ''");
        if value.is_empty() {
            all
        } else {
            format!("it.?{name}.orValue('') in ['', {}]", quote(value))
        }
    };
    let equal = format!(
        "it.?operator.orValue('') in ['', 'Equal'] && it.?value.orValue('') == {}",
        quote(text(&toleration.value))
    );
    let exists = "it.?operator.orValue('') == 'Exists'";
    let value = match text(&toleration.operator) {
        "Exists" => exists.to_owned(),
        _ => format!("({exists} || {equal})"),
    };
    format!(
        "!has(it.tolerationSeconds) && {} && {} && {value}",
        either("effect", text(&toleration.effect)),
        either("key", text(&toleration.key)),
    )
}

/// CEL: `it` has an end, for a taint that a toleration without an end tolerates too; `None` if that is impossible.
fn ends_before(toleration: &Toleration) -> Option<String> {
    if !matches!(text(&toleration.effect), "" | "NoExecute") {
        return None;
    }
    Some(format!(
        "has(it.tolerationSeconds) && it.?effect.orValue('') in ['', 'NoExecute'] \
         && it.?key.orValue('') in ['', {}] \
         && (it.?operator.orValue('') == 'Exists' || it.?value.orValue('') == {})",
        quote(text(&toleration.key)),
        quote(text(&toleration.value)),
    ))
}

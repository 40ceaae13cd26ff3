use k8s_openapi::api::core::v1::Toleration;

use crate::validation::prelude::*;

/// Follows `ValidateTolerations`.
pub(crate) fn validate(tolerations: &[Toleration], opts: &Options, path: &At<'_>) {
    for (i, toleration) in tolerations.iter().enumerate() {
        one(toleration, opts, &path.index(i));
    }
}

fn one(toleration: &Toleration, opts: &Options, path: &At<'_>) {
    let (key, operator) = (text(&toleration.key), text(&toleration.operator));
    let (value, effect) = (text(&toleration.value), text(&toleration.effect));
    let at = path.child("operator");
    if !key.is_empty() {
        label_key(key, &path.child("key"));
    } else if operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values \
                   and all keys\"";
        at.invalid(named(operator), why);
    }
    if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        path.child("effect").invalid(named(effect), why);
    }
    match operator {
        "Equal" | "" => {
            let wrong = names::label_value(value);
            if !wrong.is_empty() {
                at.invalid(value, wrong.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            at.invalid(value, "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        "Lt" | "Gt" if opts.toleration_comparison => {
            let path = path.child("value");
            each(names::decimal_integer(value), value, &path);
            if let Some(why) = int64_error(value) {
                path.invalid(value, why);
            }
        }
        "Lt" | "Gt" if opts.toleration_operators => {
            at.not_supported(named(operator), &["Equal", "Exists", "Lt", "Gt"]);
        }
        _ => at.not_supported(named(operator), &["Equal", "Exists"]),
    }
    if !effect.is_empty() {
        let effects = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
        one_of(Some(effect), effects, &path.child("effect"));
    }
}

/// Go's `strconv.ParseInt`
fn int64_error(text: &str) -> Option<String> {
    let error = text.parse::<i64>().err()?;
    let quoted = crate::finding::Value::Str(text);
    Some(match error.kind() {
        std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
            format!("strconv.ParseInt: parsing {quoted}: value out of range")
        }
        _ => format!("strconv.ParseInt: parsing {quoted}: invalid syntax"),
    })
}

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Written;

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "quantity-unit", group: NeverStarts;
    title: "the quantity has the wrong unit",
    summary: "memory of a few bytes, hundreds of processors, or a mode in decimal",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

/// In bytes: no volume and no program is smaller.
const LEAST: u128 = 1 << 20;
/// Few nodes have as many processors.
const MOST: u128 = 256;

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let claims = subject.object.stateful_set().map(|it| list(&it.volume_claim_templates));
    for (claim, path) in CLAIM_TEMPLATES.items(claims.into_iter().flatten()) {
        let resources = claim.spec.as_ref().and_then(|it| it.resources.as_ref());
        let size = resources.and_then(|it| it.requests.as_ref()?.get("storage"));
        let why = "and the size in a claim template cannot be changed";
        bytes(size, false, "Gi", why, &path.below("spec.resources.requests.storage"), found);
    }
    let Some(spec) = subject.object.template().spec.as_ref() else { return };
    for (i, volume) in list(&spec.volumes).iter().enumerate() {
        let config = volume.config_map.as_ref().and_then(|it| it.default_mode);
        let secret = volume.secret.as_ref().and_then(|it| it.default_mode);
        let modes = [("configMap", config), ("secret", secret)];
        for (kind, mode) in modes.into_iter().filter_map(|(kind, mode)| Some((kind, mode?))) {
            if DECIMAL.contains(&mode) {
                let message =
                    format!("in decimal, {mode} is the mode 0{mode:o}, which nobody wants");
                let help = format!("write 0{mode}");
                let path = VOLUMES.index(i);
                let path = path.child(kind);
                found.report(&path.child("defaultMode"), Reason::Invalid, message, help);
            }
        }
    }
    visit(spec, &POD_SPEC, &mut |container, path| {
        let Some(resources) = &container.resources else { return };
        let path = path.child("resources");
        for (name, quantities) in [("limits", &resources.limits), ("requests", &resources.requests)]
        {
            let (path, of) = (path.child(name), |it: &str| quantities.as_ref()?.get(it));
            let why = "and no program runs in that";
            bytes(of("memory"), name == "limits", "Mi", why, &path.child("memory"), found);
            processors(of("cpu"), &path.child("cpu"), found);
        }
    });
}

/// Modes without the leading zero. The API server refuses larger ones.
const DECIMAL: [i32; 3] = [400, 440, 444];

fn bytes(
    written: Option<&Written>,
    is_in_plan: bool,
    unit: &str,
    why: &str,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let Some(text) = written.map(|it| &*it.0) else { return };
    // The API server warns of a fraction itself.
    if text.parse().is_ok_and(|size: u128| (1..LEAST).contains(&size)) {
        let message = format!("without a unit this is {text} bytes, {why}");
        let help = format!("write the unit, for example {text}{unit}");
        found.report(path, Reason::Invalid, message, help).planned_if(is_in_plan);
    }
}

fn processors(written: Option<&Written>, path: &Path<'_>, found: &mut Findings) {
    let Some(text) = written.map(|it| &*it.0) else { return };
    let count = Quantity::parse_resource(text).and_then(|it| Some(it.thousandths()? / 1_000));
    if let Some(count) = count.filter(|it| *it >= MOST) {
        let message = format!("this is {count} processors, and few nodes have as many");
        // With a unit, it may be meant for memory.
        let help = match text.bytes().all(|it| it.is_ascii_digit()) {
            true => format!("write {text}m for thousandths of a processor"),
            false => "write a number of processors, such as 500m or 2".to_owned(),
        };
        found.report(path, Reason::Invalid, message, help).planned_if(true);
    }
}

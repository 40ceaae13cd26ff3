use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "immutable-release-label", group: Refused;
    title: "this label changes with each release",
    summary: "a label of a release in an immutable field, or in a Service's selector",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check: among },
    ],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let object = &subject.object;
    if subject.old().is_some() || object.metadata.is_stored() {
        return;
    }
    let labels = object.selector().and_then(|selector| selector.match_labels.as_ref());
    for (key, value) in labels.into_iter().flatten() {
        // The next release's set then has a different name and is created as a new object.
        if has_release(object.name(), value) {
            continue;
        }
        report(&SELECTOR.child("matchLabels"), (key, value), "the selector", found);
    }
    let Some(spec) = object.stateful_set() else { return };
    for ((_, claim), path) in CLAIM_TEMPLATES.items(read::claims(spec)) {
        let path = path.child("metadata");
        let ObjectMeta { labels, annotations, .. } = &claim.metadata;
        for (field, entries) in [("labels", labels), ("annotations", annotations)] {
            for (key, value) in entries.iter().flatten() {
                report(&path.child(field), (key, value), "the claim template", found);
            }
        }
    }
}

fn report(path: &Path<'_>, (key, value): (&str, &str), place: &str, found: &mut Findings) {
    if changes_with_release(key, value) {
        let message = format!(
            "{value:?} changes with each release and {place} cannot be changed, so the API server \
             will refuse the next upgrade"
        );
        let help = "leave it out here; the labels of the set and of its pods may have it; delete a set that exists \
                    with --cascade=orphan first";
        found.report(&path.key(key), Reason::Invalid, message, help);
    }
}

/// The maximum number of Services that are compared with a set.
const MOST_COMPARED: usize = 1_000;

/// A Service selects pods by such a label. Kubernetes: `syncService`, pkg/controller/endpointslice.
fn among(query: &Query<'_>, found: &mut Findings) {
    let (set, namespace) = (query.controller, query.item.namespace());
    let services = query.inventory().in_namespace(Kind::Service, namespace).take(MOST_COMPARED);
    for (item, service) in services.filter_map(|it| Some((it, it.service()?))) {
        let is_own = service.selector.iter().all(|(key, value)| set.labels.get(key) == Some(value));
        let label = service.selector.iter().find(|(key, value)| {
            changes_with_release(key, value) && !has_release(item.name(), value)
        });
        let Some((key, value)) = label.filter(|_| is_own) else { continue };
        let message = format!(
            "its {item} selects pods with {key}={value}, which changes with each release, so an upgrade takes all \
             old pods from the Service at once"
        );
        let help = format!("leave {key} out of the Service's selector");
        found.via(Kind::Service, &TEMPLATE_LABELS, Reason::Invalid, message, help);
    }
}

fn changes_with_release(key: &str, value: &str) -> bool {
    match key {
        // A name such as `master` or `stable` does not change.
        "app.kubernetes.io/version" => value.contains(|c: char| c.is_ascii_digit()),
        // Some charts omit their version here, so that the label does not change.
        "helm.sh/chart" => value.split('-').any(begins_with_number),
        "chart" | "version" => is_version(value),
        _ => key.starts_with("checksum/"),
    }
}

fn begins_with_number(part: &str) -> bool {
    part.strip_prefix('v').unwrap_or(part).starts_with(|c: char| c.is_ascii_digit())
}

fn has_release(name: &str, release: &str) -> bool {
    name.contains(release) || name.contains(&release.replace('.', "-"))
}

/// The version at the end needs two dots, such as `web-1.4.2` or `v1.4.2`. With fewer, it may name a line of releases.
fn is_version(text: &str) -> bool {
    let version = text.rsplit('-').next().unwrap_or_default();
    let version = version.strip_prefix('v').unwrap_or(version);
    let mut parts = version.split('.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
    version.matches('.').count() >= 2 && parts.by_ref().take(2).all(is_number)
}

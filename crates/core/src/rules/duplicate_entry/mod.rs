use super::api_warning::{conflict, is_hidden};
use crate::rules::prelude::*;
use crate::validation::pod::util::Seen;

pub(super) static RULE: Rule = rule! {
    id: "duplicate-entry", group: Refused;
    title: "the same entry twice in a list",
    summary: "an entry twice in a list with keys: server-side apply refuses the object",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let object = &subject.object;
    let finalizers = object.metadata.finalizers.iter().flatten().map(|it| &**it);
    duplicates(finalizers, &METADATA.child("finalizers"), found);
    let owners = object.metadata.owner_references.iter().flatten();
    duplicates(owners.map(|it| it.uid.as_str()), &METADATA.child("ownerReferences"), found);
    let template = object.template().metadata.as_ref();
    let finalizers = template.iter().flat_map(|metadata| metadata.finalizers.iter().flatten());
    duplicates(finalizers.map(String::as_str), &TEMPLATE.below("metadata.finalizers"), found);

    let Some(pod) = read::pod_spec(object) else { return };
    visit(pod, &POD_SPEC, &mut |container, path| of_container(container, path, found));
}

/// The API server does not warn about a variable that extends an earlier one, nor about ports with different host
/// ports.
fn of_container(container: &Container, path: &Path<'_>, found: &mut Findings) {
    let mut seen = Seen::new();
    for (i, env) in container.env.iter().flatten().enumerate() {
        if !seen.insert(env.name.as_str()) && !is_hidden(env) {
            report(&env.name, &path.item("env", i), found);
        }
    }
    let mut first = HashMap::new();
    for (i, port) in container.ports.iter().flatten().enumerate() {
        let protocol = port.protocol.as_deref().unwrap_or("TCP");
        let key = (port.container_port, protocol);
        let other = *first.entry(key).or_insert(port);
        if !std::ptr::eq(other, port) && conflict(port, other).is_none() {
            report(&format!("{}/{protocol}", key.0), &path.item("ports", i), found);
        }
    }
}

fn duplicates<'a>(entries: impl Iterator<Item = &'a str>, path: &Path<'_>, found: &mut Findings) {
    let mut seen = Seen::new();
    for (i, entry) in entries.enumerate() {
        if !seen.insert(entry) {
            report(entry, &path.index(i), found);
        }
    }
}

fn report(key: &str, path: &Path<'_>, found: &mut Findings) {
    let message = format!(
        "{key:?} is in this list already: server-side apply refuses the object, and client-side apply may \
         drop one of the two"
    );
    let help = "remove one of them";
    found.report(path, Reason::Duplicate, message, help);
}

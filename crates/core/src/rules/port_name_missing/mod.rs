use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "port-name-missing", group: NeverStarts;
    title: "the container has no port of this name",
    summary: "a probe or hook that names a port that its container does not have",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Kubernetes: `ResolveContainerPort`, pkg/probe/util.go, and `resolvePort`, pkg/kubelet/lifecycle/handlers.go.
fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    read::actions(container, path, &mut |it| {
        if let Some((_, port)) = it.asked {
            report(container, port, it.effect, it.path, found);
        }
    });
}

fn report(
    container: &Container,
    port: &IntOrString,
    effect: &str,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let IntOrString::String(name) = port else { return };
    let mut named = container.ports.iter().flatten().filter_map(|it| it.name.as_deref());
    // It is a patch: the rest of the container is elsewhere.
    let is_part = container.image.is_none();
    if is_part || named.clone().any(|it| it == name) {
        return;
    }
    let message = format!("container {:?} has no port named {name:?}, so {effect}", container.name);
    let help = match named.next() {
        Some(other) => format!("write {other}, or a number"),
        None => "name the port in ports of the container, or write its number".to_owned(),
    };
    found.report(&path.child("port"), Reason::NotFound, message, help).planned_if(true);
}

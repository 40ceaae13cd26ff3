use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "variable-missing", group: NeverStarts;
    title: "the variable is not defined",
    summary: "a reference $(NAME) to a variable that is not defined, or only later",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check))],
};

/// Kubernetes: `makeEnvironmentVariables`, pkg/kubelet/kubelet_pods.go; `ExpandContainerCommandAndArgs` and
/// `ExpandContainerVolumeMounts`, pkg/kubelet/container/helpers.go.
fn check(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    // The names in a ConfigMap or Secret are unknown here, and a container without an image is only a patch.
    if list(&container.env_from).is_empty() && container.image.is_some() {
        of_container(container, spec, path, found);
    }
}

fn of_container(container: &Container, spec: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    let links = spec.enable_service_links != Some(false);
    let all: HashSet<&str> = list(&container.env).iter().map(|it| it.name.as_str()).collect();
    let mut before = HashSet::new();
    for (i, env) in list(&container.env).iter().enumerate() {
        let is_missing = |name: &&str| !before.contains(name) && is_variable(name, links);
        if let Some(name) = references(text(&env.value)).find(is_missing) {
            let when =
                if all.contains(name) { "is not defined before it" } else { "is not defined" };
            let message =
                format!("the variable {name} {when}, so the value contains the text $({name})");
            report(&path.item("env", i).child("value"), message, name, found);
        }
        before.insert(env.name.as_str());
    }
    for (list_name, words) in [("command", &container.command), ("args", &container.args)] {
        for (i, word) in list(words).iter().enumerate() {
            let is_missing = |name: &&str| !all.contains(name) && is_variable(name, links);
            if let Some(name) = references(word).find(is_missing) {
                let message = format!(
                    "the variable {name} is not defined, so the program gets the text $({name})"
                );
                report(&path.item(list_name, i), message, name, found);
            }
        }
    }
    for (i, mount) in list(&container.volume_mounts).iter().enumerate() {
        let is_missing = |name: &&str| !all.contains(name) && !is_of_service(name, links);
        if let Some(name) = expressions(text(&mount.sub_path_expr)).find(is_missing) {
            let message =
                format!("the variable {name} is not defined, so the container never starts");
            let help = format!("define {name} in env");
            let path = path.item("volumeMounts", i);
            found
                .report(&path.child("subPathExpr"), Reason::NotFound, message, help)
                .planned_if(true);
        }
    }
}

fn report(path: &Path<'_>, message: String, name: &str, found: &mut Findings) {
    let help =
        format!("define {name} in env before it is used, or write $$({name}) if the text is meant");
    found.report(path, Reason::NotFound, message, help);
}

/// A text with line breaks is a script or a file with its own references.
fn references(text: &str) -> impl Iterator<Item = &str> {
    expressions(if text.contains('\n') { "" } else { text })
}

/// Follows `Expand`, third_party/forked/golang/expansion/expand.go: `$$` is a dollar sign.
fn expressions(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.get(rest.find('$')? + 1..)?;
            if let Some(after) = rest.strip_prefix('$') {
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('(').and_then(|it| it.split_once(')'))
            {
                rest = after;
                return Some(name);
            }
        }
    })
}

/// Not a shell command such as `date`.
fn is_variable(name: &str, links: bool) -> bool {
    let is_upper = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    name.contains(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(is_upper)
        && !is_of_service(name, links)
}

/// A Service of the namespace may define the variable. Kubernetes: `FromServices`, pkg/kubelet/envvars/envvars.go.
fn is_of_service(name: &str, links: bool) -> bool {
    name.starts_with("KUBERNETES_")
        || links && (name.contains("_SERVICE_") || name.contains("_PORT"))
}

//! An entry that is in a list twice although the list has keys.

use k8s_openapi::api::core::v1::Container;

use super::read;
use crate::{finding::{
        Findings, Mode, Path, Reason,
        paths::{METADATA, POD_SPEC, TEMPLATE},
    }, kubernetes::cluster::Cluster, object::Subject, rules::rule::{Cel, ObjectCheck, OpenKruise, Phase, Rule, Scope}, validation::pod::util::Seen};

pub(super) static RULE: Rule = Rule {
    meta: meta! {
        id: "duplicate-entry",
        title: "the same entry twice in a list",
        summary: "an entry twice in a list that has keys, which server-side apply refuses",
        mode: Mode::Warn,
        adjustable: true,
    },
    scopes: &[Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    }],
    cel: Some(&CEL),
};

static CEL: Cel = Cel {
    fault: "@all.exists(c, [c.?env.orValue([]).map(e, e.name)]@twice || \
        [c.?ports.orValue([]).map(p, string(p.containerPort) + p.?protocol.orValue('TCP'))]@twice) \
        || [@pod.?hostAliases.orValue([]).map(a, a.ip)]@twice || \
        [@pod.?imagePullSecrets.orValue([]).map(a, a.?name.orValue(''))]@twice || \
        [@.spec.template.?metadata.?finalizers.orValue([])]@twice",
    message: "'a list has two entries with the same key: server-side apply refuses the object, and \
        client-side apply may drop one of the two'",
    help: "remove one of them",
    misses: Some("finalizers and owners of the set itself"),
    ..Cel::EMPTY
};

fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let object = &subject.object;
    let finalizers = object.metadata.finalizers.iter().flatten().map(|it| (&**it, ""));
    duplicates(finalizers, &METADATA.child("finalizers"), found);
    let owners = object.metadata.owner_references.iter().flatten();
    duplicates(owners.map(|it| (it.uid.as_str(), "")), &METADATA.child("ownerReferences"), found);
    let template = object.template().metadata.as_ref();
    let finalizers = template.iter().flat_map(|metadata| metadata.finalizers.iter().flatten());
    let metadata = TEMPLATE.child("metadata");
    duplicates(finalizers.map(|it| (it.as_str(), "")), &metadata.child("finalizers"), found);

    let Some(pod) = read::pod_spec(object) else { return };
    let secrets = pod.image_pull_secrets.iter().flatten().map(|it| (it.name.as_str(), ""));
    duplicates(secrets, &POD_SPEC.child("imagePullSecrets"), found);
    let aliases = pod.host_aliases.iter().flatten().map(|it| (it.ip.as_str(), ""));
    duplicates(aliases, &POD_SPEC.child("hostAliases"), found);
    let lists = [
        ("initContainers", pod.init_containers.as_deref().unwrap_or_default()),
        ("containers", pod.containers.as_slice()),
    ];
    for (name, containers) in lists {
        let path = POD_SPEC.child(name);
        for (i, container) in containers.iter().enumerate() {
            of_container(container, &path.index(i), found);
        }
    }
}

fn of_container(container: &Container, path: &Path<'_>, found: &mut Findings) {
    let env = container.env.iter().flatten().map(|it| (it.name.as_str(), ""));
    duplicates(env, &path.child("env"), found);
    let ports = container.ports.iter().flatten();
    let ports: Vec<_> = ports
        .map(|it| (it.container_port.to_string(), it.protocol.as_deref().unwrap_or("TCP")))
        .collect();
    let ports = ports.iter().map(|(port, protocol)| (port.as_str(), *protocol));
    duplicates(ports, &path.child("ports"), found);
}

/// Reports the entries of a list whose key an earlier entry has. A key has one or two parts.
fn duplicates<'a>(
    keys: impl Iterator<Item = (&'a str, &'a str)>,
    path: &Path<'_>,
    found: &mut Findings,
) {
    let mut seen = Seen::new();
    for (i, key) in keys.enumerate() {
        if !seen.insert(key) {
            let key =
                if key.1.is_empty() { key.0.to_owned() } else { format!("{}/{}", key.0, key.1) };
            found.report(
                &path.index(i),
                Reason::Duplicate,
                format!(
                    "{key:?} is in this list already: server-side apply refuses the object, and \
                     client-side apply may drop one of the two"
                ),
                "remove one of them",
            );
        }
    }
}

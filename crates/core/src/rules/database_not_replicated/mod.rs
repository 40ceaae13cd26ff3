use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "database-not-replicated", group: Data, mode: Mode::Audit;
    title: "each pod has a database of its own",
    summary: "several replicas of a database image that nothing tells to replicate",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::StatefulSet(check))],
};

/// Parts of arguments and variables that may be about replication, or about a file that is.
const MARKS: [&str; 13] = [
    "cluster", "conf", "galera", "group", "join", "master", "peer", "primary", "repl", "sentinel",
    "shard", "slave", "wsrep",
];

fn check(spec: &StatefulSetSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let replicas = spec.replicas.unwrap_or(1);
    let Some(pod) = spec.template.spec.as_ref().filter(|_| replicas > 1) else { return };
    let Some(name) = alone(pod) else { return };
    let message = format!(
        "nothing tells {name} to replicate, so each of the {replicas} pods has a database of its own, \
         and a Service sends each client to any of them"
    );
    let help = "set replicas to 1, or set up replication, for example with an operator";
    found.report(&SPEC.child("replicas"), Reason::Invalid, message, help);
}

/// The database, if the pod has nothing else that may set up replication.
fn alone(pod: &PodSpec) -> Option<&'static str> {
    let is_other = |it: &&Container| !read::image(it).0.contains("exporter");
    let mut containers = pod.containers.iter().filter(is_other);
    let container = containers.next()?;
    let (name, _) = read::database(container)?;
    let is_alone = containers.next().is_none() && list(&pod.init_containers).is_empty();
    let is_plain = container.lifecycle.is_none() && list(&container.env_from).is_empty();
    let words = arguments(container).flat_map(|(flag, value)| [flag, value]);
    let names = list(&container.env).iter().map(|it| it.name.as_str());
    let is_told = words.chain(names).any(|it| {
        let it = it.to_ascii_lowercase();
        MARKS.iter().any(|mark| it.contains(mark))
    });
    let mut volumes = list(&pod.volumes).iter();
    let has_files = volumes.any(|it| {
        it.config_map.is_some() || it.secret.is_some() || it.projected.is_some() || it.csi.is_some()
    });
    (is_alone && is_plain && !is_told && !has_files).then_some(name)
}

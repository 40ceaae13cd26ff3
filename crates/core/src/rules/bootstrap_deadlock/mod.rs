use crate::inventory::{
    object_summary::Service,
    waits::{self, On},
};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "bootstrap-deadlock", group: NeverStarts;
    title: "the first pod waits for what starts later",
    summary: "a first pod that waits for later pods, or an init container for later containers",
    scopes: [
        Scope::Inventory { kinds: &[Kind::StatefulSet], evidence: Evidence::Presence, check },
        Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(in_pod)),
    ],
};

/// An init container waits for a container that starts after it.
fn in_pod(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let inits = list(&spec.init_containers);
    for (i, init) in inits.iter().enumerate().filter(|(_, it)| !is_sidecar(it)) {
        let (before, after) = (inits.get(..i).unwrap_or_default(), inits.get(i + 1..));
        let later = after.unwrap_or_default().iter().filter(|it| is_sidecar(it));
        let later = || spec.containers.iter().chain(later.clone());
        let is_there = |port| before.iter().any(|it| is_sidecar(it) && listens(it, port));
        let found_in = waits::local_ports(init).find_map(|(field, port)| {
            let container = later().find(|it| listens(it, port))?;
            // It may start the server itself for a while.
            let is_own = container.image == init.image || listens(init, port);
            (!is_own && !is_there(port)).then_some((field, port, container))
        });
        let Some((field, port, container)) = found_in.filter(|_| spec.host_network != Some(true))
        else {
            continue;
        };
        let message = format!(
            "init container {:?} needs port {port} of container {:?}, which starts only after it, so the pod never \
             starts",
            init.name, container.name
        );
        let help = format!(
            "put {:?} before it in initContainers, with restartPolicy: Always",
            container.name
        );
        found.report(
            &POD_SPEC.item("initContainers", i).child(field),
            Reason::Invalid,
            message,
            help,
        );
    }
}

fn listens(container: &Container, port: u16) -> bool {
    let mut ports = list(&container.ports).iter();
    let option = format!("--port={port}");
    ports.any(|it| it.container_port == i32::from(port))
        || [&container.command, &container.args].into_iter().any(|it| list(it).contains(&option))
}

fn check(query: &Query<'_>, found: &mut Findings) {
    // The status of a stored set shows whether its pods came up.
    let waits = query.details.waits.as_deref();
    let Some(wait) = waits.filter(|_| !query.is_stored()) else { return };
    let (through, message) = match &wait.on {
        On::Peer(pod) => (
            Kind::StatefulSet,
            format!(
                "it needs {pod}, which is created only once the pods before it are ready, so the \
                 first pod never becomes ready"
            ),
        ),
        On::Service => {
            let Some(service) = hides_pods(query) else { return };
            (
                Kind::Service,
                format!(
                    "it needs the name of {service}, which has no address before a pod is ready, so \
                     the first pod never becomes ready"
                ),
            )
        }
    };
    let help = "set publishNotReadyAddresses: true in the headless Service and podManagementPolicy: \
                Parallel here, or let the probe ask only its own pod";
    found.via(through, wait.field.clone(), Reason::Invalid, message, help);
}

/// The set's Service must be headless and publish only ready pods.
fn hides_pods(query: &Query<'_>) -> Option<String> {
    let governed = Governed::of(query)?;
    let is_right = |service: &Service| {
        !service.is_headless || service.publishes_unready || service.is_external
    };
    governed.first_unless_any(is_right).map(|(item, _)| item.to_string())
}

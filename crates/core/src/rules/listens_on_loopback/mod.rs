use super::{neighbors::services, removed_option::in_files};
use crate::rules::prelude::*;
use crate::{inventory::object_summary::NamedPort, kubernetes::loopback::on_loopback};

pub(super) static RULE: Rule = rule! {
    id: "listens-on-loopback", group: NeverStarts;
    title: "the program listens only inside its pod",
    summary: "a program that listens on 127.0.0.1, and a probe or Service that asks the pod",
    scopes: [
        Scope::trap(OpenKruise::Applies, ObjectCheck::Container(check)),
        Scope::Inventory { kinds: SETS, evidence: Evidence::Manifest, check: among },
    ],
};

/// Kubernetes: `runProbe`, pkg/kubelet/prober/prober.go.
fn check(container: &Container, _: &PodSpec, path: &Path<'_>, found: &mut Findings) {
    on_loopback(container, path, &mut |host, port, effect, path| {
        if let Some(effect) = effect {
            let message = format!(
                "the program listens on {host}:{port}, and the kubelet asks for port {port} at the address of the pod, so \
                 {effect}"
            );
            found.report(path, Reason::Invalid, message, help(port));
        }
    });
}

fn among(query: &Query<'_>, found: &mut Findings) {
    in_files(query, true, found);
    let Some(traffic) = &query.details.traffic else { return };
    for (field, host, port) in &traffic.on_loopback {
        let leads_there = |it: &&(i64, NamedPort)| traffic.number(&it.1) == Some(*port);
        let mut services = services::of_pods(query);
        if let Some((item, _)) = services.find(|it| it.1.targets.iter().any(|it| leads_there(&it)))
        {
            let message = format!(
                "the program listens on {host}:{port}, and its {item} connects to port {port} at the address of the \
                 pod, so nobody can connect"
            );
            found.via(Kind::Service, field.clone(), Reason::Invalid, message, help(*port));
        }
    }
}

fn help(port: i32) -> String {
    format!("write :{port} or 0.0.0.0:{port}, if the program takes it")
}

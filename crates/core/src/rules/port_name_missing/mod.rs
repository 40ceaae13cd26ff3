//! A probe or hook with the name of a port that its container lacks.

use k8s_openapi::{
    api::core::v1::{Container, LifecycleHandler, Probe},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::read;
use crate::{
    finding::{Findings, Mode, Path, Reason, paths::POD_SPEC},
    kubernetes::{cluster::Cluster, containers::visit},
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Rule, Scope},
};

pub(super) static RULE: Rule = rule! {
    id: "port-name-missing",
    title: "the container has no port of this name",
    summary: "a probe or hook that names a port that its container does not have",
    group: NeverStarts,
    mode: Mode::Warn,
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Both(check))],
};

/// Kubernetes: `ResolveContainerPort`, pkg/probe/util.go, and `resolvePort`, pkg/kubelet/lifecycle/handlers.go.
fn check(subject: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let Some(spec) = read::pod_spec(&subject.object) else { return };
    visit(spec, &POD_SPEC, &mut |container, path| {
        let probes = [
            ("livenessProbe", &container.liveness_probe, "the container is killed again and again"),
            ("readinessProbe", &container.readiness_probe, "the container never becomes ready"),
            ("startupProbe", &container.startup_probe, "the container is killed again and again"),
        ];
        for (name, probe, effect) in probes {
            let Some((action, port)) = probe.as_ref().and_then(of_probe) else { continue };
            report(container, port, effect, &path.child(name).child(action), found);
        }
        let hooks = container.lifecycle.as_ref();
        let hooks = [
            (
                "postStart",
                hooks.and_then(|it| it.post_start.as_ref()),
                "the container is killed again and again",
            ),
            ("preStop", hooks.and_then(|it| it.pre_stop.as_ref()), "the hook does nothing"),
        ];
        let path = path.child("lifecycle");
        for (name, hook, effect) in hooks {
            let Some((action, port)) = hook.and_then(of_hook) else { continue };
            report(container, port, effect, &path.child(name).child(action), found);
        }
    });
}

fn of_probe(probe: &Probe) -> Option<(&'static str, &IntOrString)> {
    let http = probe.http_get.as_ref().map(|it| ("httpGet", &it.port));
    http.or_else(|| probe.tcp_socket.as_ref().map(|it| ("tcpSocket", &it.port)))
}

fn of_hook(hook: &LifecycleHandler) -> Option<(&'static str, &IntOrString)> {
    hook.http_get.as_ref().map(|it| ("httpGet", &it.port))
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

//! What a kubelet runs in a container, and what it asks of it.

use k8s_openapi::{
    api::core::v1::{Container, ExecAction, HTTPGetAction, TCPSocketAction},
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::finding::Path;

const KILLED: &str = "the container is killed again and again";
const NEVER_READY: &str = "the container never becomes ready";

/// The handler of a probe or hook, and what happens if each try fails.
struct Handler<'a> {
    exec: Option<&'a ExecAction>,
    http: Option<&'a HTTPGetAction>,
    tcp: Option<&'a TCPSocketAction>,
    effect: &'static str,
    is_probe: bool,
    path: &'a Path<'a>,
}

/// A program that a probe or hook runs.
pub(crate) struct Exec<'a> {
    pub(crate) action: &'a ExecAction,
    /// What happens if each try fails.
    pub(crate) effect: &'static str,
    /// Only a probe's command has its variables replaced.
    pub(crate) is_probe: bool,
    pub(crate) path: &'a Path<'a>,
}

/// A port that a probe or hook asks.
pub(crate) struct NetworkAction<'a> {
    pub(crate) host: &'a Option<String>,
    pub(crate) port: &'a IntOrString,
    /// What happens if each try fails.
    pub(crate) effect: &'static str,
    pub(crate) path: &'a Path<'a>,
}

/// Calls the visitor with each program that a probe or hook of the container runs.
pub(crate) fn exec_actions(
    container: &Container,
    path: &Path<'_>,
    visitor: &mut dyn FnMut(&Exec<'_>),
) {
    handlers(container, path, &mut |it| {
        let Handler { exec: Some(action), effect, is_probe, .. } = *it else { return };
        visitor(&Exec { action, effect, is_probe, path: &it.path.child("exec") });
    });
}

/// Calls the visitor with each port that a probe or hook of the container asks.
pub(crate) fn network_actions(
    container: &Container,
    path: &Path<'_>,
    visitor: &mut dyn FnMut(&NetworkAction<'_>),
) {
    handlers(container, path, &mut |it| {
        let http = it.http.map(|it| ("httpGet", &it.host, &it.port));
        let tcp = it.tcp.map(|it| ("tcpSocket", &it.host, &it.port));
        if let Some((name, host, port)) = http.or(tcp) {
            let path = &it.path.child(name);
            visitor(&NetworkAction { host, port, effect: it.effect, path });
        }
    });
}

fn handlers(container: &Container, path: &Path<'_>, visitor: &mut dyn FnMut(&Handler<'_>)) {
    let probes = [
        ("livenessProbe", &container.liveness_probe, KILLED),
        ("readinessProbe", &container.readiness_probe, NEVER_READY),
        ("startupProbe", &container.startup_probe, KILLED),
    ];
    for (name, probe, effect) in probes {
        if let Some(it) = probe {
            let (exec, http, tcp) =
                (it.exec.as_ref(), it.http_get.as_ref(), it.tcp_socket.as_ref());
            visitor(&Handler { exec, http, tcp, effect, is_probe: true, path: &path.child(name) });
        }
    }
    let hooks = container.lifecycle.as_ref();
    let hooks = [
        ("postStart", hooks.and_then(|it| it.post_start.as_ref()), KILLED),
        ("preStop", hooks.and_then(|it| it.pre_stop.as_ref()), "the hook does nothing"),
    ];
    let path = path.child("lifecycle");
    for (name, hook, effect) in hooks {
        if let Some(it) = hook {
            // The kubelet ignores tcpSocket here.
            let (exec, http) = (it.exec.as_ref(), it.http_get.as_ref());
            let path = &path.child(name);
            visitor(&Handler { exec, http, tcp: None, effect, is_probe: false, path });
        }
    }
}

/// The name of a program without its folder.
pub(crate) fn program(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word)
}

pub(crate) fn is_shell(word: &str) -> bool {
    let shells = ["sh", "bash", "ash", "dash", "ksh", "zsh", "fish", "busybox", "cmd", "cmd.exe"];
    let name = program(word);
    shells.contains(&name) || name.starts_with("powershell") || name.starts_with("pwsh")
}

//! The commands that a kubelet runs in a container, and the ports that it asks.

use k8s_openapi::{
    api::core::v1::{Container, ExecAction, HTTPGetAction, TCPSocketAction},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::absent::{list, text};
use crate::finding::Path;

const KILLED: &str = "the container is killed again and again";
/// The effect of a preStop hook that fails.
pub(crate) const DOES_NOTHING: &str = "the hook does nothing";
const NEVER_READY: &str = "the container never becomes ready";

/// What a probe or hook does: it runs a command, or asks a port.
pub(crate) struct Action<'a> {
    pub(crate) command: &'a [String],
    /// The host and the port.
    pub(crate) asked: Option<(&'a str, &'a IntOrString)>,
    /// It asks over HTTP without TLS.
    pub(crate) is_plain: bool,
    /// What happens if each try fails.
    pub(crate) effect: &'static str,
    /// Only a probe's command has its variables replaced.
    pub(crate) is_probe: bool,
    pub(crate) path: &'a Path<'a>,
}

type Handler<'a> = (Option<&'a ExecAction>, Option<&'a HTTPGetAction>, Option<&'a TCPSocketAction>);

/// Calls the visitor with each command and request of the container's probes and hooks.
pub(crate) fn actions(
    container: &Container,
    path: &Path<'_>,
    visitor: &mut dyn FnMut(&Action<'_>),
) {
    let mut act = |(exec, http, tcp): Handler<'_>, effect, is_probe, path: &Path<'_>| {
        if let Some(it) = exec {
            let (command, path) = (list(&it.command), &path.child("exec"));
            visitor(&Action { command, asked: None, is_plain: false, effect, is_probe, path });
        }
        let is_plain = http.is_some_and(|it| text(&it.scheme) != "HTTPS");
        let http = http.map(|it| ("httpGet", text(&it.host), &it.port));
        let tcp = tcp.map(|it| ("tcpSocket", text(&it.host), &it.port));
        if let Some((name, host, port)) = http.or(tcp) {
            let (asked, path) = (Some((host, port)), &path.child(name));
            visitor(&Action { command: &[], asked, is_plain, effect, is_probe, path });
        }
    };
    let probes = [
        ("livenessProbe", &container.liveness_probe, KILLED),
        ("readinessProbe", &container.readiness_probe, NEVER_READY),
        ("startupProbe", &container.startup_probe, KILLED),
    ];
    for (name, probe, effect) in probes {
        if let Some(it) = probe {
            let handler = (it.exec.as_ref(), it.http_get.as_ref(), it.tcp_socket.as_ref());
            act(handler, effect, true, &path.child(name));
        }
    }
    let hooks = container.lifecycle.as_ref();
    let hooks = [
        ("postStart", hooks.and_then(|it| it.post_start.as_ref()), KILLED),
        ("preStop", hooks.and_then(|it| it.pre_stop.as_ref()), DOES_NOTHING),
    ];
    let path = path.child("lifecycle");
    for (name, hook, effect) in hooks {
        if let Some(it) = hook {
            // The kubelet ignores tcpSocket here.
            act((it.exec.as_ref(), it.http_get.as_ref(), None), effect, false, &path.child(name));
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

/// The index of the script in `sh -c SCRIPT`. It is the first word after all flags: `-eo pipefail -c SCRIPT` and
/// `-c -e -- SCRIPT`.
pub(crate) fn script_at(words: &[&str]) -> Option<usize> {
    let mut at = words.iter().take_while(|it| is_shell(it)).count();
    let (mut runs, is_shell) = (false, at > 0);
    let is_flag = |it: &&&str| it.starts_with(['-', '+']) && it.len() > 1;
    while let Some(flags) = words.get(at).filter(is_flag) {
        // The flags of other shells have long names, such as -Command.
        let is_short = flags.len() < 8 && flags.bytes().skip(1).all(|it| it.is_ascii_lowercase());
        runs |= is_short && flags.contains('c');
        // The word after -o is the name of an option.
        at += if is_short && flags.ends_with('o') { 2 } else { 1 };
    }
    (is_shell && runs).then_some(at)
}

/// The file that is executed: the program, or the only word of a shell's script.
pub(crate) fn executed(command: &[String]) -> Option<(usize, &str)> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let at = script_at(&words).filter(|at| at + 1 == words.len()).unwrap_or(0);
    Some((at, *words.get(at)?))
}

/// Returns a script without comments and quotes. Within quotes and substitutions, each separator
/// becomes an underscore.
pub(crate) fn plain(script: &str) -> String {
    let (mut plain, mut inside) = (String::new(), Vec::new());
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, inside.last()) {
            ('\\', last) if last != Some(&'\'') => {
                plain.push(if chars.next() == Some('\n') { ' ' } else { '_' });
            }
            (_, Some(end)) if c == *end => _ = inside.pop(),
            ('$', last) if last != Some(&'\'') && chars.next_if_eq(&'(').is_some() => {
                plain.push('_');
                inside.push(')');
            }
            ('\'' | '"' | '`', None) => inside.push(c),
            ('#', None) if plain.is_empty() || plain.ends_with([' ', '\n', ';']) => {
                while chars.next_if(|it| *it != '\n').is_some() {}
            }
            (_, None) => plain.push(c),
            (_, Some(_)) => {
                let is_plain = c.is_alphanumeric() || matches!(c, '-' | '.' | '/' | ':' | '=');
                plain.push(if is_plain { c } else { '_' });
            }
        }
    }
    plain
}

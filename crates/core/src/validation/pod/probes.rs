use k8s_openapi::api::core::v1::{
    ExecAction, GRPCAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe, SleepAction,
    TCPSocketAction,
};

use super::{ports::number_or_name, util::non_negative};
use crate::validation::prelude::*;

pub(crate) fn validate(container: &Container, path: &At<'_>) {
    let probes = [
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
        ("startupProbe", &container.startup_probe),
    ];
    for (name, probe) in probes {
        let Some(probe) = probe else { continue };
        let path = path.child(name);
        self::probe(probe, &path);
        let threshold = probe.success_threshold.unwrap_or(0);
        if name != "readinessProbe" && threshold != 1 {
            path.child("successThreshold").invalid(threshold, "must be 1");
        } else if name == "readinessProbe"
            && let Some(seconds) = probe.termination_grace_period_seconds
        {
            let path = path.child("terminationGracePeriodSeconds");
            path.invalid(seconds, "must not be set for readinessProbes");
        }
    }
}

/// Follows `validateProbe`.
fn probe(probe: &Probe, path: &At<'_>) {
    let handler = Handler {
        exec: probe.exec.as_ref(),
        http_get: probe.http_get.as_ref(),
        tcp_socket: probe.tcp_socket.as_ref(),
        grpc: probe.grpc.as_ref(),
        sleep: None,
    };
    // Probes have no sleep action, so neither the grace period nor the gate matters.
    self::handler(&handler, None, true, path);
    non_negative(probe.initial_delay_seconds, &path.child("initialDelaySeconds"));
    non_negative(probe.timeout_seconds, &path.child("timeoutSeconds"));
    non_negative(probe.period_seconds, &path.child("periodSeconds"));
    non_negative(probe.success_threshold, &path.child("successThreshold"));
    non_negative(probe.failure_threshold, &path.child("failureThreshold"));
    if let Some(seconds) = probe.termination_grace_period_seconds.filter(|seconds| *seconds <= 0) {
        path.child("terminationGracePeriodSeconds").invalid(seconds, "must be greater than 0");
    }
}

/// Follows `validateLifecycle`.
pub(crate) fn lifecycle(lifecycle: &Lifecycle, cx: &PodContext<'_>, path: &At<'_>) {
    if let Some(hook) = &lifecycle.post_start {
        self::hook(hook, cx, &path.child("postStart"));
    }
    if let Some(hook) = &lifecycle.pre_stop {
        self::hook(hook, cx, &path.child("preStop"));
    }
    if let Some(signal) = &lifecycle.stop_signal {
        stop_signal(signal, cx.os, &path.child("stopSignal"));
    }
}

fn hook(hook: &LifecycleHandler, cx: &PodContext<'_>, path: &At<'_>) {
    let handler = Handler {
        exec: hook.exec.as_ref(),
        http_get: hook.http_get.as_ref(),
        tcp_socket: hook.tcp_socket.as_ref(),
        grpc: None,
        sleep: hook.sleep.as_ref(),
    };
    self::handler(&handler, cx.grace_period, cx.opts.sleep_zero, path);
}

#[derive(Clone, Copy, Debug)]
struct Handler<'a> {
    exec: Option<&'a ExecAction>,
    http_get: Option<&'a HTTPGetAction>,
    tcp_socket: Option<&'a TCPSocketAction>,
    grpc: Option<&'a GRPCAction>,
    sleep: Option<&'a SleepAction>,
}

/// Follows `validateHandler`: validates the first handler and forbids the others.
fn handler(handler: &Handler<'_>, grace_period: Option<i64>, zero_allowed: bool, path: &At<'_>) {
    let mut given = 0;
    let mut is_first = |field: &str| {
        given += 1;
        if given > 1 {
            path.child(field).forbidden("may not specify more than 1 handler type");
        }
        given == 1
    };
    if let Some(exec) = handler.exec
        && is_first("exec")
        && list(&exec.command).is_empty()
    {
        path.child("exec").child("command").required("");
    }
    if let Some(http) = handler.http_get
        && is_first("httpGet")
    {
        http_get(http, &path.child("httpGet"));
    }
    if let Some(tcp) = handler.tcp_socket
        && is_first("tcpSocket")
    {
        number_or_name(&tcp.port, &path.child("tcpSocket").child("port"));
    }
    if let Some(grpc) = handler.grpc
        && is_first("grpc")
    {
        let path = path.child("grpc");
        for message in names::port_number(grpc.port) {
            path.child("port").invalid(grpc.port, message);
        }
        one_of(grpc.mode.as_deref(), &["Plaintext", "TLS"], &path.child("mode"));
    }
    if let Some(sleep) = handler.sleep
        && is_first("sleep")
    {
        self::sleep(sleep.seconds, grace_period, zero_allowed, &path.child("sleep"));
    }
    if given == 0 {
        path.required("must specify a handler type");
    }
}

/// Follows `validateHTTPGetAction`.
fn http_get(http: &HTTPGetAction, path: &At<'_>) {
    required(text(&http.path), &path.child("path"));
    number_or_name(&http.port, &path.child("port"));
    let scheme = text(&http.scheme);
    if scheme != "HTTP" && scheme != "HTTPS" {
        path.child("scheme").not_supported(named(scheme), &["HTTP", "HTTPS"]);
    }
    for header in list(&http.http_headers) {
        let path = path.child("httpHeaders");
        each(names::http_header_name(&header.name), &header.name, &path);
    }
    let protocol = http.protocol.as_deref();
    one_of(protocol, &["HTTP1", "HTTP2"], &path.child("protocol"));
    if protocol == Some("HTTP2") {
        let host = text(&http.host);
        if scheme != "HTTP" {
            path.child("protocol").invalid(named("HTTP2"), "is only supported with HTTP (H2C)");
        } else if !host.is_empty() {
            path.child("host").invalid(host, "must be empty when `protocol` is \"HTTP2\"");
        }
    }
}

/// Follows `validateSleepAction`.
fn sleep(seconds: i64, grace_period: Option<i64>, zero_allowed: bool, path: &At<'_>) {
    let Some(grace) = grace_period else { return };
    let least = if zero_allowed { 0 } else { 1 };
    if seconds >= least && seconds <= grace {
        return;
    }
    let why = if zero_allowed {
        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})")
    } else {
        format!(
            "must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). Enable \
             AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        )
    };
    path.invalid(seconds, why);
}

/// In upstream's order.
#[rustfmt::skip]
const LINUX_SIGNALS: &[&str] = &[
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL",
    "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT",
    "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13",
    "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6",
    "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10",
    "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
    "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8",
    "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP",
    "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU",
    "SIGXFSZ",
];

/// Follows `validateStopSignal`.
fn stop_signal(signal: &str, os: Option<&str>, path: &At<'_>) {
    let supported: &[&str] = match os {
        None => {
            path.forbidden("may not be set for containers with empty `spec.os.name`");
            return;
        }
        Some("windows") => &["SIGKILL", "SIGTERM"],
        Some("linux") => LINUX_SIGNALS,
        Some(_) => return,
    };
    if !supported.contains(&signal) {
        path.not_supported(named(signal), supported);
    }
}

//! `setguard serve` as a process: output, logs, start, reloads and end.

mod policy;
mod shutdown;

use std::io::Write as _;

use crate::daemon::{certificate_in, serve_fails};
use crate::prelude::*;

pub fn daemon(args: &[&str]) -> (Daemon, Client) {
    let dir = tempfile::tempdir().unwrap();
    let made = certificate_in(dir.path());
    let mut daemon = Daemon::with_files(dir.path(), args, &[]);
    daemon.dir = Some(dir);
    (daemon, Client::trusting(&[&made.ca]))
}

#[test]
fn without_flags_it_prints_webhooks_with_a_working_ca_bundle() {
    let mut daemon = Daemon::start(&["--tls-san", "localhost"]);
    // `| kubectl apply -f -` waits until the server closes its standard output; the server keeps running.
    let documents: Vec<Value> = support::to_json(&daemon.stdout())
        .iter()
        .map(|json| serde_json::from_str(json).unwrap())
        .collect();
    let kinds: Vec<&str> = documents.iter().map(|d| d["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);
    let mut endpoints = Vec::new();
    for webhook in documents.iter().flat_map(|d| d["webhooks"].as_array().unwrap()) {
        assert!(webhook["name"].as_str().unwrap().split('.').count() >= 3);
        let config = &webhook["clientConfig"];
        let ca = STANDARD.decode(config["caBundle"].as_str().unwrap()).unwrap();
        let client = Client::trusting(&[std::str::from_utf8(&ca).unwrap()]);
        let mut stream = client.connect(daemon.webhook).unwrap();
        let url = config["url"].as_str().unwrap();
        let origin = format!("https://localhost:{}", daemon.webhook.port());
        let path = url.strip_prefix(&origin).unwrap_or_else(|| panic!("{url}"));
        assert_eq!(post(&mut stream, path, &review("validate/daemonset-create")).status, 200);
        endpoints.push(path.to_owned());
    }
    let mutating = ["/mutate", "/mutate", "/mutate", "/mutate/control-plane"];
    assert_eq!(endpoints, [&["/validate", "/validate"][..], &mutating].concat());
    // With these configurations, the API server refuses changes after the server ends.
    let way_back = "if you apply the printed configurations, the API server refuses each change of a DaemonSet or \
                    StatefulSet while this process does not run; to delete them: setguard cleanup";
    daemon.logged(way_back);
    daemon.signal("INT");
    daemon.logged(way_back);
}

#[test]
fn it_serves_although_its_log_is_not_read() {
    let dir = tempfile::tempdir().unwrap();
    let made = certificate_in(dir.path());
    let client = Client::trusting(&[&made.ca]);
    let review = review("validate/daemonset-create");
    // Each request logs a line. A pipe holds 64 KiB, fewer than 400 lines; the queue holds 4,096.
    for keep in [true, false] {
        let (mut daemon, log) = Daemon::with_unread_log(dir.path());
        let log = keep.then_some(log);
        let mut stream = client.connect(daemon.webhook).unwrap();
        for _ in 0..5_000 {
            assert_eq!(post(&mut stream, "/validate", &review).status, 200);
        }
        assert_eq!(daemon.get("/livez").status, 200);
        let metrics = daemon.get("/metrics").body;
        let dropped = metrics.lines().find_map(|line| {
            line.strip_prefix("setguard_log_lines_dropped_total ")?.parse::<u64>().ok()
        });
        // A closed pipe delays no request: each write fails immediately, and only the log is lost.
        assert_eq!(dropped.is_some_and(|dropped| dropped > 0), keep, "{dropped:?}");
        daemon.signal("TERM");
        assert!(daemon.wait().success());
        drop(log);
    }
}

fn managed() -> Vec<&'static str> {
    let flags = "--tls-managed --tls-managed-namespace default --tls-managed-secret ca \
                 --tls-managed-dns-name localhost --tls-managed-webhook-config setguard";
    flags.split(' ').collect()
}

#[test]
fn a_managed_certificate_waits_for_the_api_server_and_is_not_ready() {
    let dir = tempfile::tempdir().unwrap();
    // Nothing listens there.
    let path = dir.path().join("kubeconfig");
    fs::write(&path, http::kubeconfig("https://127.0.0.1:1")).unwrap();
    let daemon = Daemon::start_with_env(&managed(), &[("KUBECONFIG", &path)]);
    let line = daemon.logged("cannot maintain the managed certificate; it stays as it is");
    assert!(
        line["fields"]["error"].to_string().contains("reading webhook configuration setguard"),
        "{line}"
    );
    daemon.measured("setguard_managed_certificate_healthy 0");
    let reply = daemon.get("/readyz");
    assert_eq!((reply.status, &*reply.body), (503, "waiting for a certificate\n"));
    assert_eq!(daemon.get("/livez").status, 200);
}

#[test]
fn the_unspecified_address_includes_both_ip_families() {
    let daemon = Daemon::start(&["--listen", "[::]:0", "--admin-listen", "[::]:0"]);
    let mut families = vec!["127.0.0.1"];
    families.extend(TcpListener::bind("[::1]:0").is_ok().then_some("::1"));
    for address in families {
        for port in [daemon.webhook.port(), daemon.admin.port()] {
            let connected = TcpStream::connect((address, port));
            assert!(connected.is_ok(), "{address}:{port}: {connected:?}");
        }
    }
}

#[test]
fn startup_errors_are_reported_with_exit_code_2() {
    let dir = tempfile::tempdir().unwrap();
    certificate_in(dir.path());
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let policy = "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n  no-such-rule: deny\n";
    fs::write(file("policy.yaml"), policy).unwrap();
    let running = Daemon::start(&[]);
    let words = [
        ("TAKEN", running.webhook.to_string()),
        ("FREE", "127.0.0.1:0".to_owned()),
        ("WRONG", file("policy.yaml")),
        ("MISSING", file("missing.crt")),
        ("CERT", file("tls.crt")),
        ("KEY", file("tls.key")),
        ("MANAGED", managed().join(" ")),
    ];
    let full = |text: &str| {
        words.iter().fold(text.to_owned(), |text, (word, full)| text.replace(word, full))
    };
    for (args, expected) in [
        ("--listen TAKEN --admin-listen FREE", "--listen TAKEN: cannot"),
        ("--listen FREE --admin-listen TAKEN", "--admin-listen TAKEN: can"),
        ("--policy WRONG", "WRONG:4:3: rules[no-such-rule]: there is no rule"),
        ("--tls-cert MISSING --tls-key KEY", "MISSING: cannot be read"),
        ("--tls-cert CERT --tls-key CERT", "CERT: has no private key"),
        ("--tls-cert CERT", "--tls-key"),
        ("--tls-cert CERT --tls-key KEY --tls-self-signed", "cannot be used with"),
        ("--tls-managed", "--tls-managed-namespace"),
        ("--tls-managed-secret ca", "--tls-managed"),
        ("--tls-self-signed MANAGED", "cannot be used with"),
        ("--listen FREE --admin-listen FREE MANAGED", "--tls-managed: cannot find the API server"),
        ("--kube-version 1.2", "Kubernetes 1.2 is not supported"),
        ("--grace-period soon", "is not a duration such as"),
        ("--tls-san not/a/host", "is neither a DNS name nor an IP address"),
    ] {
        let (args, expected) = (full(args), full(expected));
        let args: Vec<_> = args.split(' ').collect();
        let (code, stderr) = serve_fails(&args);
        assert_eq!(code, Some(2), "{args:?}: {stderr}");
        assert!(stderr.contains(&expected), "{args:?}: {stderr}");
    }
}

const STEERING: &str = "\u{9b}2J\u{1b}[31m\u{202e}\u{2066}\n";

#[test]
fn a_request_is_one_log_line_without_the_contents_of_its_object() {
    let (daemon, client) = daemon(&["--log-level", "debug"]);
    let mut stream = client.connect(daemon.webhook).unwrap();
    let mut review: Value =
        serde_json::from_str(&review("mutate/pod-pinned-elsewhere-denied")).unwrap();
    let env = json!([{"name": "PASSWORD", "value": "hunter2"}]);
    review["request"]["object"]["spec"]["containers"][0]["env"] = env;
    review["request"]["name"] = json!(STEERING);
    assert_eq!(post(&mut stream, "/mutate", &review.to_string()).status, 200);
    review["request"]["object"]["spec"]["tolerations"] = json!("hunter2");
    assert_eq!(post(&mut stream, "/mutate", &review.to_string()).status, 400);

    let (mut lines, answered) = daemon.logs_until("review");
    let fields = &answered["fields"];
    let expected = json!({
        "endpoint": "/mutate", "uid": review["request"]["uid"], "kind": "Pod", "operation": "CREATE",
        "namespace": review["request"]["namespace"], "decision": "denied", "findings": 1,
        "rules": "node-pin-conflict", "name": STEERING,
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(fields[field], *value, "{field} of {answered}");
    }
    assert!(fields["duration_us"].is_u64(), "{answered}");
    let line = lines.last().unwrap();
    assert!(line.contains(r"\u009b2J\u001b[31m\u202e\u2066\n"), "{line}");
    assert!(!line.contains(['\u{9b}', '\u{1b}', '\u{202e}', '\u{2066}']), "{line:?}");
    let (more, rejected) = daemon.logs_until("review");
    assert_eq!(rejected["fields"]["decision"], "rejected");
    lines.extend(more);
    assert!(!lines.iter().any(|line| line.contains("hunter2")), "{lines:#?}");
}

#[test]
fn clients_cannot_fill_the_log_with_warnings_of_the_tls_library() {
    let (daemon, client) = daemon(&[]);
    for _ in 0..10 {
        // A warning alert (user canceled) instead of a ClientHello, as often as rustls permits.
        let mut stream = TcpStream::connect(daemon.webhook).unwrap();
        stream.write_all(&[21, 3, 3, 0, 2, 1, 90].repeat(3)).unwrap();
    }
    daemon.measured(r#"setguard_tls_handshake_failures_total{reason="eof"} 10"#);
    let mut stream = client.connect(daemon.webhook).unwrap();
    post(&mut stream, "/validate", &review("validate/daemonset-create"));
    let (before, _) = daemon.logs_until("review");
    assert!(!before.iter().any(|line| line.contains("WARN")), "{before:#?}");
}

/// The only sign for an administrator that a manual registration works.
#[test]
fn it_says_once_that_it_is_called_and_in_each_silence_that_it_is_not() {
    let (waiting, client) = daemon(&["--expect-call-within", "1ms"]);
    let silent = "no API server has called setguard for a while";
    waiting.logged(silent);
    let first = "an API server has called setguard for the first time";
    let mut stream = client.connect(waiting.webhook).unwrap();
    // A probe does not count as a call.
    let mut probe: Value = serde_json::from_str(&review("validate/daemonset-create")).unwrap();
    probe["request"]["namespace"] = "setguard-probe".into();
    post(&mut stream, "/validate", &probe.to_string());
    let (before, _) = waiting.logs_until("review");
    assert!(!before.iter().any(|line| line.contains(first)), "{before:#?}");
    for _ in 0..2 {
        post(&mut stream, "/validate", &review("validate/daemonset-create"));
    }
    waiting.logged(first);
    // setguard logs a later silence again, once.
    let (before, _) = waiting.logs_until(silent);
    assert_eq!(before.iter().filter(|line| line.contains("\"review\"")).count(), 2, "{before:#?}");
    assert!(!before.iter().any(|line| line.contains(first)), "{before:#?}");
}

#[test]
fn probes_and_metrics_are_on_the_admin_port() {
    let (daemon, client) = daemon(&[]);
    assert_eq!((daemon.get("/livez").status, daemon.get("/readyz").status), (200, 200));
    assert_eq!(daemon.get("/validate").status, 404);
    let mut stream = client.connect(daemon.webhook).unwrap();
    post(&mut stream, "/mutate", &review("mutate/pod-of-daemonset-controller"));
    let metrics = daemon.get("/metrics");
    let format = "content-type: application/openmetrics-text; version=1.0.0";
    assert!(metrics.head.contains(format), "{metrics:?}");
    assert!(metrics.body.ends_with("# EOF\n"), "{metrics:?}");
    let expiry = metrics.body.lines().find_map(|line| {
        line.strip_prefix("setguard_certificate_expiry_seconds ")?.parse::<i64>().ok()
    });
    let left = expiry.unwrap() - jiff::Timestamp::now().as_second();
    assert!((0..=366 * 24 * 3600).contains(&left), "{left} s");
    for part in [
        r#"requests_total{endpoint="/mutate",kind="Pod",operation="CREATE",decision="patched"} 1"#,
        r#"setguard_injections_total{what="control-plane-tolerations"} 1"#,
        "setguard_admission_duration_seconds_count{endpoint=\"/mutate\"} 1",
        "# TYPE setguard_admission_requests counter\n",
        "\nprocess_open_fds ",
        "setguard_in_flight_requests 0",
        concat!("setguard_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\""),
    ] {
        assert!(metrics.body.contains(part), "no {part} in\n{}", metrics.body);
    }
}

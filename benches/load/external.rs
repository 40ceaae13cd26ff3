//! Other admission webhooks to compare with, such as Gatekeeper and Kyverno, if there are any.
//!
//! They need their own custom resources and rules, which differ from release to release. So the
//! environment variables [`VARIABLES`] name a program for each; this repository's are
//! `benches/load/*/start`. A program is started twice: with the argument `install`, to build what
//! it needs; and without an argument, to prepare the cluster, with the four rules of [`faults`], to
//! register itself, and to become the webhook by `exec`, so that the memory and the processor time
//! of this process are the webhook's. It must not register itself again after that: the benchmark
//! removes the registration and restores it. The section `policies` starts it with the argument
//! `policies` instead, to make ValidatingAdmissionPolicies of the four rules of that section, and to
//! end. The program gets these environment variables:
//!
//! - `KUBECONFIG`, with all rights; and `KUBECTL`, a program.
//! - `PORT`: the port to listen on, on 127.0.0.1.
//! - `CERTIFICATE` and `KEY`: files in PEM, for 127.0.0.1. The program may use others: the
//!   benchmark trusts the CA of the registration.

use std::{
    env,
    ffi::{OsStr, OsString},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rustls::ClientConfig;
use serde_json::{Value, json};

use crate::{
    PINNED, SERVER_CORE, certificate,
    harness::{
        control_plane::{ADMIN_TOKEN, ControlPlane},
        process::{Process, eventually, free_ports},
    },
    plain::{self, Connection},
    reviews,
};

const VARIABLES: [(&str, &str); 2] = [("Gatekeeper", "GATEKEEPER"), ("Kyverno", "KYVERNO")];
const KIND: &str = "validatingwebhookconfigurations";
const POLICIES: &str = "validatingadmissionpolicies,validatingadmissionpolicybindings";

/// A running webhook of another program, which is not registered.
pub(crate) struct External {
    pub(crate) name: &'static str,
    /// The validating webhook configurations of its original registration.
    pub(crate) configurations: Vec<Value>,
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    pub(crate) tls: Arc<ClientConfig>,
    /// A review of 7 KB that the webhook accepts.
    pub(crate) request: Vec<u8>,
}

/// Returns the programs that the environment names, installed.
pub(crate) fn named() -> Vec<(&'static str, OsString)> {
    let named = VARIABLES.iter().filter_map(|(name, variable)| {
        let program = env::var_os(variable);
        if program.is_none() {
            println!("{name}: skipped, {variable} is not set");
        }
        Some((*name, program?))
    });
    let named: Vec<_> = named.collect();
    for (name, program) in &named {
        let mut install = Command::new(program);
        let status = install.arg("install").stdout(Stdio::null()).status();
        assert!(status.is_ok_and(|status| status.success()), "{name} cannot be installed");
    }
    named
}

impl External {
    /// Starts a program that [`named`] returned.
    pub(crate) fn start(
        control_plane: &ControlPlane,
        name: &'static str,
        program: &OsStr,
    ) -> External {
        let logs = folder(control_plane, name);
        let kubectl = &control_plane.kubectl;
        let variables = variables(control_plane, name, &logs);
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_os_str()));
        let path = program.to_str().expect("a path in UTF-8");
        let mut process = if env::var_os(PINNED).is_some() {
            let args = ["-c", SERVER_CORE, path];
            Process::start_with(Path::new("taskset"), &args, &variables, &logs)
        } else {
            Process::start_with(Path::new(program), &[], &variables, &logs)
        };
        let ready = || {
            let list = kubectl.run(&["get", KIND, "-o", "json"], "").json();
            let items = list["items"].as_array()?.clone();
            let (address, path, tls) = items.iter().find_map(|item| endpoint(item, &logs))?;
            let allows = |review: &Value| {
                let request = plain::post(&path, "", review.to_string().as_bytes());
                allows(address, &tls, &request)
            };
            let good = recorded();
            let denies_all = faults().iter().all(|fault| allows(fault) == Some(false));
            let is_ready = denies_all && allows(&good) == Some(true);
            let request = plain::post(&path, "", good.to_string().as_bytes());
            is_ready.then_some((items, address, tls, request))
        };
        let (configurations, address, tls, request) =
            process.wait_until(&format!("{name} to apply its rules"), ready);
        kubectl.run(&["delete", KIND, "--all"], "").accepted();
        External { name, configurations, process, address, tls, request }
    }
}

/// Lets a program that [`named`] returned make ValidatingAdmissionPolicies. Returns them and their
/// bindings, which are no longer in the cluster.
pub(crate) fn policies(
    control_plane: &ControlPlane,
    name: &'static str,
    program: &OsStr,
) -> Vec<Value> {
    let logs = folder(control_plane, name);
    let variables = variables(control_plane, name, &logs);
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_os_str()));
    let mut process = Process::start_with(Path::new(program), &["policies"], &variables, &logs);
    let status = eventually(&format!("{name} to make policies"), || {
        process.ended().ok_or("it has not ended")
    });
    let log = std::fs::read_to_string(&process.log).unwrap_or_default();
    assert!(status.success(), "{name} ended with {status}:\n{log}");
    let kubectl = &control_plane.kubectl;
    let list = kubectl.run(&["get", POLICIES, "-o", "json"], "").json();
    // Without these configurations, the cluster would call a webhook that has ended.
    for kinds in [POLICIES, KIND, "mutatingwebhookconfigurations"] {
        kubectl.run(&["delete", kinds, "--all"], "").accepted();
    }
    list["items"].as_array().expect("a list").clone()
}

/// Makes the folder for the files of a program.
fn folder(control_plane: &ControlPlane, name: &str) -> PathBuf {
    let folder = control_plane.folder().join(name);
    std::fs::create_dir(&folder).expect("a folder");
    folder
}

/// The environment variables that a program gets.
fn variables(
    control_plane: &ControlPlane,
    name: &str,
    folder: &Path,
) -> [(&'static str, OsString); 5] {
    let [certificate, key] = certificate::write(folder);
    let [port] = free_ports();
    [
        ("KUBECONFIG", control_plane.kubeconfig(name, ADMIN_TOKEN).into()),
        ("KUBECTL", control_plane.kubectl.program.clone().into()),
        ("PORT", port.to_string().into()),
        ("CERTIFICATE", certificate.into()),
        ("KEY", key.into()),
    ]
}

/// Returns the endpoint to which a configuration sends DaemonSets, and the CA of the server there.
fn endpoint(
    configuration: &Value,
    folder: &Path,
) -> Option<(SocketAddr, String, Arc<ClientConfig>)> {
    let webhooks = configuration["webhooks"].as_array()?;
    let webhook = webhooks.iter().find(|webhook| {
        let rules = webhook["rules"].as_array().into_iter().flatten();
        let mut resources = rules.filter_map(|rule| rule["resources"].as_array()).flatten();
        resources.any(|resource| resource == "daemonsets" || resource == "*")
    })?;
    let url = webhook["clientConfig"]["url"].as_str()?.strip_prefix("https://")?;
    let (authority, path) = url.split_once('/')?;
    let pem = BASE64.decode(webhook["clientConfig"]["caBundle"].as_str()?).ok()?;
    let ca = folder.join("ca.crt");
    std::fs::write(&ca, pem).expect("a file");
    Some((authority.parse().ok()?, format!("/{path}"), plain::trust(&ca)))
}

/// Returns whether a webhook allows a review. `None` if it does not answer.
fn allows(address: SocketAddr, tls: &Arc<ClientConfig>, request: &[u8]) -> Option<bool> {
    let mut connection = Connection::open(address, tls).ok()?;
    let (status, body) = connection.send(request).ok()?;
    let body = String::from_utf8_lossy(body);
    (status == 200).then(|| body.contains(r#""allowed":true"#))
}

fn recorded() -> Value {
    serde_json::from_slice(&reviews::daemon_set_update(reviews::SMALL)).expect("a review")
}

/// Reviews that each break one of the rules that are compared: the selector matches the labels of the
/// template, `restartPolicy` is `Always`, the partition is below the replicas, and `maxUnavailable` is
/// not 0 if the pods claim ports of the node.
fn faults() -> [Value; 4] {
    let broken = |change: fn(&mut Value)| {
        let mut review = recorded();
        change(&mut review["request"]);
        review
    };
    [
        broken(|request| request["object"]["spec"]["selector"]["matchLabels"]["x"] = json!("y")),
        broken(|request| {
            request["object"]["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        }),
        broken(|request| {
            for kind in ["kind", "requestKind"] {
                request[kind]["kind"] = json!("StatefulSet");
            }
            for resource in ["resource", "requestResource"] {
                request[resource]["resource"] = json!("statefulsets");
            }
            for object in ["object", "oldObject"] {
                request[object]["kind"] = json!("StatefulSet");
                request[object]["spec"]["replicas"] = json!(2);
                request[object]["spec"]["updateStrategy"] =
                    json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 2 } });
            }
        }),
        broken(|request| {
            let spec = &mut request["object"]["spec"];
            spec["updateStrategy"]["rollingUpdate"] = json!({ "maxUnavailable": 0, "maxSurge": 1 });
            spec["template"]["spec"]["containers"][0]["ports"] =
                json!([{ "containerPort": 80, "hostPort": 80, "protocol": "TCP" }]);
        }),
    ]
}

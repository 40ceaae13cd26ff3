//! The time that ValidatingAdmissionPolicies add to a dry-run write at a real API server: those that
//! setguard exports, and those that other programs make of what their users write.
//!
//! As in `api_server.rs`, each side has its own namespace, and the sides take turns from write to
//! write.

use std::{env, path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    Arguments,
    api_server::{documents, restricted},
    external,
    harness::{
        control_plane::{ASSETS, ControlPlane},
        process::eventually,
        webhook::Webhook,
    },
    numbers::{Latencies, median},
    throughput::{OTHER, setguard},
    writes::{self, REQUESTS, WRITES, Write, object, whose_turn},
};

/// The rules that each program has. Three of them are about each kind of set.
const RULES: &str =
    "surge-host-port,partition-covers-all,template-node-name,template-scheduling-gates";

const POLICY: &str = "ValidatingAdmissionPolicy";

/// The times of a round, by kind of write.
type Round = [Latencies; WRITES.len()];

/// A webhook, or policies, for the writes in a namespace.
struct Side {
    name: String,
    namespace: String,
    /// A webhook configuration, or policies with their bindings.
    objects: Vec<Value>,
    /// The requests for [`WRITES`], as they go over the wire.
    requests: [Vec<u8>; WRITES.len()],
    rounds: Vec<Round>,
}

/// Measures and prints the results.
pub(crate) fn measure(arguments: &Arguments) {
    let Some(assets) = env::var_os(ASSETS) else {
        println!("\npolicies: skipped, {ASSETS} is not set");
        return;
    };
    let control_plane = ControlPlane::start(Path::new(&assets));
    let (_webhook, configurations) = Webhook::start(&setguard(), control_plane.folder(), &[]);
    let mut sides = sides(&control_plane, &configurations);
    for side in &sides {
        writes::prepare(&control_plane, &side.namespace);
        let objects: String = side.objects.iter().map(Value::to_string).collect();
        if !objects.is_empty() {
            control_plane.kubectl.run(&["create", "-f", "-"], &objects).accepted();
        }
    }
    for side in &sides {
        eventually(&format!("{} to be in force", side.name), || side.in_force(&control_plane));
    }
    println!(
        "\npolicies: {} rounds of {REQUESTS} dry-run writes of each kind in turn, Kubernetes 1.{}",
        arguments.rounds,
        control_plane.minor()
    );
    take_turns(&control_plane, &mut sides, arguments.rounds);
    for (at, Write { name, .. }) in WRITES.iter().enumerate() {
        println!("{name}");
        let without: Vec<f64> = sides[0].medians(at);
        sides.iter().for_each(|side| side.print(at, &without));
    }
}

fn take_turns(control_plane: &ControlPlane, sides: &mut [Side], rounds: usize) {
    let mut connection = writes::connect(control_plane);
    for round in 0..rounds {
        sides.iter_mut().for_each(|side| side.rounds.push(Round::default()));
        for request in round * REQUESTS..(round + 1) * REQUESTS {
            for write in 0..WRITES.len() {
                for turn in 0..sides.len() {
                    let at = whose_turn(request, turn, sides.len());
                    let side = &mut sides[at];
                    let latency = writes::time(&mut connection, &side.requests[write]);
                    side.rounds[round][write].0.push(latency);
                }
            }
        }
    }
}

fn sides(control_plane: &ControlPlane, configurations: &str) -> Vec<Side> {
    let minor = format!("1.{}", control_plane.minor());
    let export = |program: &Path, more: &[&str]| {
        let mut command = Command::new(program);
        command.args(["export", "vap", "--kube-version", &minor]).args(more);
        let output = command.output().expect("setguard starts");
        assert!(output.status.success(), "{output:?}");
        documents(control_plane, &String::from_utf8_lossy(&output.stdout))
    };
    let four = ["--rules", RULES];
    let mut webhook = documents(control_plane, configurations);
    webhook.retain(|it| it["kind"] == "ValidatingWebhookConfiguration");
    let mut sides = vec![
        ("none".to_owned(), Vec::new()),
        // The difference between these two is chance.
        ("none, once more".to_owned(), Vec::new()),
        ("setguard's webhook".to_owned(), webhook),
        ("setguard's policies".to_owned(), export(&setguard(), &[])),
        ("setguard's policies, four rules".to_owned(), export(&setguard(), &four)),
    ];
    if let Some(other) = env::var_os(OTHER) {
        let other = Path::new(&other);
        sides.push(("other's policies".to_owned(), export(other, &[])));
        sides.push(("other's policies, four rules".to_owned(), export(other, &four)));
    }
    for (name, program) in external::named() {
        let policies = external::policies(control_plane, name, &program);
        sides.push((format!("{name}'s policies, four rules"), policies));
    }
    let side = |(number, (name, objects))| {
        let namespace = format!("load-{number}");
        let only = |object: Value| match object["kind"].as_str() {
            Some(kind) if kind.starts_with(POLICY) => restricted_policy(object, &namespace),
            _ => restricted(object, &namespace),
        };
        let objects = Vec::into_iter(objects).map(only).collect();
        let requests = WRITES.each_ref().map(|write| writes::ordinary(write, &namespace));
        Side { name, namespace, objects, requests, rounds: Vec::new() }
    };
    sides.into_iter().enumerate().map(side).collect()
}

/// A policy or a binding as another one that applies to a namespace alone.
fn restricted_policy(mut object: Value, namespace: &str) -> Value {
    let renamed = |name: &Value| json!(format!("{}-{namespace}", name.as_str().expect("a name")));
    object["metadata"] = json!({ "name": renamed(&object["metadata"]["name"]) });
    let spec = &mut object["spec"];
    if spec["policyName"].is_string() {
        spec["policyName"] = renamed(&spec["policyName"]);
    } else {
        // Not in the binding: the policies of all namespaces are asked whether they match.
        let labels = &mut spec["matchConstraints"]["namespaceSelector"]["matchLabels"];
        labels["kubernetes.io/metadata.name"] = json!(namespace);
    }
    object
}

impl Side {
    /// Checks that good objects get no warning, and that faults are found if and only if something
    /// checks them.
    fn in_force(&self, control_plane: &ControlPlane) -> Result<(), String> {
        let create = |object: &Value| {
            let args = ["create", "--dry-run=server", "-f", "-"];
            control_plane.kubectl.run(&args, &object.to_string())
        };
        let finds = |object: &Value, expected: bool| {
            let output = create(object);
            let found = !output.success || !output.stderr.is_empty();
            if found == expected { Ok(()) } else { Err(output.to_string()) }
        };
        for kind in ["DaemonSet", "StatefulSet"] {
            finds(&object(kind, "agent", &self.namespace), false)?;
        }
        faults(&self.namespace).iter().try_for_each(|bad| finds(bad, !self.objects.is_empty()))
    }

    fn medians(&self, write: usize) -> Vec<f64> {
        let p50 = |round: &Round| Latencies(round[write].0.clone()).percentile(50);
        self.rounds.iter().map(p50).collect()
    }

    /// Prints the latency of a write, and its ratio to the one without checks in the same rounds.
    fn print(&self, write: usize, without: &[f64]) {
        let of_all = self.rounds.iter().flat_map(|round| &round[write].0);
        let mut all = Latencies(of_all.copied().collect());
        let medians = self.medians(write);
        let pairs = || medians.iter().zip(without);
        let mut ratios: Vec<f64> = pairs().map(|(with, without)| with / without).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let policies = self.objects.iter().filter(|object| object["kind"] == POLICY).count();
        println!(
            "  {:35} {policies:3} policies  p50 {:.3} ms  p99 {:.3} ms  {:+.3} ms, {:.3} times \
             ({:.3} to {:.3})",
            self.name,
            all.percentile(50),
            all.percentile(99),
            median(pairs().map(|(with, without)| with - without)),
            median(ratios.iter().copied()),
            ratios.first().unwrap_or(&f64::NAN),
            ratios.last().unwrap_or(&f64::NAN),
        );
    }
}

/// Sets that each break one of [`RULES`].
fn faults(namespace: &str) -> [Value; 4] {
    let broken = |kind, change: fn(&mut Value)| {
        let mut set = object(kind, "bad", namespace);
        change(&mut set["spec"]);
        set
    };
    [
        broken("DaemonSet", |spec| {
            let strategy = json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
            spec["updateStrategy"] = strategy;
        }),
        broken("StatefulSet", |spec| {
            let strategy = json!({ "type": "RollingUpdate", "rollingUpdate": { "partition": 2 } });
            spec["updateStrategy"] = strategy;
        }),
        broken("DaemonSet", |spec| spec["template"]["spec"]["nodeName"] = json!("node")),
        broken("StatefulSet", |spec| {
            spec["template"]["spec"]["schedulingGates"] = json!([{ "name": "example.com/gate" }]);
        }),
    ]
}

//! The policies' processor time and memory for objects with long lists.

use ::http::{Method, Request};
use tokio::runtime::Builder;

use super::{all_warn, export};
use crate::prelude::*;

type Shape = (&'static str, fn(usize) -> Value);

/// The number of entries per list. The sets have up to 1 MB.
const LONG: usize = 8_000;

/// Lists whose entries an expression compares, and other long lists.
const SHAPES: &[Shape] = &[
    ("env", |n| container(n, "env", |i| json!({ "name": format!("E{i}") }))),
    ("ports", |n| container(n, "ports", |i| json!({ "containerPort": i + 1 }))),
    ("hostAliases", |n| pod(n, "hostAliases", |i| json!({ "ip": format!("::{i:x}") }))),
    ("imagePullSecrets", |n| pod(n, "imagePullSecrets", |i| json!({ "name": format!("s{i}") }))),
    ("tolerations", |n| {
        pod(n, "tolerations", |i| json!({ "key": format!("k{i}"), "operator": "Exists" }))
    }),
    ("tolerations with an end", |n| {
        let entry = |i| {
            json!({ "key": format!("k{i}"), "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 9 })
        };
        pod(n, "tolerations", entry)
    }),
    ("finalizers", |n| {
        let mut set = daemon_set("long");
        set["spec"]["template"]["metadata"]["finalizers"] =
            list(n, |i| json!(format!("example.com/f{i}")));
        set
    }),
    ("claims and mounts", |n| {
        let mut set = claims(n / 2);
        let mount = |i| json!({ "name": "d0", "mountPath": format!("/{i}") });
        set["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = list(n / 2, mount);
        set
    }),
    ("claims and volumes", |n| with_volumes(claims(n / 2), n / 2)),
    ("volumes and mounts", |n| {
        let mount = |i| json!({ "name": format!("v{}", i / 2), "mountPath": format!("/{i}"), "readOnly": true });
        with_volumes(container(n / 2, "volumeMounts", mount), n / 2)
    }),
    ("64 volumes and mounts", |n| {
        let mount = |i| json!({ "name": "v0", "mountPath": format!("/{i}"), "readOnly": true });
        with_volumes(container(n / 2, "volumeMounts", mount), 64)
    }),
    ("64 claims and volumes", |n| with_volumes(claims(64), n / 2)),
    ("terms of nodes", |n| {
        let term =
            json!({ "matchExpressions": [{ "key": "kubernetes.io/os", "operator": "Exists" }] });
        let mut set = daemon_set("long");
        set["spec"]["template"]["spec"]["hostPID"] = json!(true);
        set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"] = list(n, |_| term.clone());
        set
    }),
    ("containers", |n| {
        let entry = |i| json!({ "name": format!("c{i}"), "image": "a:1", "env": list(8, |i| json!({ "name": format!("E{i}") })) });
        pod(n / 8, "containers", entry)
    }),
    ("terms and labels", |n| {
        let labels: Value = (0..80).map(|i| (format!("l{i}"), json!("x"))).collect();
        let term = json!({ "topologyKey": "kubernetes.io/hostname",
            "labelSelector": { "matchLabels": labels } });
        let mut set = daemon_set("long");
        set["spec"]["selector"]["matchLabels"] = labels.clone();
        set["spec"]["template"]["metadata"]["labels"] = labels;
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        set["spec"]["template"]["spec"]["affinity"] =
            json!({ "podAntiAffinity": { required: list(n / 80, |_| term.clone()) } });
        set
    }),
    ("ids in the annotation", |n| {
        let mut set = stateful_set("long");
        set["metadata"]["annotations"] = json!({ "setguard.io/ignore": ",".repeat(16 * n) });
        set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(0);
        set["spec"]["revisionHistoryLimit"] = json!(0);
        set
    }),
];

fn list(n: usize, entry: impl Fn(usize) -> Value) -> Value {
    (0..n).map(entry).collect()
}

fn pod(n: usize, name: &str, entry: impl Fn(usize) -> Value) -> Value {
    let mut set = daemon_set("long");
    set["spec"]["template"]["spec"][name] = list(n, entry);
    set
}

fn container(n: usize, name: &str, entry: impl Fn(usize) -> Value) -> Value {
    let mut set = daemon_set("long");
    set["spec"]["template"]["spec"]["containers"][0][name] = list(n, entry);
    set
}

fn with_volumes(mut set: Value, n: usize) -> Value {
    let volume = |i| json!({ "name": format!("v{i}"), "hostPath": { "path": "/etc/cni" } });
    set["spec"]["template"]["spec"]["volumes"] = list(n, volume);
    set
}

fn claims(n: usize) -> Value {
    let mut set = stateful_set("long");
    let spec = json!({ "accessModes": ["ReadWriteOnce"],
        "resources": { "requests": { "storage": "1Gi" } } });
    set["spec"]["volumeClaimTemplates"] =
        list(n, |i| json!({ "metadata": { "name": format!("d{i}") }, "spec": spec }));
    set
}

#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Processor time in seconds.
    seconds: f64,
    /// Allocated memory in MB.
    megabytes: f64,
}

struct Meter {
    client: Client,
}

impl Meter {
    async fn now(&self) -> Cost {
        let request = Request::get("/metrics").body(Vec::new()).unwrap();
        let text = self.client.request_text(request).await.unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.unwrap().parse().unwrap()
        };
        Cost {
            seconds: value("process_cpu_seconds_total"),
            megabytes: value("go_memstats_alloc_bytes_total") / 1e6,
        }
    }

    async fn create(&self, set: &Value) -> Cost {
        const TIMES: u8 = 3;
        let kind = set["kind"].as_str().unwrap().to_lowercase();
        let path = format!("/apis/apps/v1/namespaces/shop/{kind}s?dryRun=All");
        let before = self.now().await;
        for _ in 0..TIMES {
            let answer = client::send(&self.client, Method::POST, &path, set, &[]).await;
            assert_eq!(answer.status, 201, "{set:.300}");
        }
        let after = self.now().await;
        Cost {
            seconds: (after.seconds - before.seconds) / f64::from(TIMES),
            megabytes: (after.megabytes - before.megabytes) / f64::from(TIMES),
        }
    }

    async fn all(&self, n: usize) -> Vec<Cost> {
        let mut costs = Vec::new();
        for (_, shape) in SHAPES {
            costs.push(self.create(&shape(n)).await);
        }
        costs
    }
}

/// No list costs the policies more than linear time or memory.
pub(super) fn linear(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let namespace = Namespace::create(&control_plane, "shop");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(client::of(&control_plane.kubectl.kubeconfig));
    let meter = Meter { client };
    let unchecked = runtime.block_on(meter.all(LONG));

    let policies = export("vap", &namespace, &all_warn(control_plane.minor()));
    namespace.kubectl(&["apply", "-f", "-"], &policies).accepted();
    let faulty = || namespace.dry_run(&SHAPES.last().unwrap().1(1));
    let what = "the policies to be in force";
    becomes(what, faulty, |it| it.stderr.contains("history-limit-zero"));
    // Nothing is passed over in silence, also if the object asks for that.
    let (_, tolerations) = SHAPES[4];
    let of_length = |n| {
        let mut set = tolerations(n);
        set["metadata"]["annotations"] = json!({ "setguard.io/ignore": "too-large-to-check" });
        namespace.dry_run(&set)
    };
    // The API server takes up one policy after the other.
    becomes(what, || of_length(257), |it| it.stderr.contains("too-large-to-check"));
    let said = of_length(256).stderr;
    assert!(!said.contains("too-large-to-check"), "{said}");
    let (short, long) =
        runtime.block_on(async { (meter.all(LONG / 8).await, meter.all(LONG).await) });
    let mut wrong = Vec::new();
    for (i, (name, _)) in SHAPES.iter().enumerate() {
        let (unchecked, short, long) = (unchecked[i], short[i], long[i]);
        let line =
            format!("{name}: unchecked {unchecked:.3?}, an eighth {short:.3?}, all {long:.3?}");
        eprintln!("{line}");
        // Eightfold is linear, and 64-fold quadratic. The margin allows for other programs.
        if long.seconds > 20.0 * short.seconds + 0.2
            || long.megabytes > 20.0 * short.megabytes + 10.0
        {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

//! `setguard plan` against the real controllers.

use futures::{StreamExt as _, stream};
use setguard_testing::recorded;
use tokio::time::timeout;

use crate::prelude::*;
use crate::{
    rollouts::{
        acts::add_node,
        history::History,
        lockstep::{self, Activity, Lockstep},
        middle, scenario,
    },
    traces::{self, Trace},
};

pub(super) const CASES: &[Case] = &[
    case("plans-come-true", |shared| plans_come_true(shared, &[OFF], 1, changes(80, 80))),
    case("plans-come-true-with-max-unavailable", |shared| {
        plans_come_true(shared, &[ON], 2, changes(80, 10));
    }),
    case("plans-come-true-slowly", |shared| plans_come_true(shared, &[OFF], 3, slow_changes)),
    case("plans-come-true-slowly-with-max-unavailable", |shared| {
        plans_come_true(shared, &[ON], 4, slow_changes);
    }),
    case("plans-come-true-by-recreating", |shared| {
        if shared.control_plane.minor() < RECREATE {
            eprintln!("this release does not know Recreate");
            return;
        }
        let gates = [ON, "StatefulSetRecreateStrategy=true"];
        plans_come_true(shared, &gates, 5, |seed| {
            let sets = scenario::recreating(scenario::stateful_sets(seed, 60, "sts-"));
            let (fast, slow) = sets.split_at(40);
            [fast.to_vec(), scenario::slowly(slow.to_vec())]
        });
    }),
    case("plans-come-true-after-histories", |shared| plans_come_true(shared, &[OFF], 6, histories)),
    case("plans-come-true-after-histories-with-max-unavailable", |shared| {
        plans_come_true(shared, &[ON], 7, |seed| {
            [middle::stateful_sets(seed, 80, "sts-"), Vec::new()]
        });
    }),
];

const OFF: &str = "MaxUnavailableStatefulSet=false";
const ON: &str = "MaxUnavailableStatefulSet=true";

/// The first minor release with the StatefulSet update strategy `Recreate`.
const RECREATE: u32 = 37;

const fn case(name: &'static str, run: fn(&Namespace<'_>)) -> Case {
    Case::needing(&[CONTROLLER_MANAGER], name, run)
}

fn changes(sets: usize, daemons: usize) -> impl FnOnce(u64) -> [Vec<History>; 2] {
    move |seed| {
        [scenario::stateful_sets(seed, sets, "sts-"), scenario::daemon_sets(seed, daemons, "ds-")]
    }
}

fn slow_changes(seed: u64) -> [Vec<History>; 2] {
    changes(60, 20)(seed).map(scenario::slowly)
}

fn histories(seed: u64) -> [Vec<History>; 2] {
    [middle::stateful_sets(seed, 80, "sts-"), middle::daemon_sets(seed, 80, "ds-")]
}

const CONTROLLERS: &[&str] = &[
    "daemonset-controller",
    "garbage-collector-controller",
    "persistentvolumeclaim-protection-controller",
    "statefulset-controller",
];

const AT_ONCE: usize = 40;
/// The longest time for a history with its change. Some are slow: after the removal of a node and its pods, a
/// controller may wait for an event that never comes, and gives up after five minutes.
const LONGEST: Duration = Duration::from_secs(400);

const REFUSALS: &str = include_str!("../../fixtures/rollouts/refuse.yaml");

/// The environment variable for a seed other than that of the fixtures.
const SEED: &str = "SETGUARD_TRACE_SEED";

/// Makes changes, and compares the controllers' actions with the plan. The case's number makes its changes unique.
fn plans_come_true(
    shared: &Namespace<'_>,
    gates: &[&str],
    number: u64,
    changes: impl FnOnce(u64) -> [Vec<History>; 2],
) {
    let assets = &shared.control_plane.assets;
    let control_plane = ControlPlane::start_with_gates(assets, gates);
    control_plane.start_controllers_with_gates(CONTROLLERS, gates);
    let seed = env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    let seed: u64 = seed + number * 1_000_003;
    let histories = changes(seed).concat();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let recording = record(&control_plane, gates, &histories);
    let traces = runtime.expect("a runtime").block_on(recording);
    if recorded::updates() {
        write(&format!("{}-1.{}", shared.name, control_plane.minor()), &traces);
    }
    let (mut wrong, mut wrong_traces) = (Vec::new(), String::new());
    let folder = tempfile::tempdir().expect("a folder");
    for trace in &traces {
        let plan = trace.plan(Path::new(env!("CARGO_BIN_EXE_setguard")), folder.path());
        let differences = trace.differences(&plan);
        if !differences.is_empty() {
            wrong.push(format!("{}:\n  {}", trace.name, differences.join("\n  ")));
            wrong_traces += &(serde_json::to_string(trace).expect("JSON") + "\n");
        }
    }
    let total = traces.len();
    let report = format!("{} of {total} plans were wrong:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{report}");
    if !wrong.is_empty() {
        let name = format!("wrong-{}-1.{}.jsonl", shared.name, control_plane.minor());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&path, wrong_traces).expect("a file");
        eprintln!("their traces: {}", path.display());
    }
    // Deleted pods end one after the other, and the controller may act in between.
    assert!(wrong.len() * 100 <= total, "{report}");
}

/// Writes the traces into `tests/traces`. Updates only the changes in an existing file, because it may be a selection.
fn write(name: &str, traces: &[Trace]) {
    let path = Path::new(ROOT).join(format!("tests/traces/{name}.jsonl"));
    let names = fs::read_to_string(&path).ok().map(|text| {
        let traces = text.lines().map(|line| serde_json::from_str::<Trace>(line).expect("a trace"));
        traces.map(|trace| trace.name).collect::<BTreeSet<_>>()
    });
    let lines = traces
        .iter()
        .filter(|trace| names.as_ref().is_none_or(|names| names.contains(&trace.name)))
        .map(|trace| serde_json::to_string(trace).expect("JSON") + "\n");
    fs::write(path, lines.collect::<String>()).expect("a file");
}

async fn record(plane: &ControlPlane, gates: &[&str], histories: &[History]) -> Vec<Trace> {
    let client = client::of(&plane.kubectl.kubeconfig).await;
    let nodes = Api::all(client.clone());
    for node in scenario::nodes() {
        add_node(&nodes, &node).await;
    }
    plane.kubectl.run(&["apply", "-f", "-"], REFUSALS).accepted();
    let all = json!({"apiVersion": "v1", "kind": "List", "items": scenario::nodes()});
    let flags = [
        format!("--kube-version=1.{}", plane.minor()),
        format!("--feature-gates={}", gates.join(",")),
    ];
    let activity: Activity = Arc::new(Mutex::new(BTreeMap::new()));
    lockstep::watch(&client, &activity);
    let run = |history| {
        let (client, activity, flags, all) = (client.clone(), &activity, &flags, &all);
        async move {
            let one = Lockstep::new(client, activity, history).run(flags.to_vec(), all, planned);
            let trace = timeout(LONGEST, one).await.ok();
            trace.ok_or_else(|| format!("{} takes too long", history.name))
        }
    };
    let mut traces = Vec::new();
    let mut running = stream::iter(histories).map(run).buffer_unordered(AT_ONCE);
    while let Some(trace) = running.next().await {
        match trace {
            Ok(trace) => traces.push(trace),
            Err(message) => eprintln!("{message}"),
        }
    }
    assert!(traces.len() * 50 >= histories.len() * 49, "{} traces", traces.len());
    let place = |trace: &Trace| histories.iter().position(|it| it.name == trace.name);
    traces.sort_by_key(place);
    traces
}

fn planned(trace: &Trace) -> Vec<usize> {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = trace.plan(Path::new(env!("CARGO_BIN_EXE_setguard")), folder.path());
    let mut waves: BTreeMap<u64, usize> = BTreeMap::new();
    for step in traces::list(&plan["objects"][0]["steps"]) {
        if step["action"] != "keep" {
            let count = step["count"].as_u64().unwrap_or(1);
            *waves.entry(step["wave"].as_u64().unwrap_or(0)).or_default() +=
                usize::try_from(count).expect("a small number");
        }
    }
    waves.into_values().collect::<Vec<usize>>()
}

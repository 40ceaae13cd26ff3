//! The environment of all cases: one control plane, and one registered `setguard serve`.

use crate::Webhook;
use crate::prelude::*;

#[derive(Debug)]
pub(crate) struct Stage {
    _webhook: Webhook,
    control_plane: ControlPlane,
}

impl Stage {
    /// Starts the control plane, runs the cases' steps before registration, and registers the webhooks with the
    /// configurations that `setguard serve` prints.
    pub(crate) fn set(assets: &Path, cases: &[&Case]) -> Self {
        let control_plane = ControlPlane::start(assets);
        for case in cases {
            let namespace = Namespace::create(&control_plane, case.name);
            if let Some(before) = case.before {
                before(&namespace);
            }
        }
        // On this thread, because the programs end with the thread that starts them.
        let needed: BTreeSet<&str> = cases.iter().flat_map(|case| case.needs).copied().collect();
        let starts = |program| needed.contains(program) && ControlPlane::has(assets, program);
        if starts(CONTROLLER_MANAGER) {
            control_plane.start_controllers(&["daemonset-controller"]);
        }
        if starts(SCHEDULER) {
            control_plane.start_scheduler();
        }
        let policy =
            concat!("--policy=", env!("CARGO_MANIFEST_DIR"), "/examples/pairing/policy.yaml");
        let release = format!("--kube-version=1.{}", control_plane.minor());
        let program = Path::new(env!("CARGO_BIN_EXE_setguard"));
        let flags = [policy, &release];
        let (webhook, configurations) = Webhook::start(program, control_plane.folder(), &flags);
        control_plane.kubectl.run(&["apply", "-f", "-"], &configurations).silently();
        wait_for_webhooks(&Namespace { control_plane: &control_plane, name: "default" });
        Stage { _webhook: webhook, control_plane }
    }

    pub(crate) fn namespace<'a>(&'a self, case: &Case) -> Namespace<'a> {
        Namespace { control_plane: &self.control_plane, name: case.name }
    }
}

fn wait_for_webhooks(namespace: &Namespace<'_>) {
    let ask = || namespace.dry_run(&stateful_set(&"a".repeat(57)));
    becomes("the validating webhook to be called", ask, |output| !output.success);
    let mut set = daemon_set("asks");
    set["metadata"]["labels"] = serde_json::json!({ "setguard.io/control-plane": "true" });
    let stored = || namespace.would_store(&set);
    becomes("the mutating webhook to be called", stored, |it| {
        it.pointer("/spec/template/spec/tolerations").is_some()
    });
}

//! End-to-end tests: the real program behind a real API server, driven by a real kubectl.
//!
//! Skipped unless `KUBEBUILDER_ASSETS` names the folder with kube-apiserver, etcd and kubectl. See docs/testing.md.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stderr, clippy::unwrap_used)]

mod cases;
mod dice;
mod etcd;
mod kubelet;
mod namespace;
mod node;
mod prelude;
mod rollouts;
mod stage;
mod viewer;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};
use setguard_testing::{
    background::{Background, Stop},
    certificate, client, corpus,
    harness::{
        self,
        control_plane::{ASSETS, CONTROLLER_MANAGER, ControlPlane, SCHEDULER, SETGUARD},
        kubectl::{Kubectl, Output, words},
        process::{Process, becomes, eventually, free_ports},
        webhook::Webhook,
    },
    helm, http, link,
    manifests::{
        self, add_claim, daemon_set, pod, rolled_by, stateful_set, surging, with, with_app,
        with_pod, within,
    },
    numbers, pages,
    service::Service,
    traces,
};

// For the modules below as well.
use self::{
    cases::{Case, HELM},
    dice::Dice,
    kubelet::Kubelet,
    namespace::Namespace,
    stage::Stage,
    viewer::Viewer,
};
use crate::prelude::*;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let assets = env::var_os(ASSETS).map(PathBuf::from);
    let cases = cases::all();
    let wanted: Vec<&Case> = cases
        .iter()
        .filter(|case| !arguments.is_filtered_out(&Trial::test(case.name, || Ok(()))))
        .collect();
    // Once for all cases, because it takes seconds, and on this thread, because its processes end with the thread that
    // starts them.
    let stage = match &assets {
        Some(assets) if !arguments.list && !wanted.is_empty() => {
            Some(Arc::new(Stage::set(assets, &wanted)))
        }
        _ => None,
    };
    let trials = cases.into_iter().map(|case| trial(case, assets.clone(), stage.clone()));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Runs setguard with a kubeconfig of a control plane.
fn setguard(kubeconfig: &Path, args: &[&str]) -> Output {
    setguard_of(kubeconfig, args, "")
}

fn setguard_of(kubeconfig: &Path, args: &[&str], stdin: &str) -> Output {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_setguard"));
    let home = kubeconfig.parent().unwrap_or(kubeconfig).to_owned();
    Kubectl { program, kubeconfig: kubeconfig.to_owned(), home }.run(args, stdin)
}

fn trial(case: Case, assets: Option<PathBuf>, stage: Option<Arc<Stage>>) -> Trial {
    Trial::ignorable_test(case.name, move || {
        let (Some(assets), Some(stage)) = (assets, stage) else {
            let reason = format!("skipped: {ASSETS} is not set, see docs/testing.md");
            return Ok(Completion::ignored_with(reason));
        };
        let missing = case.needs.iter().find(|program| match **program {
            HELM => helm::find().is_none(),
            _ => !ControlPlane::has(&assets, program),
        });
        if let Some(program) = missing {
            let reason = format!("skipped: there is no {program} in {ASSETS}");
            return Ok(Completion::ignored_with(reason));
        }
        (case.run)(&stage.namespace(&case));
        Ok(Completion::Completed)
    })
}

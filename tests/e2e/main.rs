//! End-to-end tests: the real program behind a real API server, driven by a real kubectl.
//!
//! They are skipped unless `KUBEBUILDER_ASSETS` names the folder with kube-apiserver, etcd and
//! kubectl. See docs/testing.md.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used
)]

mod cases;
mod client;
#[allow(dead_code, unreachable_pub, reason = "it belongs to the other tests")]
#[path = "../it/corpus.rs"]
mod corpus;
mod dice;
mod etcd;
mod harness;
#[path = "../helm.rs"]
mod helm;
mod http;
mod kubelet;
mod link;
mod manifests;
mod namespace;
mod node;
#[path = "../pages.rs"]
mod pages;
mod rollouts;
mod service;
mod stage;
#[path = "../traces.rs"]
mod traces;
mod viewer;

use std::{env, path::PathBuf, process::ExitCode, sync::Arc};

use libtest_mimic::{Arguments, Completion, Trial};

use crate::{
    cases::{Case, HELM},
    harness::control_plane::{ASSETS, ControlPlane},
    stage::Stage,
};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let assets = env::var_os(ASSETS).map(PathBuf::from);
    let cases = cases::all();
    let wanted: Vec<&Case> = cases
        .iter()
        .filter(|case| !arguments.is_filtered_out(&Trial::test(case.name, || Ok(()))))
        .collect();
    // Once for all cases, since it takes seconds, and on this thread, since its processes end with
    // the thread that starts them.
    let stage = match &assets {
        Some(assets) if !arguments.list && !wanted.is_empty() => {
            Some(Arc::new(Stage::set(assets, &wanted)))
        }
        _ => None,
    };
    let trials = cases.into_iter().map(|case| trial(case, assets.clone(), stage.clone()));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
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

//! End-to-end tests: the real program behind a real API server, driven by a real kubectl.
//!
//! They need the folder of kube-apiserver, etcd and kubectl in `KUBEBUILDER_ASSETS`, and are
//! skipped without it. See docs/testing.md.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cases;
mod cluster;
mod control_plane;
mod kubectl;
mod manifests;
mod process;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use libtest_mimic::{Arguments, Completion, Trial};

use crate::{cases::Case, cluster::Namespace, control_plane::ControlPlane};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases: Vec<Case> = cases::all().into_iter().filter(|case| wanted(case, &arguments)).collect();
    let assets = env::var_os(control_plane::ASSETS).map(PathBuf::from);
    let conclusion = match assets {
        _ if cases.is_empty() || arguments.list => run(&arguments, cases, |_| None),
        None => run(&arguments, cases, |_| {
            Some(format!("{} is not set, see docs/testing.md", control_plane::ASSETS))
        }),
        Some(assets) => run_in_cluster(&arguments, cases, &assets),
    };
    conclusion.exit_code()
}


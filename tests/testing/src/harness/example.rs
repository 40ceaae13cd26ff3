//! The example controller, as `cargo run --package paired-controller` would start it.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use super::process::Process;
use crate::ROOT;

/// Starts the controller with this kubeconfig.
pub fn start_paired_controller(kubeconfig: &Path, logs: &Path) -> Process {
    Process::start_with(&program(), &[], &[("KUBECONFIG", kubeconfig.as_os_str())], logs)
}

/// Builds the example and returns its path. It is another package, which `cargo test` does not build;
/// its program is put next to the folder of the tests.
fn program() -> PathBuf {
    let test = env::current_exe().expect("this test's path");
    let folder = test.parent().and_then(Path::parent).expect("target/PROFILE/deps/TEST");
    if let Some(cargo) = env::var_os("CARGO") {
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            Some("debug") | None => "dev",
            Some(name) => name,
        };
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--package", "paired-controller", "--profile", profile])
            .current_dir(ROOT)
            .status()
            .expect("cargo starts");
        assert!(status.success(), "the example does not build");
    }
    folder.join("paired-controller")
}

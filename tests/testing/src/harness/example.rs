//! The example controller, as `cargo run --package paired-controller` starts it.

use super::process::Process;
use crate::prelude::*;

pub fn start_paired_controller(kubeconfig: &Path, logs: &Path) -> Process {
    Process::start_with(&program(), &[], &[("KUBECONFIG", kubeconfig.as_os_str())], logs)
}

/// Builds the example and returns its path. `cargo test` does not build this package; its program goes next to the
/// tests' folder.
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

//! A Helm release of the chart.

use crate::prelude::*;

pub(super) struct Release<'a> {
    namespace: &'a Namespace<'a>,
    name: &'static str,
    helm: PathBuf,
    pub(super) chart: PathBuf,
}

impl<'a> Release<'a> {
    pub(super) fn new(namespace: &'a Namespace<'a>, name: &'static str) -> Self {
        Release::by(helm::find().expect("helm was found before"), namespace, name)
    }

    pub(super) fn by(helm: PathBuf, namespace: &'a Namespace<'_>, name: &'static str) -> Self {
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard");
        Release { namespace, name, helm, chart }
    }

    /// Runs `helm COMMAND NAME`, with the chart and these values unless null, and waits for the end.
    #[track_caller]
    pub(super) fn run(&self, command: &str, values: &Value) {
        let flags: &[&str] = if values.is_null() { &[] } else { &["--wait"] };
        self.succeeds(command, flags, values);
    }

    /// Upgrades with these values, takes back fields from other clients, and waits for the end.
    #[track_caller]
    pub(super) fn take_back(&self, values: &Value) {
        let flags = ["--wait", "--force-conflicts"];
        let flags = if self.sees_conflicts() { &flags[..] } else { &flags[..1] };
        self.succeeds("upgrade", flags, values);
    }

    /// Runs as `output`, requires success, and returns the output.
    #[track_caller]
    pub(super) fn succeeds(&self, command: &str, flags: &[&str], values: &Value) -> String {
        let (success, text) = self.output(command, flags, values);
        assert!(success, "helm {command} {flags:?}: {text}");
        text
    }

    /// Runs `helm COMMAND NAME` with these flags, and with the chart and these values unless null. Returns whether it
    /// succeeded, and its output.
    pub(super) fn output(&self, command: &str, flags: &[&str], values: &Value) -> (bool, String) {
        let kubectl = &self.namespace.control_plane.kubectl;
        let mut helm = self.helm(&[command, self.name, "--timeout=2m"]);
        helm.args(flags);
        if !values.is_null() {
            let file = kubectl.home.join(format!("{}.yaml", self.name));
            std::fs::write(&file, values.to_string()).expect("a file");
            helm.arg(&self.chart).arg("--values").arg(file);
        }
        let output = helm.output().expect("helm runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns what is installed, without hooks.
    pub(super) fn manifest(&self) -> String {
        let output = self.helm(&["get", "manifest", self.name]).output().expect("helm runs");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn helm(&self, args: &[&str]) -> Command {
        let kubectl = &self.namespace.control_plane.kubectl;
        let mut helm = Command::new(&self.helm);
        helm.args(args)
            .args(["--namespace", self.namespace.name])
            .env("KUBECONFIG", &kubectl.kubeconfig)
            .env("HOME", &kubectl.home);
        helm
    }

    /// Whether this is Helm 4 or later. With server-side apply, it sees conflicts.
    pub(super) fn sees_conflicts(&self) -> bool {
        let output = Command::new(&self.helm).args(["version", "--short"]).output();
        !output.expect("helm runs").stdout.starts_with(b"v3.")
    }
}

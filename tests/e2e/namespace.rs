//! The namespace of a test case in the shared control plane, and what the case does in it.

use serde_json::Value;

use crate::harness::{control_plane::ControlPlane, kubectl::Output};

/// A namespace that belongs to one case.
#[derive(Debug)]
pub(crate) struct Namespace<'a> {
    /// The control plane that it is in.
    pub(crate) control_plane: &'a ControlPlane,
    /// Its name, which is also the name of the case.
    pub(crate) name: &'static str,
}

impl<'a> Namespace<'a> {
    /// Creates the namespace.
    pub(crate) fn create(control_plane: &'a ControlPlane, name: &'static str) -> Self {
        control_plane.kubectl.run(&["create", "namespace", name], "").accepted();
        Namespace { control_plane, name }
    }

    /// Runs kubectl in this namespace.
    pub(crate) fn kubectl(&self, args: &[&str], stdin: &str) -> Output {
        let args: Vec<&str> = args.iter().copied().chain(["--namespace", self.name]).collect();
        self.control_plane.kubectl.run(&args, stdin)
    }

    /// `kubectl apply -f -`.
    pub(crate) fn apply(&self, object: &Value) -> Output {
        self.kubectl(&["apply", "-f", "-"], &object.to_string())
    }

    /// `kubectl create -f -` as another user.
    pub(crate) fn create_as(&self, user: &str, object: &Value) -> Output {
        self.kubectl(&["create", "-f", "-", "--as", user], &object.to_string())
    }

    /// Reads a stored object, such as `daemonset/agent`.
    #[track_caller]
    pub(crate) fn read(&self, object: &str) -> Value {
        self.kubectl(&["get", object, "-o", "json"], "").json()
    }

    /// Asserts that no object of this kind is stored.
    #[track_caller]
    pub(crate) fn assert_none(&self, kind: &str) {
        let output = self.kubectl(&["get", kind, "-o", "name"], "").accepted();
        assert_eq!(output.stdout, "", "nothing should have been stored");
    }
}

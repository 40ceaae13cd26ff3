//! The commands that write a manifest to a cluster.

use serde_json::Value;

/// The annotation with the manifest of the last `kubectl apply`.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The command by which a manifest reaches the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Verb {
    /// `kubectl apply`: a three-way merge with what was applied last
    #[default]
    Apply,
    /// `kubectl apply --server-side`: a merge that removes what only this manager owned
    ServerSideApply,
    /// `kubectl replace`: the manifest and nothing else
    Replace,
}

/// The field manager of `kubectl apply --server-side`.
const KUBECTL: &str = "kubectl";

/// An annotation on objects that Helm installed.
const HELM_RELEASE: &str = "f:meta.helm.sh/release-name";

/// How manifests reach the cluster, as far as the user says.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Delivery {
    /// How you apply the manifests. This decides what happens to fields of the previous object that the manifest
    /// omits. By default, setguard follows the managed fields of that object, such as an upgrade by Helm or
    /// server-side apply by Flux; without them, apply. Server-side apply also refuses what the others accept, such as
    /// two entries with the same key
    #[arg(
        long = "as",
        value_enum,
        value_name = "VERB",
        hide_short_help = true,
        help_heading = "Comparison"
    )]
    verb: Option<Verb>,
    /// The field manager of --as server-side-apply [default: kubectl]
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = "Comparison")]
    field_manager: Option<String>,
}

impl Delivery {
    /// Creates the delivery by a command.
    pub const fn by(verb: Verb) -> Self {
        Delivery { verb: Some(verb), field_manager: None }
    }

    /// Returns the flags, or an error if they contradict each other.
    pub fn checked(&self) -> anyhow::Result<Self> {
        match self.verb {
            Some(Verb::Apply | Verb::Replace) if self.field_manager.is_some() => {
                anyhow::bail!("--field-manager is for --as server-side-apply")
            }
            _ => Ok(self.clone()),
        }
    }

    /// Returns whether server-side apply writes the manifest, over an old object if one exists.
    pub(crate) fn is_server_side(&self, old: Option<&str>) -> bool {
        match (self.verb, old) {
            (Some(verb), _) => verb == Verb::ServerSideApply,
            (None, _) if self.field_manager.is_some() => true,
            (None, Some(old))
                if memchr::memmem::find(old.as_bytes(), b"managedFields").is_some() =>
            {
                let old = serde_json::from_str(old);
                old.is_ok_and(|old| self.writer(&old).verb == Verb::ServerSideApply)
            }
            (None, _) => false,
        }
    }

    /// Returns the command of the flags, otherwise the probable last writer of the old object.
    pub(super) fn writer<'a>(&'a self, old: &'a Value) -> Writer<'a> {
        let manager = self.field_manager.as_deref();
        match (self.verb, manager) {
            (None, None) => inferred(old).unwrap_or_default(),
            (None | Some(Verb::ServerSideApply), _) => {
                Writer { verb: Verb::ServerSideApply, ..Writer::of(manager.unwrap_or(KUBECTL)) }
            }
            (Some(verb), _) => Writer { verb, ..Writer::default() },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer<'a> {
    pub(super) verb: Verb,
    pub(super) manager: &'a str,
    /// The operation in its managed fields: `Apply`, or `Update` for Helm 3.
    pub(super) operation: &'static str,
    /// Whether the command follows from managed fields instead of a flag.
    pub(super) is_inferred: bool,
    /// Whether the writer owns all fields of the old object.
    pub(super) takes_all: bool,
}

impl Default for Writer<'_> {
    fn default() -> Self {
        Writer::of(KUBECTL)
    }
}

impl<'a> Writer<'a> {
    const fn of(manager: &'a str) -> Self {
        let (verb, operation) = (Verb::Apply, APPLY);
        Writer { verb, manager, operation, is_inferred: false, takes_all: false }
    }

    /// Returns whether the writer merges like client-side apply, but leaves no annotation.
    pub(super) fn is_helm_3(&self) -> bool {
        self.operation == UPDATE
    }

    pub(super) fn name(&self) -> String {
        match self.is_helm_3() {
            true => format!("an upgrade by {}", self.manager),
            false => format!("server-side apply by {}", self.manager),
        }
    }

    pub(super) fn owns(&self, entry: &Value) -> bool {
        entry["manager"] == self.manager
            && entry["operation"] == self.operation
            && !is_of_subresource(entry)
    }
}

const APPLY: &str = "Apply";
const UPDATE: &str = "Update";

fn is_of_subresource(entry: &Value) -> bool {
    !entry["subresource"].as_str().unwrap_or_default().is_empty()
}

/// Returns the last writer of the template that leaves no annotation: a tool with server-side apply, such as Flux and
/// Helm 4, or Helm 3.
///
/// Helm 3 merges the previous release's manifest, the new manifest and the object. Its manager owns the fields of the
/// previous release and the fields with API server defaults. The latter get the same defaults again.
fn inferred(old: &Value) -> Option<Writer<'_>> {
    let metadata = &old["metadata"];
    if !metadata["uid"].is_string() || metadata["annotations"][LAST_APPLIED].is_string() {
        return None;
    }
    let operation = |entry: &Value| match entry["operation"].as_str() {
        Some(APPLY) => Some(APPLY),
        Some(UPDATE) => {
            let annotations = &entry["fieldsV1"]["f:metadata"]["f:annotations"];
            annotations.get(HELM_RELEASE).is_some().then_some(UPDATE)
        }
        _ => None,
    };
    let writes = metadata["managedFields"].as_array()?.iter().filter(|entry| {
        entry["fieldsV1"]["f:spec"]["f:template"].is_object() && !is_of_subresource(entry)
    });
    let writers = writes.filter_map(|entry| {
        let operation = operation(entry)?;
        let writer = Writer {
            verb: if operation == APPLY { Verb::ServerSideApply } else { Verb::Apply },
            manager: entry["manager"].as_str()?,
            operation,
            is_inferred: true,
            takes_all: false,
        };
        Some((entry["time"].as_str().unwrap_or_default(), writer))
    });
    writers.max_by_key(|(time, _)| *time).map(|(_, writer)| writer)
}

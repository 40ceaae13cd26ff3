//! The commands by which a manifest reaches a cluster.

use serde_json::Value;

/// The annotation of `kubectl apply` with the manifest.
pub(super) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

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

/// The annotation of objects that Helm installed.
const HELM_RELEASE: &str = "f:meta.helm.sh/release-name";

/// The command by which manifests reach the cluster, as far as it was given.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    verb: Option<Verb>,
    field_manager: Option<String>,
}

impl Delivery {
    /// Returns the command of `--as` and `--field-manager`.
    ///
    /// # Errors
    /// Returns an error if they contradict each other.
    pub fn new(verb: Option<Verb>, field_manager: Option<String>) -> anyhow::Result<Self> {
        match verb {
            Some(Verb::Apply | Verb::Replace) if field_manager.is_some() => {
                anyhow::bail!("--field-manager is for --as server-side-apply")
            }
            _ => Ok(Delivery { verb, field_manager }),
        }
    }

    /// Returns whether a manifest is applied server-side, over an old object if there is one.
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

    /// Returns the command that was given, or the one by which an old object was probably written last.
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

/// A command, and the field manager as which it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Writer<'a> {
    pub(super) verb: Verb,
    pub(super) manager: &'a str,
    /// The operation of its managed fields: `Apply`, or `Update` for Helm 3.
    pub(super) operation: &'static str,
    /// Whether the command was not given, but follows from the managed fields.
    pub(super) is_inferred: bool,
    /// Whether all fields of the old object count as its own.
    pub(super) takes_all: bool,
}

impl Default for Writer<'_> {
    fn default() -> Self {
        Writer::of(KUBECTL)
    }
}

impl<'a> Writer<'a> {
    const fn of(manager: &'a str) -> Self {
        Writer {
            verb: Verb::Apply,
            manager,
            operation: APPLY,
            is_inferred: false,
            takes_all: false,
        }
    }

    /// Returns whether it merges like client-side apply, and leaves no annotation.
    pub(super) fn is_helm_3(&self) -> bool {
        self.operation == UPDATE
    }

    /// Returns the command for people.
    pub(super) fn name(&self) -> String {
        match self.is_helm_3() {
            true => format!("an upgrade by {}", self.manager),
            false => format!("server-side apply by {}", self.manager),
        }
    }

    /// Returns whether managed fields are those of this writer.
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

/// Returns the writer of the template, if that is a tool that leaves no annotation: one that uses
/// server-side apply, such as Flux and Helm 4, or Helm 3. Of several it is the last.
///
/// Helm 3 merges the manifest of the release before, the new one and the object. The fields of its manager are
/// those of the release before, and those to which the API server gave defaults, which they get again.
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

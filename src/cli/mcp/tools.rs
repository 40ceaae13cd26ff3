use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use setguard_offline::browser;
use tempfile::NamedTempFile;

use super::{
    McpArgs,
    bound::Skip,
    program::{self, Answer},
};
use crate::cli::prelude::*;

pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Value,
    pub(super) asks_cluster: bool,
}

pub(super) const TOOLS: [Tool; 5] = [
    Tool {
        name: "check",
        description: "Checks manifests of DaemonSets and StatefulSets without a cluster: what the API server would \
                      refuse, and what it accepts and then does not work. Returns the report of `setguard check \
                      --format json`, or the safe fixes as a diff. Give manifests as text, or paths of files and folders.",
        schema: || schema_for!(CheckTool).to_value(),
        asks_cluster: false,
    },
    Tool {
        name: "plan",
        description: "Says what the controllers will do with a change of DaemonSets and StatefulSets: which pods are \
                      replaced, in which order, how many are down at a time, which claims are deleted with their \
                      data, and where the rollout stops. Returns the plan of `setguard plan --format json`; an \
                      exitCode of 1 means that something would be refused. Give the new manifests, and \
                      the state before as text, as a git commit, or by asking the cluster.",
        schema: || schema_for!(PlanTool).to_value(),
        asks_cluster: false,
    },
    Tool {
        name: "audit",
        description: "Reads the cluster of the kubeconfig and names the causes why pods of DaemonSets and StatefulSets \
                      are missing, not ready, or not rolled out, with the next command and its danger. Returns the \
                      report of `setguard audit --format json`.",
        schema: || schema_for!(AuditTool).to_value(),
        asks_cluster: true,
    },
    Tool {
        name: "wait",
        description: "Waits until rollouts in the cluster of the kubeconfig serve, or cannot succeed, and names the cause \
                      with the next command. Changes nothing. Returns the events of `setguard wait --format json`; an \
                      exitCode of 1 means that a rollout cannot succeed, 3 that the time is up.",
        schema: || schema_for!(WaitTool).to_value(),
        asks_cluster: true,
    },
    Tool {
        name: "explain",
        description: "Explains a rule: why it exists, a manifest with the fault, and one without it. Without a rule, \
                      lists all rules.",
        schema: || schema_for!(ExplainTool).to_value(),
        asks_cluster: false,
    },
];

/// The arguments of `check`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CheckTool {
    /// Manifests as YAML or JSON, instead of paths.
    manifests: Option<String>,
    /// Files and folders, instead of manifests.
    #[serde(default)]
    paths: Vec<String>,
    /// Whether to check what the charts and kustomizations in the paths render to. Needs a server with --render.
    #[serde(default)]
    render: bool,
    /// The objects before the change, as YAML or JSON, so that changes of immutable fields are found. Only
    /// with manifests.
    before: Option<String>,
    /// A git commit or branch to compare with. Only with paths.
    against_ref: Option<String>,
    /// Objects that the cluster has, as YAML or JSON, such as Nodes, StorageClasses and Namespaces.
    inventory: Option<String>,
    /// The namespace of manifests that name none.
    namespace: Option<String>,
    /// The ids of rules, to see only their findings.
    #[serde(default)]
    rules: Vec<String>,
    /// Whether to return the safe fixes as a diff, instead of the report. Changes no file.
    #[serde(default)]
    fix: bool,
    /// The release of the cluster, such as 1.36.
    kube_version: Option<String>,
    /// Whether there may be nothing to check.
    #[serde(default)]
    allow_empty: bool,
    /// How many entries of a list to leave out at its beginning, by its JSON pointer: the `next` of a result that left
    /// out entries, to get them.
    #[serde(default)]
    skip: Skip,
}

/// The arguments of `plan`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlanTool {
    /// The new manifests as YAML or JSON, instead of paths.
    manifests: Option<String>,
    /// Files and folders with the new manifests.
    #[serde(default)]
    paths: Vec<String>,
    /// Whether to plan what the charts and kustomizations in the paths render to. Needs a server with --render.
    #[serde(default)]
    render: bool,
    /// The objects before the change, as YAML or JSON, also their pods, claims and ControllerRevisions.
    /// Only with manifests.
    before: Option<String>,
    /// A git commit or branch with the manifests before the change. Only with paths.
    against_ref: Option<String>,
    /// Whether to ask the cluster of the kubeconfig for the state before the change.
    #[serde(default)]
    live: bool,
    /// The nodes of the cluster, as YAML or JSON: without them nothing can be said about the pods of a DaemonSet.
    nodes: Option<String>,
    /// The names of nodes without taints, instead of nodes.
    #[serde(default)]
    node_names: Vec<String>,
    /// The namespace of manifests that name none.
    namespace: Option<String>,
    /// Pods that never become ready, such as db-2, to see where the rollout would stop.
    #[serde(default)]
    never_ready: Vec<String>,
    /// The release of the cluster, such as 1.36.
    kube_version: Option<String>,
    /// Whether there may be no objects, because all are deleted.
    #[serde(default)]
    allow_empty: bool,
    /// How many entries of a list to leave out at its beginning, by its JSON pointer: the `next` of a result that left
    /// out entries, to get them.
    #[serde(default)]
    skip: Skip,
}

/// The arguments of `audit`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AuditTool {
    /// The namespace; otherwise all that the kubeconfig may read.
    namespace: Option<String>,
    /// Objects such as statefulset/db, instead of all.
    #[serde(default)]
    objects: Vec<String>,
    /// How many entries of a list to leave out at its beginning, by its JSON pointer: the `next` of a result that left
    /// out entries, to get them.
    #[serde(default)]
    skip: Skip,
}

/// The arguments of `wait`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WaitTool {
    /// The sets, such as statefulset/db.
    objects: Vec<String>,
    /// The namespace of the sets; otherwise the kubeconfig's.
    namespace: Option<String>,
    /// How many seconds to wait; 60 without it.
    #[schemars(range(max = 240))]
    timeout_seconds: Option<u32>,
    /// How many entries of a list to leave out at its beginning, by its JSON pointer: the `next` of a result that left
    /// out entries, to get them.
    #[serde(default)]
    skip: Skip,
}

/// The arguments of `explain`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExplainTool {
    /// The id of the rule, as in a finding.
    rule: Option<String>,
}

pub(super) async fn call(name: &str, arguments: Value, server: &McpArgs) -> Result<Answer, String> {
    let of_cluster = |args: &mut Vec<String>| match (server.offline, server.context.as_ref()) {
        (true, _) => Err("this server asks no cluster (--offline)".to_owned()),
        (false, context) => {
            args.extend(context.map(|context| format!("--context={context}")));
            Ok(())
        }
    };
    match name {
        "check" => check(parse(&arguments)?, server).await,
        "plan" => plan(parse(&arguments)?, of_cluster, server).await,
        "audit" => {
            let AuditTool { namespace, objects, skip } = parse(&arguments)?;
            let mut args = vec!["audit".to_owned(), "--format=json".to_owned()];
            of_cluster(&mut args)?;
            args.extend(namespace.map(|value| format!("--namespace={value}")));
            args.push("--".to_owned());
            args.extend(objects);
            program::run("report", &args, None, skip).await
        }
        "wait" => {
            let WaitTool { objects, namespace, timeout_seconds, skip } = parse(&arguments)?;
            let seconds = timeout_seconds.unwrap_or(60);
            if seconds > 240 {
                return Err("timeoutSeconds can be at most 240; call again".to_owned());
            }
            let mut args = vec!["wait".to_owned(), "--format=json".to_owned()];
            of_cluster(&mut args)?;
            args.push(format!("--timeout={seconds}s"));
            args.extend(namespace.map(|value| format!("--namespace={value}")));
            args.push("--".to_owned());
            args.extend(objects);
            program::run("events", &args, None, skip).await
        }
        "explain" => {
            let ExplainTool { rule } = parse(&arguments)?;
            let Some(rule) = rule else {
                // With the modes and kinds, the list would be cut.
                let rules = catalogue::all().iter().map(|it| (it.meta.id, it.meta.summary));
                let rules: BTreeMap<_, _> = rules.collect();
                return Ok(Answer::complete(json!({ "rules": rules })));
            };
            let Some(text) = browser::explain(&rule) else {
                return Err(match catalogue::nearest(&rule) {
                    Some(near) => format!("there is no rule {rule:?}; did you mean {near}?"),
                    None => format!("there is no rule {rule:?}; explain without a rule lists all"),
                });
            };
            let rule: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            Ok(Answer::complete(json!({ "rule": rule })))
        }
        other => Err(format!("there is no tool {other:?}")),
    }
}

async fn check(it: CheckTool, server: &McpArgs) -> Result<Answer, String> {
    let manifests = source(it.manifests, &it.paths)?;
    match manifests {
        Some(_) => without(&it.against_ref, "againstRef", "paths")?,
        None => without(&it.before, "before", "manifests")?,
    }
    let before = TextFile::of("before", it.before)?;
    let inventory = TextFile::of("inventory", it.inventory)?;
    if it.fix && it.render {
        return Err("fix is about files, not about what they render to".to_owned());
    }
    let mut args = vec!["check".to_owned(), "--format=json".to_owned()];
    args.extend(before.flag("--against").into_iter().chain(inventory.flag("--inventory")));
    args.extend(it.against_ref.map(|value| format!("--against-ref={value}")));
    args.extend(it.namespace.map(|value| format!("--namespace={value}")));
    args.extend(it.rules.iter().map(|value| format!("--select={value}")));
    args.extend(it.kube_version.map(|value| format!("--kube-version={value}")));
    args.extend(it.allow_empty.then(|| "--allow-empty".to_owned()));
    if it.fix {
        let file = TextFile::of("manifests", manifests)?;
        let text = file.0.iter().map(|it| it.path().display().to_string());
        args.extend(["--fix", "--dry-run", "--"].map(str::to_owned));
        args.extend(it.paths.into_iter().chain(text));
        return program::run("diff", &args, None, it.skip).await;
    }
    args.extend(inputs(manifests.is_some(), it.paths, it.render, server)?);
    program::run("report", &args, manifests, it.skip).await
}

async fn plan(
    it: PlanTool,
    of_cluster: impl Fn(&mut Vec<String>) -> Result<(), String>,
    server: &McpArgs,
) -> Result<Answer, String> {
    let manifests = source(it.manifests, &it.paths)?;
    let states = [it.before.is_some(), it.against_ref.is_some(), it.live];
    if states.iter().filter(|is_given| **is_given).count() > 1 {
        return Err("give one of before, againstRef and live".to_owned());
    }
    match manifests {
        Some(_) => without(&it.against_ref, "againstRef", "paths")?,
        None => without(&it.before, "before", "manifests")?,
    }
    let given = [it.live, it.nodes.is_some(), !it.node_names.is_empty()];
    if given.iter().filter(|is_given| **is_given).count() > 1 {
        return Err(
            "give one of nodes, nodeNames and live, which reads the nodes from the cluster"
                .to_owned(),
        );
    }
    let names: BTreeSet<_> = it.node_names.iter().collect();
    if names.len() < it.node_names.len() || it.node_names.iter().any(String::is_empty) {
        return Err("nodeNames has a name twice, or an empty one".to_owned());
    }
    let node = |name| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}});
    let named: Vec<_> = it.node_names.iter().map(node).collect();
    let named = (!named.is_empty())
        .then(|| json!({"apiVersion": "v1", "kind": "List", "items": named}).to_string());
    let nodes = TextFile::of("nodes", it.nodes.or(named))?;
    let before = TextFile::of("before", it.before)?;
    let mut args = vec!["plan".to_owned(), "--format=json".to_owned()];
    args.extend(before.flag("--against").into_iter().chain(nodes.flag("--nodes")));
    if it.live {
        args.push("--live".to_owned());
        of_cluster(&mut args)?;
    }
    args.extend(it.against_ref.map(|value| format!("--against-ref={value}")));
    args.extend(it.namespace.map(|value| format!("--namespace={value}")));
    args.extend(it.never_ready.iter().map(|value| format!("--never-ready={value}")));
    args.extend(it.kube_version.map(|value| format!("--kube-version={value}")));
    args.extend(it.allow_empty.then(|| "--allow-empty".to_owned()));
    args.extend(inputs(manifests.is_some(), it.paths, it.render, server)?);
    program::run("plan", &args, manifests, it.skip).await
}

/// Returns the arguments that name what to read.
fn inputs(
    is_text: bool,
    paths: Vec<String>,
    render: bool,
    server: &McpArgs,
) -> Result<Vec<String>, String> {
    if !render {
        let paths = if is_text { vec!["-".to_owned()] } else { paths };
        return Ok(std::iter::once("--".to_owned()).chain(paths).collect());
    }
    if !server.render {
        return Err("this server renders nothing; start it with --render".to_owned());
    }
    if is_text {
        return Err("render needs paths".to_owned());
    }
    Ok(paths.iter().map(|path| format!("--render={path}")).collect())
}

/// The arguments of the tools, by their names in the commands.
const ARGUMENTS: [(&str, &str); 13] = [
    ("'[KIND/NAME]...'", "objects"),
    ("; --as selects another command", ""),
    ("<stdin>", "manifests"),
    ("--against-ref", "againstRef"),
    ("--against", "before"),
    ("--allow-empty", "allowEmpty"),
    ("--inventory", "inventory"),
    ("--kube-version", "kubeVersion"),
    ("--live", "live"),
    ("--namespace", "namespace"),
    ("--never-ready", "neverReady"),
    ("--nodes", "nodes"),
    ("--select", "rules"),
];

/// Returns a message of a command with these arguments as a message about the arguments of the tool.
pub(super) fn of_tool(message: &str, args: &[String]) -> String {
    let mut message = message.to_owned();
    for (flag, argument) in
        [("--against=", "before"), ("--inventory=", "inventory"), ("--nodes=", "nodes")]
    {
        let mut flags = args.iter().take_while(|it| *it != "--");
        let file = flags.find_map(|it| it.strip_prefix(flag));
        file.into_iter().for_each(|file| message = message.replace(file, argument));
    }
    for (flag, argument) in ARGUMENTS {
        message = message.replace(flag, argument);
    }
    // The name of a flag's value.
    let value = message.find("' for '").and_then(|at| {
        let start = at + message.get(at..)?.find(" <")?;
        Some(start..start + message.get(start..)?.find('>')? + 1)
    });
    value.into_iter().for_each(|value| message.replace_range(value, ""));
    message
}

/// Refuses both or neither of manifests and paths.
fn source(manifests: Option<String>, paths: &[String]) -> Result<Option<String>, String> {
    if manifests.is_some() != paths.is_empty() {
        return Err("give either manifests or paths".to_owned());
    }
    if paths.iter().any(|path| path == "-") {
        return Err("- isn't a path here; give manifests".to_owned());
    }
    if paths.iter().any(String::is_empty) {
        return Err("paths has an empty path".to_owned());
    }
    Ok(manifests)
}

/// Refuses an argument that has no effect.
fn without(value: &Option<String>, name: &str, needed: &str) -> Result<(), String> {
    if value.is_some() { Err(format!("{name} needs {needed}")) } else { Ok(()) }
}

fn parse<T: DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    T::deserialize(arguments).map_err(|error| {
        // The error doesn't name the argument.
        let wrong = arguments.as_object().into_iter().flatten().find_map(|(name, value)| {
            let error = T::deserialize(json!({name: value})).err()?.to_string();
            error.starts_with("invalid").then(|| format!("{name}: {error}"))
        });
        wrong.unwrap_or_else(|| format!("the arguments: {error}"))
    })
}

/// The text of an argument, in a file while the command runs: standard input has the manifests.
struct TextFile(Option<NamedTempFile>);

impl TextFile {
    fn of(name: &str, text: Option<String>) -> Result<Self, String> {
        let Some(text) = text else { return Ok(TextFile(None)) };
        let write = || -> io::Result<NamedTempFile> {
            let mut file = tempfile::Builder::new().prefix(name).suffix(".yaml").tempfile()?;
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        write().map(|file| TextFile(Some(file))).map_err(|error| format!("{name}: {error}"))
    }

    fn flag(&self, flag: &str) -> Option<String> {
        let file = self.0.as_ref()?;
        Some(format!("{flag}={}", file.path().display()))
    }
}

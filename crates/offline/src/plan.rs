//! `setguard plan`: what the controllers will do with a change.

mod cluster;
mod configs;
mod forecast;
mod forecaster;
mod headline;
mod input;
mod json;
pub mod live;
mod markdown;
mod picture;
mod pod_counts;
mod prelude;
mod refusal;
mod rendered;
mod stop;
mod styled_line;
mod svg;
mod text;
mod timeline;

use std::io::IsTerminal as _;

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use setguard_core::{
    engine::{Context, Origin},
    printable::Printable,
};

use self::{
    headline::INCOMPLETE,
    input::{Input, Paths},
    live::Reader,
    prelude::*,
};
use crate::proposal::apply::Delivery;
use setguard_files::{
    manifests::files::LARGEST_POLICY,
    policy_file::discover::{candidates, folder_of},
    report::screen::Screen,
};

/// Show what a change will do to the pods, before you make it
///
/// Simulates the controllers of DaemonSets and StatefulSets: which pods are created, deleted and
/// replaced, in which order, how many at a time, which claims are created and deleted, and where the
/// rollout stops. Pods are assumed to become ready unless --never-ready says otherwise, and to be
/// available when they have been ready for minReadySeconds. Unless --against has pods and claims too,
/// the plan assumes that those of the previous object exist, match its template and are available.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  everything can be applied
  1  the API server, or a limit of the policy, would refuse at least one object
  2  wrong usage, an invalid policy, or input that cannot be read

Examples:
  setguard plan deploy/ --against ../main/deploy/
  setguard plan deploy/ --against-ref origin/main --new-only --format markdown
  setguard plan --render . --against-ref origin/main
  setguard plan db.yaml --live
  kubectl get sts,pods,pvc,controllerrevisions -o yaml > now.yaml
  setguard plan db.yaml --against now.yaml --never-ready db-2
  kubectl get nodes -o yaml > nodes.yaml
  setguard plan agent.yaml --nodes nodes.yaml")]
pub struct PlanArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    /// The previous manifests, or the objects in the cluster as `kubectl get -o yaml` prints them, with
    /// their pods, claims and controllerrevisions for a rollout that is not complete; without them
    /// everything is new. You can repeat it
    #[arg(long, value_name = "PATH", help_heading = "Comparison")]
    against: Vec<PathBuf>,
    /// Like --against, with the manifests as they were in git where the work tree left a branch, such as
    /// `origin/main`: at the merge base. `origin/main..` is the tip of the branch instead
    #[arg(long, value_name = "REF", conflicts_with = "against", help_heading = "Comparison")]
    against_ref: Option<String>,
    /// Leaves out objects that don't change
    #[arg(long, help_heading = "Report")]
    new_only: bool,
    /// Compares with the objects, pods, claims and nodes of the kubeconfig's cluster, and writes nothing
    #[arg(
        long,
        group = "cluster",
        conflicts_with_all = ["against", "against_ref", "nodes"],
        help_heading = "Comparison"
    )]
    live: bool,
    /// Like --live, for an upgrade of this Helm release: its objects that the new manifests lack are deleted
    #[arg(
        long,
        value_name = "RELEASE",
        group = "cluster",
        conflicts_with_all = ["against", "against_ref", "nodes"],
        help_heading = "Comparison", hide_short_help = true)]
    against_release: Option<String>,
    /// The context of the kubeconfig for --live and --against-release
    #[arg(
        long,
        value_name = "NAME",
        requires = "cluster",
        help_heading = "Comparison",
        hide_short_help = true
    )]
    context: Option<String>,
    /// The nodes of the cluster, as `kubectl get nodes -o yaml` prints them: without them, the plan
    /// can't show the pods of a DaemonSet
    #[arg(long, value_name = "FILE", help_heading = "Comparison", hide_short_help = true)]
    nodes: Vec<PathBuf>,
    #[command(flatten)]
    delivery: Delivery,
    /// A pod that never becomes ready once it is created again, such as db-2; `new` means every pod
    /// with the new template. You can repeat it
    #[arg(long, value_name = "POD|new", hide_short_help = true)]
    never_ready: Vec<String>,
    /// The namespace of manifests that set none
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Deletes the cluster's objects (they have a uid) that the manifests lack. Without it they stay, as with kubectl
    #[arg(long, hide_short_help = true)]
    prune: bool,
    /// Accepts new manifests without objects: they delete everything. Without this flag they are an error, because the
    /// command before the pipe may have failed
    #[arg(long, hide_short_help = true)]
    allow_empty: bool,
    /// The output format
    #[arg(
        short = 'o',
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Report"
    )]
    format: Format,
    /// Prints no plan; the exit code is 1 if anything would be refused
    #[arg(short, long, help_heading = "Report")]
    quiet: bool,
    /// Uses only ASCII
    #[arg(long, help_heading = "Report", hide_short_help = true)]
    ascii: bool,
    #[command(flatten, next_help_heading = "Policy")]
    policy: PolicyArgs,
    /// Uses no policy file, except the one in --policy. Otherwise the policy file of the repository counts, as for
    /// `setguard check`
    #[arg(long, hide_short_help = true, help_heading = "Policy")]
    no_config: bool,
}

/// The format in which the plan is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For a comment on a pull request
    Markdown,
    /// One JSON document for programs
    Json,
    /// A drawing of pods over waves
    Svg,
}

/// Connects with a context of the kubeconfig, or with the current context.
pub type Connect<'a> = &'a dyn Fn(Option<&str>) -> anyhow::Result<Box<dyn Reader>>;

/// Runs `setguard plan`. Calls `connect` to plan against a cluster. The cluster's release counts unless a flag or the
/// policy has one. Fails if the policy or a feature gate is invalid, the cluster cannot be read, or the plan cannot be
/// written.
pub fn run(args: &PlanArgs, connect: Connect<'_>) -> anyhow::Result<Exit> {
    let Some(paths) = args.manifests.paths("plan") else { return Ok(Exit::Error) };
    let Some(mut policy) = report::policy::load_found(&args.policy, args.no_config)? else {
        return Ok(Exit::Error);
    };
    let reader = match args.live || args.against_release.is_some() {
        true => Some(connect(args.context.as_deref())?),
        false => None,
    };
    if let Some((release, gates)) = reader.as_ref().map(|it| it.release()).transpose()? {
        policy = policy.in_cluster(release, &gates);
    }
    let mut errors = Vec::new();
    let mut complain = |message: String| {
        let _ = writeln!(Printable::new(anstream::stderr()).guarded(), "error: {message}");
        errors.push(message);
    };
    let mut plan = args.plan(&paths, &policy, reader.as_deref(), &mut complain)?;
    plan.errors = errors;
    let none = match plan.forecasts.is_empty() && !plan.has_unchanged {
        _ if !plan.errors.is_empty() || !plan.unknown.is_empty() => INCOMPLETE,
        true => "no DaemonSets or StatefulSets",
        false => "nothing changes",
    };
    if args.new_only {
        plan.forecasts.retain(|forecast| !forecast.is_idle());
    }
    if !plan.left_alone.is_empty() {
        let note = left_alone_note(&plan.left_alone);
        report::note(&format!("{note}; --prune plans their deletion"));
    }
    let denied = if plan.forecasts.iter().any(is_denied) { Exit::Denied } else { Exit::Clean };
    let exit = denied.and(if plan.errors.is_empty() { Exit::Clean } else { Exit::Error });
    // The exit code counts even if the reader ends early, as `head` does.
    match args.print(&plan, none) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(exit),
    }
}

fn is_denied(forecast: &Forecast) -> bool {
    forecast.change == ChangeKind::Refused || forecast.exceeded.iter().any(|it| it.is_denied)
}

impl PlanArgs {
    fn plan(
        &self,
        new: &[PathBuf],
        policy: &Policy,
        reader: Option<&dyn Reader>,
        complain: &mut dyn FnMut(String),
    ) -> anyhow::Result<Plan> {
        // The paths in a policy that the user names are relative to the working folder.
        let file = policy.file.as_deref().filter(|_| self.policy.policy.is_none());
        let folder = file.map(|it| folder_of(Path::new(it))).unwrap_or_default();
        let paths = Paths {
            new,
            clusters: &Clusters::of(policy, &folder),
            exclude: &Exclude::new(&[], &policy.exclude, &folder),
            policy: policy.file.as_deref(),
            namespace: self.namespace.as_deref(),
            old: &self.against,
            old_commit: self.against_ref.as_deref(),
            nodes: &self.nodes,
            may_be_empty: self.allow_empty,
            looks_at_namespaces: policy.looks_at_namespaces(),
            limits_rollouts: policy.limits_rollouts(),
        };
        let (now, release) = (Timestamp::now(), policy.cluster.version);
        let (mut inputs, mut plan) = (Vec::new(), Plan::default());
        if !new.is_empty() {
            inputs.push((None, Input::read(&paths, release, now, complain)));
        }
        if self.manifests.renders() {
            let version = self.policy.kube_version.map(|it| it.to_string());
            let mut rendering =
                self.manifests.rendering(paths.namespace, version, self.allow_empty);
            rendering.releases = (policy.render.clone(), folder);
            rendering.upgrades_too = self.against_ref.is_some();
            rendering.settings.is_upgrade = self.against_release.is_some();
            let sides = rendered::sides(&rendering, &paths, &mut plan.unknown, complain);
            inputs.extend(
                sides.into_iter().map(|(root, side)| {
                    (root, Input::of_root(side, &paths, release, now, complain))
                }),
            );
        }
        input::continue_moved(&mut inputs);
        if let Some(release) = &self.against_release {
            inputs.retain(|(_, input)| !input.given.is_empty());
            let [(_, input)] = &mut inputs[..] else {
                bail!("--against-release is about the manifests of one chart");
            };
            input.add_release(release, &paths, self.context.as_deref(), complain)?;
        }
        let delivery = self.delivery.checked()?;
        let mut unknown_pods = self.never_ready.clone();
        for (root, mut input) in inputs {
            if let Some(reader) = reader {
                reader.add_to(&mut input)?;
            }
            let forecaster = Forecaster {
                input: &input,
                context: Context::of_command(policy, Origin::Manifest, now),
                delivery: delivery.clone(),
                never_ready: &self.never_ready,
                prune: self.prune || self.against_release.is_some(),
                root: root.as_deref(),
            };
            unknown_pods.retain(|pod| !forecaster.has_pod(pod));
            let mut planned = forecaster.all();
            planned.errors.drain(..).for_each(&mut *complain);
            plan.add(planned, forecaster.root);
        }
        plan.unknown.extend(self.weakened(policy));
        for pod in unknown_pods {
            complain(format!("--never-ready: no StatefulSet of the input has a pod {pod:?}"));
        }
        Ok(plan)
    }

    /// Returns the messages if the change weakens a part of the policy that plans depend on.
    fn weakened(&self, policy: &Policy) -> Option<String> {
        let reference = self.against_ref.as_deref()?;
        let commit = Commit::find_start("--against-ref", reference).ok()?;
        let paths = match &self.policy.policy {
            // A policy outside of the repository isn't part of the change.
            Some(named) => vec![commit.resolve(named).ok()?],
            None if self.no_config => return None,
            None => candidates(&Repository::find()).collect(),
        };
        let found = commit.first(&paths, LARGEST_POLICY);
        let was = found.as_ref().ok().and_then(|it| Some(it.as_ref()?.1.name().to_owned()));
        let file = policy.file.clone().or(was).unwrap_or_default();
        let before = found.ok().and_then(|found| {
            let source = found.map(|(_, source)| source);
            self.policy.parse(source.as_ref().map(Source::text)).ok()
        });
        let Some(before) = before else {
            let why = format!("the policy at {reference} cannot be read");
            return Some(format!(
                "Policy {file}: setguard can't say whether this change weakens it, because {why}"
            ));
        };
        let weaker = policy.weaker_than(&before, reference).into_vec();
        let fields: Vec<_> = weaker.iter().map(|it| it.field.to_string()).collect();
        let mut keys = ["clusters", "exclude", "limits", "render"].into_iter();
        let key = keys.find(|key| fields.iter().any(|it| it.starts_with(key)))?;
        Some(format!(
            "Policy {file}: this change weakens `{key}`; without that, the plan may show more"
        ))
    }

    fn print(&self, plan: &Plan, none: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        let stdout = io::stdout();
        let choice = AutoStream::choice(&stdout);
        let screen = Screen::of_stdout(stdout.is_terminal(), choice);
        let plain = self.ascii || choice == ColorChoice::Never;
        let stdout = io::BufWriter::new(AutoStream::new(stdout, choice));
        let mut out: Box<dyn Write> = match self.format {
            Format::Text => Box::new(Printable::styled(stdout).guarded()),
            _ => Box::new(Printable::new(stdout)),
        };
        match self.format {
            Format::Text => {
                text::print(&plan.forecasts, none, plain, screen, &mut out)?;
                plan.unknown.iter().try_for_each(|it| writeln!(out, "\n{it}"))?;
                if !plan.errors.is_empty() && !plan.forecasts.is_empty() {
                    writeln!(out, "\n{INCOMPLETE}")?;
                }
            }
            Format::Markdown => markdown::print(plan, none, &mut out)?,
            Format::Svg => svg::print(plan, none, &mut out)?,
            Format::Json => json::print(plan, &mut out)?,
        }
        out.flush()
    }
}

#[derive(Debug)]
pub(crate) struct Texts<'a> {
    pub(crate) sources: [Source; 3],
    pub(crate) policy: &'a Policy,
    pub(crate) never_ready: Vec<String>,
}

/// The text of a plan about an object, without its name.
#[derive(Debug, Serialize)]
pub(crate) struct Words {
    settings: String,
    change: Vec<Line>,
    rollout: Vec<Line>,
    end: Vec<Line>,
}

impl Words {
    fn of(forecast: &Forecast) -> Self {
        Words {
            settings: forecast.settings.join(", "),
            change: picture::change(forecast, UNICODE),
            rollout: picture::rollout(forecast, UNICODE),
            end: picture::end(forecast),
        }
    }
}

impl Texts<'_> {
    /// Returns the plan in JSON, the words for each of its objects, and a message for each unreadable part.
    pub(crate) fn plan(self) -> io::Result<(Vec<u8>, Vec<Words>, Vec<String>)> {
        let (plan, failures) = self.planned();
        let mut json = Vec::new();
        json::print(&plan, &mut Printable::new(&mut json))?;
        Ok((json, plan.forecasts.iter().map(Words::of).collect(), failures))
    }

    /// Returns what the change does to the pods of each object that changes, in a line.
    pub(crate) fn consequences(self) -> Vec<(ObjectId, String)> {
        let (plan, _) = self.planned();
        let changed = plan.forecasts.into_iter().filter(|it| !it.is_idle());
        changed.map(|it| (it.id.clone(), headline::consequences(&it))).collect()
    }

    #[cfg(fuzzing)]
    pub(crate) fn markdown(self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        markdown::print(&self.planned().0, "nothing changes", &mut Printable::new(&mut text))?;
        Ok(text)
    }

    fn planned(self) -> (Plan, Vec<String>) {
        let Texts { sources, policy, never_ready } = self;
        let (now, mut failures) = (Timestamp::now(), Vec::new());
        let mut complain = |message| failures.push(message);
        let input = Input::of_texts(sources, policy.cluster.version, now, &mut complain);
        let forecaster = Forecaster {
            input: &input,
            context: Context::of_command(policy, Origin::Manifest, now),
            delivery: Delivery::default(),
            never_ready: &never_ready,
            prune: false,
            root: None,
        };
        let plan = forecaster.all();
        if !plan.left_alone.is_empty() {
            complain(left_alone_note(&plan.left_alone));
        }
        (plan, failures)
    }
}

fn left_alone_note(objects: &[String]) -> String {
    format!("left alone, because the manifests lack them: {}", objects.join(", "))
}

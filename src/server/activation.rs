//! `serve --arm-webhooks`: writes the rules of the webhook configurations once the API server can call setguard, and
//! reports changes by other clients.
//!
//! A webhook without rules matches nothing, so it rejects nothing, whatever its `failurePolicy`. The chart installs the
//! configurations without rules and keeps the rules in an annotation; this module copies them to where they take
//! effect. First it verifies that the API server calls setguard: from the start, the configuration has a rule for one
//! request, a dry-run patch of a ConfigMap by setguard's own account, and setguard answers that request with a warning.
//! If the API server's response has the warning, then the name, the route, the firewall, the certificate and the CA are
//! right.
//!
//! Only the annotation determines the rules, so replicas of two releases do not overwrite each other. setguard never
//! removes rules. An administrator who deletes a configuration, or changes any other field, has the last word: setguard
//! compares all fields with the annotation, and logs and counts the differences.

mod args;
pub(crate) mod dry_run_probe;
mod kept_rules;
mod problem;
mod verify;
mod why;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Patch;

pub use self::args::{ActivationArgs, Target};
use setguard_cluster::live::registered;

use self::{
    dry_run_probe::{PAUSE, REHEARSALS},
    kept_rules::KeptRules,
    problem::Problem,
    verify::Verification,
    why::Silent,
};
use super::managed::cluster::{
    self, CallError, call, no_api_server, patch_params, patch_webhooks, read, watch,
};
use crate::server::prelude::*;

/// The wait after a failed round doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// After this many check intervals without a successful read, a configuration no longer counts as armed.
const EXPIRE: u32 = 3;

/// Helm writes this annotation on the objects that it installs; `helm template` does not. Helm deletes the objects of a
/// release even if they have an owner. Some tools that apply a rendered chart do not, and would leave webhooks without
/// a server.
const INSTALLED_BY_HELM: &str = "meta.helm.sh/release-name";

pub(crate) struct Activation {
    app: Arc<App>,
    name: String,
    args: ActivationArgs,
    target: Target,
    /// Whether setguard writes the `caBundle`s.
    is_managed: bool,
    client: Client,
    /// The configurations that existed in the last round.
    existing: Vec<Configuration>,
    /// Since when the API server cannot, or does not, call setguard.
    silent_since: Option<Instant>,
    kept_rules: Arc<KeptRules>,
    /// A configuration that was deleted although the other one exists.
    deleted: Option<Problem>,
    foreign: Foreign,
    /// Whether the webhooks had their rules before, so the API server can call setguard.
    is_proven: bool,
    /// The configurations that setguard arms, as they were read in the last round.
    armed: Vec<(Configuration, Value)>,
    verification: Verification,
    /// The wait after the next round that fails.
    wait: Duration,
    /// The last problem, without source ports, so that each problem is logged once.
    problem: Option<String>,
}

pub(crate) async fn start(
    app: Arc<App>,
    args: &ActivationArgs,
    is_managed: bool,
) -> anyhow::Result<()> {
    let Some(name) = args.arm_webhooks.clone() else { return Ok(()) };
    let client = cluster::client().await.with_context(|| no_api_server("--arm-webhooks"))?;
    let target = args.arm_rehearsal.clone().unwrap_or_else(|| Target {
        namespace: args.arm_owner.clone().unwrap_or_else(|| client.default_namespace().to_owned()),
        name: format!("{name}-rehearsal"),
    });
    let arming = Activation {
        kept_rules: Arc::new(KeptRules::new(
            app.metrics.armed.clone(),
            args.arm_check_interval * EXPIRE,
            args.arm_annotations.clone(),
        )),
        app,
        name,
        args: args.clone(),
        target,
        is_managed,
        client,
        existing: Vec::new(),
        silent_since: None,
        deleted: None,
        foreign: Foreign::default(),
        is_proven: false,
        armed: Vec::new(),
        verification: Verification::default(),
        wait: FIRST_WAIT,
        problem: None,
    };
    tokio::spawn(arming.run());
    Ok(())
}

struct Unarmed {
    configuration: Configuration,
    read: Value,
    rules: Patch<()>,
    /// Whether these are the rules of the webhook that gets the rehearsals.
    is_rehearsal: bool,
}

/// The changes by other clients.
#[derive(Debug, Default)]
struct Foreign {
    last: String,
    /// Since then, these were logged. A tool may make and undo a change again and again.
    logged: (Option<Instant>, BTreeSet<String>),
}

impl Foreign {
    const REPEAT: Duration = Duration::from_mins(10);

    /// Returns whether to log this now.
    fn is_new(&mut self, foreign: &str) -> bool {
        if foreign == self.last {
            return false;
        }
        foreign.clone_into(&mut self.last);
        let (since, logged) = &mut self.logged;
        if since.is_none_or(|it| it.elapsed() >= Self::REPEAT) {
            *since = Some(Instant::now());
            logged.clear();
        }
        logged.insert(foreign.to_owned())
    }
}

impl Unarmed {
    /// Returns `None` if no rules are missing. The patch fails if the configuration has changed since it was read.
    fn new(
        configuration: Configuration,
        read: Value,
        mut rules: Vec<(usize, Value)>,
    ) -> Option<Self> {
        let of_rehearsal = |(i, _): &(usize, Value)| {
            read["webhooks"][*i]["name"].as_str().is_some_and(|it| it.starts_with(why::REHEARSAL))
        };
        let is_rehearsal = rules.iter().any(of_rehearsal);
        rules.retain(|it| !is_rehearsal || of_rehearsal(it));
        if rules.is_empty() {
            return None;
        }
        let version = read["metadata"]["resourceVersion"].clone();
        let rules = patch_webhooks(version, &["rules"], rules);
        Some(Unarmed { configuration, read, rules, is_rehearsal })
    }
}

impl Activation {
    async fn run(mut self) {
        let changed = Notify::new();
        let (client, name, kept_rules) =
            (self.client.clone(), self.name.clone(), Arc::clone(&self.kept_rules));
        let watch = |configuration: Configuration| {
            let (name, kept_rules, changed) = (&name, &kept_rules, &changed);
            let take_in = move |read: &DynamicObject, is_deleted: bool| {
                let read = serde_json::to_value(read).unwrap_or_default();
                kept_rules.observe(configuration, &read, is_deleted);
                changed.notify_one();
            };
            watch(configuration.api(&client), name, take_in)
        };
        let watch = async {
            let [validating, mutating] = Configuration::ALL.map(watch);
            tokio::join!(validating, mutating);
        };
        let keep = async {
            // A server that shuts down arms nothing: it may be the last one.
            while self.app.phase() != Phase::Draining {
                let next = Instant::now() + PAUSE;
                let wait = self.round().await;
                tokio::select! {
                    () = sleep(wait) => {}
                    () = changed.notified() => {}
                }
                // React at once, unless changes come fast.
                sleep_until(next).await;
            }
        };
        tokio::select! {
            () = watch => {}
            () = keep => {}
        }
    }

    /// Returns the time until the next check.
    async fn round(&mut self) -> Duration {
        let problem = match self.arm().await {
            Ok(true) => {
                self.wait = FIRST_WAIT;
                self.is_proven = !self.armed.is_empty();
                let owned = self.own().await.err();
                let Activation { app, verification, target, armed, args, .. } = self;
                if verification.verify(target, armed, args.arm_check_interval).await {
                    app.metrics.armed.uncalled.inc();
                }
                let uncalled = self.verification.problem();
                let problem = self.deleted.take().or(owned).or(uncalled);
                self.report(problem);
                return self.args.arm_check_interval.min(self.verification.wait());
            }
            // Some replica has just written the rules.
            Ok(false) | Err(Problem::Call(CallError::Conflict(_))) => return PAUSE,
            Err(problem @ Problem::Absent(_)) => {
                self.report(Some(problem));
                return self.args.arm_check_interval;
            }
            Err(problem) => problem,
        };
        self.report(Some(problem));
        let wait = self.wait;
        self.wait = (wait * 2).min(LONGEST_WAIT);
        wait
    }

    fn report(&mut self, problem: Option<Problem>) {
        let passes = matches!(problem, Some(Problem::NotYet(_)));
        let was_armed = matches!(problem, Some(Problem::NoLonger(_)));
        let problem = problem.map(|problem| problem.to_string());
        let known = problem.as_deref().map(problem::without_source_ports);
        if let Some(problem) = problem.filter(|_| self.problem != known) {
            if passes {
                tracing::info!(problem, "the webhook configurations have no rules yet");
            } else if was_armed {
                tracing::warn!(
                    problem,
                    "the webhooks have their rules, but the API server does not show that it calls setguard"
                );
            } else {
                tracing::warn!(problem, "the webhook configurations are not as they should be yet");
            }
        }
        self.problem = known;
    }

    /// Writes missing rules, if the API server can call setguard. Returns whether no rules were missing.
    async fn arm(&mut self) -> Result<bool, Problem> {
        let unarmed = self.unarmed().await?;
        if self.existing.is_empty() {
            return Err(Problem::Absent(self.name.clone()));
        }
        if unarmed.is_empty() {
            return Ok(true);
        }
        // These rules match only rehearsals, and no rehearsal can succeed without them.
        if let Some(rehearsal) = unarmed.iter().find(|it| it.is_rehearsal) {
            self.write(rehearsal).await?;
            return Ok(false);
        }
        // Calls would fail, or reach a replica that has only just started.
        if let Some(why) = self.app.waiting() {
            return Err(Problem::NotYet(why.to_string()));
        }
        let bare = unarmed.iter().find_map(|it| why::without_bundle(&it.read, self.is_managed));
        if let Some(why) = bare {
            let passes = self.silence() < why::PATIENCE;
            return Err(if passes { Problem::NotYet(why) } else { Problem::NotCalled(why) });
        }
        // If other clients have taken the rules away, hurry: one call shows that setguard can still be called.
        for i in 0..if self.is_proven { 1 } else { REHEARSALS } {
            if i > 0 {
                sleep(PAUSE).await;
            }
            self.rehearse(&unarmed).await.inspect_err(|_| self.is_proven = false)?;
        }
        self.silent_since = None;
        for unarmed in &unarmed {
            self.write(unarmed).await?;
            let kind = unarmed.configuration.kind();
            tracing::info!(kind, "the API server can call setguard: the rules were written");
        }
        // The next round checks whether the rules are there.
        Ok(false)
    }

    async fn write(&self, unarmed: &Unarmed) -> Result<(), Problem> {
        let what = format!("writing {} {}", unarmed.configuration.kind(), self.name);
        let api = unarmed.configuration.api(&self.client);
        call(what, api.patch(&self.name, &patch_params(), &unarmed.rules)).await?;
        Ok(())
    }

    async fn unarmed(&mut self) -> Result<Vec<Unarmed>, Problem> {
        let (mut unarmed, mut existing) = (Vec::new(), Vec::new());
        let (mut siblings, mut foreign) = (Vec::new(), Vec::new());
        self.deleted = None;
        self.armed.clear();
        for configuration in Configuration::ALL {
            let shown = self.kept_rules.shown(configuration);
            let Some(read) = read(&self.client, configuration, &self.name).await? else {
                self.kept_rules.absent(configuration);
                continue;
            };
            existing.push(configuration);
            let is_sibling = |it: &Configuration| registered::has_sibling(&read, it.kind());
            siblings.extend(Configuration::ALL.into_iter().filter(is_sibling));
            let (kind, name) = (configuration.kind(), &self.name);
            let compared = self.kept_rules.compare(&read);
            self.kept_rules.read(configuration, shown, &read, &compared);
            match compared {
                Ok(compared) => {
                    foreign.extend(compared.say(kind, name));
                    if self.args.arm_compare_only {
                        continue;
                    }
                    self.armed.push((configuration, read.clone()));
                    unarmed.extend(Unarmed::new(configuration, read, compared.rules));
                }
                Err(why) => foreign.push(format!("{kind} {name}: {why}")),
            }
        }
        self.report_foreign(&foreign.join("; "));
        for gone in self.existing.iter().filter(|it| !existing.contains(it)) {
            let (kind, name) = (gone.kind(), &self.name);
            tracing::warn!(
                kind,
                name,
                "the webhook configuration was deleted: setguard is not called by it until helm \
                 upgrade creates it again"
            );
        }
        if let Some(absent) = siblings.iter().find(|it| !existing.contains(it)) {
            let (kind, name) = (absent.kind(), self.name.clone());
            self.deleted = Some(Problem::Deleted { kind, name });
        }
        self.existing = existing;
        Ok(unarmed)
    }

    fn report_foreign(&mut self, foreign: &str) {
        if !self.foreign.is_new(foreign) {
            return;
        }
        if foreign.is_empty() {
            tracing::info!("the webhook configurations are as the chart wrote them again");
        } else {
            tracing::warn!(
                problem = foreign,
                "another client has changed the webhook configurations, and setguard leaves that to administrators"
            );
        }
    }

    /// Makes the API server call setguard once, through each of these configurations.
    async fn rehearse(&mut self, unarmed: &[Unarmed]) -> Result<(), Problem> {
        let calls = &self.app.calls;
        let before = Configuration::ALL.map(|it| calls.rehearsals(dry_run_probe::endpoint(it)));
        let rehearsed = dry_run_probe::rehearse(&self.target).await?;
        let silent = unarmed.iter().find(|it| !rehearsed.called.contains(&it.configuration));
        let Some(Unarmed { configuration, read, .. }) = silent else { return Ok(()) };
        let endpoint = dry_run_probe::endpoint(*configuration);
        let lasts = self.silence();
        let silent = Silent {
            target: &self.target,
            configuration: *configuration,
            read,
            object: &rehearsed.object,
            lasts,
            was_called: self.app.calls.rehearsals(endpoint) > before[*configuration as usize],
            has_rules: false,
        };
        Err(match silent.why() {
            (why, true) => Problem::NotYet(why),
            (why, false) => Problem::NotCalled(why),
        })
    }

    /// Returns how long the API server could not, or did not, call setguard.
    fn silence(&mut self) -> Duration {
        self.silent_since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Makes the Namespace the owner of each configuration that Helm installed without an owner.
    async fn own(&self) -> Result<(), Problem> {
        let Some(owner) = &self.args.arm_owner else { return Ok(()) };
        for configuration in Configuration::ALL {
            let read = read(&self.client, configuration, &self.name).await?;
            let Some(read) = read else { continue };
            let metadata = &read["metadata"];
            if metadata["annotations"][INSTALLED_BY_HELM].is_null()
                || metadata["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty())
            {
                continue;
            }
            let namespaces: Api<Namespace> = Api::all(self.client.clone());
            let what = format!("reading Namespace {owner}");
            let namespace = call(what, namespaces.get(owner)).await?;
            let patch = Patch::Merge(json!({
                "metadata": {
                    "resourceVersion": metadata["resourceVersion"],
                    "ownerReferences": [{
                        "apiVersion": "v1",
                        "kind": "Namespace",
                        "name": owner,
                        "uid": namespace.metadata.uid,
                    }],
                },
            }));
            let kind = configuration.kind();
            let what = format!("making Namespace {owner} the owner of {kind} {}", self.name);
            let api = configuration.api(&self.client);
            match call(what, api.patch(&self.name, &patch_params(), &patch)).await {
                // Some other replica was faster.
                Ok(_) | Err(CallError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_change_that_is_made_again_and_again_is_logged_every_ten_minutes() {
        let mut foreign = Foreign::default();
        assert!(!foreign.is_new(""));
        assert!(foreign.is_new("selector"));
        assert!(!foreign.is_new("selector"));
        assert!(foreign.is_new(""), "it is as it was");
        assert!(!foreign.is_new("selector") && !foreign.is_new(""));
        assert!(foreign.is_new("policy"));
        advance(Foreign::REPEAT).await;
        assert!(!foreign.is_new("policy"), "it stays");
        assert!(foreign.is_new("selector") && foreign.is_new("policy"));
    }
}

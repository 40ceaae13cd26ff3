//! The rendered chart, synced by gitops-engine, the part of Argo CD that applies and prunes.
//!
//! The engine's example agent syncs a folder. Unlike Argo CD, it deletes no Application, and has no
//! `ignoreDifferences`.

use super::{KINDS, NAME, Site, arming, everything, load::Load, validates, values};
use crate::harness::process::free_ports;
use crate::prelude::*;

pub(super) const AGENT: &str = "gitops-agent";

/// The mode of examples/gitops/argo-cd.yaml: server-side apply, and the webhook configurations in a second wave.
pub(super) fn documented(shared: &Namespace<'_>) {
    from_install_to_prune(shared, true);
}

/// The default mode of Argo CD: client-side apply, in one wave.
pub(super) fn by_default(shared: &Namespace<'_>) {
    from_install_to_prune(shared, false);
}

fn from_install_to_prune(shared: &Namespace<'_>, documented: bool) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let site = Site::new(&control_plane);
    let before = everything(&site.own);
    let mut values = values(&site.url);
    if documented {
        values["webhook"]["annotations"] = json!({ "argocd.argoproj.io/sync-wave": "1" });
    }
    let repository = Repository::new(&site, documented);
    repository.render(&values);

    let load = Load::start(&site);
    let mut agent = Agent::start(&repository);
    if documented {
        agent.wait_for_available_pods();
        for kind in KINDS {
            site.own.kubectl(&["get", kind, NAME], "").refused(&["NotFound"]);
        }
        // The agent uses the objects from the start of the sync, so it never sees a healthy Deployment. Argo CD reads
        // them again, like a restarted agent.
        agent.restart();
    }
    agent.wait_for_syncs(1);
    arming::wait(&site.shop);
    load.assert_none_failed();
    validates(&site);
    let installed = everything(&site.own);
    for hook in ["guard-setguard-cleanup", "guard-setguard-test"] {
        assert!(!installed.iter().any(|it| it.ends_with(hook)), "{hook}: {installed:?}");
    }

    what_setguard_writes_is_not_drift(&site, &mut agent);
    site.patch_policy();
    agent.sync();
    assert_eq!(site.policy(), "Fail");

    let load = Load::start(&site);
    values["podAnnotations"] = json!({ "e2e": "another" });
    let pods = site.kubelet.ready();
    repository.render(&values);
    agent.sync();
    site.wait_for_others(&pods);
    load.assert_none_failed();

    let load = Load::start(&site);
    repository.empty();
    agent.sync();
    let pods = || node::pods(&site.own, "app.kubernetes.io/component=webhook").len();
    becomes("all pods to be gone", pods, |pods| *pods == 0);
    load.assert_none_failed();
    site.wait_until_only(&before);
}

fn what_setguard_writes_is_not_drift(site: &Site<'_>, agent: &mut Agent<'_>) {
    let stored = site.written();
    for kind in &stored {
        assert!(kind["owners"].is_null(), "Argo CD would not delete what has an owner: {kind}");
        assert!(kind["webhooks"][0]["rules"].is_array(), "{kind}");
    }
    for _ in 0..2 {
        agent.sync();
    }
    assert_eq!(site.written(), stored);
}

/// The agent's folder. It is a git repository, because the agent needs its revision.
struct Repository<'a> {
    site: &'a Site<'a>,
    folder: PathBuf,
    server_side: bool,
}

impl<'a> Repository<'a> {
    fn new(site: &'a Site<'a>, server_side: bool) -> Self {
        let folder = site.own.control_plane.folder().join("repository");
        fs::create_dir(&folder).expect("a folder");
        let author = ["-c", "user.name=e2e", "-c", "user.email=e2e@example.org"];
        let commit = ["commit", "--quiet", "--allow-empty", "--message=Empty"];
        for args in [&["init", "--quiet"][..], &[&author[..], &commit].concat()] {
            let status = Command::new("git").args(args).current_dir(&folder).status();
            assert!(status.expect("git starts").success(), "git {args:?}");
        }
        Repository { site, folder, server_side }
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("chart.yaml")
    }

    fn render(&self, values: &Value) {
        let own = &self.site.own;
        let file = self.folder.with_extension("values");
        fs::write(&file, values.to_string()).expect("a file");
        let output = Command::new(helm::find().expect("helm was found before"))
            .args(["template", "guard", "--namespace", own.name])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard"))
            .arg("--values")
            .arg(file)
            .output()
            .expect("helm runs");
        assert!(output.status.success(), "{output:?}");
        let mut manifest = String::from_utf8(output.stdout).expect("text");
        if self.server_side {
            // For a whole Application, this is one of the syncOptions.
            let option = "argocd.argoproj.io/sync-options=ServerSideApply=true";
            let args = ["annotate", "--local", "--filename=-", "--output=yaml", option];
            manifest = own.kubectl(&args, &manifest).accepted().stdout;
        }
        fs::write(self.manifest(), manifest).expect("a file");
    }

    fn empty(&self) {
        fs::remove_file(self.manifest()).expect("a file");
    }
}

struct Agent<'a> {
    repository: &'a Repository<'a>,
    port: u16,
    process: Process,
}

impl<'a> Agent<'a> {
    fn start(repository: &'a Repository<'a>) -> Self {
        let control_plane = repository.site.own.control_plane;
        let kubectl = &control_plane.kubectl;
        let [port] = free_ports();
        let args = [
            &repository.folder.display().to_string(),
            &format!("--kubeconfig={}", kubectl.kubeconfig.display()),
            &format!("--default-namespace={}", repository.site.own.name),
            &format!("--port={port}"),
            "--resync-seconds=3600",
        ];
        let program = control_plane.assets.join(AGENT);
        let variables = [("HOME", kubectl.home.as_os_str())];
        let process = Process::start_with(&program, &args, &variables, control_plane.folder());
        Agent { repository, port, process }
    }

    fn restart(&mut self) {
        self.process.kill();
        *self = Agent::start(self.repository);
    }

    fn sync(&mut self) {
        let before = syncs(&self.process.output);
        http::get(([127, 0, 0, 1], self.port).into(), "/api/v1/sync");
        self.wait_for_syncs(before + 1);
    }

    fn wait_for_syncs(&mut self, count: usize) {
        let output = self.process.output.clone();
        self.process.wait_until("a sync", || (syncs(&output) >= count).then_some(()));
    }

    fn wait_for_available_pods(&mut self) {
        let own = &self.repository.site.own;
        self.process.wait_until("available pods", || {
            let path = "--output=jsonpath={.status.availableReplicas}";
            let output = own.kubectl(&["get", "deployment", NAME, path], "");
            (output.stdout == "2").then_some(())
        });
    }
}

/// The number of tables in the agent's output: it prints one after each sync.
fn syncs(output: &Path) -> usize {
    let text = fs::read_to_string(output).expect("a file");
    text.lines().filter(|line| line.starts_with("RESOURCE")).count()
}

//! The commands of docs/troubleshooting.md, in each mode.

use super::{Site, arming, release::Release, values};
use crate::prelude::*;

const PAGE: &str = include_str!("../../../../docs/troubleshooting.md");

/// Runs the page from the top in each mode: each switch turns setguard off, and the next step turns it on again.
pub(super) fn page(shared: &Namespace<'_>) {
    for mode in ["webhook", "both", "policies"] {
        let control_plane = ControlPlane::start(&shared.control_plane.assets);
        let site = Site::in_namespace(&control_plane, "setguard");
        let release = Release::new(&site.own, "setguard");
        let serves = mode != "policies";
        let mut values = if serves { values(&site.url) } else { json!({}) };
        values["mode"] = json!(mode);
        if !serves && control_plane.minor() < 36 {
            values["webhook"] = json!({ "mutating": { "enabled": false } });
        }
        release.run("install", &values);
        arming::wait(&site.shop);
        let reader = Reader { site: &site, minor: control_plane.minor() };

        let [off, injections, on] = reader.blocks("Switch setguard off");
        assert_eq!(off.len(), 1, "one command: {off:?}");
        reader.run(&off);
        reader.wait_until_off();
        reader.run(&injections);
        // The newest revision has failed.
        let mut broken = values.clone();
        broken["podAnnotations"] = json!({ "a": "b" });
        broken["extraObjects"] = json!([{ "apiVersion": "v1", "kind": "Nothing" }]);
        assert!(!release.output("upgrade", &[], &broken).0);
        reader.run(&on);
        arming::wait(&site.shop);

        if serves {
            let [upgrade, patch] = reader.blocks("Allow writes when setguard does not answer");
            for way in [upgrade, patch] {
                reader.run(&way);
                let stored = site.own.read("validatingwebhookconfiguration/setguard");
                assert_eq!(stored["webhooks"][0]["failurePolicy"], "Ignore", "{way:?}");
                release.take_back(&values);
            }
            let [leak, certificates] = reader.blocks("The CA's key has leaked");
            reader.run(&leak);
            arming::wait(&site.shop);
            reader.run(&certificates);
        }
        let [uninstall, rest] = reader.blocks("The uninstallation hangs");
        reader.run(&uninstall);
        reader.wait_until_off();
        reader.run(&rest);
        assert_eq!(site.kubelet.complaints(), [""; 0]);
    }
}

struct Reader<'a> {
    site: &'a Site<'a>,
    minor: u32,
}

impl Reader<'_> {
    fn blocks<const N: usize>(&self, section: &str) -> [Vec<String>; N] {
        let start = format!("## {section}\n");
        let (_, text) = PAGE.split_once(&start).expect("a section");
        let text = text.split("\n## ").next().unwrap_or_default();
        let mut blocks: Vec<Vec<String>> = Vec::new();
        let mut before = "";
        for line in text.lines() {
            if let Some(command) = line.strip_prefix("    ") {
                let block = before.starts_with("    ").then(|| blocks.last_mut()).flatten();
                match block.and_then(|block| Some((block.last()?.clone(), block))) {
                    // A command may span several lines.
                    Some((last, block)) if last.ends_with(['\\', '|', '[', ',']) => {
                        block.pop();
                        block.push(format!("{last}\n{command}"));
                    }
                    Some((_, block)) => block.push(command.to_owned()),
                    None => blocks.push(vec![command.to_owned()]),
                }
            }
            before = line;
        }
        blocks.try_into().unwrap_or_else(|blocks| panic!("{section}: {blocks:#?}"))
    }

    fn run(&self, commands: &[String]) {
        let mut revision = String::new();
        for command in commands {
            // An older API server lacks this kind.
            if self.minor < 36 && command.contains("mutatingadmissionpolicybindings") {
                continue;
            }
            let command = command.replace("REVISION", &revision);
            let printed = self.shell(&command);
            if command.starts_with("helm history") {
                assert_eq!(printed.lines().count(), 1, "{printed}");
                revision = printed.split_whitespace().next().unwrap_or_default().to_owned();
            }
        }
    }

    fn shell(&self, command: &str) -> String {
        let control_plane = self.site.own.control_plane;
        let helm = helm::find().expect("helm was found before");
        let helm = helm.parent().map(Path::to_owned).unwrap_or_default();
        let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard");
        let output = Command::new("sh")
            .args(["-ec", command])
            .env("PATH", path_with([control_plane.assets.clone(), helm]))
            .env("KUBECONFIG", &control_plane.kubectl.kubeconfig)
            .env("HOME", &control_plane.kubectl.home)
            .env("chart", chart)
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{command}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn wait_until_off(&self) {
        let ask = || self.site.shop.dry_run(&surging("agent"));
        becomes("setguard to be off", ask, |output| output.success && output.stderr.is_empty());
    }
}

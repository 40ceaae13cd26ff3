//! The versions in files for pipelines, and the action that docs/ci.md describes.

use crate::prelude::*;
use crate::support::read;

#[test]
fn the_versions_in_files_for_pipelines_are_this_one() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("action.yml").contains(&format!("    default: {version}\n")));
    let input = format!("    version:\n      default: {version}\n");
    assert!(read("examples/ci/gitlab-ci.yml").contains(&input));
    assert!(read("examples/ci/pre-commit-config.yaml").contains(&format!("rev: v{version}\n")));
}

#[test]
fn the_plugin_of_helm_checks_what_a_chart_renders() {
    let Some(helm) = helm::find() else { return };
    let set = on_delete("agent", "").replace("name: agent", "name: {{ .Release.Name }}");
    let folder = Folder::new([
        ("chart/Chart.yaml", "apiVersion: v2\nname: chart\nversion: 1.0.0\n"),
        ("chart/templates/set.yaml", set.as_str()),
    ]);
    let program = Path::new(env!("CARGO_BIN_EXE_setguard")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let run = |args: &[&str]| {
        let mut command = folder.command(helm.to_str().unwrap());
        let home = folder.path("helm");
        command.env("PATH", &path).env("HELM_DATA_HOME", &home).env("HELM_CACHE_HOME", &home);
        Ran::from(command.args(args).output().unwrap())
    };
    let plugin = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/helm-plugin");
    run(&["plugin", "install", plugin.to_str().unwrap()]).ends(0);
    run(&["setguard", "one", "chart", "--namespace", "shop"])
        .ends(0)
        .prints("on-delete-ignores-rolling-update")
        .prints("DaemonSet ops/one");
    assert_ne!(run(&["setguard", "one", "nowhere"]).code, 0);
}

#[test]
fn argo_cd_reads_the_scripts_that_have_tests() {
    let patch: serde_json::Value =
        serde_saphyr::from_str(&read("examples/rollouts/argocd-cm.yaml")).unwrap();
    for kind in ["DaemonSet", "StatefulSet"] {
        let of = |what: &str| &patch["data"][format!("resource.customizations.{what}.apps_{kind}")];
        let script = read(&format!("examples/rollouts/argo-cd/apps/{kind}/health.lua"));
        assert_eq!((of("health"), of("useOpenLibs")), (&script.into(), &"true".into()), "{kind}");
    }
}

/// The action's script with a folder as the release. The program in the archive runs the real one.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod action {
    use super::*;

    fn release() -> Folder {
        let name = concat!("setguard-", env!("CARGO_PKG_VERSION"), "-linux-amd64");
        let folder = Folder::new([("deploy/a b.yaml", on_delete("agent", "").as_str())]);
        let program = format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_setguard"));
        folder.write(&format!("{name}/setguard"), program);
        let version = env!("CARGO_PKG_VERSION");
        folder.write(
            "release.sh",
            format!("chmod +x {name}/setguard && mkdir v{version} && tar -czf v{version}/{name}.tar.gz {name} && cd v{version} && sha256sum *.gz > SHA256SUMS && cut -d ' ' -f 1 SHA256SUMS"),
        );
        folder
    }

    fn make(folder: &Folder) -> String {
        let made = Ran::from(folder.command("sh").arg("release.sh").output().unwrap());
        assert_eq!(made.code, 0, "{made:?}");
        made.stdout.trim().to_owned()
    }

    fn run(folder: &Folder, more: &[(&str, &str)]) -> Ran {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/action/setguard");
        let mut command = folder.command("bash");
        command.arg(script).envs([
            ("SETGUARD_ACTION_PATHS", "deploy/a b.yaml\n"),
            ("SETGUARD_ACTION_VERSION", env!("CARGO_PKG_VERSION")),
            ("SETGUARD_ACTION_RELEASES", &format!("file://{}", folder.0.path().display())),
            ("RUNNER_TEMP", folder.0.path().to_str().unwrap()),
            ("GITHUB_OUTPUT", folder.path("output").to_str().unwrap()),
        ]);
        command.envs(more.iter().copied()).output().unwrap().into()
    }

    #[test]
    fn annotations_are_printed() {
        let folder = release();
        let sum = make(&folder);
        for sum in ["", &sum] {
            run(
                &folder,
                &[("SETGUARD_ACTION_SHA256", sum), ("SETGUARD_ACTION_ARGS", "--deny-warnings\n")],
            )
            .ends(1)
            .prints("::error ");
            let output = folder.read("output");
            let (head, counts) = output.split_once("report=").unwrap();
            assert!(head.ends_with("exit-code=1\n"), "{output}");
            let (report, counts) = counts.split_once('\n').unwrap();
            assert_eq!(counts, "errors=1\nwarnings=0\nnotes=0\n");
            let report = std::fs::read_to_string(report).unwrap();
            assert!(report.contains("\"kind\": \"CheckReport\""), "{report}");
            std::fs::remove_file(folder.path("output")).unwrap();
        }
    }

    #[test]
    fn findings_are_written_for_code_scanning() {
        let folder = release();
        make(&folder);
        let sarif = folder.path("out.sarif").display().to_string();
        let summary = folder.path("summary").display().to_string();
        run(&folder, &[("SETGUARD_ACTION_SARIF", &sarif), ("GITHUB_STEP_SUMMARY", &summary)])
            .ends(0)
            .prints_no("::warning");
        assert!(folder.read("summary").contains("| on-delete-ignores-rolling-update |"));
        let output = folder.read("output");
        assert_eq!(output.lines().next(), Some(&*format!("sarif={sarif}")));
        assert!(output.contains("exit-code=0\n") && output.contains("warnings=1\n"), "{output}");
        let report: serde_json::Value = serde_json::from_str(&folder.read("out.sarif")).unwrap();
        assert_eq!(report["runs"][0]["results"][0]["ruleId"], "on-delete-ignores-rolling-update");
        let binary = env!("CARGO_BIN_EXE_setguard");
        assert_eq!(run(&folder, &[("SETGUARD_ACTION_BINARY", binary)]).code, 0);
        run(&folder, &[("SETGUARD_ACTION_BINARY", "/nope")])
            .ends(2)
            .prints("::error::binary: /nope is not a program");
    }

    #[test]
    fn what_is_not_the_release_is_not_run() {
        let folder = release();
        make(&folder);
        let wrong = "0".repeat(64);
        run(&folder, &[("SETGUARD_ACTION_SHA256", wrong.as_str())])
            .ends(2)
            .prints("does not have the checksum")
            .prints_no("rolling");
        for version in ["../x", "9.9.9"] {
            let ran = run(&folder, &[("SETGUARD_ACTION_VERSION", version)]).ends(2);
            assert!(ran.stdout.starts_with("::error::"), "{ran:?}");
        }
        // A checksum list without the archive proves nothing.
        folder.write(concat!("v", env!("CARGO_PKG_VERSION"), "/SHA256SUMS"), "");
        assert_eq!(run(&folder, &[]).code, 2);
    }
}

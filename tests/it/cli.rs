mod input;
mod terminal;

use crate::folder;
pub(crate) use crate::folder::Ran;
use crate::prelude::*;

pub(crate) const GOOD: &str = include_str!("../fixtures/manifests/good.yaml");

/// One unknown field, on line 5, column 3.
pub(crate) const MISSPELT: &str = include_str!("../fixtures/manifests/misspelt.yaml");

/// A policy with only these traps, so that a new trap does not break these tests.
pub(crate) fn policy(traps: &[(&str, &str)], rest: &str) -> String {
    let mut text = folder::policy("rules:\n");
    for id in setguard::rules::traps().map(|trap| trap.meta.id) {
        let mode = traps.iter().find(|(trap, _)| *trap == id).map_or("off", |(_, mode)| mode);
        text.push_str(&format!("  {id}: {mode}\n"));
    }
    text + rest
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = Folder::quiet([]);
    let page = folder.setguard(&["man"]).stdout;
    assert!(page.contains(".TH setguard 1"), "{page}");
    let ran = folder.setguard(&["man", "."]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{ran:?}");
    assert_eq!(folder.read("setguard.1"), page);
    let check = folder.read("setguard-check.1");
    assert!(check.contains("setguard\\-check") && check.contains("Exit codes:"), "{check}");
    let ran = folder.setguard(&["man", "none"]);
    assert!(ran.code == 2 && ran.stderr.starts_with("error: none: cannot be written"), "{ran:?}");
}

#[test]
fn the_rules_are_listed_and_explained() {
    let folder = Folder::quiet([]);
    let table = folder.setguard(&["rules"]);
    let json: Value =
        serde_json::from_str(&folder.setguard(&["rules", "--format", "json"]).stdout).unwrap();
    let rules = json.as_array().unwrap();
    assert_eq!(table.stdout.lines().count(), rules.len() + 1, "{}", table.stdout);
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        let line = table.stdout.lines().find(|line| line.split(' ').next() == Some(id)).unwrap();
        assert!(line.contains(rule["mode"].as_str().unwrap()), "{line}");
        let explained = folder.setguard(&["explain", id]);
        assert_eq!(explained.code, 0);
        assert!(explained.stdout.starts_with(&format!("{id}: ")), "{}", explained.stdout);
    }
}

#[test]
fn the_examples_of_the_help_fit_a_terminal() {
    let help = |command: &str, width: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_setguard"));
        let args = command.split_whitespace().chain(["--help"]);
        let output = program.args(args).env("COLUMNS", width).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (all, mut fitting) = (help("", "80"), 0);
    let names = all.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for command in names.chain(["", "export vap", "export conditions", "export map"]) {
        let [narrow, wide] = ["80", "200"].map(|width| help(command, width));
        let examples = |text: &str| text.split_once("Example").map(|it| it.1.to_owned());
        assert_eq!(examples(&narrow), examples(&wide), "{command}");
        fitting += usize::from(examples(&narrow).is_some());
    }
    assert!(fitting > 12, "{all}");
}

#[test]
fn a_shell_completes_the_flags() {
    for shell in ["bash", "zsh", "fish"] {
        Folder::quiet([]).setguard(&["completions", shell]).ends(0).prints("deny-warnings");
    }
}

#[test]
fn a_program_can_read_the_version() {
    let version = concat!("{\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}\n");
    Folder::quiet([]).setguard(&["version", "-o", "json"]).ends(0).prints(version);
}

#[cfg(unix)]
#[test]
fn a_plugin_of_kubectl_says_how_it_is_called() {
    let folder = Folder::new([]);
    let plugin = folder.path("kubectl-setguard");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_setguard"), &plugin).unwrap();
    for command in ["check", "audit"] {
        let args = [command, "--help"];
        let called =
            Ran::from(folder.command(plugin.to_str().unwrap()).args(args).output().unwrap());
        called.prints(format!("Usage: kubectl setguard {command} ["));
        folder.setguard(&args).prints(format!("Usage: setguard {command} ["));
    }
}

//! The pages in `docs/guides/`: their manifests and command outputs. The end-to-end tests run the commands that need a
//! cluster.

use crate::pages;
use crate::prelude::*;

const PAGES: [&str; 6] =
    ["log-agent", "node-plugin", "gpu-device-plugin", "database", "queue", "grow-a-claim-template"];

fn repository() -> Folder {
    let folder = Folder::new([]);
    pages::reset(folder.0.path());
    folder.commit();
    folder
}

fn shown(folder: &Folder, command: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_setguard")).parent().unwrap();
    let path = format!("{}:{}", program.display(), env::var("PATH").unwrap());
    let mut shell = folder.command("sh");
    let ran = shell.args(["-c", &format!("{command} 2>&1")]).env("PATH", path).output().unwrap();
    let ran = Ran::from(ran);
    assert!(command.starts_with("setguard ") && ran.code < 2, "{command}: {ran:?}");
    ran.stdout
}

#[test]
fn the_pages_show_the_output_of_their_commands() {
    let folder = repository();
    for name in PAGES {
        let page = Path::new(pages::FOLDER).join(format!("{name}.md"));
        let page = fs::read_to_string(page).unwrap();
        let mut section = 0;
        let now = pages::map(&page, |block| {
            if block.section != section {
                section = block.section;
                pages::reset(folder.0.path());
            }
            match block.language {
                "diff" => pages::change(folder.0.path(), block.text),
                "console" if !pages::asks_cluster(block) => {
                    return Some(pages::outputs(block, |command| shown(&folder, command)));
                }
                "console" | "sh" => {}
                other => panic!("{name}: a block of {other:?}"),
            }
            None
        });
        is_current(&format!("docs/guides/{name}.md"), &now);
    }
}

#[test]
fn the_manifests_have_only_the_notes_that_the_pages_explain() {
    let (code, report) =
        repository().json("--deny-warnings --inventory nodes.yaml database.yaml queue.yaml log-agent.yaml node-plugin.yaml gpu-device-plugin.yaml");
    let found: BTreeSet<_> = crate::folder::rules(&report).into_iter().collect();
    let explained = ["pdb-keeps-broken-pods", "self-anti-affinity", "tolerates-everything"];
    assert_eq!((code, found), (0, BTreeSet::from(explained)), "{report:#}");
}

#[test]
fn every_guide_is_tested() {
    let names = fs::read_dir(pages::FOLDER).unwrap().map(|entry| entry.unwrap().file_name());
    let names: BTreeSet<String> = names
        .filter_map(|name| Some(name.to_str()?.strip_suffix(".md")?.to_owned()))
        .filter(|name| name != "README")
        .collect();
    assert_eq!(names, PAGES.map(str::to_owned).into());
}

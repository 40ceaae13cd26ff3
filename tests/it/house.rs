//! The rooms of the source, which are its top-level modules, and the imports between them.
//!
//! The map in `src/lib.rs` lists the rooms from top to bottom. These tests compare it with the
//! code.

mod modules;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use syn::Item;

use self::modules::{Module, files};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn source() -> PathBuf {
    root().join("src")
}

/// All modules of the source.
static MODULES: LazyLock<BTreeMap<String, Module>> = LazyLock::new(|| modules::read(&source()));

/// The map in the first comment of `src/lib.rs`: a line for each floor, the highest first.
fn floors() -> Vec<Vec<String>> {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let text = lib.lines().filter_map(|line| line.strip_prefix("//!"));
    let blocks: Vec<Vec<&str>> = text
        .collect::<Vec<_>>()
        .split(|line| line.trim().starts_with("```"))
        .map(<[&str]>::to_vec)
        .collect();
    // The blocks are text, the picture, text, the map, and text.
    let rooms = |line: &&str| -> Vec<String> {
        let words = line.split_whitespace();
        words.filter_map(|word| word.strip_suffix('/')).map(str::to_owned).collect()
    };
    blocks[3].iter().map(rooms).collect()
}

fn room(module: &str) -> &str {
    module.split("::").next().unwrap()
}

#[test]
fn a_room_imports_only_rooms_below_it() {
    let floors = floors();
    let floor = |room: &str| floors.iter().position(|rooms| rooms.iter().any(|it| it == room));
    let mut wrong = Vec::new();
    for (name, module) in &*MODULES {
        let own = floor(room(name)).unwrap_or_else(|| panic!("{name} is not on the map"));
        for import in module.imports.iter().filter(|import| room(import) != room(name)) {
            if floor(room(import)).is_none_or(|other| other <= own) {
                wrong.push(format!("{name} imports {import}"));
            }
        }
    }
    assert!(wrong.is_empty(), "these rooms are not below:\n{}", wrong.join("\n"));
    let rooms: Vec<_> = floors.iter().flatten().collect();
    assert!(rooms.len() <= 26, "{} rooms: {rooms:?}", rooms.len());
}

/// The files of a program that are in a cycle, or import one that is.
fn cycles(modules: &BTreeMap<String, Module>) -> BTreeMap<&str, BTreeSet<&str>> {
    // A file that imports none of the remaining files is in no cycle. Remove such files until
    // nothing changes.
    let mut left: BTreeMap<&str, BTreeSet<&str>> = modules
        .iter()
        .map(|(name, module)| (name.as_str(), module.imports.iter().map(String::as_str).collect()))
        .collect();
    loop {
        let done: Vec<&str> =
            left.iter().filter(|(_, imports)| imports.is_empty()).map(|(name, _)| *name).collect();
        if done.is_empty() {
            return left;
        }
        for name in done {
            left.remove(name);
            left.values_mut().for_each(|imports| {
                imports.remove(name);
            });
        }
    }
}

#[test]
fn no_files_import_each_other_in_a_cycle() {
    let left = cycles(&MODULES);
    assert!(left.is_empty(), "these are in a cycle, or import one: {left:#?}");
    // The programs that several files make up; without tests/e2e, whose cases are listed by the file that
    // defines what a case is.
    for (program, least) in [
        ("tests/it", 100),
        ("tests/testing/src", 15),
        ("benches/abuse", 5),
        ("benches/load", 10),
        ("benches/soak", 5),
    ] {
        let modules = modules::read(&root().join(program));
        assert!(modules.len() >= least, "{program}: {} files", modules.len());
        let left = cycles(&modules);
        assert!(left.is_empty(), "{program}: in a cycle, or import one: {left:#?}");
    }
}

/// Rust would compile and run such a block as a test, and Cargo.toml turns that off, to save the time
/// of looking for them.
#[test]
fn no_comment_has_a_block_of_rust() {
    for file in files(&source()) {
        let text = fs::read_to_string(&file).unwrap();
        let comments = text.lines().map(str::trim_start).filter_map(|line| {
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///")).map(str::trim)
        });
        let fences: Vec<_> = comments.filter_map(|line| line.strip_prefix("```")).collect();
        for fence in fences.iter().step_by(2) {
            assert!(["json", "text", "yaml"].contains(fence), "{fence:?} in {}", file.display());
        }
    }
}

/// A snapshot that no test compares any more is left over.
#[test]
fn each_snapshot_is_compared() {
    let folder = root().join("tests/it/snapshots");
    let texts: String =
        files(&root().join("tests/it")).iter().map(|it| fs::read_to_string(it).unwrap()).collect();
    let mut seen = 0;
    for topic in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        for file in fs::read_dir(&topic).unwrap().map(|entry| entry.unwrap().path()) {
            let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
            let name = format!("\"{}/{}\"", name(&topic), name(&file));
            assert!(texts.contains(&name), "no test compares {}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} snapshots");
}

/// Whether an enum of this source has a variant.
fn declares(file: &Path, owner: &str, variant: &str) -> bool {
    let syntax = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
    let mut enums = syntax.items.iter().filter_map(|item| match item {
        Item::Enum(item) if item.ident == owner => Some(item),
        _ => None,
    });
    enums.any(|item| item.variants.iter().any(|it| it.ident == variant))
}

/// The paths and the variants that CONTRIBUTING.md mentions in back quotes.
#[test]
fn contributing_names_only_existing_files_and_variants() {
    let root = root();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let files = files(&source());
    let (mut paths, mut variants) = (0, 0);
    for word in text.split('`').skip(1).step_by(2) {
        let is_whole = !word.contains([' ', '<', '…']);
        let folders = ["src/", "tests/", "docs/", "charts/"];
        if is_whole && folders.iter().any(|it| word.starts_with(it)) {
            paths += 1;
            assert!(root.join(word).exists(), "CONTRIBUTING.md: there is no {word}");
        }
        let (name, _) = word.split_once('(').unwrap_or((word, ""));
        let Some((owner, variant)) = name.split_once("::") else { continue };
        if owner.starts_with(char::is_uppercase) && variant.starts_with(char::is_uppercase) {
            variants += 1;
            let exists = files.iter().any(|file| declares(file, owner, variant));
            assert!(exists, "CONTRIBUTING.md: there is no {name}");
        }
    }
    assert!(paths > 5 && variants > 4, "{paths} paths, {variants} variants");
}

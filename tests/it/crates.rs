//! The crates that setguard is made of, as Cargo resolves them.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    process::Command,
};

/// Runs cargo offline in the folder of the repository. Returns its output.
fn cargo(command: &str, args: &[&str]) -> String {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([command, "--locked", "--offline"])
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The features with which each crate is compiled: once for each set of them.
fn features(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let listed = cargo("tree", &["--prefix", "none", "--format", "{p}\t{f}", "--edges", edges]);
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in listed.lines() {
        // The mark of what was listed before.
        let line = line.strip_suffix(" (*)").unwrap_or(line);
        if let Some((name, features)) = line.split_once('\t') {
            all.entry(name.to_owned()).or_default().insert(features.to_owned());
        }
    }
    all
}

/// With one feature more, `cargo test` would compile a crate again, and each crate that needs it.
#[test]
fn the_tests_use_the_crates_of_the_program_as_they_are() {
    let (program, tests) = (features("normal,build"), features("normal,build,dev"));
    assert!(program.len() > 100, "{program:?}");
    for (name, features) in &program {
        assert_eq!(&tests[name], features, "{name}");
    }
}

/// The files that a source file includes, from the root of the repository.
fn included(file: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join(file)).unwrap();
    let folder = Path::new(file).parent().unwrap();
    let calls = ["include_str!(", "include_bytes!(", "include!("].into_iter();
    let calls = calls.flat_map(|call| text.split(call).skip(1)).collect::<Vec<_>>();
    let paths = calls.iter().filter_map(|it| it.trim_start().strip_prefix('"')?.split('"').next());
    let clean = |path: &str| {
        let whole = fs::canonicalize(root.join(folder).join(path));
        let whole = whole.unwrap_or_else(|error| panic!("{file}: {path}: {error}"));
        let inside = whole.strip_prefix(fs::canonicalize(root).unwrap()).unwrap().to_owned();
        inside.to_str().unwrap().replace('\\', "/")
    };
    paths.map(clean).collect()
}

/// `.ci/package` compiles it too.
#[test]
fn a_published_crate_has_the_files_of_the_program_and_no_others() {
    let listed = cargo("package", &["--list", "--allow-dirty"]).replace('\\', "/");
    let files: BTreeSet<&str> = listed.lines().collect();
    // The macro in src/rules.rs includes three texts from the folder of each rule.
    let is_macro = |file: &str| file == "src/rules.rs";
    let sources = files.iter().filter(|it| it.ends_with(".rs") && !is_macro(it));
    let mut needed: Vec<_> = sources.flat_map(|file| included(file)).collect();
    for rule in setguard::catalogue::all() {
        let folder = rule.meta.id.replace('-', "_");
        let texts = ["why.md", "bad.yaml", "good.yaml"];
        needed.extend(texts.map(|text| format!("src/rules/{folder}/{text}")));
    }
    assert!(needed.len() > 300, "the texts of rules: {needed:?}");
    assert!(files.iter().all(|file| !file.contains("/cases/")), "cases are for tests");
    for file in needed {
        assert!(files.contains(file.as_str()), "{file} is included, but it would not be published");
    }
    for file in ["Cargo.lock", "Cargo.toml", "CHANGELOG.md", "LICENSE", "README.md", "src/main.rs"]
    {
        assert!(files.contains(file), "{file}");
    }
    let made_by_cargo = [".cargo_vcs_info.json", "Cargo.toml.orig"];
    let others = files.iter().filter(|it| !it.starts_with("src/") && !made_by_cargo.contains(it));
    assert_eq!(others.count(), 5, "{listed}");
}

//! The crates that setguard is made of, as Cargo resolves them.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    process::Command,
};

/// The features with which each crate is compiled: once for each set of them.
fn features(edges: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}\t{f}"])
        .args(["--edges", edges])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
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

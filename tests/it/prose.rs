//! Words that CONTRIBUTING.md (*Words*) replaces by better ones: their count may only go down.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The most that the documents may have: one is in printed output, in `docs/audit.md`.
const DOCS: usize = 1;

/// The most that the source may have. Lower it when you remove some.
const SRC: usize = 772;

/// The rule id is an interface and stays.
const KEPT: &str = "too-large-to-judge";

/// Collects the files with this extension, except the page that is generated from the source.
fn files(path: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files(&entry.unwrap().path(), extension, found);
        }
    } else if path.extension().is_some_and(|it| it == extension) && !path.ends_with("docs/rules.md")
    {
        found.push(path.to_owned());
    }
}

/// The number of words to avoid, wherever they are: prose, comments, strings and names.
fn count(text: &str) -> usize {
    let text = text.to_lowercase().replace(KEPT, "");
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let single = words.iter().filter(|word| {
        word.starts_with("judg")
            || word.starts_with("mend")
            || ["nobody", "somebody", "whoever", "beside"].contains(word)
    });
    // "There is no" is plain English.
    let is_no = words.windows(3).filter(|w| w[0] != "there" && w[1..] == ["is", "no"]);
    single.count() + is_no.count()
}

/// The number of such words in an area, and the files that have them, for the message.
fn counted(paths: &[&str], extension: &str) -> (usize, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    paths.iter().for_each(|path| files(&root.join(path), extension, &mut found));
    assert!(!found.is_empty(), "no files in {paths:?}");
    found.sort();
    let mut total = 0;
    let mut lines = String::new();
    for path in found {
        let mut text = fs::read_to_string(&path).unwrap();
        // The list itself names them.
        if path.ends_with("CONTRIBUTING.md") {
            let (before, rest) = text.split_once("### Words").expect("a list of words");
            let (_, after) = rest.split_once("\n## ").expect("a heading after the list");
            text = format!("{before}{after}");
        }
        let count = count(&text);
        if count > 0 {
            lines += &format!("{}: {count}\n", path.strip_prefix(root).unwrap().display());
        }
        total += count;
    }
    (total, lines)
}

#[test]
fn the_words_are_counted() {
    assert_eq!(count("Nobody judges; whoever mends it, this is no joke beside somebody."), 7);
    assert_eq!(count("There is no need to amend `too-large-to-judge`, besides."), 0);
}

#[test]
fn documents_have_no_more_words_to_avoid() {
    const PAGES: [&str; 6] = [
        "docs",
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "tests/conformance/README.md",
        "benches/README.md",
    ];
    let (count, lines) = counted(&PAGES, "md");
    assert!(count <= DOCS, "{count} words to avoid, at most {DOCS}:\n{lines}");
}

#[test]
fn the_source_has_no_more_words_to_avoid() {
    let (count, lines) = counted(&["src"], "rs");
    assert!(count <= SRC, "{count} words to avoid, at most {SRC}:\n{lines}");
}

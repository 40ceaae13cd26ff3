//! Words that CONTRIBUTING.md (*Words*) replaces by better ones: their count may only go down.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The most that the documents may have: one is in printed output, in `docs/audit.md`.
const DOCS: usize = 1;

/// The most comments of the source that may lack a noun at their head, or have another construction
/// to avoid.
const COMMENTS: usize = 3;

/// The rule id is an interface and stays.
const KEPT: &str = "too-large-to-judge";

/// Collects the files with this extension, except the pages that are generated from the source.
fn files(path: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    if path.ends_with("docs/rules") {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files(&entry.unwrap().path(), extension, found);
        }
    } else if path.extension().is_some_and(|it| it == extension) && !path.ends_with("docs/rules.md")
    {
        found.push(path.to_owned());
    }
}

/// The number of words to avoid in prose, comments, strings and names.
fn count(text: &str) -> usize {
    let text = text.to_lowercase().replace(KEPT, "");
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let single = words.iter().filter(|word| {
        word.starts_with("judg")
            || word.starts_with("mend")
            || ["nobody", "somebody", "whoever", "beside"].contains(word)
    });
    // "There is no" and "is no longer" are plain English.
    let is_no = words.windows(4).filter(|w| {
        w[0] != "there" && w[1..3] == ["is", "no"] && !["longer", "more"].contains(&w[3])
    });
    single.count() + is_no.count()
}

/// The comments of a file, each as one line.
fn comments(source: &str) -> Vec<String> {
    let mut comments: Vec<String> = Vec::new();
    let mut before = "";
    for line in source.lines() {
        let line = line.trim_start();
        let marker = ["///", "//!", "//"].into_iter().find(|it| line.starts_with(it)).unwrap_or("");
        let text = line[marker.len()..].trim();
        match comments.last_mut() {
            _ if marker.is_empty() => {}
            Some(comment) if marker == before => *comment += &format!(" {text}"),
            _ => comments.push(text.to_owned()),
        }
        before = marker;
    }
    comments
}

/// The number of comments that begin without a noun, and of constructions with a pronoun for one.
fn count_in_comments(source: &str) -> usize {
    let count = |comment: &String| {
        let is_headless =
            ["What ", "It ", "They ", "The same"].iter().any(|it| comment.starts_with(it));
        let pronouns = ["that of", "another than"].iter().map(|it| {
            let followed = format!("{it} ");
            comment.to_lowercase().matches(&followed).count()
        });
        usize::from(is_headless) + pronouns.sum::<usize>()
    };
    comments(source).iter().map(count).sum()
}

/// The number that `count` finds in an area, and the files that have some, for the message.
fn counted(paths: &[&str], extension: &str, count: fn(&str) -> usize) -> (usize, String) {
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
    assert_eq!(
        count(
            "There is no need to amend `too-large-to-judge`, besides; the need is no longer there."
        ),
        0
    );
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
    let (found, lines) = counted(&PAGES, "md", count);
    assert!(found <= DOCS, "{found} words to avoid, at most {DOCS}:\n{lines}");
}

#[test]
fn the_source_has_no_words_to_avoid() {
    let (found, lines) = counted(&["src"], "rs", count);
    assert!(found == 0, "{found} words to avoid:\n{lines}");
}

#[test]
fn the_constructions_are_counted() {
    let source = [
        "// What is left.",
        "// It stays.",
        "",
        "/// It is small.",
        "/// What is second does not count.",
        "//! The lines are that of another than this.",
        "let it = 1; // They",
        "    // They end.",
    ]
    .join("\n");
    assert_eq!(comments(&source).len(), 4);
    assert_eq!(count_in_comments(&source), 5);
    assert_eq!(count_in_comments("// The list that offers it.\nfn f() {} // What is this?"), 0);
}

#[test]
fn comments_have_no_more_constructions_to_avoid() {
    let (found, lines) = counted(&["src"], "rs", count_in_comments);
    assert!(found <= COMMENTS, "{found} constructions to avoid, at most {COMMENTS}:\n{lines}");
    let (found, lines) = counted(&["tests", "benches"], "rs", count_in_comments);
    assert!(found == 0, "{found} constructions to avoid in tests:\n{lines}");
}

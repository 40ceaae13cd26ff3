//! The length of files and functions.

use std::{fs, path::PathBuf};

use super::{modules::files, root};

/// The lines that fit on a screen.
const FUNCTION: usize = 60;

/// All Rust files of the repository that are not generated.
fn all() -> Vec<PathBuf> {
    let folders = ["src", "tests", "benches", "examples", "fuzz/fuzz_targets"];
    folders.iter().flat_map(|folder| files(&root().join(folder))).collect()
}

#[test]
fn files_stay_small() {
    for path in all() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        let is_trap = path.parent().is_some_and(|parent| parent.ends_with("src/rules/traps"));
        let limit = if path == root().join("src/main.rs") {
            40
        } else if is_trap {
            150
        } else {
            400
        };
        assert!(lines <= limit, "{}: {lines} lines, at most {limit}", path.display());
    }
}

/// The functions of a text that rustfmt has formatted, each with its first line, counted from 1, and
/// its length.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_word =
        |word: &&str| ["const", "async", "unsafe"].contains(word) || word.starts_with("pub");
    let begins = |line: &str| {
        let mut words = line.split_whitespace().skip_while(is_word);
        words.next() == Some("fn") && !line.trim_end().ends_with(['}', ';'])
    };
    let starts = lines.iter().enumerate().filter(|(_, line)| begins(line));
    let length = |(start, line): (usize, &&str)| {
        let indent = &line[..line.len() - line.trim_start().len()];
        // The end of the function, or of a signature without a body.
        let is_end = |line: &&str| {
            line.strip_prefix(indent)
                .is_some_and(|rest| rest == "}" || (rest.starts_with(')') && rest.ends_with(';')))
        };
        let end = lines[start..].iter().position(is_end)?;
        Some((start + 1, end + 1))
    };
    starts.filter_map(length).collect()
}

#[test]
fn functions_fit_on_a_screen() {
    let mut seen = 0;
    for path in all() {
        let shown = path.strip_prefix(root()).unwrap();
        for (line, length) in functions(&fs::read_to_string(&path).unwrap()) {
            seen += 1;
            let file = shown.display();
            assert!(length <= FUNCTION, "{file}:{line}: {length} lines, at most {FUNCTION}");
        }
    }
    assert!(seen > 3000, "only {seen} functions were found");
}

#[test]
fn functions_are_found_with_their_lengths() {
    let text = "\
fn one() {}
impl A {
    pub(crate) const fn two(
        self,
    ) -> u8 {
        if true {
            1
        }
    }
}
trait B {
    fn three(
        &self,
    ) -> u8;
    async fn four() {
    }
}
";
    assert_eq!(functions(text), [(3, 7), (12, 3), (15, 2)]);
}

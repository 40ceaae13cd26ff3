//! The pages in `docs/guides/`, as readers follow them: manifests, changes and commands.

use std::{fs, path::Path};

/// The folder of the pages and their manifests.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides");

pub struct Block<'a> {
    /// The number of headings above the block.
    pub section: usize,
    /// `diff`, `console` or `sh`.
    pub language: &'a str,
    pub text: &'a str,
}

/// Replaces each block if `text` returns a new text for it.
pub fn map(page: &str, mut text: impl FnMut(&Block<'_>) -> Option<String>) -> String {
    let mut mapped = String::new();
    let mut section = 0;
    let mut rest = page;
    while let Some((line, after)) = rest.split_once('\n') {
        mapped.push_str(line);
        mapped.push('\n');
        rest = after;
        section += usize::from(line.starts_with("## "));
        let Some(language) = line.strip_prefix("```") else { continue };
        let end = rest.find("```\n").expect("the end of a block");
        let block = Block { section, language, text: &rest[..end] };
        mapped.push_str(text(&block).as_deref().unwrap_or(block.text));
        mapped.push_str("```\n");
        rest = &rest[end + 4..];
    }
    assert_eq!(rest, "", "a page ends with a line");
    mapped
}

pub fn reset(folder: &Path) {
    for entry in fs::read_dir(FOLDER).expect("the guides") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|it| it == "yaml") {
            fs::copy(&path, folder.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
}

/// Applies a change. Each hunk must match exactly once.
pub fn change(folder: &Path, diff: &str) {
    let (file, parts) = diff.split_once('\n').expect("a file and its change");
    let file = folder.join(file.strip_prefix("--- ").expect("the name of a file"));
    let mut text = fs::read_to_string(&file).expect("a manifest");
    for part in parts.split("@@\n") {
        let side = |mark: char| -> String {
            let lines = part.lines().filter(|line| line.starts_with([' ', mark]));
            lines.map(|line| format!("{}\n", &line[1..])).collect()
        };
        let (old, new) = (side('-'), side('+'));
        assert_eq!(text.matches(&old).count(), 1, "{}: {old}", file.display());
        text = text.replace(&old, &new);
    }
    fs::write(&file, text).expect("a file");
}

/// Whether a block shows output that depends on a cluster.
pub fn asks_cluster(block: &Block<'_>) -> bool {
    block.language == "console" && block.text.contains("now.yaml")
}

/// Fills in the output of each command in a `console` block.
pub fn outputs(block: &Block<'_>, run: impl Fn(&str) -> String) -> String {
    let commands = block.text.lines().filter_map(|line| line.strip_prefix("$ "));
    let shown: Vec<String> =
        commands.map(|command| format!("$ {command}\n{}", run(command))).collect();
    assert!(!shown.is_empty(), "a block without a command: {}", block.text);
    shown.join("\n")
}

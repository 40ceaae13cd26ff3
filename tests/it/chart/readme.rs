//! The README of the chart, for Artifact Hub and `helm show readme`: its table is generated from `values.yaml`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use setguard::catalogue::HOME;

use super::{chart, objects, render};
use crate::{helm, support::to_json};

/// The part of the README above the generated table.
fn beginning() -> String {
    let text = std::fs::read_to_string(chart().join("README.md")).unwrap();
    text.split_once("\n## Values\n").unwrap().0.to_owned()
}

struct Row {
    key: String,
    default: Value,
    comment: String,
}

struct Section {
    key: String,
    comment: String,
    rows: Vec<Row>,
}

/// A line of `values.yaml` with a key: its depth, the key, and the comment above.
fn keys(text: &str) -> Vec<(usize, String, String)> {
    let mut keys = Vec::new();
    let mut comment = String::new();
    for line in text.lines() {
        let bare = line.trim_start();
        let indent = (line.len() - bare.len()) / 2;
        if let Some(words) = bare.strip_prefix('#') {
            let words = words.strip_prefix(" --").unwrap_or(words).trim();
            comment += if comment.is_empty() { "" } else { " " };
            comment += words;
            continue;
        }
        let is_key = bare.starts_with(|c: char| c.is_ascii_alphabetic());
        if let Some((key, _)) = bare.split_once(':').filter(|_| is_key) {
            keys.push((indent, key.to_owned(), std::mem::take(&mut comment)));
        }
        comment.clear();
    }
    keys
}

/// The sections in file order; the first has the values outside of all sections.
fn sections(text: &str) -> Vec<Section> {
    let defaults: Value = serde_json::from_str(&to_json(text)[0]).unwrap();
    let keys = keys(text);
    let single = Section { key: String::new(), comment: String::new(), rows: Vec::new() };
    let mut sections = vec![single];
    let mut path: Vec<&str> = Vec::new();
    // Below a value whose fields have no comments.
    let mut inside: Option<usize> = None;
    for (i, (indent, key, comment)) in keys.iter().enumerate() {
        if inside.is_some_and(|outer| *indent > outer) {
            continue;
        }
        inside = None;
        path.truncate(*indent);
        path.push(key);
        let below = keys.get(i + 1).filter(|(next, ..)| next > indent);
        if let Some((.., of_part)) = below {
            if !of_part.is_empty() {
                let (key, comment) = (path.join("."), comment.clone());
                sections.push(Section { key, comment, rows: Vec::new() });
                continue;
            }
            inside = Some(*indent);
        }
        let pointer = format!("/{}", path.join("/"));
        let row = Row {
            key: path.join("."),
            default: defaults.pointer(&pointer).unwrap_or_else(|| panic!("{pointer}")).clone(),
            comment: comment.clone(),
        };
        let outer = path[..path.len() - 1].join(".");
        sections.iter_mut().rfind(|section| section.key == outer).unwrap().rows.push(row);
    }
    sections
}

/// The first sentence of a comment. `values.yaml` has the rest.
fn short(comment: &str) -> &str {
    comment.find(". ").map_or(comment, |end| &comment[..=end])
}

/// The comment as Markdown: the name of a page becomes a link to the site, or to the repository if the site lacks the
/// page.
fn linked(comment: &str) -> String {
    const SUMMARY: &str = include_str!("../../../docs/SUMMARY.md");
    let words = comment.split(' ').map(|word| {
        let name = word.trim_end_matches(['.', ',', ';', ')']);
        match name.strip_prefix("docs/").and_then(|page| page.strip_suffix(".md")) {
            Some(page) => {
                let url = match SUMMARY.contains(&format!("]({page}.md)")) {
                    true => format!("{HOME}/{page}.html"),
                    false => format!("{}/blob/main/{name}", env!("CARGO_PKG_REPOSITORY")),
                };
                format!("[{name}]({url}){}", &word[name.len()..])
            }
            None => word.replace('|', "\\|"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

pub(crate) fn markdown() -> String {
    let text = std::fs::read_to_string(chart().join("values.yaml")).unwrap();
    let mut out = beginning();
    for page in ["operations", "troubleshooting", "install"] {
        assert!(out.contains(&format!("]({HOME}/{page}.html)")), "{page}");
    }
    out += "\n## Values\n\n`helm show values oci://ghcr.io/setguard/charts/setguard` prints more about each.\n\n\
            | value | default | meaning |\n|---|---|---|\n";
    for Section { key, comment, rows } in sections(&text) {
        if !key.is_empty() {
            writeln!(out, "| **{key}** | | {} |", linked(short(&comment))).unwrap();
        }
        // "As in SECTION.": the section has the meaning and the default.
        let rows = rows.into_iter().filter(|row| !row.comment.starts_with("As in "));
        for Row { key, default, comment } in rows {
            let default = default.to_string().replace('|', "\\|");
            writeln!(out, "| {key} | `{default}` | {} |", linked(short(&comment))).unwrap();
        }
    }
    out
}

#[test]
fn each_value_is_in_the_readme() {
    let text = "# About a.\na:\n  # -- First.\n  # More | of it.\n  one: 1\n  # Two.\n  two: {}\n  #  x: y\n\n\
                # -- Whole, see docs/ci.md.\nb:\n  part: x\n  # No comment of b.\n  other: z\n# -- Last.\nc: [a]\n";
    let sections = sections(text);
    let of = |i: usize| {
        let section: &Section = &sections[i];
        let rows = section.rows.iter();
        (&*section.key, rows.map(|it| (&*it.key, &*it.comment)).collect())
    };
    let alone: (&str, Vec<_>) = of(0);
    let whole = ("b", "Whole, see docs/ci.md.");
    assert_eq!(alone, ("", vec![whole, ("c", "Last.")]));
    let group = vec![("a.one", "First. More | of it."), ("a.two", "Two.")];
    assert_eq!(of(1), ("a", group));
    assert_eq!(sections[0].rows[0].default, json!({"part": "x", "other": "z"}));
    assert_eq!(linked(whole.1), "Whole, see [docs/ci.md](https://setguard.io/ci.html).");
    let security = "https://github.com/setguard/setguard/blob/main/docs/security.md";
    assert_eq!(linked("See docs/security.md."), format!("See [docs/security.md]({security})."));
    assert_eq!(linked("a | b"), "a \\| b");
    assert_eq!(short("First. More | of it."), "First.");
    assert_eq!(short("TLS 1.2 or 1.3."), "TLS 1.2 or 1.3.");
}

#[test]
fn a_value_as_in_a_different_section_has_its_default() {
    let text = std::fs::read_to_string(chart().join("values.yaml")).unwrap();
    let sections = sections(&text);
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let mut count = 0;
    for row in rows() {
        let section = row.comment.strip_prefix("As in ").filter(|it| !it.contains(' '));
        let Some(section) = section else { continue };
        let name = row.key.rsplit('.').next().unwrap();
        let key = format!("{}.{name}", section.trim_end_matches('.'));
        let other = rows().find(|other| other.key == key).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(row.default, other.default, "{}", row.key);
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
fn each_recipe_is_accepted() {
    let Some(helm) = helm::find() else { return };
    let beginning = beginning();
    let rows = beginning.lines().filter_map(|it| it.strip_prefix("| ")?.strip_suffix("` |"));
    let recipes: Vec<_> = rows.map(|row| row.split_once(" | `").unwrap()).collect();
    assert_eq!(recipes.len(), 5);
    for (goal, flags) in recipes {
        let flags: Vec<&str> = flags.split(' ').collect();
        assert!(!objects(&render(&helm, &flags)).is_empty(), "{goal}");
    }
}

#[test]
fn helm_shows_the_readme() {
    let Some(helm) = helm::find() else { return };
    let mut command = std::process::Command::new(&helm);
    let output = command.args(["show", "readme"]).arg(chart()).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.trim() == markdown().trim(), "{shown}");
    assert!(shown.contains("| replicaCount | `2` |"), "{shown}");
}

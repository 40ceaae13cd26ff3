//! Random manifests with fields to remove: only these fields change, and nothing around them.

use std::sync::LazyLock;

use Fate::{Becomes, Goes, IsCopied, Stays};
use proptest::{prelude::*, test_runner::Config};

use crate::folder::{Folder, rules};

#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Stays,
    Goes,
    /// The line stays, with this line after the last such line.
    IsCopied(String),
    Becomes(String),
}

struct Layout {
    rule: &'static str,
    kind: &'static str,
    /// `strategy` for `spec.updateStrategy`, and `pod` for `spec.template.spec`.
    place: &'static str,
    lines: Vec<(String, Fate)>,
}

static LAYOUTS: LazyLock<Vec<Layout>> = LazyLock::new(|| {
    let text = include_str!("../../fixtures/fix/layouts.txt");
    let layouts = text.split("== ").skip(1).map(|layout| {
        let (head, text) = layout.split_once('\n').unwrap();
        let [rule, kind, place] = head.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let mut lines: Vec<(String, Fate)> = Vec::new();
        for line in text.lines() {
            let (mark, line) = (&line[..1], line[1..].to_owned());
            match mark {
                " " => lines.push((line, Stays)),
                "-" => lines.push((line, Goes)),
                "+" => lines.last_mut().unwrap().1 = IsCopied(line),
                _ => lines.last_mut().unwrap().1 = Becomes(line),
            }
        }
        Layout { rule, kind, place, lines }
    });
    layouts.collect()
});

fn lines(layout: &Layout, name: &str) -> Vec<(String, Fate)> {
    let mut lines = Vec::new();
    let mut add = |text: &str| lines.push((text.to_owned(), Stays));
    add("apiVersion: apps/v1");
    add(&format!("kind: {}", layout.kind));
    add(&format!("metadata: {{name: {name}, namespace: ops}}"));
    add("spec:");
    add(&format!("  selector: {{matchLabels: {{app: {name}}}}}"));
    if layout.kind == "StatefulSet" {
        add("  serviceName: web");
    }
    if layout.place == "strategy" {
        add("  updateStrategy:");
        lines.extend(layout.lines.iter().cloned());
    }
    lines.push(("  template:".to_owned(), Stays));
    lines.push((format!("    metadata: {{labels: {{app: {name}}}}}"), Stays));
    lines.push(("    spec:".to_owned(), Stays));
    if layout.place == "pod" {
        lines.extend(layout.lines.iter().cloned());
    }
    lines.push((
        "      containers: [{name: main, image: 'example.com/main:1.0.0'}]".to_owned(),
        Stays,
    ));
    lines
}

fn texts(lines: &[(String, Fate)], comments: &[u8], line_break: &str) -> (String, String) {
    let (mut before, mut after) = (String::new(), String::new());
    let mut copies: Vec<&str> = Vec::new();
    let mut add = |text: &str, stays: bool| {
        before.push_str(&format!("{text}{line_break}"));
        if stays {
            after.push_str(&format!("{text}{line_break}"));
        }
    };
    let mut after_copies: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut kept = 0;
    for (i, (text, fate)) in lines.iter().enumerate() {
        let choice = comments.get(i % comments.len().max(1)).copied().unwrap_or(0);
        let last = i.checked_sub(1).and_then(|i| lines.get(i)).map(|(_, fate)| fate);
        let is_inside = *fate == Goes && last == Some(&Goes) && !begins_entry(lines, i);
        if choice % 4 == 1 {
            // A comment above, with any indentation. Inside a multi-line text it would be text.
            let indent = " ".repeat(usize::from(choice / 4) % 8);
            if !text.trim_start().starts_with(['x', '2']) {
                add(&format!("{indent}# Above: {{a}} é #{i}"), !is_inside);
                kept += usize::from(!is_inside);
            }
        }
        let is_in_block_scalar = text.trim() == "x";
        let comment = if choice % 4 == 2 && !is_in_block_scalar { "  # With, 'é'" } else { "" };
        match fate {
            Stays | Goes => {
                add(&format!("{text}{comment}"), *fate == Stays);
                kept += usize::from(*fate == Stays);
            }
            IsCopied(copy) => {
                add(&format!("{text}{comment}"), true);
                kept += 1;
                copies.push(copy);
                let next = lines.get(i + 1);
                let ends = next.is_none_or(|(text, fate)| {
                    !matches!(fate, IsCopied(_)) || text.trim_start().starts_with("- ")
                });
                if ends {
                    after_copies.push((kept, std::mem::take(&mut copies)));
                }
            }
            Becomes(other) => {
                add(&format!("{text}{comment}"), true);
                kept += 1;
                after_copies.push((kept, vec!["\0", other, comment]));
            }
        }
    }
    // Copies and replacements go into the remaining lines.
    let mut result: Vec<String> = after.split_inclusive(line_break).map(str::to_owned).collect();
    for (at, what) in after_copies.into_iter().rev() {
        if let ["\0", other, comment] = what[..] {
            result[at - 1] = format!("{other}{comment}{line_break}");
        } else {
            result.splice(at..at, what.iter().map(|line| format!("{line}{line_break}")));
        }
    }
    (before, result.concat())
}

fn begins_entry(lines: &[(String, Fate)], at: usize) -> bool {
    let text = &lines[at].0;
    let indent = |text: &str| text.len() - text.trim_start().len();
    let first = lines[..at].iter().rev().take_while(|(_, fate)| *fate == Goes).last();
    first.is_some_and(|(first, _)| indent(first) == indent(text))
}

proptest! {
    #![proptest_config(Config { cases: 96, failure_persistence: None, ..Config::default() })]

    #[test]
    fn only_what_a_finding_is_about_changes(
        chosen in proptest::collection::vec((0..LAYOUTS.len(), proptest::collection::vec(0..36_u8, 0..12)), 1..4),
        crlf in any::<bool>(),
        bom in any::<bool>(),
        header in any::<bool>(),
        last_line_break in any::<bool>(),
    ) {
        let line_break = if crlf { "\r\n" } else { "\n" };
        let (mut before, mut after) = (String::new(), String::new());
        if bom {
            before.push('\u{feff}');
        }
        if header {
            before.push_str(&format!("# Header{line_break}---{line_break}kind: Other{line_break}apiVersion: v1{line_break}---{line_break}"));
        }
        after.push_str(&before);
        for (i, (layout, comments)) in chosen.iter().enumerate() {
            if i > 0 {
                before.push_str(&format!("---{line_break}"));
                after.push_str(&format!("---{line_break}"));
            }
            let (old, new) = texts(&lines(&LAYOUTS[*layout], &format!("a{i}")), comments, line_break);
            before.push_str(&old);
            after.push_str(&new);
        }
        if !last_line_break {
            before.truncate(before.len() - line_break.len());
            after.truncate(after.len() - line_break.len());
        }
        let folder = Folder::new([("a.yaml", before.as_str())]);
        let (_, found) = folder.json("a.yaml --feature-gates MaxUnavailableStatefulSet=false");
        let ran = folder.check("a.yaml --fix --feature-gates MaxUnavailableStatefulSet=false");
        prop_assert!(ran.code < 2, "{ran:?}");
        prop_assert_eq!(folder.read("a.yaml"), after, "from\n{}\n{:?}", before, ran);
        let (_, left) = folder.json("a.yaml --feature-gates MaxUnavailableStatefulSet=false");
        let fixed: Vec<_> = chosen.iter().map(|(layout, _)| LAYOUTS[*layout].rule).collect();
        let mut wanted = rules(&found);
        wanted.retain(|rule| !fixed.contains(rule));
        prop_assert!(wanted.len() < rules(&found).len(), "nothing was wrong: {}", found);
        prop_assert_eq!(rules(&left), wanted);
    }
}

//! The rules about status: the words of what they find, and clusters that look like trouble and are
//! none.

use std::fmt::Write as _;

use setguard::rules::status::RULES;

use crate::support;

#[test]
fn the_words_of_the_findings() {
    let mut out = String::new();
    for rule in RULES {
        for found in support::status(rule.meta.bad) {
            writeln!(out, "{} {} {}\n  {}", found.mode, found.rule, found.field, found.text)
                .unwrap();
        }
    }
    insta::assert_snapshot!(out);
}

/// The first line of a fixture says when it was seen, and the second what is found.
#[test]
fn each_cluster_has_the_findings_that_it_names() {
    let mut out = String::new();
    for (path, text) in support::fixtures("status") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let expected = text.lines().find_map(|line| line.strip_prefix("# Finds ")).unwrap();
        let found = support::status(&text);
        let mut ids: Vec<_> = found.iter().map(|found| found.rule.as_str()).collect();
        ids.sort_unstable();
        let ids = if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") };
        assert_eq!(ids, expected, "{name}: {found:#?}");
        for found in found {
            writeln!(out, "{name}: {} {}\n  {}", found.mode, found.rule, found.text).unwrap();
        }
    }
    insta::assert_snapshot!(out);
}

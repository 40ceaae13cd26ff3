//! `check --fix`: the finding is gone, no other has come, and every other byte is the same.

use std::fs;

use proptest::{prelude::*, test_runner::Config};

use crate::folder::{Folder, on_delete, rules};

/// The fate of a line.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    Stays,
    Goes,
    /// The line is followed, after the last such line, by this one.
    IsCopied(&'static str),
    Becomes(&'static str),
}

use Fate::{Becomes, Goes, IsCopied, Stays};

struct Layout {
    rule: &'static str,
    kind: &'static str,
    /// Below `spec.updateStrategy`, and below `spec.template.spec`.
    strategy: &'static [(&'static str, Fate)],
    pod: &'static [(&'static str, Fate)],
}

const LAYOUTS: &[Layout] = &[
    Layout {
        rule: "on-delete-ignores-rolling-update",
        kind: "DaemonSet",
        strategy: &[
            ("    rollingUpdate:", Goes),
            ("      maxSurge: 1", Goes),
            ("      maxUnavailable: 0", Goes),
            ("    type: OnDelete", Stays),
        ],
        pod: &[],
    },
    Layout {
        rule: "on-delete-ignores-rolling-update",
        kind: "DaemonSet",
        strategy: &[
            ("    type: OnDelete", Stays),
            ("    rollingUpdate: {maxUnavailable: 3}", Goes),
        ],
        pod: &[],
    },
    Layout {
        rule: "max-unavailable-ignored",
        kind: "StatefulSet",
        strategy: &[
            ("    rollingUpdate:", Stays),
            ("      \"maxUnavailable\":", Goes),
            ("        2", Goes),
            ("      partition: 0", Stays),
        ],
        pod: &[],
    },
    Layout {
        rule: "max-unavailable-ignored",
        kind: "StatefulSet",
        strategy: &[
            ("    type: RollingUpdate", Stays),
            ("    rollingUpdate:", Goes),
            ("      maxUnavailable: 3", Goes),
        ],
        pod: &[],
    },
    Layout {
        rule: "max-unavailable-ignored",
        kind: "StatefulSet",
        strategy: &[(
            "    rollingUpdate: {partition: 0, maxUnavailable: 2}",
            Becomes("    rollingUpdate: {partition: 0}"),
        )],
        pod: &[],
    },
    Layout {
        rule: "template-hostname-ignored",
        kind: "StatefulSet",
        strategy: &[],
        pod: &[("      hostname: 'é#ß'", Goes), ("      subdomain: |", Goes), ("        x", Goes)],
    },
    Layout {
        rule: "toleration-duplicate",
        kind: "DaemonSet",
        strategy: &[],
        pod: &[
            ("      tolerations:", Stays),
            ("      - key: a", Stays),
            ("        operator: Exists", Stays),
            ("      - key: a", Goes),
            ("        operator: Exists", Goes),
            ("        effect: NoExecute", Goes),
            ("      - operator: Exists", Stays),
            ("        effect: NoSchedule", Stays),
        ],
    },
    Layout {
        rule: "toleration-duplicate",
        kind: "DaemonSet",
        strategy: &[],
        pod: &[
            ("      tolerations: [", Stays),
            ("        {key: a, operator: Exists},", Stays),
            ("        {key: a, operator: Exists},", Goes),
            ("        {operator: Exists, effect: NoSchedule}]", Stays),
        ],
    },
    Layout {
        rule: "toleration-duplicate",
        kind: "DaemonSet",
        strategy: &[],
        pod: &[(
            "      tolerations: [{operator: Exists}, {key: a, operator: Exists}, {key: b, operator: Exists}]",
            Becomes("      tolerations: [{operator: Exists}]"),
        )],
    },
    Layout {
        rule: "legacy-master-toleration",
        kind: "DaemonSet",
        strategy: &[],
        pod: &[
            ("      tolerations:", Stays),
            ("        -   effect: NoSchedule", IsCopied("        -   effect: NoSchedule")),
            (
                "            key: \"node-role.kubernetes.io/master\"",
                IsCopied("            key: \"node-role.kubernetes.io/control-plane\""),
            ),
            ("            operator: Exists", IsCopied("            operator: Exists")),
            ("        - key: x", Stays),
            ("          operator: Exists", Stays),
        ],
    },
    Layout {
        rule: "legacy-master-toleration",
        kind: "DaemonSet",
        strategy: &[],
        pod: &[(
            "      tolerations: [{key: node-role.kubernetes.io/master, operator: Exists}]",
            Becomes(
                "      tolerations: [{key: node-role.kubernetes.io/master, operator: Exists}, \
                 {key: node-role.kubernetes.io/control-plane, operator: Exists}]",
            ),
        )],
    },
    Layout {
        rule: "legacy-master-toleration",
        kind: "DaemonSet",
        strategy: &[],
        pod: &[
            ("      tolerations:", Stays),
            (
                "      - {key: node-role.kubernetes.io/master, effect: NoSchedule, operator: Exists}",
                IsCopied(
                    "      - {key: node-role.kubernetes.io/control-plane, effect: NoSchedule, operator: Exists}",
                ),
            ),
            (
                "      - {key: 'node-role.kubernetes.io/master', effect: NoExecute, operator: Exists}",
                IsCopied(
                    "      - {key: 'node-role.kubernetes.io/control-plane', effect: NoExecute, operator: Exists}",
                ),
            ),
        ],
    },
];

/// The lines of a manifest and what becomes of them.
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
    let own = |own: &[(&str, Fate)]| -> Vec<_> {
        own.iter().map(|(text, fate)| ((*text).to_owned(), fate.clone())).collect()
    };
    if !layout.strategy.is_empty() {
        add("  updateStrategy:");
        lines.extend(own(layout.strategy));
    }
    lines.push(("  template:".to_owned(), Stays));
    lines.push((format!("    metadata: {{labels: {{app: {name}}}}}"), Stays));
    lines.push(("    spec:".to_owned(), Stays));
    lines.extend(own(layout.pod));
    lines.push((
        "      containers: [{name: main, image: 'example.com/main:1.0.0'}]".to_owned(),
        Stays,
    ));
    lines
}

/// The text before and after, with comments where `comments` says so.
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
            // Above, with any indentation. In text over several lines it would be text.
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
    // Copies and replacements go into the lines that were kept.
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

/// Whether a line that goes is the first one of an entry.
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

#[test]
fn a_dry_run_shows_a_diff_that_git_applies() {
    let text = on_delete("agent", "").replace('\n', "\r\n");
    let folder = Folder::new([("deploy/a b.yaml", text.as_str())]);
    folder.git("init -q");
    let ran = folder.check("./deploy --fix --dry-run");
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    assert_eq!(folder.read("deploy/a b.yaml"), text);
    assert!(ran.stdout.starts_with("--- a/deploy/a b.yaml\n+++ b/deploy/a b.yaml\n@@ "), "{ran:?}");
    folder.write("patch", &ran.stdout);
    folder.git("apply patch");
    let patched = folder.read("deploy/a b.yaml");
    folder.write("deploy/a b.yaml", &text);
    let ran = folder.check("./deploy --fix --deny-warnings");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "fixed: ./deploy/a b.yaml: 1 finding\n"));
    assert_eq!(folder.read("deploy/a b.yaml"), patched);
    let ran = folder.check("./deploy --fix --dry-run");
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
}

#[test]
fn a_change_that_is_not_safe_is_only_shown() {
    let rules = [
        "claim-without-class",
        "grace-period-zero",
        "history-limit-zero",
        "max-unavailable-everything",
        "partition-covers-all",
        "surge-host-port",
        "surge-shared-node-resource",
        "template-finalizers",
        "template-node-name",
        "template-scheduling-gates",
    ];
    for rule in rules {
        let bad = setguard::catalogue::find(rule).unwrap().meta.bad;
        let folder = Folder::new([("a.yaml", bad)]);
        folder.git("init -q");
        let ran = folder.check("a.yaml --fix --dry-run");
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{rule}");
        let ran = folder.check("a.yaml --fix --dry-run --unsafe");
        let note = format!("note: a.yaml: these change what happens in the cluster: {rule}\n");
        assert_eq!((ran.code, ran.stderr.as_str()), (1, note.as_str()), "{rule}");
        assert_eq!(folder.read("a.yaml"), bad, "nothing is written");
        folder.write("patch", &ran.stdout);
        folder.git("apply patch");
        let (_, found) = folder.json("a.yaml");
        assert_eq!(self::rules(&found), Vec::<&str>::new(), "{rule}:\n{}", ran.stdout);
    }
    let ran = Folder::new([]).check("a.yaml --fix --unsafe");
    assert_eq!(ran.code, 2, "it writes nothing, so there must be something that shows it: {ran:?}");
}

#[test]
fn json_is_fixed_as_text() {
    let text = r#"{
  "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "a", "namespace": "ops"},
  "spec": {
    "selector": {"matchLabels": {"app": "a"}},
    "updateStrategy": {
      "type": "OnDelete",
      "rollingUpdate": {
        "maxUnavailable": 2
      }
    },
    "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
      "tolerations": [
        {"key": "node-role.kubernetes.io/master", "operator": "Exists"}
      ],
      "containers": [{"name": "a", "image": "a:1"}]}}
  }
}
"#;
    let wanted = text
        .replace(",\n      \"rollingUpdate\": {\n        \"maxUnavailable\": 2\n      }", "")
        .replace(
            "\"operator\": \"Exists\"}\n",
            "\"operator\": \"Exists\"},\n        {\"key\": \"node-role.kubernetes.io/control-plane\", \"operator\": \"Exists\"}\n",
        );
    let folder = Folder::new([("a.json", text)]);
    let ran = folder.check("a.json --fix");
    assert!(ran.stderr.contains("fixed: a.json: 2 findings"), "{ran:?}");
    assert_eq!(folder.read("a.json"), wanted);
}

#[test]
fn values_that_are_shared_or_on_one_line_are_left() {
    let spec = on_delete("agent", "").split_once("spec:\n").unwrap().1.replace('\n', "\n  ");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: {{name: a, namespace: ops}}\n  \
         spec: &spec\n  {spec}\n- apiVersion: apps/v1\n  kind: DaemonSet\n  metadata: {{name: b, namespace: ops}}\n  spec: *spec\n"
    );
    let merged = on_delete("agent", "").replacen(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "    <<: {rollingUpdate: {maxUnavailable: 2}}\n",
        1,
    );
    let explicit = on_delete("agent", "").replacen(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "    ? rollingUpdate\n    : maxUnavailable: 2\n",
        1,
    );
    for text in [list, merged, explicit] {
        let folder = Folder::new([("a.yaml", text.as_str())]);
        assert!(
            rules(&folder.json("a.yaml").1).contains(&"on-delete-ignores-rolling-update"),
            "{text}"
        );
        let ran = folder.check("a.yaml --fix");
        assert_eq!(folder.read("a.yaml"), text);
        assert!(ran.stderr.contains("on-delete-ignores-rolling-update is left to you"), "{ran:?}");
    }
}

#[test]
fn what_is_meant_or_has_an_effect_is_left() {
    let exempt = on_delete("agent", "").replacen(
        "spec:",
        "spec: # setguard: ignore[on-delete-ignores-rolling-update]",
        1,
    );
    let hostname = on_delete("agent", "      hostname: a\n").replacen(
        "    rollingUpdate:\n      maxUnavailable: 2\n",
        "",
        1,
    );
    let folder = Folder::new([("exempt.yaml", exempt.as_str()), ("hostname.yaml", &hostname)]);
    assert_eq!(rules(&folder.json("hostname.yaml").1), ["template-hostname-ignored"]);
    folder.check(". --fix");
    assert_eq!([folder.read("exempt.yaml"), folder.read("hostname.yaml")], [exempt, hostname]);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new([("real.txt", on_delete("agent", "").as_str())]);
    fs::set_permissions(folder.path("real.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.txt", folder.path("link.yaml")).unwrap();
    folder.check(". --fix");
    assert!(!folder.read("real.txt").contains("rollingUpdate"));
    assert!(fs::symlink_metadata(folder.path("link.yaml")).unwrap().is_symlink());
    assert_eq!(fs::metadata(folder.path("real.txt")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[test]
fn all_files_are_fixed_or_none() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let faulty = on_delete("agent", "");
    let outside = Folder::new([("b.yaml", faulty.as_str())]);
    let folder = Folder::new([("a.yaml", faulty.as_str()), ("z.yaml", &on_delete("z", ""))]);
    fs::hard_link(folder.path("z.yaml"), outside.path("other")).unwrap();
    let ran = folder.check(". --fix");
    assert!(ran.code == 2 && ran.stderr.contains("z.yaml: cannot be written"), "{ran:?}");
    assert!(ran.stderr.contains("another hard link") && !ran.stderr.contains("fixed:"), "{ran:?}");
    assert_eq!(folder.read("a.yaml"), faulty);
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 2, "no other file is left");

    // A link out of the folder is not followed, and what it leads to is not written.
    fs::remove_file(outside.path("other")).unwrap();
    symlink(outside.path("b.yaml"), folder.path("b.yaml")).unwrap();
    fs::set_permissions(folder.path("a.yaml"), fs::Permissions::from_mode(0o600)).unwrap();
    let ran = folder.check(". --fix");
    assert_eq!(ran.stderr.matches("fixed:").count(), 2, "{ran:?}");
    assert!(ran.stderr.contains("b.yaml is not read: the link leads out of the folder"), "{ran:?}");
    assert_eq!(outside.read("b.yaml"), faulty);
    let mode = fs::metadata(folder.path("a.yaml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A link that the user names stands for its file.
    let ran = folder.check("b.yaml b.yaml --fix");
    assert_eq!(ran.stderr.matches("fixed:").count(), 1, "{ran:?}");
    assert!(!outside.read("b.yaml").contains("rollingUpdate"));
}

#[test]
fn a_file_that_cannot_be_read_or_written_is_left() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    assert_eq!(folder.setguard(&["check", "--fix", "-"]).code, 2);
    let latin = [b"# \xe9\n".as_slice(), on_delete("agent", "").as_bytes()].concat();
    folder.write("a.yaml", &latin);
    folder.check("a.yaml --fix");
    assert_eq!(fs::read(folder.path("a.yaml")).unwrap(), latin);
    assert_eq!(folder.check("a.yaml --dry-run").code, 2);
}

#[test]
fn a_dry_run_in_a_folder_below_names_files_from_the_root() {
    let folder = Folder::new([("deploy/a.yaml", on_delete("agent", "").as_str())]);
    folder.commit();
    let mut command = folder.command(env!("CARGO_BIN_EXE_setguard"));
    command.args(["check", "a.yaml", "--fix", "--dry-run"]).current_dir(folder.path("deploy"));
    let diff = command.output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&diff).starts_with("--- a/deploy/a.yaml"));
    folder.write("fix.diff", &diff);
    folder.git("apply fix.diff");
    assert!(!folder.read("deploy/a.yaml").contains("rollingUpdate"));
}

/// A selection chooses what is fixed too.
#[test]
fn a_rule_that_is_ignored_is_not_fixed() {
    let folder = Folder::new([("a.yaml", on_delete("agent", "").as_str())]);
    let rule = "on-delete-ignores-rolling-update";
    for (flags, code) in [
        (format!("--ignore {rule}"), 0),
        ("--select schema".to_owned(), 0),
        (format!("--select {rule}"), 1),
    ] {
        assert_eq!(folder.check(&format!("a.yaml --fix --dry-run {flags}")).code, code, "{flags}");
    }
}

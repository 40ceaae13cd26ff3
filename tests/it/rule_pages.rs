//! The pages about rules, generated from the rules: `docs/rules.md`, `docs/rules/ID.md` and their entries in the
//! site's summary.

use setguard::{
    catalogue::{all, kinds, markdown::capitalised, runners},
    finding::Group,
    rules::rule::{Rule, Runner},
};
use similar::TextDiff;

use crate::prelude::*;

const GENERATED: &str =
    "<!-- Generated from the rules: UPDATE_GENERATED=1 cargo test --test it generated -->";

pub fn index() -> String {
    let mut out = format!(
        "# Rules\n\n{GENERATED}\n\n\
         Every rule, by what its fault hurts. `setguard explain RULE` prints the text of its page.\n\n\
         - `deny` rejects the object, `warn` shows a warning, `audit` only counts, and `check` shows it as a note.\n\
         - The [policy](configuration.md) can change the mode, unless it is *fixed*.\n\
         - If *admission policy* follows, the API server can [evaluate the rule itself](admission-policies.md).\n"
    );
    for group in Group::ALL {
        let mut rules: Vec<&Rule> =
            all().iter().copied().filter(|rule| rule.meta.group == group).collect();
        // The strictest first; within a mode by name.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.meta.mode));
        out += &format!("\n## {}\n\n", group.title());
        for rule in rules {
            let meta = &rule.meta;
            let fixed = if meta.adjustable { "" } else { ", *fixed*" };
            let policy =
                if rule.runners().contains(&Runner::Policy) { ", *admission policy*" } else { "" };
            out += &format!(
                "- {title}: [`{id}`](rules/{id}.md), {mode}{fixed}{policy}\n",
                title = meta.title,
                id = meta.id,
                mode = meta.mode,
            );
        }
    }
    out
}

pub fn summary() -> String {
    let ids = all().iter().map(|rule| rule.meta.id);
    ids.map(|id| format!("  - [{id}](rules/{id}.md)\n")).collect()
}

pub fn page(rule: &Rule) -> String {
    let meta = &rule.meta;
    let fixed = if meta.adjustable { "" } else { ", fixed" };
    let (happens, why, sources) = parts(meta.why);
    let mut out = format!(
        "# {id}\n\n{GENERATED}\n\n{summary}.\n\n\
         Default: `{mode}`{fixed}. Kinds: {kinds}. Run by: {runners}.\n\n## What happens\n\n{happens}\n",
        id = meta.id,
        summary = capitalised(meta.summary),
        mode = meta.mode,
        kinds = kinds(rule),
        runners = runners(rule),
    );
    if !why.is_empty() {
        out += &format!("\n## Why\n\n{why}\n");
    }
    // The examples of status rules are dumps of a cluster, not manifests.
    let fix = if meta.bad.starts_with("# Seen at ") {
        "Run `setguard audit`: it names the objects in your cluster, prints the next command for them, and says what the\n\
         command risks.\n"
            .to_owned()
    } else {
        let change = match is_change(meta.bad) {
            true => "An object that is there twice is shown before and after the change. ",
            false => "",
        };
        format!(
            "{change}Replace the lines marked `-` with the lines marked `+`:\n\n```diff\n{}```\n",
            difference(meta.bad, meta.good)
        )
    };
    out += &format!("\n## How to fix\n\n{fix}");
    out += &format!("\n## How to exempt\n\n{}\n", exempt(rule));
    if !sources.is_empty() {
        out += &format!("\n## In Kubernetes\n\n{}\n", linked(sources));
    }
    out + "\n[All rules](../rules.md)\n"
}

/// Divides a rule's explanation: the effect (the first paragraph with its list), the reasons, and the Kubernetes
/// sources (the last paragraph).
fn parts(why: &str) -> (&str, &str, &str) {
    let why = why.trim_end();
    let (text, sources) = why.split_once("\n\nKubernetes: ").unwrap_or((why, ""));
    let end = text.match_indices("\n\n").find(|(at, _)| !text[..*at].ends_with(':'));
    let (happens, why) = end.map_or((text, ""), |(at, _)| text.split_at(at));
    (happens, why.trim_start(), sources)
}

fn is_change(example: &str) -> bool {
    let mut seen = BTreeSet::new();
    example.split("---\n").any(|document| {
        let lines = document.lines().filter(|line| !line.starts_with('#'));
        let mut name = false;
        let head = lines.take_while(|line| !std::mem::replace(&mut name, line.contains("name:")));
        !seen.insert(head.collect::<Vec<_>>())
    })
}

fn difference(bad: &str, good: &str) -> String {
    let diff = TextDiff::from_lines(bad, good);
    // The whole manifest is one hunk, so hunk headers can go.
    let diff = diff.unified_diff().context_radius(1000).to_string();
    let lines = diff.lines().filter(|line| !line.starts_with("@@ "));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

fn exempt(rule: &Rule) -> String {
    let id = rule.meta.id;
    let exception = "- in the policy: an [exception](../configuration.md#exceptions)";
    let annotation = format!("- on the object: the annotation `setguard.io/ignore: {id}`");
    let is_about_sets = rule.is_about(Kind::DaemonSet) || rule.is_about(Kind::StatefulSet);
    if !rule.meta.adjustable {
        "Neither the policy nor a comment or annotation exempts from this rule.".to_owned()
    } else if rule.meta.mode == Mode::Deny || !is_about_sets {
        exception.to_owned()
    } else if rule.runners().contains(&Runner::Check) {
        let comment = format!("- in the file, above the line: `# setguard: ignore[{id}] REASON`");
        [&comment, &annotation, exception].join("\n")
    } else {
        [&annotation, exception].join("\n")
    }
}

/// The repositories in Kubernetes' `staging/`.
const STAGED: &str = "api apimachinery apiserver cloud-provider component-helpers endpointslice kube-scheduler kubectl \
                      pod-security-admission";

/// Links the paths of Go files. A path starts at the root of Kubernetes, at the root of a staged repository whose name
/// precedes it, at a repository of GitHub, or in the folder of the previous path.
fn linked(text: &str) -> String {
    let source =
        format!("https://github.com/kubernetes/kubernetes/blob/release-{}", Version::NEWEST);
    let mut out = String::new();
    let (mut repository, mut folder) = (String::new(), String::new());
    for word in text.split_inclusive([' ', '\n']) {
        let name =
            word.trim_start_matches('(').trim_end().trim_end_matches([',', ';', ':', '.', ')']);
        let is_path = name.contains('/') || !folder.is_empty();
        if is_path && name.ends_with(".go") && !name.contains('*') {
            let path = name.trim_start_matches("k8s.io/");
            let url = match path.split('/').collect::<Vec<_>>()[..] {
                [_] => format!("{folder}{name}"),
                ["github.com", owner, project, ..] => {
                    let project = format!("github.com/{owner}/{project}");
                    path.replacen(&project, &format!("https://{project}/blob/HEAD"), 1)
                }
                [first, ..] if STAGED.split_whitespace().any(|it| it == first) => {
                    format!("{source}/staging/src/k8s.io/{path}")
                }
                _ => {
                    let mut roots = ["cmd/", "pkg/", "plugin/", "staging/"].into_iter();
                    let is_there = roots.any(|it| path.starts_with(it)) || !repository.is_empty();
                    assert!(is_there, "Kubernetes has no {path}");
                    format!("{source}/{repository}{path}")
                }
            };
            out += &word.replacen(name, &format!("[{name}]({url})"), 1);
            folder = url[..url.rfind('/').map_or(0, |at| at + 1)].to_owned();
        } else {
            out += word;
        }
        let staged = STAGED.split_whitespace().find(|it| *it == name.trim_start_matches("k8s.io/"));
        repository = staged.map_or_else(String::new, |it| format!("staging/src/k8s.io/{it}/"));
    }
    capitalised(&out)
}

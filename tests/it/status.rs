//! The rules about status: the texts of their findings, and clusters that only look faulty.

use std::fmt::Write as _;

use rustix::time::{ClockId, clock_gettime};
use setguard::rules::about_status;

use crate::prelude::*;

#[test]
fn the_words_of_the_findings() {
    let mut out = String::new();
    for rule in about_status().filter(|rule| rule.meta.bad.starts_with("# Seen at ")) {
        for found in support::status(rule.meta.bad) {
            writeln!(out, "{} {} {}\n  {}", found.mode, found.rule, found.field, found.text)
                .unwrap();
        }
    }
    snapshot("status/the_words_of_the_findings", &out);
}

/// The first line of a fixture is the time of observation, the second the expected findings.
#[test]
fn each_cluster_has_the_findings_that_it_names() {
    let (mut out, mut wrong) = (String::new(), Vec::new());
    for (path, text) in support::fixtures("status") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let expected = text.lines().find_map(|line| line.strip_prefix("# Finds ")).unwrap();
        let found = support::status(&text);
        let mut ids: Vec<_> = found.iter().map(|found| found.rule.as_str()).collect();
        ids.sort_unstable();
        let ids = if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") };
        if ids != expected {
            wrong.push(format!("{name}: {ids}, not {expected}: {found:#?}"));
        }
        for found in found {
            writeln!(out, "{name}: {} {}\n  {}", found.mode, found.rule, found.text).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    snapshot("status/each_cluster_has_the_findings_that_it_names", &out);
}

#[test]
fn the_tool_that_deploys_a_set_is_named_after_a_command_that_changes_it() {
    let flux = "labels: {kustomize.toolkit.fluxcd.io/name: shop, kustomize.toolkit.fluxcd.io/namespace: flux-system}";
    let argo_cd = "annotations: {argocd.argoproj.io/tracking-id: 'shop:apps/StatefulSet:shop/db'}";
    let helm =
        "annotations: {meta.helm.sh/release-name: shop, meta.helm.sh/release-namespace: prod}";
    let help = |rule: &str, by: &str| {
        let rule = about_status().find(|it| it.meta.id == rule).unwrap();
        let text = rule.meta.bad.replace("{name: db, ", &format!("{{{by}, name: db, "));
        let text = match by.strip_suffix('}').filter(|it| it.starts_with("annotations")) {
            Some(by) => text.replacen("annotations: {dep", &format!("{by}, dep"), 1),
            None => text.replacen("  name: agent\n", &format!("  name: agent\n  {by}\n"), 1),
        };
        let found = support::status(&text);
        let found = found.into_iter().find(|it| it.rule == rule.meta.id).unwrap();
        let after = found.text.rsplit_once(" (");
        after.map(|(_, after)| after.to_owned()).unwrap_or_default()
    };
    let stuck = |by| help("rollout-stuck-at-ordinal", by);
    let patched = |by| help("rollout-budget-eaten", by);
    assert_eq!(stuck("resourceVersion: '2'"), "restarts 1 pod)");
    assert_eq!(
        [stuck(flux), patched(flux)],
        [
            "the Kustomization shop in flux-system): revert the change in git too, or it comes back",
            "the Kustomization shop in flux-system): make the change in git too, or it is undone",
        ]
    );
    assert_eq!(
        [stuck(argo_cd), patched(argo_cd)],
        [
            "the application shop): revert the change in git too, or it comes back",
            "the application shop): make the change in git too, or it is undone",
        ]
    );
    assert_eq!(
        [stuck(helm), patched(helm)],
        [
            "restarts 1 pod); Helm deploys it: helm rollback shop -n prod rolls the whole release back",
            "the release shop in prod): make the change in the chart or its values too, or an upgrade may \
             undo it",
        ]
    );
    // A command about a node changes no set.
    assert_eq!(help("pod-stuck-terminating", flux), "restarts no pod)");
}

/// Returns the objects of a cluster with as many faults as possible, with this many pods, claims, volumes and nodes.
fn in_trouble(count: usize) -> Vec<String> {
    let text = include_str!("../fixtures/status-growth.yaml");
    let (sets, each) = text.split_once("# For each INDEX:\n").unwrap();
    let number = |text: &str, name: &str, number: usize| text.replace(name, &number.to_string());
    let sets = number(sets, "COUNT", count);
    let sets = number(&number(&sets, "HALF", count / 2), "QUARTER", count / 4);
    let mut objects = support::to_json(&sets);
    for i in 0..count {
        let taint = format!("[{{key: taint-{i}, effect: NoSchedule}}]");
        let taints = if i.is_multiple_of(4) { &taint } else { "[]" };
        let phase = if i.is_multiple_of(2) { "Bound" } else { "Pending" };
        let each = each.replace("TAINTS", taints).replace("PHASE", phase);
        objects.extend(support::to_json(&number(&number(&each, "INDEX", i), "REASON", i % 7)));
    }
    objects
}

/// Between 10 (n log n) and 64 (n²), for an eightfold cluster.
#[test]
fn no_rule_about_status_is_slower_than_n_log_n() {
    let cost = |count: usize| {
        let objects = in_trouble(count);
        let clock = || {
            let time = clock_gettime(ClockId::ThreadCPUTime);
            u128::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap()
        };
        (0..4)
            .map(|_| {
                let start = clock();
                let found = support::evaluate_status(
                    &support::observe(&objects),
                    "2026-11-22T12:00:00Z".parse().unwrap(),
                );
                assert!(found.len() > 5, "{found:?}");
                let longest = found.iter().map(|found| found.text.len()).max();
                assert!(longest < Some(6_000), "{longest:?}");
                clock() - start
            })
            .min()
            .unwrap()
    };
    let (short, long) = (cost(250), cost(2_000));
    assert!(long < 24 * short, "{short} ns for 250 pods and nodes, {long} ns for 2,000");
}

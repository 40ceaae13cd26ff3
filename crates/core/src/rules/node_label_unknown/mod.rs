use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "node-label-unknown", group: NeverStarts;
    title: "no node has this label",
    summary: "a node label that is misspelled, or a value that no node has",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

/// The labels that the kubelet and cloud providers set. Kubernetes: staging/src/k8s.io/api/core/v1/well_known_labels.go.
const KEYS: [(&str, &str); 8] = [
    ("kubernetes.io", "arch"),
    ("kubernetes.io", "hostname"),
    ("kubernetes.io", "os"),
    ("node-role.kubernetes.io", "control-plane"),
    ("node.kubernetes.io", "instance-type"),
    ("node.kubernetes.io", "windows-build"),
    ("topology.kubernetes.io", "region"),
    ("topology.kubernetes.io", "zone"),
];

/// Values that Go, and so the kubelet, spells differently.
const VALUES: [(&str, &str, &str); 6] = [
    ("kubernetes.io/arch", "x86_64", "amd64"),
    ("kubernetes.io/arch", "x64", "amd64"),
    ("kubernetes.io/arch", "aarch64", "arm64"),
    ("kubernetes.io/arch", "armv7l", "arm"),
    ("kubernetes.io/os", "Linux", "linux"),
    ("kubernetes.io/os", "Windows", "windows"),
];

/// The shortest name in which another letter is a slip.
const SHORTEST: usize = 6;

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    let mut report = |path: &Path<'_>, key: &str, value: Option<&str>| {
        if let Some((label, right)) = unknown(key, value) {
            let message = format!("no node has the label {label}, so no pod can run");
            found.report(path, Reason::Invalid, message, format!("write {right}"));
        }
    };
    for (key, value) in spec.node_selector.iter().flatten() {
        report(&POD_SPEC.child("nodeSelector").key(key), key, Some(value));
    }
    // With more terms, another one may match.
    if let Some([term]) = required_terms(spec.affinity.as_ref()) {
        let asks = list(&term.match_expressions).iter();
        for it in asks.filter(|it| matches!(it.operator.as_str(), "In" | "Exists")) {
            let value = if let [value] = list(&it.values) { Some(&**value) } else { None };
            report(&NODE_TERMS, &it.key, value);
        }
    }
    let affinity = spec.affinity.as_ref();
    let with = affinity.and_then(|it| {
        it.pod_affinity.as_ref()?.required_during_scheduling_ignored_during_execution.as_ref()
    });
    let apart = affinity.and_then(|it| {
        it.pod_anti_affinity.as_ref()?.required_during_scheduling_ignored_during_execution.as_ref()
    });
    for (field, terms) in [("podAffinity", with), ("podAntiAffinity", apart)] {
        for (i, term) in terms.into_iter().flatten().enumerate() {
            let path = POD_SPEC.child("affinity");
            let path = path.child(field);
            let path = path.item("requiredDuringSchedulingIgnoredDuringExecution", i);
            report(&path.child("topologyKey"), &term.topology_key, None);
        }
    }
    for (i, it) in list(&spec.topology_spread_constraints).iter().enumerate() {
        if it.when_unsatisfiable == "DoNotSchedule" {
            let path = POD_SPEC.item("topologySpreadConstraints", i);
            report(&path.child("topologyKey"), &it.topology_key, None);
        }
    }
}

/// Returns a label that no node has, and the right one. People put labels of their own into the domains of Kubernetes,
/// so only a slip counts.
fn unknown(key: &str, value: Option<&str>) -> Option<(String, String)> {
    let (domain, name) = key.split_once('/')?;
    if KEYS.contains(&(domain, name)) {
        let (.., right) = VALUES.iter().find(|it| it.0 == key && Some(it.1) == value)?;
        return Some((format!("{key}={}", value?), (*right).to_owned()));
    }
    let same_name = KEYS.into_iter().find(|it| it.1 == name);
    let right = match domain {
        "kubernetes.io" | "node.kubernetes.io" | "topology.kubernetes.io" => {
            let of_domain = KEYS.into_iter().filter(|it| it.0 == domain).map(|it| it.1);
            let near = nearest_of(name, of_domain).filter(|it| it.len() >= SHORTEST);
            same_name.or_else(|| Some((domain, near?)))
        }
        // These have labels of other programs.
        _ if domain.ends_with("kubernetes.io") => None,
        _ => same_name.filter(|it| nearest_of(domain, [it.0]).is_some()),
    };
    right.map(|(domain, name)| (key.to_owned(), format!("{domain}/{name}")))
}

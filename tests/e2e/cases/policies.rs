//! `setguard export vap`: the policies in the API server find the same as setguard.

mod compared;
mod costs;
mod crossed;
mod generated;
mod injected;
mod limited;
mod statics;

use setguard::{
    catalogue,
    policy::Policy,
    rules::{
        in_cel,
        rule::{Cel, Operation, Rule},
    },
    yaml,
};

use self::{compared::Compared, crossed::Crossing};
use crate::corpus;
use crate::prelude::*;

pub(super) const CASES: &[Case] = &[
    Case::needing(&[CONTROLLER_MANAGER], "policies-find-what-setguard-finds", same_findings),
    Case::new("policies-cost-no-more-than-lists-are-long", costs::linear),
    Case::new("policies-deny-warn-and-exempt", modes),
    Case::new("policies-inject-what-setguard-injects", injected::same_injections),
    Case::new("policies-in-files-of-the-api-server", statics::from_the_start),
];

/// The environment variables for the number of crossed sets and for a different seed.
const CROSSED: &str = "SETGUARD_CROSSED_SETS";
const SEED: &str = "SETGUARD_CROSSED_SEED";

const SUFFIX: &str = "setguard.io";

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().and_then(|it| it.parse().ok())
}

fn export(form: &str, namespace: &Namespace<'_>, policy: &str) -> String {
    export_with(form, namespace.control_plane, policy, &[])
}

fn export_with(form: &str, control_plane: &ControlPlane, policy: &str, more: &[&str]) -> String {
    let file = control_plane.folder().join("policy.yaml");
    fs::write(&file, policy).unwrap();
    let (file, version) = (file.display().to_string(), format!("1.{}", control_plane.minor()));
    let args = ["export", form, "--policy", &file, "--kube-version", &version];
    setguard(&control_plane.kubectl.kubeconfig, &[&args, more].concat()).accepted().stdout
}

/// A policy with every exported rule as a warning.
fn all_warn(minor: u32) -> String {
    let rules: String = in_cel().map(|(rule, _)| format!("  {}: warn\n", rule.meta.id)).collect();
    format!(
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nkubernetes: {{version: \"1.{minor}\"}}\n\
         rules:\n{rules}{}",
        limited::LIMITS
    )
}

fn same_findings(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.start_controllers(&["validatingadmissionpolicy-status-controller"]);
    let namespace = Namespace::create(&control_plane, "shop");
    let policy = all_warn(control_plane.minor());
    // Turns a failing expression into a warning instead of silence.
    let strict =
        export("vap", &namespace, &policy).replace("failurePolicy: Ignore", "failurePolicy: Fail");
    namespace.kubectl(&["apply", "-f", "-"], &strict).accepted();
    type_check(&namespace);
    let exported = |rule: &Rule| strict.contains(&format!("policyName: {}.{SUFFIX}", rule.meta.id));
    let whole = |cel: &Cel| cel.misses.is_none() && cel.only != Some(Operation::Update);
    for (rule, _) in in_cel().filter(|(rule, cel)| whole(cel) && exported(rule)) {
        let name = format!("{}.{SUFFIX}", rule.meta.id);
        let create = ["create", "--dry-run=server", "-f", "-"];
        let ask = || namespace.kubectl(&create, rule.meta.bad);
        becomes("each policy to be in force", ask, |it| it.stderr.contains(&name));
    }

    let policy = Policy::parse(&policy).unwrap();
    let kubeconfig = &control_plane.kubectl.kubeconfig;
    let found = client::block_on(async {
        let client = client::of(kubeconfig).await;
        let exported = in_cel().filter(|(rule, _)| exported(rule));
        let exported = exported.map(|(rule, _)| rule.meta.id);
        let exported = exported.chain(["limit-exceeded"]).collect();
        let mut compared = Compared {
            client,
            policy,
            exported,
            count: 0,
            found: BTreeMap::new(),
            wrong: Vec::new(),
        };
        compare_all(&mut compared).await;
        let (wrong, count) = (compared.wrong, compared.count);
        let first: Vec<_> = wrong.iter().take(20).collect();
        assert!(wrong.is_empty(), "{} differences in {count} objects: {first:#?}", wrong.len());
        compared.found
    });
    // The webhook checks longer lists than the policies.
    let missing: Vec<_> = in_cel()
        .filter(|(_, cel)| !cel.is_about_length())
        .map(|(rule, _)| rule)
        .filter(|rule| exported(rule))
        .map(|rule| rule.meta.id)
        .filter(|id| !found.contains_key(*id))
        .collect();
    assert!(missing.is_empty(), "nothing has these faults: {missing:?}");
    let beyond = found.get("limit-exceeded").copied().unwrap_or_default();
    assert!(beyond >= 70, "{beyond} changes are beyond the limits");
}

/// Compares manifests, sets with their own faults, recorded requests and crossed sets.
async fn compare_all(compared: &mut Compared) {
    let manifests = manifests();
    for (old, object) in &manifests {
        compared.written(object, old.as_ref()).await;
    }
    let mut set = manifests::daemon_set("twice");
    let toleration = json!({ "key": "gpu", "operator": "Exists" });
    set["spec"]["template"]["spec"]["tolerations"] = json!([toleration, toleration]);
    compared.written(&set, None).await;
    for set in [manifests::daemon_set("large"), manifests::stateful_set("large")] {
        compared.affordable(&large(set, 100)).await;
    }
    let bases = corpus::bases();
    for case in corpus::cases() {
        let is_accepted = (200..300).contains(&case.verdict.code);
        let Some(object) = case.object(&bases).filter(|_| is_accepted) else { continue };
        compared.written(&object, case.old(&bases).as_ref()).await;
    }
    let mut dice = Dice(number(SEED).unwrap_or(20_261_125));
    for number in 0..400 {
        let (old, object) = limited::pair(&mut dice, number);
        compared.written(&object, Some(&old)).await;
    }
    let parents: Vec<_> = manifests.into_iter().map(|(_, object)| object).collect();
    let dice = Dice(number(SEED).unwrap_or(20_261_123));
    let crossed = number(CROSSED).unwrap_or(1000).try_into().unwrap();
    compared.crossed(Crossing { parents: &parents, dice }, crossed).await;
    assert!(compared.count > 1500, "only {} objects", compared.count);
}

fn large(mut set: Value, count: usize) -> Value {
    let list = |entry: &dyn Fn(usize) -> Value| (0..count).map(entry).collect::<Value>();
    let labels = json!({ "matchLabels": set["spec"]["selector"]["matchLabels"] });
    let pod = &mut set["spec"]["template"]["spec"];
    let container = |i: usize| {
        json!({
            "name": format!("c{i}"),
            "image": "registry.example.com/a:1",
            "env": list(&|j| json!({ "name": format!("E{j}"), "value": "x" })),
            "volumeMounts": list(&|j| json!({ "name": format!("v{j}"), "mountPath": format!("/{j}") })),
        })
    };
    pod["containers"] = (0..count / 4).map(container).collect();
    pod["volumes"] = list(&|i| json!({ "name": format!("v{i}"), "emptyDir": {} }));
    pod["tolerations"] = list(&|i| json!({ "key": format!("k{i}"), "operator": "Exists" }));
    pod["topologySpreadConstraints"] = list(&|i| {
        json!({ "topologyKey": format!("k{i}"), "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": labels })
    });
    let term = json!({ "topologyKey": "kubernetes.io/hostname", "labelSelector": labels });
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    pod["affinity"] = json!({ "podAntiAffinity": { required: list(&|_| term.clone()) } });
    if set["kind"] == "StatefulSet" {
        let spec = json!({ "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } } });
        set["spec"]["volumeClaimTemplates"] =
            list(&|i| json!({ "metadata": { "name": format!("d{i}") }, "spec": spec }));
    }
    set
}

fn type_check(namespace: &Namespace<'_>) {
    let get = ["get", "validatingadmissionpolicies", "-o", "json"];
    let is_checked = |it: &Value| it["status"]["observedGeneration"] == 1;
    let list = becomes(
        "the types to be checked",
        || namespace.kubectl(&get, "").json(),
        |list| list["items"].as_array().unwrap().iter().all(is_checked),
    );
    for policy in list["items"].as_array().unwrap() {
        let warnings = &policy["status"]["typeChecking"]["expressionWarnings"];
        assert!(warnings.is_null(), "{}: {warnings:#}", policy["metadata"]["name"]);
    }
}

fn manifests() -> Vec<(Option<Value>, Value)> {
    let fixtures = manifests::cases().into_iter().chain(manifests::fixtures("good"));
    let with_old = fixtures
        .map(|(path, text)| (fs::read_to_string(path.with_extension("old.yaml")).ok(), text));
    let mut texts: Vec<(Option<String>, String)> = with_old.collect();
    for rule in catalogue::all() {
        texts.extend([rule.meta.bad, rule.meta.good].map(|text| (None, text.to_owned())));
    }
    let pairs = texts.iter().flat_map(|(old, text)| {
        let old = old.as_ref().and_then(|old| sets(old).pop());
        sets(text).into_iter().map(move |object| (old.clone(), object))
    });
    pairs.collect()
}

fn sets(text: &str) -> Vec<Value> {
    yaml::parse(text)
        .into_iter()
        .flatten()
        .map(|document| serde_json::from_str(&document.root.to_json()).unwrap())
        .filter(|object: &Value| object["apiVersion"] == "apps/v1")
        .filter(|object| object["kind"] == "DaemonSet" || object["kind"] == "StatefulSet")
        .collect()
}

fn modes(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let namespace = Namespace::create(&control_plane, "shop");
    let hasty = |name: &str| {
        let mut set = manifests::stateful_set(name);
        set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(0);
        set
    };
    namespace.apply(&surging("old")).silently();
    let text = export(
        "vap",
        &namespace,
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n  history-limit-zero: off\n\
         exceptions:\n- rules: [surge-host-port]\n  namespaces: [\"sh*\"]\n  names: [\"a.b\", \"free-*\"]\n  \
         reason: agreed\n  expires: 2999-12-31\n- rules: [surge-host-port]\n  reason: too late\n  \
         expires: 2020-01-01\n",
    );
    namespace.kubectl(&["apply", "-f", "-"], &text).accepted();
    assert!(text.contains("# An exception from surge-host-port ends on 2999-12-31"), "{text}");
    assert!(text.contains("# - the policy turns it off: history-limit-zero\n"), "{text}");
    let new = || namespace.dry_run(&surging("new"));
    becomes("the policies to be in force", new, |it| !it.success);
    let words = "claim a port of the node, which the old pod still holds";
    let page = "(setguard: surge-host-port, https://setguard.io/rules/surge-host-port.html)";
    namespace.apply(&surging("new")).refused(&["surge-host-port.setguard.io", words, page]);
    namespace.apply(&surging("axb")).refused(&["surge-host-port.setguard.io"]);
    namespace.apply(&surging("a.b")).silently();
    namespace.apply(&surging("free-agent")).silently();

    // An update of an object with an existing fault succeeds, with a warning.
    let mut old = surging("old");
    old["spec"]["minReadySeconds"] = json!(5);
    warns(namespace.apply(&old), "surge-host-port.had-before.setguard.io");
    let fixed = json!({ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } });
    namespace.apply(&rolled_by(daemon_set("old"), &fixed)).silently();
    namespace.apply(&old).refused(&["surge-host-port.setguard.io"]);

    warns(namespace.apply(&hasty("db")), "grace-period-zero.setguard.io");
    let mut ignored = hasty("cache");
    let ids = "no-readiness-probe, grace-period-zero";
    ignored["metadata"]["annotations"] = json!({ "setguard.io/ignore": ids });
    namespace.apply(&ignored).silently();
    let mut denied = surging("loud");
    denied["metadata"]["annotations"] = json!({ "setguard.io/ignore": "surge-host-port" });
    namespace.apply(&denied).refused(&["surge-host-port.setguard.io"]);
}

fn warns(output: Output, policy: &str) {
    let output = output.accepted();
    let warning = format!("ValidatingAdmissionPolicy '{policy}'");
    assert_eq!(output.stderr.matches(&warning).count(), 1, "{}", output.stderr);
}

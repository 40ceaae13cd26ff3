//! `setguard export vap`: the API server finds by the policies what setguard finds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use http::{Method, Request};
use jiff::civil::date;
use kube::{Client, client::Body};
use serde_json::{Value, json};
use setguard::{
    catalogue,
    engine::{self, Context, Origin, deadline::Deadline},
    kubernetes::resource::Resource,
    object::{Object, Subject},
    policy::Policy,
    rules::{
        rule::{Cel, Operation, Rule},
        traps::IN_CEL,
    },
    yaml,
};

use super::Case;
use crate::{
    client, corpus,
    harness::{
        control_plane::{CONTROLLER_MANAGER, ControlPlane},
        kubectl::Output,
        process::eventually,
    },
    manifests,
    namespace::Namespace,
};

pub(super) const CASES: &[Case] = &[
    Case {
        needs: &[CONTROLLER_MANAGER],
        ..Case::new("policies-find-what-setguard-finds", same_findings)
    },
    Case::new("policies-deny-warn-and-exempt", modes),
];

/// The end of the name of each policy.
const SUFFIX: &str = "setguard.io";

/// The policies for the release of a control plane.
fn export(namespace: &Namespace<'_>, policy: &str) -> String {
    let file = namespace.control_plane.folder().join("policy.yaml");
    fs::write(&file, policy).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_setguard"));
    command.args(["export", "vap", "--policy"]).arg(&file);
    command.args(["--kube-version", &format!("1.{}", namespace.control_plane.minor())]);
    let output = command.env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A policy by which every rule that is exported warns, whatever its default.
fn all_warn(minor: u32) -> String {
    let rules: String =
        IN_CEL.iter().map(|(rule, _)| format!("  {}: warn\n", rule.meta.id)).collect();
    format!(
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nkubernetes: {{version: \"1.{minor}\"}}\n\
         rules:\n{rules}"
    )
}

fn same_findings(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.start_controllers(&["validatingadmissionpolicy-status-controller"]);
    let namespace = Namespace::create(&control_plane, "shop");
    let policy = all_warn(control_plane.minor());
    // An expression that fails then warns of that, instead of finding nothing in silence.
    let strict =
        export(&namespace, &policy).replace("failurePolicy: Ignore", "failurePolicy: Fail");
    namespace.kubectl(&["apply", "-f", "-"], &strict).accepted();
    type_check(&namespace);
    let exported = |rule: &Rule| strict.contains(&format!("policyName: {}.{SUFFIX}", rule.meta.id));
    let whole = |cel: &Cel| cel.misses.is_none() && cel.only != Some(Operation::Update);
    for (rule, _) in IN_CEL.iter().filter(|(rule, cel)| whole(cel) && exported(rule)) {
        let name = format!("{}.{SUFFIX}", rule.meta.id);
        eventually("each policy to be in force", || {
            let create = ["create", "--dry-run=server", "-f", "-"];
            let output = namespace.kubectl(&create, rule.meta.bad);
            if output.stderr.contains(&name) { Ok(()) } else { Err(output) }
        });
    }

    let policy = Policy::parse(&policy).unwrap();
    let kubeconfig = &control_plane.kubectl.kubeconfig;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(async {
        let client = client::of(kubeconfig).await;
        let exported = IN_CEL.iter().filter(|(rule, _)| exported(rule));
        let exported = exported.map(|(rule, _)| rule.meta.id).collect();
        let mut compared = Compared {
            client,
            policy,
            exported,
            count: 0,
            found: BTreeMap::new(),
            wrong: Vec::new(),
        };
        for (old, object) in manifests() {
            match old {
                None => compared.create(&object).await,
                Some(old) => compared.update(&old, &object).await,
            }
        }
        let mut set = manifests::daemon_set("twice");
        let toleration = json!({ "key": "gpu", "operator": "Exists" });
        set["spec"]["template"]["spec"]["tolerations"] = json!([toleration, toleration]);
        compared.create(&set).await;
        let bases = corpus::bases();
        for case in corpus::cases() {
            let is_accepted = (200..300).contains(&case.verdict.code);
            let Some(object) = case.object(&bases).filter(|_| is_accepted) else { continue };
            match case.old(&bases) {
                None => compared.create(&object).await,
                Some(old) => compared.update(&old, &object).await,
            }
        }
        assert!(compared.count > 1000, "only {} objects", compared.count);
        let (wrong, count) = (compared.wrong, compared.count);
        let first: Vec<_> = wrong.iter().take(20).collect();
        assert!(wrong.is_empty(), "{} differences in {count} objects: {first:#?}", wrong.len());
        compared.found
    });
    let missing: Vec<_> = IN_CEL
        .iter()
        .map(|(rule, _)| rule)
        .filter(|rule| exported(rule))
        .map(|rule| rule.meta.id)
        .filter(|id| !found.contains_key(*id))
        .collect();
    assert!(missing.is_empty(), "nothing has these faults: {missing:?}");
}

/// Waits until the controller has checked the types in all policies, and asserts that it has no
/// warning.
fn type_check(namespace: &Namespace<'_>) {
    let list = eventually("the types to be checked", || {
        let get = ["get", "validatingadmissionpolicies", "-o", "json"];
        let list = namespace.kubectl(&get, "").json();
        let items = list["items"].as_array().unwrap();
        let is_checked = |it: &Value| it["status"]["observedGeneration"] == 1;
        if items.iter().all(is_checked) { Ok(list) } else { Err("not yet") }
    });
    for policy in list["items"].as_array().unwrap() {
        let warnings = &policy["status"]["typeChecking"]["expressionWarnings"];
        assert!(warnings.is_null(), "{}: {warnings:#}", policy["metadata"]["name"]);
    }
}

/// The objects of the fixtures and of the examples in the descriptions of rules, some of them with the
/// objects that they replace.
fn manifests() -> Vec<(Option<Value>, Value)> {
    let mut texts: Vec<(Option<String>, String)> = Vec::new();
    let mut folders = ["rules", "good"]
        .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name))
        .to_vec();
    while let Some(path) = folders.pop() {
        if path.is_dir() {
            folders.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|it| it == "yaml")
            && !path.to_string_lossy().ends_with(".old.yaml")
        {
            let old = fs::read_to_string(path.with_extension("old.yaml")).ok();
            texts.push((old, fs::read_to_string(&path).unwrap()));
        }
    }
    for rule in catalogue::all() {
        texts.extend([rule.meta.bad, rule.meta.good].map(|text| (None, text.to_owned())));
    }
    let pairs = texts.iter().flat_map(|(old, text)| {
        let old = old.as_ref().and_then(|old| sets(old).pop());
        sets(text).into_iter().map(move |object| (old.clone(), object))
    });
    pairs.collect()
}

/// The DaemonSets and StatefulSets in a text.
fn sets(text: &str) -> Vec<Value> {
    yaml::parse(text)
        .into_iter()
        .flatten()
        .map(|document| serde_json::from_str(&document.root.to_json()).unwrap())
        .filter(|object: &Value| object["apiVersion"] == "apps/v1")
        .filter(|object| object["kind"] == "DaemonSet" || object["kind"] == "StatefulSet")
        .collect()
}

/// The comparison of policies with rules.
struct Compared {
    client: Client,
    policy: Policy,
    /// The rules that have a policy.
    exported: BTreeSet<&'static str>,
    count: usize,
    /// The number of objects with a finding, by rule.
    found: BTreeMap<String, usize>,
    /// The differences.
    wrong: Vec<String>,
}

impl Compared {
    /// Compares the findings in an object that is created.
    async fn create(&mut self, object: &Value) {
        let path = format!("{}?dryRun=All", all(object));
        let answer = self.send(Method::POST, path, object).await;
        self.compare(object, None, &answer);
    }

    /// Compares the findings in an object that replaces an old one.
    async fn update(&mut self, old: &Value, object: &Value) {
        let mut stored = self.send(Method::POST, all(old), old).await;
        if stored.status != 201 {
            return;
        }
        let one = format!("{}/{}", all(old), stored.object["metadata"]["name"].as_str().unwrap());
        // A set is created without its status.
        if old["status"].is_object() {
            let status = json!({ "status": old["status"] });
            stored = self.send(Method::PATCH, format!("{one}/status"), &status).await;
            assert_eq!(stored.status, 200, "{}", stored.object);
        }
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            // The recorded ones are of another object.
            metadata.remove("resourceVersion");
            metadata.remove("uid");
        }
        let answer = self.send(Method::PUT, format!("{one}?dryRun=All"), &object).await;
        self.compare(&object, Some(&stored.object), &answer);
        let none = json!({ "metadata": { "finalizers": null }});
        self.send(Method::PATCH, one.clone(), &none).await;
        self.send(Method::DELETE, one, &json!({ "propagationPolicy": "Background" })).await;
    }

    fn compare(&mut self, sent: &Value, old: Option<&Value>, answer: &Answer) {
        if answer.status >= 300 {
            return;
        }
        self.count += 1;
        let json = answer.object.to_string();
        let old = old.map(Value::to_string);
        let kind = answer.object["kind"].as_str().unwrap();
        let object = Object::parse(Resource::of("apps/v1", kind).unwrap(), &json).unwrap();
        let subject = match &old {
            Some(old) => Subject::update(object, old),
            None => Subject::create(object),
        };
        let cx = Context {
            policy: &self.policy,
            origin: Origin::Admission,
            today: date(2026, 1, 1),
            deadline: Deadline::NONE,
            view: None,
        };
        let verdict = engine::evaluate(&subject, &cx);
        let expected: BTreeSet<_> = verdict
            .warnings()
            .map(|violation| violation.finding.rule)
            .filter(|rule| self.exported.contains(rule.id))
            .map(|rule| rule.id.to_owned())
            .collect();
        for rule in &answer.found {
            if !expected.contains(rule) {
                self.wrong.push(format!("{rule} is found only by the policy in {sent}"));
            }
            *self.found.entry(rule.clone()).or_default() += 1;
        }
        for rule in expected.difference(&answer.found) {
            let (_, cel) = IN_CEL.iter().find(|(exported, _)| exported.meta.id == rule).unwrap();
            if cel.misses.is_none() {
                self.wrong.push(format!("{rule} is not found by the policy in {sent}"));
            }
        }
    }

    async fn send(&self, method: Method, path: String, object: &Value) -> Answer {
        let is_patch = method == Method::PATCH;
        let media = if is_patch { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("Content-Type", media);
        let mut object = object.clone();
        if object["metadata"].get("namespace").is_some() {
            object["metadata"]["namespace"] = json!("shop");
        }
        let request = request.body(Body::from(object.to_string().into_bytes())).unwrap();
        let response = self.client.send(request).await.unwrap();
        let mut found = BTreeSet::new();
        for warning in response.headers().get_all("Warning") {
            let warning = String::from_utf8_lossy(warning.as_bytes());
            if let Some(id) = rule_of(&warning) {
                // The summary is there for an expression of the message that fails.
                let summary = catalogue::find(&id).unwrap().meta.summary;
                assert!(!warning.contains(summary), "{warning}");
                found.insert(id);
            }
        }
        let status = response.status().as_u16();
        let body = response.into_body().collect_bytes().await.unwrap();
        Answer { status, found, object: serde_json::from_slice(&body).unwrap() }
    }
}

/// The API server's answer to a write.
struct Answer {
    status: u16,
    /// The rules whose policies warn.
    found: BTreeSet<String>,
    object: Value,
}

/// The path of all objects of a kind.
fn all(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or("StatefulSet").to_lowercase();
    format!("/apis/apps/v1/namespaces/shop/{kind}s")
}

/// The rule of the policy that a warning names.
fn rule_of(warning: &str) -> Option<String> {
    let (_, name) = warning.split_once("ValidatingAdmissionPolicy '")?;
    Some(name.split_once(".setguard.io'")?.0.to_owned())
}

/// The modes of rules, objects that had a fault before, exceptions and the annotation.
fn modes(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    let namespace = Namespace::create(&control_plane, "shop");
    let surging = |name: &str| {
        let mut set = manifests::daemon_set(name);
        set["spec"]["template"]["spec"]["containers"][0]["ports"] =
            json!([{ "containerPort": 80, "hostPort": 80 }]);
        set["spec"]["updateStrategy"] =
            json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
        set
    };
    let hasty = |name: &str| {
        let mut set = manifests::stateful_set(name);
        set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(0);
        set
    };
    namespace.apply(&surging("old")).silently();
    let text = export(
        &namespace,
        "apiVersion: setguard.io/v1alpha1\nkind: Policy\nrules:\n  history-limit-zero: off\n\
         exceptions:\n- rules: [surge-host-port]\n  namespaces: [\"sh*\"]\n  names: [\"a.b\", \"free-*\"]\n  \
         reason: agreed\n  expires: 2999-12-31\n- rules: [surge-host-port]\n  reason: too late\n  \
         expires: 2020-01-01\n",
    );
    namespace.kubectl(&["apply", "-f", "-"], &text).accepted();
    assert!(text.contains("# An exception from surge-host-port ends on 2999-12-31"), "{text}");
    assert!(text.contains("# - the policy turns it off: history-limit-zero\n"), "{text}");
    eventually("the policies to be in force", || {
        let new = surging("new").to_string();
        let output = namespace.kubectl(&["create", "--dry-run=server", "-f", "-"], &new);
        if output.success { Err(output) } else { Ok(()) }
    });
    let words = "claim a port of the node, which the old pod still holds";
    let page = "(setguard: surge-host-port, https://setguard.io/rules/surge-host-port.html)";
    namespace.apply(&surging("new")).refused(&["surge-host-port.setguard.io", words, page]);
    namespace.apply(&surging("axb")).refused(&["surge-host-port.setguard.io"]);
    namespace.apply(&surging("a.b")).silently();
    namespace.apply(&surging("free-agent")).silently();

    // An object that had the fault before can be changed, with a warning.
    let mut old = surging("old");
    old["spec"]["minReadySeconds"] = json!(5);
    warns(namespace.apply(&old), "surge-host-port.had-before.setguard.io");
    let mut fixed = manifests::daemon_set("old");
    fixed["spec"]["updateStrategy"] =
        json!({ "rollingUpdate": { "maxSurge": 0, "maxUnavailable": 1 } });
    namespace.apply(&fixed).silently();
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

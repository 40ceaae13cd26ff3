//! The rights of the chart's account and their limits: the steps of an attacker who controls one of its pods.

use super::{CONTROLLERS, KINDS, NAME, Release, arming, values};
use crate::prelude::*;

const SECRET: &str = "guard-setguard-tls";

/// With the chart's policy, setguard works, and its account can do nothing else.
pub(super) fn rights(shared: &Namespace<'_>) {
    let control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.start_controllers(CONTROLLERS);
    control_plane.start_scheduler();
    let own = Namespace::create(&control_plane, "guards");
    let shop = Namespace::create(&control_plane, "shop");
    let auditors = Namespace::create(&control_plane, "auditors");
    node::create(&own, "node-a", None);
    let service = Service::start();
    let mut values = values(&format!("https://127.0.0.1:{}", service.port));
    values["admissionPolicy"] = json!({ "enabled": true });
    values["audit"] = json!({ "enabled": true, "namespace": "auditors" });
    let _kubelet = Kubelet::start(&own, "webhook", service);
    let release = Release::new(&own, "guard");
    release.run("install", &values);

    arming::wait(&shop);
    for kind in KINDS {
        let ask = || own.read(&format!("{kind}/{NAME}"))["metadata"]["ownerReferences"].take();
        becomes("an owner", ask, |owners| owners[0]["name"] == "guards");
    }

    let account = Account(&own);
    for kind in KINDS {
        account.may_not_change("configuration", kind, NAME);
        let deletes = account.run(&["delete", kind, NAME], "");
        deletes.refused(&["cannot delete resource"]);
    }
    account.may_not_change("secret", "secret", SECRET);
    audit(&account, &auditors);
    collected(&account, &own);
    restored(&account, &own, &release, &values);
}

/// The audit's account, in its own namespace, reads workloads but no Secrets, and writes only reports. The server's
/// account cannot become it.
fn audit(account: &Account<'_>, auditors: &Namespace<'_>) {
    let name = "guard-setguard-audit";
    let user = format!("--as=system:serviceaccount:{}:{name}", auditors.name);
    let can = |args: &[&str]| {
        let args = [&["auth", "can-i", "--quiet", "--all-namespaces", &user], args].concat();
        auditors.control_plane.kubectl.run(&args, "").success
    };
    for allowed in [["list", "pods"], ["get", "daemonsets.apps"], ["list", "events"]] {
        assert!(can(&allowed), "{allowed:?}");
    }
    for forbidden in [
        &["get", "secrets"][..],
        &["list", "configmaps"],
        &["create", "pods"],
        &["patch", "daemonsets.apps"],
        &["get", "pods", "--subresource=log"],
        &["create", "pods", "--subresource=exec"],
        &["create", "serviceaccounts", "--subresource=token"],
    ] {
        assert!(!can(forbidden), "{forbidden:?}");
    }
    let token = ["create", "token", name, "--namespace", auditors.name];
    let user = format!("--as=system:serviceaccount:{}:{NAME}", account.0.name);
    let output = auditors.control_plane.kubectl.run(&[&token[..], &[&user]].concat(), "");
    output.refused(&["cannot create resource"]);
    // The CronJob's pods have this account and the policy.
    let pod = &auditors.read(&format!("cronjob/{name}"))["spec"]["jobTemplate"]["spec"]["template"];
    assert_eq!(pod["spec"]["serviceAccountName"], name);
    let policy = &pod["spec"]["volumes"][0]["configMap"]["name"];
    auditors.read(&format!("configmap/{}", policy.as_str().expect("a name")));
    auditors.read(&format!("serviceaccount/{name}"));
}

/// An attacker makes the garbage collector delete the Secret and creates it again as a token of a different account.
/// Without the policy the first step succeeds; RBAC alone must refuse the second.
fn collected(account: &Account<'_>, own: &Namespace<'_>) {
    own.kubectl(&["create", "serviceaccount", "victim"], "").accepted();
    own.kubectl(&["delete", "secret", SECRET], "").accepted();
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": SECRET, "annotations": { "kubernetes.io/service-account.name": "victim" } },
    });
    let forbidden = &["cannot create resource \"secrets\""];
    account.run(&["create", "-f", "-"], &token.to_string()).refused(forbidden);
    let apply = ["apply", "--server-side", "-f", "-"];
    account.run(&apply, &token.to_string()).refused(forbidden);
    account.run(&["create", "token", "victim"], "").refused(&["cannot create resource"]);
}

/// The next upgrade creates the Secret, and the replicas write back the CA that they remember. Neither an upgrade nor
/// a rollback empties it, and deleting the release deletes it.
fn restored(account: &Account<'_>, own: &Namespace<'_>, release: &Release<'_>, values: &Value) {
    let published = own.read(&format!("{}/{NAME}", KINDS[0]))["webhooks"][0]["clientConfig"].take();
    let data = || own.read(&format!("secret/{SECRET}"))["data"].take();
    release.run("upgrade", values);
    becomes("the same CA", &data, |now| now["ca.crt"] == published["caBundle"]);
    let before = data();
    release.run("upgrade", values);
    release.run("rollback", &Value::Null);
    assert_eq!(data(), before);
    let empty = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": { "name": SECRET },
    });
    own.apply(&empty).accepted();
    assert_eq!(data(), before);
    account.run(&["delete", "secret", SECRET], "").refused(&["cannot delete resource"]);
}

struct Account<'a>(&'a Namespace<'a>);

impl Account<'_> {
    fn run(&self, args: &[&str], input: &str) -> Output {
        let user = format!("--as=system:serviceaccount:{}:{NAME}", self.0.name);
        self.0.kubectl(&[args, &[&user]].concat(), input)
    }

    /// Hostile patches: a webhook for every Secret, a different address, no address, a missing owner, …
    #[track_caller]
    fn may_not_change(&self, what: &str, kind: &str, name: &str) {
        let patches = include_str!("../../../fixtures/chart/hostile-patches.jsonl").lines();
        let patches =
            patches.map(|line| serde_json::from_str::<(&str, Value)>(line).expect("JSON"));
        let patches: Vec<_> = patches.filter(|(of, _)| *of == what).collect();
        assert!(patches.len() > 4, "{what}");
        for (_, patch) in patches {
            let args = ["patch", kind, name, "--type=json", "--patch", &patch.to_string()];
            self.run(&args, "").refused(&["denied request: setguard may"]);
        }
    }
}

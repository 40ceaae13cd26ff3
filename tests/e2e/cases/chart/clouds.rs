//! The output of the chart for each platform, in a dry run.

use super::release::Release;
use crate::prelude::*;

/// The only file for a platform whose pods violate Pod Security's level "restricted": they use the host network.
const ON_THE_HOST: &str = "eks-custom-cni.yaml";

/// A bare control plane lacks the kinds of these groups.
const OF_OTHERS: [&str; 2] = ["apiVersion: monitoring.coreos.com", "apiVersion: cert-manager.io"];

pub(super) fn dry_runs(shared: &Namespace<'_>) {
    // With IPv6.
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    control_plane.stop_api_server();
    control_plane.start_api_server(&["--service-cluster-ip-range=10.0.0.0/24,fd00:1::/108"]);
    let namespace = Namespace::create(&control_plane, "guards");
    let warn = "pod-security.kubernetes.io/warn=restricted";
    namespace.kubectl(&["label", "namespace", "guards", warn], "").accepted();
    let release = Release::new(&namespace, "setguard");
    // The files in `ci` together set nearly every value, and name these namespaces.
    let _named =
        ["shop", "databases", "setguard-audit"].map(|name| Namespace::create(&control_plane, name));
    let lacks =
        if control_plane.minor() < 36 { "kind: MutatingAdmissionPolicy" } else { OF_OTHERS[0] };
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/setguard");
    let entries = ["clouds", "ci"].map(|folder| fs::read_dir(chart.join(folder)));
    let mut files = 0;
    for entry in entries.into_iter().flat_map(|entries| entries.expect("a folder")) {
        let path = entry.expect("a file").path();
        let values = format!("--values={}", path.display());
        let text = release.succeeds("template", &["--kube-version=1.36", &values], &json!({}));
        let documents = text.split("\n---\n");
        let known =
            documents.filter(|text| !OF_OTHERS.iter().chain([&lacks]).any(|it| text.contains(it)));
        let text = known.collect::<Vec<_>>().join("\n---\n");
        let args = ["apply", "--dry-run=server", "-f", "-"];
        // Some files are for other namespaces.
        let output = control_plane.kubectl.run(&args, &text).accepted();
        let refused = output.stderr.contains("would violate PodSecurity");
        let of_platform = path.parent().is_some_and(|folder| folder.ends_with("clouds"));
        assert!(!of_platform || refused == path.ends_with(ON_THE_HOST), "{values}: {output}");
        assert!(output.stdout.contains(" created (server dry run)"), "{values}: {output}");
        files += 1;
    }
    assert!(files > 12, "{files}");
}

/// An API server that, like GKE's, admits pods of the system priority classes only where a quota names the class.
pub(super) fn quota(shared: &Namespace<'_>) {
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration",
        "limitedResources": [{
            "resource": "pods",
            "matchScopes": [{
                "scopeName": "PriorityClass",
                "operator": "In",
                "values": ["system-cluster-critical", "system-node-critical"],
            }],
        }],
    });
    configure(&mut control_plane, "ResourceQuota", &configuration);
    control_plane.start_controllers(&["resourcequota-controller"]);
    let namespace = Namespace::create(&control_plane, "guards");
    let release = Release::new(&namespace, "setguard");
    let mut values = json!({
        "priorityClassName": "system-cluster-critical",
        "webhook": { "installCheck": { "enabled": false } },
    });
    let install = |command: &str, values: &Value| release.succeeds(command, &[], values);
    install("install", &values);
    let template = namespace.read("deployment/setguard")["spec"]["template"].take();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "one", "labels": template["metadata"]["labels"] },
        "spec": template["spec"],
    });
    let create = || namespace.dry_run(&pod);
    create().refused(&["insufficient quota to match these scopes"]);
    values["priorityClassQuota"] = json!({ "enabled": true });
    install("upgrade", &values);
    becomes("the pods to be admitted", create, |output| output.success);
}

fn configure(control_plane: &mut ControlPlane, plugin: &str, configuration: &Value) {
    let config = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [{ "name": plugin, "configuration": configuration }],
    });
    let file = control_plane.folder().join("admission.json");
    fs::write(&file, config.to_string()).expect("a file");
    control_plane.stop_api_server();
    let flag = format!("--admission-control-config-file={}", file.display());
    control_plane.start_api_server(&[&flag]);
}

/// API servers with the Pod Security defaults of Talos Linux, and of RKE2 with a CIS profile.
pub(super) fn pod_security(shared: &Namespace<'_>) {
    let mut control_plane = ControlPlane::start(&shared.control_plane.assets);
    let of_rke2 = &["kube-system", "compliance-operator-system", "tigera-operator"];
    for (level, names, exempt) in [
        ("baseline", ["guards", "auditors"], &["kube-system"][..]),
        ("restricted", ["more-guards", "more-auditors"], of_rke2),
    ] {
        let configuration = json!({
            "apiVersion": "pod-security.admission.config.k8s.io/v1",
            "kind": "PodSecurityConfiguration",
            "defaults": {
                "enforce": level, "enforce-version": "latest",
                "audit": "restricted", "audit-version": "latest",
                "warn": "restricted", "warn-version": "latest",
            },
            "exemptions": { "usernames": [], "runtimeClasses": [], "namespaces": exempt },
        });
        configure(&mut control_plane, "PodSecurity", &configuration);
        let namespace = Namespace::create(&control_plane, names[0]);
        let release = Release::new(&namespace, "setguard");
        let pods = |values: &Value| pods(&namespace, &release, values);
        for output in pods(&json!({ "audit": { "enabled": true } })) {
            output.silently();
        }
        for output in pods(&json!({ "hostNetwork": true })).into_iter().take(1) {
            output.refused(&["violates PodSecurity", "hostNetwork=true"]);
        }
        let mut values = json!({ "audit": {
            "enabled": true,
            "metricsFile": "/textfile/setguard.prom",
            "extraVolumes": [{ "name": "textfile", "hostPath": { "path": "/var/lib/textfile" } }],
            "extraVolumeMounts": [{ "name": "textfile", "mountPath": "/textfile" }],
        } });
        let audit = |values: &Value| pods(values).into_iter().nth(1).expect("the audit's pod");
        audit(&values).refused(&["violates PodSecurity", "hostPath"]);
        Namespace::create(&control_plane, names[1]);
        let enforce = "pod-security.kubernetes.io/enforce=privileged";
        control_plane.kubectl.run(&["label", "namespace", names[1], enforce], "").accepted();
        values["audit"]["namespace"] = json!(names[1]);
        audit(&values).accepted();
    }
}

fn pods(namespace: &Namespace<'_>, release: &Release<'_>, values: &Value) -> Vec<Output> {
    let text = release.succeeds("template", &["--kube-version=1.36"], values);
    let convert = ["create", "--dry-run=client", "-o", "json", "-f", "-"];
    let json = namespace.control_plane.kubectl.run(&convert, &text).accepted().stdout;
    let objects = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
    let objects: Vec<_> = objects.map(|object| object.expect("JSON")).collect();
    let kinds = [
        ("Deployment", "/spec/template"),
        ("CronJob", "/spec/jobTemplate/spec/template"),
        ("Pod", ""),
        ("Job", "/spec/template"),
    ];
    let found = kinds.iter().filter_map(|(kind, path)| {
        let object = objects.iter().find(|it| it["kind"] == *kind)?;
        let template = object.pointer(path).expect("a template");
        let within = &object["metadata"]["namespace"];
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "one", "namespace": within, "labels": template["metadata"]["labels"] },
            "spec": template["spec"],
        });
        let args = ["create", "--dry-run=server", "-f", "-"];
        Some(namespace.control_plane.kubectl.run(&args, &pod.to_string()))
    });
    found.collect()
}

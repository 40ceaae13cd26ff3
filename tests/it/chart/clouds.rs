//! The values files for platforms. Like the files in `ci/`, they pass the other chart tests; these tests check the
//! purpose of each.

use super::{chart, deployment, objects, of, pods::specs as pods, render, webhooks};
use crate::prelude::*;

fn file(name: &str) -> String {
    chart().join("clouds").join(name).to_str().unwrap().to_owned()
}

fn rendered(helm: &Path, name: &str) -> Vec<Value> {
    objects(&render(helm, &["--values", &file(name)]))
}

#[test]
fn the_page_names_each_file() {
    let docs = support::read("docs/operations.md");
    let entries = fs::read_dir(chart().join("clouds")).unwrap();
    let files: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let (_, section) = docs.split_once("\n## Platforms\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let words = section.split('`').filter_map(|word| word.strip_prefix("clouds/"));
    assert_eq!(words.map(str::to_owned).collect::<BTreeSet<_>>(), files);
}

#[test]
fn system_namespaces_of_the_platform_do_not_depend_on_setguard() {
    let Some(helm) = helm::find() else { return };
    for (name, prefix) in [
        ("aks.yaml", "aks-"),
        ("gke-private.yaml", "gke-"),
        ("gke-autopilot.yaml", "gke-"),
        ("openshift.yaml", "openshift-"),
        ("rke2.yaml", "cattle-"),
    ] {
        let objects = rendered(&helm, name);
        let webhooks = webhooks(&objects);
        let condition = format!("request.namespace.startsWith('{prefix}')");
        for (webhook, policy) in [("validate", "Fail"), ("system.validate", "Ignore")] {
            let found = webhooks.iter().find(|it| it["name"] == format!("{webhook}.setguard.io"));
            assert_eq!(found.unwrap()["failurePolicy"], policy, "{name}");
            let conditions = found.unwrap()["matchConditions"].to_string();
            assert!(conditions.contains(&condition), "{name}: {conditions}");
        }
    }
    let aks = rendered(&helm, "aks.yaml");
    for webhook in webhooks(&aks) {
        let labelled = webhook["name"].as_str().unwrap().starts_with("labelled-");
        assert!(!labelled || webhook["failurePolicy"] == "Ignore");
    }
    for configuration in super::configurations(&aks) {
        assert_eq!(configuration["metadata"]["labels"]["admissions.enforcer/disabled"], "true");
    }
}

/// The API server, outside of the pod network, reaches setguard on the node, at ports of its own.
#[test]
fn with_another_cni_on_eks_the_pods_use_the_network_of_the_node() {
    let Some(helm) = helm::find() else { return };
    let deployment = deployment(&helm, &["--values", &file("eks-custom-cni.yaml")]);
    let spec = &deployment["spec"];
    assert_eq!(spec["template"]["spec"]["hostNetwork"], true);
    assert_eq!(spec["template"]["spec"]["dnsPolicy"], "ClusterFirstWithHostNet");
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxSurge": 0, "maxUnavailable": 1}));
    let objects = rendered(&helm, "eks-custom-cni.yaml");
    let webhooks = webhooks(&objects);
    let system = webhooks.iter().find(|it| it["name"] == "system.validate.setguard.io").unwrap();
    for namespace in ["calico-system", "tigera-operator"] {
        assert!(system.to_string().contains(namespace), "{system}");
    }
    // Ports of Kubernetes, kubelet, kube-proxy, node agents and common pods.
    let taken = [8080, 8443, 9443, 10248, 10249, 10250, 10255, 10256, 61678, 61679];
    for port in spec["template"]["spec"]["containers"][0]["ports"].as_array().unwrap() {
        let port = port["containerPort"].as_u64().unwrap();
        assert!(!taken.contains(&port) && port > 1024 && port < 30_000, "{port}");
    }
}

#[test]
fn on_gke_the_port_is_one_that_the_firewall_allows() {
    let Some(helm) = helm::find() else { return };
    for name in ["gke-private.yaml", "gke-autopilot.yaml"] {
        let objects = rendered(&helm, name);
        let spec = &of(&objects, "Deployment")[0]["spec"]["template"]["spec"];
        assert_eq!(spec["containers"][0]["ports"][0]["containerPort"], 10250);
        // The kubelet has the port on the node.
        assert_eq!(spec["hostNetwork"], Value::Null, "{name}");
    }
    for pod in pods(&rendered(&helm, "gke-autopilot.yaml")) {
        let resources = &pod["containers"][0]["resources"];
        assert_eq!(resources["requests"]["memory"], resources["limits"]["memory"], "{pod}");
        assert_eq!(resources["requests"]["cpu"], "250m");
    }
}

/// The security context constraint `restricted-v2` chooses the user and the group.
#[test]
fn on_openshift_no_pod_names_a_user_or_a_group() {
    let Some(helm) = helm::find() else { return };
    for pod in pods(&rendered(&helm, "openshift.yaml")) {
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        for field in ["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"] {
            assert!(!pod.to_string().contains(&format!("\"{field}\"")), "{field}: {pod}");
        }
    }
}

#[test]
fn only_the_port_of_the_api_server_is_allowed() {
    let Some(helm) = helm::find() else { return };
    for (name, port) in [("microk8s.yaml", 16443), ("k3s.yaml", 6443), ("rke2.yaml", 6443)] {
        let objects = rendered(&helm, name);
        let egress = &of(&objects, "NetworkPolicy")[0]["spec"]["egress"];
        assert_eq!(*egress, json!([{"ports": [{"port": port, "protocol": "TCP"}]}]), "{name}");
    }
}

#[test]
fn without_ipv4_nothing_asks_for_it() {
    let Some(helm) = helm::find() else { return };
    let objects = rendered(&helm, "ipv6-only.yaml");
    let spec = &of(&objects, "Service")[0]["spec"];
    assert_eq!(
        (&spec["ipFamilyPolicy"], &spec["ipFamilies"]),
        (&json!("SingleStack"), &json!(["IPv6"]))
    );
    let args = of(&objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]["args"]
        .to_string();
    assert!(
        args.contains("--listen=[::]:8443") && args.contains("--admin-listen=[::]:8080"),
        "{args}"
    );
    assert!(!args.contains("0.0.0.0"));
}

#[test]
fn without_the_internet_every_image_is_from_the_mirror() {
    let Some(helm) = helm::find() else { return };
    let objects = rendered(&helm, "air-gapped.yaml");
    let pods = pods(&objects);
    assert!(pods.len() > 2);
    for pod in pods {
        let image = pod["containers"][0]["image"].as_str().unwrap();
        assert!(image.starts_with("registry.example.internal/mirror/setguard:"), "{image}");
        assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
        assert_eq!(pod["initContainers"], Value::Null);
        assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry-example-internal"}]));
    }
}

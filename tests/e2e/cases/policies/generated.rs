//! Generated pods and DaemonSets, for injection.

use crate::prelude::*;

#[derive(Clone, Debug)]
pub(super) struct Write {
    pub(super) object: Value,
    pub(super) namespace: &'static str,
    pub(super) user: &'static str,
    pub(super) group: &'static str,
}

impl Write {
    /// The path of the kind's collection.
    pub(super) fn path(&self) -> String {
        let namespace = self.namespace;
        match self.object["kind"].as_str() {
            Some("Pod") => format!("/api/v1/namespaces/{namespace}/pods"),
            _ => format!("/apis/apps/v1/namespaces/{namespace}/daemonsets"),
        }
    }
}

pub(super) struct Generator(pub(super) Dice);

impl Generator {
    pub(super) fn next(&mut self) -> Write {
        let object = if self.0.percent(80) { self.pod() } else { self.daemon_set() };
        let (user, group) = self.0.pick(&[
            ("system:kube-controller-manager", "others"),
            ("system:serviceaccount:kube-system:daemon-set-controller", "daemons"),
            ("it's", "nothing"),
            ("alice", "nothing"),
        ]);
        Write { object, namespace: self.0.pick(&["shop", "system"]), user, group }
    }

    fn pod(&mut self) -> Value {
        let mut pod = manifests::pod("daemon");
        if self.0.percent(85) {
            let node = self.0.pick(&["n1", "n1", "n1", "node-2.example.com", "N1", "", "a..b"]);
            pod["metadata"]["annotations"] = json!({ "setguard.io/node": node });
        }
        if self.0.percent(50) {
            let (version, kind) = self.0.pick(&[
                ("apps/v1", "DaemonSet"),
                ("apps.kruise.io/v1beta1", "DaemonSet"),
                ("apps/v1", "ReplicaSet"),
                ("example.com/v1", "DaemonSet"),
            ]);
            pod["metadata"]["ownerReferences"] = json!([{
                "apiVersion": version, "kind": kind, "name": "a", "uid": "1",
                "controller": self.0.percent(80),
            }]);
        }
        self.tolerations(&mut pod["spec"]);
        if self.0.percent(30) {
            pod["spec"]["hostNetwork"] = json!(true);
        }
        if self.0.percent(6) {
            pod["spec"]["nodeName"] = json!(self.0.pick(&["n1", "n2"]));
        }
        if self.0.percent(10) {
            pod["spec"]["nodeSelector"] = json!({ "zone": self.0.pick(&["a", "b"]) });
        }
        self.affinity(&mut pod["spec"]);
        pod
    }

    fn daemon_set(&mut self) -> Value {
        let mut set = manifests::daemon_set("agent");
        if self.0.percent(60) {
            let value = self.0.pick(&["true", "true", "false"]);
            set["metadata"]["labels"] = json!({ "setguard.io/control-plane": value });
        }
        self.tolerations(&mut set["spec"]["template"]["spec"]);
        set
    }

    fn tolerations(&mut self, spec: &mut Value) {
        let count = self.0.below(5);
        let list: Vec<_> = (0..count).map(|_| self.toleration()).collect();
        if !list.is_empty() {
            spec["tolerations"] = list.into();
        }
    }

    fn toleration(&mut self) -> Value {
        let key = self.0.pick(&[
            "", "gpu", "node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master",
            "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
            "node.kubernetes.io/disk-pressure", "node.kubernetes.io/network-unavailable",
        ]);
        let effect = self.0.pick(&["", "NoSchedule", "NoExecute", "NoExecute", "PreferNoSchedule"]);
        let mut toleration = json!({});
        let mut set = |name: &str, value: Value| toleration[name] = value;
        if !key.is_empty() {
            set("key", json!(key));
        }
        if key.is_empty() || self.0.percent(60) {
            set("operator", json!("Exists"));
        } else {
            if self.0.percent(50) {
                set("operator", json!("Equal"));
            }
            let value = self.0.pick(&["", "a", "b"]);
            if !value.is_empty() {
                set("value", json!(value));
            }
        }
        if !effect.is_empty() {
            set("effect", json!(effect));
        }
        if effect == "NoExecute" && self.0.percent(50) {
            set("tolerationSeconds", json!(self.0.pick(&[0, 9, 300])));
        }
        toleration
    }

    fn affinity(&mut self, spec: &mut Value) {
        let weak = json!([{ "weight": 1, "preference": { "matchExpressions": [
            { "key": "zone", "operator": "Exists" }] } }]);
        let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        let apart = json!({ required: [{
            "topologyKey": "zone", "labelSelector": { "matchLabels": { "a": "b" } } }] });
        let terms: Vec<_> = (0..=self.0.below(3)).map(|_| self.term()).collect();
        spec["affinity"] = match self.0.below(8) {
            0 => json!({}),
            1 => json!({ "nodeAffinity": {} }),
            2 => json!({ "nodeAffinity": { preferred: weak } }),
            3 => json!({ "podAntiAffinity": apart }),
            4 => json!({ "nodeAffinity": {
                required: { "nodeSelectorTerms": terms }, preferred: weak }, "podAntiAffinity": apart }),
            5 | 6 => json!({ "nodeAffinity": { required: { "nodeSelectorTerms": terms } } }),
            _ => {
                spec.as_object_mut().expect("an object").remove("affinity");
                return;
            }
        };
    }

    fn term(&mut self) -> Value {
        let field = |operator: &str, name: &str| json!({ "key": "metadata.name", "operator": operator, "values": [name] });
        let label = json!({ "key": "zone", "operator": "In", "values": ["a", "c"] });
        match self.0.below(9) {
            0 => json!({}),
            1 | 2 => json!({ "matchExpressions": [label] }),
            3 => json!({ "matchFields": [field("In", "n1")] }),
            4 => json!({ "matchFields": [field("In", "n2")] }),
            5 => json!({ "matchFields": [field("NotIn", self.0.pick(&["n1", "n2"]))] }),
            6 => json!({ "matchExpressions": [label], "matchFields": [field("In", "n1")] }),
            7 => {
                json!({ "matchExpressions": [label, label], "matchFields": [field("NotIn", "n3")] })
            }
            _ => json!({ "matchFields": [field("NotIn", "n2"), field("NotIn", "n3")] }),
        }
    }
}

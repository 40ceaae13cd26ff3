//! `setguard export map`: the API server injects the same as setguard.

use ::http::Method;
use setguard::{
    finding::Mode,
    inject::{self, Injection, pod::PartialPod},
    kubernetes::resource::Resource,
    object::{Object, Str, User},
    policy::Policy,
    rules::{
        node_pin_conflict::NODE_PIN_CONFLICT, unpaired_node_annotation::UNPAIRED_NODE_ANNOTATION,
    },
};
use tokio::runtime::{Builder, Runtime};

use super::{
    export,
    generated::{Generator, Write},
    number,
};
use crate::client::Answer;
use crate::prelude::*;

/// The environment variables for the number of objects and for a different seed.
const OBJECTS: &str = "SETGUARD_INJECTED_OBJECTS";
const SEED: &str = "SETGUARD_INJECTED_SEED";

/// The namespace whose label requests the tolerations for each DaemonSet.
const REQUESTING: &str = "system";

/// Policies with the defaults, and with every setting changed.
const POLICIES: [&str; 2] = [
    "apiVersion: setguard.io/v1alpha1\nkind: Policy\n",
    r#"apiVersion: setguard.io/v1alpha1
kind: Policy
injection:
  pairedControllers: {users: ["it's"], groups: [daemons, others]}
  unpairedAnnotation: deny
  tolerations:
  - {key: gpu, operator: Equal, value: a}
  - {key: node.kubernetes.io/unreachable, effect: NoExecute}
  - {key: "", operator: Exists, effect: NoExecute}
"#,
];

pub(super) fn same_injections(shared: &Namespace<'_>) {
    let minor = shared.control_plane.minor();
    if minor < 34 {
        // Only an alpha version of the API exists.
        return;
    }
    let beta = "--runtime-config=admissionregistration.k8s.io/v1beta1=true";
    let flags = ["--feature-gates=MutatingAdmissionPolicy=true", beta];
    let flags: &[&str] = if minor < 36 { &flags } else { &[] };
    let control_plane = ControlPlane::start_with(&shared.control_plane.assets, flags);
    let namespace = Namespace::create(&control_plane, "shop");
    Namespace::create(&control_plane, REQUESTING);
    namespace.does(&format!("label namespace {REQUESTING} setguard.io/control-plane=true"));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(client::of(&control_plane.kubectl.kubeconfig));
    let api = Api { runtime, client };

    let count: usize = number(OBJECTS).unwrap_or(600).try_into().unwrap();
    let mut generator = Generator(Dice(number(SEED).unwrap_or(20_261_123)));
    for text in POLICIES {
        // Without policies, the answer is the object before injection.
        let writes = (0..count).map(|_| generator.next());
        let writes: Vec<_> = writes
            .filter_map(|write| {
                let answer = api.create(&write);
                (answer.status == 201).then_some((write, answer.object))
            })
            .collect();
        assert!(writes.len() > count * 2 / 3, "only {} of {count} are valid", writes.len());
        // A failing expression then refuses the write instead of silently changing nothing.
        let policies =
            export("map", &namespace, text).replace("failurePolicy: Ignore", "failurePolicy: Fail");
        namespace.kubectl(&["apply", "-f", "-"], &policies).accepted();
        let policy = Policy::parse(text).unwrap();
        let expected: Vec<_> =
            writes.iter().map(|(write, object)| Expected::of(write, object, &policy)).collect();
        // The API server reads the policies one by one.
        let mut all = writes.iter().zip(&expected);
        for kind in Kind::ALL {
            let probe = all.clone().find(|((write, _), expected)| kind.is_of(write, expected));
            let ((write, _), expected) = probe.unwrap_or_else(|| panic!("nothing has {kind:?}"));
            eventually("the policies to be in force", || expected.compare(&api.create(write)));
        }
        let wrong: Vec<_> = all
            .by_ref()
            .filter_map(|((write, _), expected)| {
                let answer = api.create(write);
                expected.compare(&answer).err().map(|why| format!("{why}\nin {}", write.object))
            })
            .collect();
        assert!(wrong.is_empty(), "{} differences: {}", wrong.len(), wrong[0]);
        namespace.kubectl(&["delete", "-f", "-"], &policies).accepted();
        let first = &writes.iter().zip(&expected).find(|(_, it)| it.is_changed()).unwrap().0;
        let ask = || api.create(&first.0).object;
        becomes("the policies to be gone", ask, |now| now["spec"] == first.1["spec"]);
    }
}

struct Api {
    runtime: Runtime,
    client: Client,
}

impl Api {
    fn create(&self, write: &Write) -> Answer {
        let headers = [
            ("Impersonate-User", write.user),
            ("Impersonate-Group", "system:masters"),
            ("Impersonate-Group", write.group),
        ];
        let path = format!("{}?dryRun=All", write.path());
        self.runtime.block_on(client::send(
            &self.client,
            Method::POST,
            &path,
            &write.object,
            &headers,
        ))
    }
}

/// The findings that policies can have too.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Injected,
    Requested,
    RequestedByNamespace,
    Conflict,
    Unpaired,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Injected,
        Kind::Requested,
        Kind::RequestedByNamespace,
        Kind::Conflict,
        Kind::Unpaired,
    ];

    fn is_of(self, write: &Write, expected: &Expected) -> bool {
        let is_pod = write.object["kind"] == "Pod";
        match self {
            Kind::Injected => {
                is_pod && expected.is_changed() && expected.injected.contains(&"node-pin")
            }
            Kind::Requested => !is_pod && expected.is_changed() && write.namespace != REQUESTING,
            Kind::RequestedByNamespace => {
                let labels = &write.object["metadata"]["labels"];
                !is_pod && expected.is_changed() && labels.is_null()
            }
            Kind::Conflict => expected.conflict == Conflict::ByName,
            Kind::Unpaired => expected.unpaired,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conflict {
    None,
    /// The node names conflict.
    ByName,
    /// Only labels conflict, and policies don't compare them.
    ByLabels,
}

struct Expected {
    before: Value,
    after: Value,
    injected: Vec<&'static str>,
    conflict: Conflict,
    unpaired: bool,
    /// Whether the policy denies the annotation of an unpaired user, or only warns.
    denies_unpaired: bool,
}

impl Expected {
    fn of(write: &Write, object: &Value, policy: &Policy) -> Self {
        let json = object.to_string();
        let settings = &policy.injection;
        let injection = if object["kind"] == "Pod" {
            let groups = vec![Str("system:masters".into()), Str(write.group.into())];
            let user = User { username: Str(write.user.into()), groups: Some(groups) };
            inject::pod(&PartialPod::parse(&json).unwrap(), &user, settings)
        } else {
            let daemon_set = Resource::of("apps/v1", "DaemonSet").unwrap();
            let by_namespace = write.namespace == REQUESTING;
            let object = Object::parse(daemon_set, &json).unwrap();
            inject::template(&object, by_namespace, settings)
        };
        // The API server prints a toleration without an empty key.
        let text = |it: String| it.replace("\"key\":\"\",", "");
        let after = injection.applied(&json).map(text);
        let after = after.map(|it| serde_json::from_str(&it).unwrap());
        let Injection { findings, injected, .. } = injection;
        let has = |id: &str| findings.iter().any(|finding| finding.rule.id == id);
        let names_nodes = [
            "is pinned to node", "is bound to node", "cannot be the name of a node",
            "an empty term matches no node", "metadata.name NotIn",
        ];
        let by_name = findings
            .iter()
            .filter(|finding| finding.rule.id == NODE_PIN_CONFLICT.id)
            .all(|finding| names_nodes.iter().any(|it| finding.message.contains(it)));
        let conflict = match has(NODE_PIN_CONFLICT.id) {
            true if by_name => Conflict::ByName,
            true => Conflict::ByLabels,
            false => Conflict::None,
        };
        let denies_unpaired = policy.mode(UNPAIRED_NODE_ANNOTATION) == Mode::Deny;
        Expected {
            after: after.unwrap_or_else(|| object.clone()),
            before: object.clone(),
            injected,
            conflict,
            unpaired: has(UNPAIRED_NODE_ANNOTATION.id),
            denies_unpaired,
        }
    }

    fn is_changed(&self) -> bool {
        self.before != self.after
    }

    fn compare(&self, answer: &Answer) -> Result<(), String> {
        let mut said = answer.warnings.join("\n");
        said.push_str(answer.object["message"].as_str().unwrap_or_default());
        let names = |id: &str| said.contains(&format!("'{id}.setguard.io'"));
        let conflict = names(NODE_PIN_CONFLICT.id);
        if conflict != (self.conflict == Conflict::ByName) && self.conflict != Conflict::ByLabels {
            return Err(format!("conflict {:?}, but the API server says {said:?}", self.conflict));
        }
        if names(UNPAIRED_NODE_ANNOTATION.id) != self.unpaired {
            return Err(format!("unpaired {}, but the API server says {said:?}", self.unpaired));
        }
        let is_denied = conflict || self.unpaired && self.denies_unpaired;
        if is_denied != (answer.status != 201) {
            return Err(format!("status {}: {said:?}", answer.status));
        }
        // The policies pin even a pod that can't run on its node, so that it runs on no other node.
        if is_denied || self.conflict != Conflict::None {
            return Ok(());
        }
        let (expected, found) = (&self.after["spec"], &answer.object["spec"]);
        if expected == found {
            return Ok(());
        }
        Err(format!("expected {expected}\nfound {found}"))
    }
}

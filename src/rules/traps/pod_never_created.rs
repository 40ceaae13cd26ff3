//! A template that the API server accepts and from which no pod can be created.

use crate::{
    finding::{Findings, Meta, Mode},
    kubernetes::cluster::Cluster,
    object::Subject,
    rules::rule::{ObjectCheck, OpenKruise, Phase, Rule, Scope},
    validation::created_pod,
};

pub(super) static RULE: Rule = Rule {
    meta: Meta {
        id: "pod-never-created",
        summary: "a template that the API server accepts, but refuses in each pod made from it",
        why: "\
The API server validates a template less strictly than a pod: it does not look at the template's finalizers or
at whitespace around an image, it sets some defaults only in pods, and its admission plugins look at pods
alone. Such a DaemonSet or StatefulSet is created without a word, its controller asks for the pods again
and again, and each is refused: `FailedCreate` in the events of the set, and a rollout that never ends.

This rule validates the pod that the controller would make, and reports what validation of the template does
not, in the words of the API server. On a 1.36 control plane each of these was accepted and never got a pod:

- with `hostNetwork`, one port in two containers or twice in one: in a pod, each of them is a hostPort;
- an image with a space or line break before or after it, a volume `image` without a reference;
- a finalizer that is neither qualified nor a standard one;
- `priority`, `preemptionPolicy: Never` or `overhead` without the class that they come from (a cluster whose
  default PriorityClass has just this priority would take it);
- a key in both `matchLabelKeys` and `labelSelector`, or twice in `matchLabelKeys`;
- `nodeName` together with `schedulingGates`;
- resources of the pod that fit only until the limits of the containers count as requests;
- a block device at the place of the service account's token;
- a mirror pod (annotation `kubernetes.io/config.mirror`) with a secret, service account or resource claim;
- a volume that uses the claim of the pod's own ephemeral volume.

Up to 1.33 the API server did not validate the template of a StatefulSet at all, and any fault in it has
the same result. What depends on other objects, such as a missing PriorityClass, is not looked at.

Kubernetes: `ValidatePodCreate` and `ValidatePodTemplateSpec` in pkg/apis/core/validation/validation.go;
`SetDefaults_Pod` in pkg/apis/core/v1/defaults.go; `podStrategy` in pkg/registry/core/pod/strategy.go;
priority, runtimeclass and serviceaccount in plugin/pkg/admission.",
        bad: include_str!("examples/pod-never-created.bad.yaml"),
        good: include_str!("examples/pod-never-created.good.yaml"),
        mode: Mode::Deny,
        adjustable: true,
    },
    scope: Scope::Object {
        phase: Phase::After,
        openkruise: OpenKruise::Applies,
        check: ObjectCheck::Both(check),
    },
};

fn check(subject: &Subject<'_>, cluster: &Cluster, found: &mut Findings) {
    created_pod::validate(&subject.object, cluster, found);
}

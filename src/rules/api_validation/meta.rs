//! What the rules of this family say of themselves.

use crate::{
    finding::{Meta, Mode},
    kubernetes::resource::Kind,
};

/// The kinds of object that they look at.
pub static KINDS: &[&str] = &[Kind::DaemonSet.as_str(), Kind::StatefulSet.as_str()];

/// All of them.
pub static METAS: [&Meta; 3] = [&API_VALIDATION, &POD_TEMPLATE_VALIDATION, &SCHEMA];

/// The rule for metadata and the workload's own fields.
pub static API_VALIDATION: Meta = Meta {
    id: "api-validation",
    summary: "what the API server refuses in metadata and the workload's own fields",
    why: "\
The API server refuses such an object with 422 and names each field. In a cluster that is all there is
to it; in a pipeline it is late: the chart is released, the change is merged, and `kubectl apply` fails
for all who deploy it. setguard gives the same answer from the manifest alone, with the server's own
field, reason and words.

It judges a defaulted object, as the server does. So `maxSurge: 1` alone is refused, since
`maxUnavailable` is then 1, and a DaemonSet without a selector is told that its template does not match.
A field whose feature gate is off is dropped before it is judged: `maxUnavailable` of a StatefulSet.
With the old object at hand, changes of what cannot change are found too.

Kubernetes: `ValidateDaemonSet` and `ValidateStatefulSet` and their updates in
pkg/apis/apps/validation/validation.go; metadata in apimachinery pkg/api/validation/objectmeta.go;
defaults in pkg/apis/apps/v1/defaults.go.",
    bad: include_str!("examples/api-validation.bad.yaml"),
    good: include_str!("examples/api-validation.good.yaml"),
    mode: Mode::Deny,
    since: "0.1.0",
    adjustable: false,
};

/// The rule for the rest of the pod template.
pub static POD_TEMPLATE_VALIDATION: Meta = Meta {
    id: "pod-template-validation",
    summary: "what the API server refuses in the spec of the pod template",
    why: "\
The pods of a workload are made of its template, and the API server judges the template like a pod:
names, ports, probes, volumes and who mounts them, resources, tolerations, affinity, security context.

Until 1.33 it did not do so for StatefulSets. There a template that no pod can be made of was accepted,
and the pods failed one after the other. And still, a StatefulSet whose stored spec has any fault can be
given any template: the server then skips it, so that old objects stay editable.

The server may know fields that this release of setguard does not. At the webhook, where the server has
ruled already, these findings are only counted.

Kubernetes: `ValidatePodTemplateSpec` in pkg/apis/core/validation/validation.go;
`ValidatePodTemplateSpecForStatefulSet` and `ValidateStatefulSetUpdate` in
pkg/apis/apps/validation/validation.go; defaults in pkg/apis/core/v1/defaults.go.",
    bad: include_str!("examples/pod-template-validation.bad.yaml"),
    good: include_str!("examples/pod-template-validation.good.yaml"),
    mode: Mode::Deny,
    since: "0.1.0",
    adjustable: true,
};

/// The rule for documents that do not decode.
pub static SCHEMA: Meta = Meta {
    id: "schema",
    summary: "a document that does not decode: wrong type, unknown field, duplicate key",
    why: "\
Before the API server judges an object it has to read it. A number in quotes, a list where a map belongs
or an amount such as `1 GB` ends there, with 400 and the first fault alone. A field that it does not know
it refuses only where the client asks for strict field validation, as kubectl does; for others, such as
controllers, it drops the field, with a warning at best. A misspelt field is then not there at all, and
its default holds. Of a key that stands twice the last one counts.

setguard reports all of it at once, each with its line, and says which field may have been meant. Other
documents of the same run are still checked.

Kubernetes: strict decoding in apimachinery pkg/runtime/serializer/json/json.go; `fieldValidation` in
apiserver pkg/endpoints/handlers; the types in staging/src/k8s.io/api.",
    bad: include_str!("examples/schema.bad.yaml"),
    good: include_str!("examples/schema.good.yaml"),
    mode: Mode::Deny,
    since: "0.1.0",
    adjustable: false,
};

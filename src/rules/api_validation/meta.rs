//! The descriptions of the rules of this family.

use crate::{
    finding::{Meta, Mode},
    kubernetes::kind::Kind,
};

/// The kinds of object that these rules validate.
pub static KINDS: &[Kind] = &[Kind::DaemonSet, Kind::StatefulSet];

/// All rules of this family.
pub static METAS: [&Meta; 3] = [&API_VALIDATION, &POD_TEMPLATE_VALIDATION, &SCHEMA];

/// The rule for metadata and the workload's own fields.
pub static API_VALIDATION: Meta = Meta {
    id: "api-validation",
    summary: "what the API server refuses in metadata and the workload's own fields",
    why: "\
The API server rejects such an object with status 422 and names each invalid field. In a cluster that is
enough, but for a pipeline it is too late: the chart is released, the change is merged, and
`kubectl apply` fails for everyone who deploys it. setguard gives the same answer from the manifest alone,
with the server's own field, reason and message.

Like the server, it applies the defaults before it validates. So it rejects `maxSurge: 1` alone, because
`maxUnavailable` is then 1, and for a DaemonSet without a selector it reports that the template does not
match. It drops a field whose feature gate is off before it validates the object, such as
`maxUnavailable` of a StatefulSet. If it has the old object, it also finds changes to immutable fields.

Kubernetes: `ValidateDaemonSet` and `ValidateStatefulSet` and their updates in
pkg/apis/apps/validation/validation.go; metadata in apimachinery pkg/api/validation/objectmeta.go;
defaults in pkg/apis/apps/v1/defaults.go.",
    bad: include_str!("examples/api-validation.bad.yaml"),
    good: include_str!("examples/api-validation.good.yaml"),
    mode: Mode::Deny,
    adjustable: false,
};

/// The rule for the rest of the pod template.
pub static POD_TEMPLATE_VALIDATION: Meta = Meta {
    id: "pod-template-validation",
    summary: "what the API server refuses in the spec of the pod template",
    why: "\
The pods of a workload are made from its template, and the API server validates the template like a pod:
names, ports, probes, volumes and their mounts, resources, tolerations, affinity, security context.

Up to 1.33 it did not do so for StatefulSets: it accepted a template from which no pod can be made, and
the pods failed one after the other. Even now it accepts any template for a StatefulSet whose stored spec
has an error: it then skips this validation, so that old objects stay editable.

The server may know fields that this release of setguard does not know. When it calls the webhook, it has
already validated the object, so there setguard only counts these findings.

Kubernetes: `ValidatePodTemplateSpec` in pkg/apis/core/validation/validation.go;
`ValidatePodTemplateSpecForStatefulSet` and `ValidateStatefulSetUpdate` in
pkg/apis/apps/validation/validation.go; defaults in pkg/apis/core/v1/defaults.go.",
    bad: include_str!("examples/pod-template-validation.bad.yaml"),
    good: include_str!("examples/pod-template-validation.good.yaml"),
    mode: Mode::Deny,
    adjustable: true,
};

/// The rule for documents that do not decode.
pub static SCHEMA: Meta = Meta {
    id: "schema",
    summary: "a document that does not decode: wrong type, unknown field, duplicate key",
    why: "\
The API server has to decode an object before it can validate it. A number in quotes, a list instead of a
map or a quantity such as `1 GB` fails there, with status 400 and only the first error. The server rejects
an unknown field only if the client requests strict field validation, as kubectl does. For other clients,
such as controllers, it drops the field, with a warning at best. A misspelt field then has no effect, and
the default of the intended field applies.

setguard reports all errors at once, each with its line, and suggests the field that may have been meant.
It still checks the other documents of the same run. It also reports a DaemonSet or StatefulSet in an API
version that no cluster serves, and a kind or group that is close to these.

kubectl drops some of a file without a word before it sends anything: the first of two equal keys, and
what follows the end of a document, such as `...`, before the next `---`. That is setguard's own error.

Kubernetes: strict decoding in apimachinery pkg/runtime/serializer/json/json.go; `fieldValidation` in
apiserver pkg/endpoints/handlers; the types in staging/src/k8s.io/api.",
    bad: include_str!("examples/schema.bad.yaml"),
    good: include_str!("examples/schema.good.yaml"),
    mode: Mode::Deny,
    adjustable: false,
};

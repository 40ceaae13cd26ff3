//! A trap as an expression in CEL, which the API server can evaluate itself, without a webhook.

use super::operation::Operation;

/// The fault of a trap in CEL, for a ValidatingAdmissionPolicy. A policy may miss a fault that the
/// function of the trap finds; it never finds one that the function doesn't.
///
/// In the expressions, the names of [`MACROS`] stand for what all of them need.
#[derive(Clone, Copy, Debug)]
pub struct Cel {
    /// An expression that is true if the object has the fault.
    pub fault: &'static str,
    /// An expression for a text about an object that has the fault, like the message of a finding.
    pub message: &'static str,
    /// The remedy, as a text.
    pub help: &'static str,
    /// The operation in which there can be a fault, if it is only one. In an update the expression may
    /// read `oldObject`.
    pub only: Option<Operation>,
    /// The feature gate that has to be on.
    pub gate: Option<&'static str>,
    /// The faults that the expression does not find, although the function of the trap does.
    pub misses: Option<&'static str>,
}

impl Cel {
    /// A start for others, which has no expressions.
    pub const EMPTY: Cel =
        Cel { fault: "", message: "", help: "", only: None, gate: None, misses: None };
}

/// The names that stand for parts of expressions. `@` stands for the object; it comes last, since the
/// others contain it.
pub const MACROS: [(&str, &str); 17] = [
    // Follows a list of keys. Comparing each with each would cost more than the API server allows for a
    // few hundred.
    ("@twice", ".exists(keys, keys.exists(k, keys.indexOf(k) != keys.lastIndexOf(k)))"),
    ("@oldstart", "oldObject.spec.?ordinals.?start.orValue(0)"),
    (
        "@oldend",
        "(oldObject.spec.?ordinals.?start.orValue(0) + oldObject.spec.?replicas.orValue(1))",
    ),
    ("@end", "(@start + @replicas)"),
    ("@changes", "@.spec.template != oldObject.spec.template"),
    ("@tolerations", "@pod.?tolerations.orValue([])"),
    ("@all", "(dyn(@pod.?initContainers.orValue([])) + dyn(@pod.containers))"),
    ("@claims", "@.spec.?volumeClaimTemplates.orValue([])"),
    ("@volumes", "@pod.?volumes.orValue([])"),
    (
        "@itself",
        "term.?labelSelector.hasValue() && term.labelSelector.?matchExpressions.orValue([]).size() == 0 \
         && term.?namespaces.orValue([]).size() == 0 && !has(term.namespaceSelector) \
         && term.?mismatchLabelKeys.orValue([]).size() == 0 \
         && term.labelSelector.?matchLabels.orValue({}).all(k, \
         @.spec.template.?metadata.?labels[?k].orValue('') == term.labelSelector.matchLabels[k])",
    ),
    (
        "@surges",
        "(@rolls && [@.spec.updateStrategy.?rollingUpdate.?maxSurge.orValue(dyn(0))]\
        .exists(n, type(n) == int ? n > 0 : !string(n).matches('^0+%$')))",
    ),
    ("@partition", "@.spec.updateStrategy.?rollingUpdate.?partition.orValue(0)"),
    ("@rolls", "(@.spec.?updateStrategy.?type.orValue('') == 'RollingUpdate')"),
    (
        "@running",
        "(dyn(@pod.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue('') == 'Always')) \
        + dyn(@pod.containers))",
    ),
    ("@replicas", "@.spec.?replicas.orValue(1)"),
    ("@pod", "@.spec.template.spec"),
    ("@start", "@.spec.?ordinals.?start.orValue(0)"),
];

//! A trap as CEL expressions that the API server can evaluate itself, without a webhook.

use super::operation::Operation;

/// A trap's fault in CEL, for a ValidatingAdmissionPolicy. A policy may miss a fault that the trap's function finds,
/// but never finds one that the function doesn't. The expressions may contain the names of [`MACROS`].
#[derive(Clone, Copy, Debug)]
pub struct Cel {
    /// An expression that is true if the object has the fault.
    pub fault: &'static str,
    /// An expression for a text about an object with the fault, like the message of a finding.
    pub message: &'static str,
    /// The remedy.
    pub help: &'static str,
    /// The only operation that can contain the fault, if any. On update the expression may read `oldObject`.
    pub only: Option<Operation>,
    /// The feature gate that must be on.
    pub gate: Option<&'static str>,
    /// The faults that the trap's function finds and the expression does not.
    pub misses: Option<&'static str>,
}

impl Cel {
    /// A base for other values. It has no expressions.
    pub const EMPTY: Cel =
        Cel { fault: "", message: "", help: "", only: None, gate: None, misses: None };

    /// Returns whether the expression gives up on long lists.
    pub fn is_bounded(&self) -> bool {
        BOUNDED.iter().any(|name| self.fault.contains(name))
    }

    /// Returns whether the expression finds everything that the trap's function finds.
    pub fn is_whole(&self) -> bool {
        self.misses.is_none() && !self.is_bounded()
    }
}

/// The names of [`MACROS`] that are true only for short lists.
const BOUNDED: [&str; 2] = ["@few", "@twice"];

/// The length of the longest list for which `@few` is true.
pub const FEW: usize = 64;

/// Names for parts of expressions. `@` is the object; it comes last, because the others contain it.
pub const MACROS: [(&str, &str); 18] = [
    // Written after a list of keys.
    ("@twice", ".exists(keys, keys@few && keys.exists(k, keys.indexOf(k) != keys.lastIndexOf(k)))"),
    // Each entry of a list is compared with all entries of a second list. CEL has no sets, so without a bound the time
    // is quadratic in what a tenant may send: 4,000 environment variables kept kube-apiserver 1.37.2 busy for four
    // seconds. CEL's own cost estimate does not show that.
    ("@few", ".size() <= 64"),
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

#[cfg(test)]
mod tests {
    #[test]
    fn few_are_as_many_as_the_comment_of_an_export_says() {
        let (_, few) = super::MACROS.iter().find(|(name, _)| *name == "@few").unwrap();
        assert_eq!(*few, format!(".size() <= {}", super::FEW));
    }
}

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

    /// Returns whether the expression finds nothing in long lists.
    pub fn is_bounded(&self) -> bool {
        BOUNDED.iter().any(|name| self.fault.contains(name))
    }

    /// Returns whether the expression finds all that the function of the trap finds.
    pub fn is_whole(&self) -> bool {
        self.misses.is_none() && !self.is_bounded()
    }
}

/// The names of [`MACROS`] that hold for short lists only.
const BOUNDED: [&str; 2] = ["@few", "@twice"];

/// The entries of the longest list that `@few` is true for.
pub const FEW: usize = 64;

/// The names that stand for parts of expressions. `@` stands for the object; it comes last, since the
/// others contain it.
pub const MACROS: [(&str, &str); 18] = [
    // Follows a list of keys.
    ("@twice", ".exists(keys, keys@few && keys.exists(k, keys.indexOf(k) != keys.lastIndexOf(k)))"),
    // Follows a list each of whose entries is compared with all entries of another list. CEL has no sets, so
    // without a bound the time would be quadratic in what a tenant may send: with 4,000 environment variables
    // kube-apiserver 1.37.2 was busy for four seconds. CEL's own cost does not show that.
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

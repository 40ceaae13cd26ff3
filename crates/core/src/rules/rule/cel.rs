//! A trap as CEL expressions that the API server can evaluate itself, without a webhook.

use serde::{Deserialize, Deserializer};

use super::Operation;

/// Read once, and kept as long as the program runs.
type Text = &'static str;

/// A trap's fault in CEL, for a ValidatingAdmissionPolicy: the file `cel.yaml` of a rule. A policy may miss a fault
/// that the trap's function finds, but never finds one that the function doesn't. The expressions may contain the names
/// of [`MACROS`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cel {
    /// An expression that is true if the object has the fault.
    #[serde(deserialize_with = "kept")]
    pub fault: Text,
    /// An expression for a text about an object with the fault, like the message of a finding.
    #[serde(deserialize_with = "kept")]
    pub message: Text,
    /// The remedy.
    #[serde(deserialize_with = "kept")]
    pub help: Text,
    /// The only operation that can contain the fault, if any. On update the expression may read `oldObject`.
    pub only: Option<Operation>,
    /// The feature gate that must be on.
    #[serde(deserialize_with = "kept_if_any")]
    pub gate: Option<Text>,
    /// The faults that the trap's function finds and the expression does not.
    #[serde(deserialize_with = "kept_if_any")]
    pub misses: Option<Text>,
}

fn kept<'de, D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
    Ok(String::deserialize(from)?.leak())
}

fn kept_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Text>, D::Error> {
    kept(from).map(Some)
}

impl Cel {
    /// Reads the file of a rule. A test reads them all.
    pub fn read(file: &'static str) -> Self {
        kube_yaml::read_one(file).map(|(cel, _)| cel).unwrap_or_default()
    }

    /// Returns whether the expression gives up on lists of more than [`FEW`] entries.
    pub fn is_bounded(&self) -> bool {
        BOUNDED.iter().any(|name| self.fault.contains(name))
    }

    /// Returns the fault as an expression that is false if a list that it reads is longer than [`MANY`].
    ///
    /// Without a bound, 16,000 tolerations or the mounts of 64 volumes kept kube-apiserver busy for seconds.
    pub fn bounded_fault(&self) -> String {
        if self.is_about_length() {
            let long = LISTS.iter().map(|(_, length)| format!("{length} > {MANY}"));
            return long.collect::<Vec<_>>().join(" || ");
        }
        let reads = |texts: &[&str]| texts.iter().any(|text| self.fault.contains(text));
        let lists = LISTS.iter().filter(|(texts, _)| reads(texts));
        let bounds: String = lists.map(|(_, length)| format!("{length} <= {MANY} && ")).collect();
        if bounds.is_empty() { self.fault.to_owned() } else { format!("{bounds}({})", self.fault) }
    }

    /// Returns whether the fault is a list that other expressions skip.
    pub fn is_about_length(&self) -> bool {
        self.fault == LONG
    }

    /// Returns whether the expression finds everything that the trap's function finds.
    pub fn is_whole(&self) -> bool {
        self.misses.is_none() && !self.is_bounded()
    }
}

/// The names of [`MACROS`] that are true only for short lists.
const BOUNDED: [&str; 2] = ["@few", "@twice"];

/// The longest list that still counts as `@few`.
pub const FEW: usize = 64;

/// The length of the longest list that an exported expression walks through.
pub const MANY: usize = 256;

/// A fault: the object has a list of [`LISTS`] that is longer than [`MANY`].
pub(crate) const LONG: &str = "@long";

/// Lists that a user can make long: parts of the expressions that read them, and their length. For lists of containers
/// it is the length of all together.
const LISTS: [(&[&str], &str); 12] = [
    (&["tolerations"], "@tolerations.size()"),
    (&["@volumes"], "@volumes.size()"),
    (&["@claims", "volumeClaimTemplates"], "dyn(@).spec.?volumeClaimTemplates.orValue([]).size()"),
    (&["@all", "@running", "ontainers"], "@all.size()"),
    (&["volumeMounts"], "@all.map(c, c.?volumeMounts.orValue([]).size()).sum()"),
    (&["volumeDevices"], "@all.map(c, c.?volumeDevices.orValue([]).size()).sum()"),
    (&["?ports"], "@all.map(c, c.?ports.orValue([]).size()).sum()"),
    (
        &["nodeSelectorTerms"],
        "@pod.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])\
         .map(t, 1 + t.?matchExpressions.orValue([]).size()).sum()",
    ),
    (
        &["podAffinity"],
        "@pod.?affinity.?podAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).size()",
    ),
    (
        &["podAntiAffinity"],
        "@pod.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([]).size()",
    ),
    (
        &["selector.?match", "?nodeSelector"],
        "@.spec.selector.?matchExpressions.orValue([]).size() + @.spec.selector.?matchLabels.orValue({}).size() \
         + @pod.?nodeSelector.orValue({}).size()",
    ),
    (&["finalizers"], "@.spec.template.?metadata.?finalizers.orValue([]).size()"),
];

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
    fn every_file_can_be_read() {
        for (rule, cel) in crate::rules::in_cel() {
            let id = rule.meta.id;
            assert!(![cel.fault, cel.message, cel.help].contains(&""), "{id}");
        }
    }

    #[test]
    fn few_are_as_many_as_the_comment_of_an_export_says() {
        let (_, few) = super::MACROS.iter().find(|(name, _)| *name == "@few").unwrap();
        assert_eq!(*few, format!(".size() <= {}", super::FEW));
    }
}

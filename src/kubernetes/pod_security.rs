//! The Pod Security Standards: what the levels `baseline` and `restricted` refuse in a pod.
//!
//! Kubernetes: k8s.io/pod-security-admission, `policy` and `api`.

mod checks;

use std::fmt;

use k8s_openapi::api::core::v1::PodTemplateSpec;

use self::checks::CHECKS;

/// A level of the standards. `privileged` refuses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Baseline,
    Restricted,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        })
    }
}

/// A level, as of a minor release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard {
    pub(crate) level: Level,
    pub(crate) minor: u32,
}

impl Standard {
    /// What labels of a namespace ask for, in a cluster of this minor release; `None` if that is
    /// nothing. What cannot be read counts as the strictest.
    ///
    /// Kubernetes: `PolicyToEvaluate`, `ParseLevel` and `ParseVersion`, api/helpers.go;
    /// `EvaluatePod`, policy/registry.go.
    pub(crate) fn of(level: Option<&str>, version: Option<&str>, cluster: u32) -> Option<Self> {
        let level = match level? {
            "privileged" => return None,
            "baseline" => Level::Baseline,
            _ => Level::Restricted,
        };
        let minor = version.and_then(|version| {
            let digits = version.strip_prefix("v1.")?;
            let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
            let is_canonical = digits == "0" || !digits.starts_with('0');
            digits.parse().ok().filter(|_| is_number && is_canonical)
        });
        Some(Standard { level, minor: minor.unwrap_or(u32::MAX).min(cluster) })
    }
}

/// One check of the standards, as it is in some releases.
struct Check {
    level: Level,
    /// The minor releases that have it in this form: from the first to before the second.
    minors: (u32, u32),
    /// The minor release since which a check of `restricted` replaces it there.
    replaced: u32,
    /// What it refuses, in the words of the API server.
    reason: &'static str,
    /// What in the pod it refuses: names of containers or volumes, or values. Empty if nothing.
    refuses: fn(&PodTemplateSpec) -> Vec<String>,
}

/// How much of what a check refuses is named.
const MOST_NAMED: usize = 4;

/// A check that a pod does not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    check: u8,
    what: Box<str>,
}

impl Refusal {
    /// What a standard refuses in a pod.
    pub(crate) fn by(standard: Standard, pod: &PodTemplateSpec) -> Vec<Self> {
        refusals(pod, |check| check.is_part_of(standard))
    }

    /// What any standard of any release refuses in a pod.
    pub(crate) fn all(pod: &PodTemplateSpec) -> Vec<Self> {
        refusals(pod, |_| true)
    }

    /// Whether a standard refuses it.
    pub(crate) fn is_by(&self, standard: Standard) -> bool {
        self.check().is_some_and(|check| check.is_part_of(standard))
    }

    fn check(&self) -> Option<&'static Check> {
        CHECKS.get(usize::from(self.check))
    }
}

/// `hostPath volumes (proc, sys)`
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.check().map(|check| check.reason).unwrap_or_default();
        write!(f, "{reason} ({})", self.what)
    }
}

impl Check {
    fn is_part_of(&self, Standard { level, minor }: Standard) -> bool {
        let (first, end) = self.minors;
        (first..end).contains(&minor)
            && match level {
                Level::Baseline => self.level == Level::Baseline,
                Level::Restricted => minor < self.replaced,
            }
    }
}

fn refusals(pod: &PodTemplateSpec, wanted: impl Fn(&Check) -> bool) -> Vec<Refusal> {
    let checks = (0..).zip(CHECKS).filter(|(_, check)| wanted(check));
    let refusals = checks.filter_map(|(number, check)| {
        let mut what = (check.refuses)(pod);
        what.sort_unstable();
        what.dedup();
        let more = what.len().saturating_sub(MOST_NAMED);
        what.truncate(MOST_NAMED);
        let mut named = what.join(", ");
        if more > 0 {
            named.push_str(&format!(" and {more} more"));
        }
        (!named.is_empty()).then(|| Refusal { check: number, what: named.into() })
    });
    refusals.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_the_api_server_does() {
        let of = |level, version| Standard::of(level, version, 36).map(|it| (it.level, it.minor));
        assert_eq!(of(None, Some("v1.20")), None);
        assert_eq!(of(Some("privileged"), None), None);
        assert_eq!(of(Some("baseline"), None), Some((Level::Baseline, 36)));
        assert_eq!(of(Some("restricted"), Some("latest")), Some((Level::Restricted, 36)));
        assert_eq!(of(Some("restricted"), Some("v1.24")), Some((Level::Restricted, 24)));
        assert_eq!(of(Some("baseline"), Some("v1.99")), Some((Level::Baseline, 36)));
        for version in ["1.24", "v1.024", "v1.", "v1.+4", "v2.0", ""] {
            assert_eq!(of(Some("Baseline"), Some(version)), Some((Level::Restricted, 36)));
        }
    }
}

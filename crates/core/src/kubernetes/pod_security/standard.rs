use k8s_openapi::api::core::v1::PodTemplateSpec;

use super::EnforcedLevel as Level;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standard {
    pub(crate) level: Level,
    pub(crate) minor: u32,
}

impl Standard {
    /// Unreadable labels count as the strictest level. `cluster` is a minor release. Kubernetes: `PolicyToEvaluate`,
    /// `ParseLevel` and `ParseVersion`, api/helpers.go; `EvaluatePod`, policy/registry.go.
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

#[derive(Clone, Copy)]
pub(super) struct Check {
    pub(super) level: Level,
    /// From the first minor release to before the second.
    pub(super) minors: (u32, u32),
    /// From this minor release on, a check of `restricted` replaces this one at that level.
    pub(super) replaced: u32,
    /// In the API server's words.
    pub(super) reason: &'static str,
    /// Returns the refused parts: names of containers or volumes, or values.
    pub(super) refuses: fn(&PodTemplateSpec) -> Vec<String>,
}

impl Check {
    pub(super) fn is_part_of(&self, Standard { level, minor }: Standard) -> bool {
        let (first, end) = self.minors;
        (first..end).contains(&minor)
            && match level {
                Level::Restricted => minor < self.replaced,
                Level::Baseline | Level::Privileged => self.level == level,
            }
    }
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

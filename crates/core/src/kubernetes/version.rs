//! Releases of Kubernetes.

use std::{fmt, str::FromStr};

use super::cluster::EARLY_PATCHES;

/// A Kubernetes release such as 1.36, or a patch release with different feature gates, such as 1.35.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    minor: u32,
    /// The patch release, if it matters.
    patch: Option<u32>,
}

impl Version {
    /// The oldest release whose rules setguard knows.
    pub const OLDEST: Version = Version::of_minor(33);
    /// The newest release whose rules setguard knows: the one that k8s-openapi describes.
    pub const NEWEST: Version = Version::of_minor(37);

    /// Returns the last patch release of a minor release.
    pub const fn of_minor(minor: u32) -> Self {
        Version { minor, patch: None }
    }

    /// Returns the number after `1.`.
    pub const fn minor(self) -> u32 {
        self.minor
    }

    /// Returns the number of the patch release, if it matters.
    pub const fn patch(self) -> Option<u32> {
        self.patch
    }

    /// Returns this minor release with the patch release from text such as `v1.35.3`.
    #[must_use]
    pub fn with_patch_of(self, text: &str) -> Self {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let same_minor = parts.nth(1).is_some_and(|minor| minor.parse() == Ok(self.minor));
        let patch = parts.next().filter(|_| same_minor).and_then(|patch| {
            let end = patch.find(|c: char| !c.is_ascii_digit()).unwrap_or(patch.len());
            patch[..end].parse().ok()
        });
        let exact = Version { minor: self.minor, patch };
        let is_early = |(_, minor, first, _): &(_, _, _, _)| exact.is_before_patch(*minor, *first);
        if EARLY_PATCHES.iter().any(is_early) { exact } else { Version::of_minor(self.minor) }
    }

    /// Returns whether this is an earlier patch release of the same minor release.
    pub(super) fn is_before_patch(self, minor: u32, patch: u32) -> bool {
        self.minor == minor && self.patch.is_some_and(|own| own < patch)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)?;
        match self.patch {
            Some(patch) => write!(f, ".{patch}"),
            None => Ok(()),
        }
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        let mut parts = bare.split('.');
        // Some clusters report a minor version such as `36+`.
        let minor = |text: &str| text.strip_suffix('+').unwrap_or(text).parse();
        let version = match (parts.next(), parts.next().map(minor)) {
            (Some("1"), Some(Ok(minor))) => Version::of_minor(minor),
            _ => return Err(format!("{text:?} is not a Kubernetes release such as 1.36")),
        };
        if (Version::OLDEST..=Version::NEWEST).contains(&version) {
            Ok(version.with_patch_of(bare))
        } else {
            Err(format!(
                "Kubernetes {version} is not supported; the supported releases are {} to {}",
                Version::OLDEST,
                Version::NEWEST
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_their_borders() {
        assert_eq!("1.33".parse(), Ok(Version::of_minor(33)));
        for right in ["v1.36.2", "1.36+", "v1.36.2-eks-abc", "v1.36.2+k3s1"] {
            assert_eq!(right.parse(), Ok(Version::of_minor(36)), "{right}");
        }
        for wrong in ["1.32", "1.38", "2.0", "1", "", "1.x", "1.+", "1.36++"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_patch_release_is_kept_if_it_matters() {
        for (text, shown) in [
            ("1.35.3", "1.35.3"),
            ("v1.35.0-eks-abc", "1.35.0"),
            ("v1.35.3+k3s1", "1.35.3"),
            ("1.35.4", "1.35"),
            ("1.35", "1.35"),
            ("1.35.x", "1.35"),
            ("1.36.0", "1.36"),
        ] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), shown, "{text}");
        }
    }
}

//! Names and tags of images.

use k8s_openapi::api::core::v1::Container;

use super::absent::text;

/// A major and a minor release.
pub(crate) type Release = (u32, u32);

/// The name of an image in Docker Hub, and its tag; empty for the default one. The name of an image in a different
/// registry contains the registry.
pub(crate) fn image(container: &Container) -> (&str, &str) {
    let image = text(&container.image);
    let (named, is_pinned) = image.split_once('@').map_or((image, false), |it| (it.0, true));
    let (name, tag) = match named.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (named, if is_pinned { "@" } else { "" }),
    };
    let of_hub = name.rsplit_once("library/").map(|it| it.1);
    (of_hub.or_else(|| name.strip_prefix("docker.io/")).unwrap_or(name), tag)
}

/// The major and the minor release in a tag such as `v3.6.1` or `8-alpine`; 0 if it has no minor one.
pub(crate) fn numbers(tag: &str) -> Option<Release> {
    let mut numbers = tag.strip_prefix('v').unwrap_or(tag).split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|it| it.parse().ok()).unwrap_or(0)))
}

use crate::rules::prelude::*;

pub(super) static RULE: Rule = rule! {
    id: "image-name-invalid", group: NeverStarts, mode: Mode::Deny;
    title: "the kubelet can't parse the image",
    summary: "an image whose name or tag no kubelet can parse",
    scopes: [Scope::trap(OpenKruise::Applies, ObjectCheck::Pod(check))],
};

fn check(spec: &PodSpec, _: &Subject<'_>, _: &Cluster, found: &mut Findings) {
    visit(spec, &POD_SPEC, &mut |container, path| {
        report(text(&container.image), &path.child("image"), found);
    });
    for (i, volume) in list(&spec.volumes).iter().enumerate() {
        if let Some(image) = &volume.image {
            report(text(&image.reference), &VOLUMES.index(i).below("image.reference"), found);
        }
    }
}

fn report(image: &str, path: &Path<'_>, found: &mut Findings) {
    // The API server accepts any image in a template, but refuses one with a space around it in each pod.
    if image.is_empty() || image.trim() != image || parses(image) || is_placeholder(image) {
        return;
    }
    let help = if let Some((_, name)) = image.split_once("://") {
        format!("write it without a scheme: {name}")
    } else if let Some(name) = image.strip_suffix(':') {
        format!("add a tag, or write {name}")
    } else {
        "write REGISTRY/NAME:TAG, with a name in small letters and without spaces".to_owned()
    };
    let message = format!(
        "the kubelet can't parse the image {image:?}, so the container never starts (InvalidImageName)"
    );
    found.report(path, Reason::Invalid, message, help).planned_if(true);
}

/// Follows `ParseNormalizedNamed`, github.com/distribution/reference/normalize.go, and the grammar in regexp.go.
fn parses(image: &str) -> bool {
    let (named, digest) =
        image.split_once('@').map_or((image, None), |(named, digest)| (named, Some(digest)));
    let is_domain = |first: &str| {
        first == "localhost" || first.contains(['.', ':']) || first.contains(is_upper)
    };
    let (domain, rest) = match named.split_once('/').filter(|(first, _)| is_domain(first)) {
        Some((domain, rest)) => (Some(domain), rest),
        None => (None, named),
    };
    let (name, tag) = rest.split_once(':').map_or((rest, None), |(name, tag)| (name, Some(tag)));
    let is_identifier = image.len() == 64 && image.bytes().all(is_small_hex);
    !is_identifier
        && domain.is_none_or(is_host)
        && name.split('/').all(is_component)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
}

const fn is_upper(c: char) -> bool {
    c.is_ascii_uppercase()
}

const fn is_small_hex(b: u8) -> bool {
    b.is_ascii_digit() || matches!(b, b'a'..=b'f')
}

/// A domain or an address, and perhaps a port.
fn is_host(text: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    if let Some((address, port)) = text.strip_prefix('[').and_then(|it| it.split_once(']')) {
        let is_in_address = |b: u8| b.is_ascii_hexdigit() || b == b':';
        return !address.is_empty()
            && address.bytes().all(is_in_address)
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (domain, port) = text.split_once(':').map_or((text, None), |(a, b)| (a, Some(b)));
    let is_label = |label: &str| {
        let is_inside = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty()
            && label.bytes().all(is_inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    domain.split('.').all(is_label) && port.is_none_or(is_port)
}

/// A part of a name: small letters and digits, separated by `.`, `_`, `__` or any number of `-`.
fn is_component(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator =
        |run: &str| matches!(run, "." | "_" | "__") || run.bytes().all(|b| b == b'-');
    text.starts_with(is_plain) && text.ends_with(is_plain) && text.split(is_plain).all(is_separator)
}

fn is_tag(text: &str) -> bool {
    let is_in_tag = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
    (1..=128).contains(&text.len()) && !text.starts_with(['.', '-']) && text.bytes().all(is_in_tag)
}

/// Follows `Digest.Validate`, github.com/opencontainers/go-digest/digest.go.
fn is_digest(text: &str) -> bool {
    let length = |algorithm| match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => 0,
    };
    text.split_once(':').is_some_and(|(algorithm, hex)| {
        !hex.is_empty() && hex.len() == length(algorithm) && hex.bytes().all(is_small_hex)
    })
}

/// Returns whether a person, an operator or a tool replaces the text before anything runs: `${IMAGE}`, `<image>`,
/// `PROJECT_ID/agent:1.0`, `FILLED BY THE OPERATOR`, `ko://example.com/cmd`.
fn is_placeholder(image: &str) -> bool {
    let is_scheme = |it: &str| matches!(it, "http" | "https" | "docker" | "oci");
    let is_tool = image.split_once("://").is_some_and(|(scheme, _)| !is_scheme(scheme));
    let is_phrase = image.contains(' ') && !image.contains(['/', ':']);
    let named = image.split_once('@').map_or(image, |(named, _)| named);
    let mut parts = named.split('/').filter_map(|it| it.split(':').next());
    let has_small = |part: &str| part.contains(|c: char| c.is_ascii_lowercase());
    let is_shouted = |part: &str| part.contains(is_upper) && !has_small(part);
    let is_mixed = |part: &str| part.contains(is_upper) && has_small(part) && !part.contains('.');
    is_tool
        || is_phrase
        || image.contains(['$', '{', '}', '<', '>', '%', '*', '…'])
        || image.contains("...")
        || image.contains("[[")
        || image.matches('@').count() > 1
        || parts.clone().any(is_shouted) && !parts.any(is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubelets_parse() {
        let digest = format!("db@sha256:{}", "0a".repeat(32));
        let tagged = format!("localhost:5000/a/db:1.0@sha256:{}", "0a".repeat(32));
        for image in [
            "db", "db:1", "a/db:V1_x-2.", "a__b/c--d.e:1", "Registry.example.com:5000/db",
            "localhost/db", "[::1]:5000/db", "TEAM/db", &digest, &tagged,
        ] {
            assert!(parses(image), "{image}");
        }
        let short = "db@sha256:0a";
        let identifier = "0a".repeat(32);
        for image in [
            "db:", "a/Team/DB:1", "db: 1", "DB", "a/Db:1", "https://a.example.com/db:1", "db:1+2",
            "a//db", "-db", "a/db-", "a_._b", "a.example.com:/db", "db:1:2", "db:-1", "[::1/db",
            short, "db@sha1:00", &identifier, "/db", "db/",
        ] {
            assert!(!parses(image), "{image}");
        }
    }
}

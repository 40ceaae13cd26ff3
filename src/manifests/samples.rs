//! Images of samples, such as a plugin for devices that do not exist.

use crate::yaml::{Node, Value};

/// The words for a program that only shows or imitates something.
const WORDS: [&str; 5] = ["dummy", "example", "fake", "mock", "sample"];

/// Returns the name of the first image of a set that is a sample by its name.
pub(crate) fn image<'n>(node: &'n Node<'_>) -> Option<&'n str> {
    let path = ["spec", "template", "spec", "containers"];
    let containers = path.iter().try_fold(node, |at, key| at.get(key))?;
    let Value::Seq(items) = &containers.value else { return None };
    items.iter().filter_map(|item| item.get("image")?.as_str()).map(name).find(|name| {
        name.to_ascii_lowercase().split(['-', '_', '.']).any(|word| WORDS.contains(&word))
    })
}

/// Returns the last part of an image, without the tag and the digest.
fn name(image: &str) -> &str {
    let name = image.rsplit('/').next().unwrap_or(image);
    name.split([':', '@']).next().unwrap_or(name)
}

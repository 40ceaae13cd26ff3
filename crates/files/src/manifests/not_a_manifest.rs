//! Values in the place of an object, and objects with a misspelt `apiVersion` or `kind`. Without an error, setguard
//! would skip them although the author meant to check them.

use kube_yaml::{Node, Problem, Value};
use setguard_core::{
    finding::{Path, nearest_of},
    kubernetes::resource::{RESOURCES, Resource},
};

use super::{group::Group, patches::items};

const KEYS: [&str; 2] = ["apiVersion", "kind"];

/// Kinds in the groups of the sets, with names that resemble theirs.
const OTHER_KINDS: &str = "AdvancedCronJob BroadcastJob CloneSet ControllerRevision Deployment ReplicaSet \
                           SidecarSet UnitedDeployment";

/// Returns the problem of a node without an `apiVersion` or a `kind`.
pub(crate) fn no_object(node: &Node<'_>) -> Option<Problem> {
    let Value::Map(entries) = &node.value else {
        let what = match &node.value {
            Value::Seq(_) => "a list",
            Value::Str(_) => "only text",
            _ => "a single value",
        };
        return Some(Problem::at(node.mark, format!("not a Kubernetes object but {what}")));
    };
    let is_missing = |key: &&str| node.get(key).and_then(Node::as_str).is_none_or(str::is_empty);
    let key = ["kind", "apiVersion"].into_iter().find(is_missing)?;
    let misspelt = entries.iter().find(|(other, _)| is_near(&other.name, key));
    let mark = misspelt.map_or(node.mark, |(key, _)| key.mark);
    let mut problem = Problem::at(mark, format!("not a Kubernetes object: it has no {key}"));
    problem.help = misspelt.map(|(other, _)| format!("write {key} instead of {}", other.name));
    Some(problem)
}

/// Returns whether a node that isn't an object was probably meant as a DaemonSet, a StatefulSet, or a list of objects.
/// A file in a folder may have a different purpose: the values of a chart, a patch, the configuration of a tool. A
/// broken object of a different kind has no set to check.
pub(crate) fn is_meant_as_object(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Map(entries) => {
            let value = |key: &str| {
                let mut near = entries.iter();
                near.find(|(other, _)| other.name == *key || is_near(&other.name, key))
            };
            let text =
                |key: &str| value(key).and_then(|(_, value)| value.as_str()).unwrap_or_default();
            let (kind, group) = (text("kind"), text("apiVersion"));
            let group = group.split_once('/').map_or("", |(group, _)| group);
            let sets: Vec<_> = RESOURCES.iter().map(|it| it.kind.as_str()).collect();
            let is_set = sets.contains(&kind);
            let may_be_set = match kind {
                "" => RESOURCES.iter().any(|it| it.group == group),
                _ => is_set || kind.ends_with("List") || near_kind(kind, &sets).is_some(),
            };
            // Tutorials have skeletons: `apiVersion:` and `kind:` without values.
            let is_blank = |key: &&str| node.get(key).is_some_and(|it| it.value == Value::Null);
            let is_skeleton = KEYS.iter().all(is_blank);
            let is_whole = KEYS.iter().all(|key| value(key).is_some());
            let has_spec = node.get("spec").is_some();
            let lacks_kind = value("apiVersion").is_some() && value("kind").is_none();
            let is_list = || items(node.get("items")).any(is_meant_as_object);
            is_whole && !is_skeleton && may_be_set
                || is_set && has_spec
                || lacks_kind && (may_be_set && has_spec || is_list())
        }
        _ => false,
    }
}

/// Returns whether a kind is foreign to Kubernetes, whose kinds begin with a capital letter, and not a misspelt
/// DaemonSet or StatefulSet: `feature`, `compute#disk`.
pub(crate) fn is_of_others(kind: &str) -> bool {
    let is_name = kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let sets: Vec<_> = RESOURCES.iter().map(|resource| resource.kind.as_str()).collect();
    !kind.is_empty() && !is_name && near_kind(kind, &sets).is_none()
}

/// The importance of a text that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// An error: the text was named, may have a set, or is applied together with other files.
    Error,
    /// An object of a different kind that is applied alone.
    OtherKind,
    /// No object: without an `apiVersion` or a `kind`, or a template.
    NotAManifest,
}

impl Broken {
    /// Returns the importance of a source that cannot be read.
    pub fn of(text: &str, group: &Group) -> Broken {
        match group {
            Group::Named | Group::Rendered { .. } => Broken::Error,
            _ if is_template(text) || !mentions_an_object(text) => Broken::NotAManifest,
            Group::Alone if !may_have_set(text) => Broken::OtherKind,
            _ => Broken::Error,
        }
    }
}

/// Returns whether an unreadable text may have a DaemonSet or StatefulSet: true unless all its kinds are different.
pub(super) fn may_have_set(text: &str) -> bool {
    let is_list = |kind: &str| kind.ends_with("List");
    let sets: Vec<_> = RESOURCES.iter().map(|resource| resource.kind.as_str()).collect();
    values_of("kind", text).any(|value| {
        let kind = value.split(['#', ',', '}']).next().unwrap_or_default();
        let kind = kind.trim().trim_matches(['"', '\'']);
        let is_name = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
        !is_name || is_list(kind) || sets.contains(&kind) || near_kind(kind, &sets).is_some()
    })
}

/// Returns whether a text has template placeholders, such as `{{ name }}` or `@NAME@`.
pub fn is_template(text: &str) -> bool {
    // The parts between two `@`.
    let words: Vec<&str> = text.split('@').collect();
    let mut words = words.get(1..words.len() - 1).unwrap_or_default().iter();
    ["{{", "{%", "<%", "<#"].iter().any(|mark| text.contains(mark))
        || words.any(|word| {
            let is_of_name = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
            !word.is_empty() && word.bytes().all(is_of_name)
        })
}

/// Each key must be at the start of a line or in quotes.
pub(super) fn mentions_an_object(text: &str) -> bool {
    KEYS.iter().all(|key| values_of(key, text).next().is_some())
}

/// Returns the rest of each line after a key at the start of the line or in quotes.
fn values_of<'t>(key: &'t str, text: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(key).filter_map(move |(at, _)| {
        let (before, after) = (&text[..at], &text[at + key.len()..]);
        let is_first = before.is_empty() || before.ends_with('\n');
        let value = match is_first {
            true => after.strip_prefix(':'),
            false if before.ends_with('"') => after.strip_prefix('"'),
            false => None,
        };
        let line = value?.lines().next().unwrap_or_default();
        Some(line.trim_start().strip_prefix(':').unwrap_or(line))
    })
}

fn is_near(word: &str, key: &str) -> bool {
    word != key && (word.eq_ignore_ascii_case(key) || strsim::damerau_levenshtein(word, key) == 1)
}

/// Returns why an OpenKruise set is not checked: only an API server converts its version for the webhook.
pub fn other_version(api_version: &str, kind: &str) -> Option<String> {
    let (group, _) = api_version.split_once('/')?;
    let mut known = RESOURCES.iter().filter(|it| it.is_kruise() && it.kind.as_str() == kind);
    let newest = known.next_back().filter(|it| it.group == group)?;
    let is_known = Resource::of(api_version, kind).is_some();
    (!is_known).then(|| {
        format!("setguard doesn't know {kind} in {api_version}; write {}", newest.api_version())
    })
}

/// Returns the problem of an object that no cluster serves, and that is or resembles a DaemonSet or StatefulSet. The
/// object must not be a [`Resource`].
pub(crate) fn unserved(node: &Node<'_>, api_version: &str, kind: &str) -> Option<Problem> {
    // Groups with a dot are extensions. These can have any kind.
    let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
    let is_extension = group.contains('.');
    let kinds: Vec<_> = RESOURCES
        .iter()
        .filter(|resource| !is_extension || resource.group == group)
        .map(|resource| resource.kind.as_str())
        .collect();
    let (key, message, help) = if !kinds.contains(&kind) {
        let near = near_kind(kind, &kinds)?;
        let is_served = Resource::of(api_version, near).is_some();
        let place = if is_served { "" } else { " in apps/v1" };
        let help = format!("did you mean {near}{place}?");
        ("kind", format!("no cluster serves {kind} in {api_version}"), help)
    } else if is_extension {
        return None;
    } else if matches!(api_version, "extensions/v1beta1" | "apps/v1beta1" | "apps/v1beta2") {
        let message = format!("Kubernetes 1.16 and later do not serve {kind} in {api_version}");
        ("apiVersion", message, "use apps/v1, and set a selector".to_owned())
    } else {
        let message = format!("no cluster serves {kind} in {api_version}");
        ("apiVersion", message, "write apps/v1".to_owned())
    };
    Some(Problem {
        field: Path::new(key).to_field(),
        mark: node.get(key).map_or(node.mark, |node| node.mark),
        message,
        help: Some(help),
    })
}

/// Returns why an object that may be a set is not checked: something fills in its kind or version before it is applied.
pub(crate) fn placeholder(node: &Node<'_>) -> Option<String> {
    let is_replaced =
        |text: &str| format!("{text} is replaced before this is applied; check what is applied");
    let whole = match &node.value {
        Value::Str(text) => Some(&**text),
        _ => node.get("items").and_then(Node::as_str),
    };
    if let Some(text) = whole.filter(|it| is_placeholder(it)) {
        return Some(is_replaced(text));
    }
    let value = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
    let (kind, version) = (value("kind"), value("apiVersion"));
    let group = version.split_once('/').map_or("", |(group, _)| group);
    // Each tool has its own marks, and no kind has such a character.
    let is_open = has_placeholder(kind) || kind.contains(|c: char| !c.is_ascii_alphanumeric());
    let mut resources = RESOURCES.iter();
    let may_be_set = resources.any(|it| {
        (is_open || it.kind.as_str() == kind) && (has_placeholder(version) || it.group == group)
    });
    let text = [version, kind].into_iter().find(|it| has_placeholder(it));
    let text = text.or(is_open.then_some(kind)).filter(|_| may_be_set)?;
    Some(is_replaced(text))
}

/// Returns whether a text stands for an object, or for a list of objects.
fn is_placeholder(text: &str) -> bool {
    text.starts_with(['$', '@', '_', '%', '<', '{', '[', '(', '#'])
        && (has_placeholder(text) || !text.contains(char::is_whitespace))
}

/// Returns whether a text that cannot be read has a placeholder in the place of a document, or of the items of a list.
pub fn has_open_place(text: &str) -> bool {
    let is_open = |it: &str| it.starts_with("{{") && it.ends_with("}}");
    let is_all_open = |document: &str| {
        let mut lines = document.lines().map(str::trim);
        let mut lines =
            lines.by_ref().filter(|it| !it.is_empty() && !it.starts_with('#')).peekable();
        lines.peek().is_some() && lines.all(is_open)
    };
    let inner = |it: &str| it.trim().trim_matches(['[', ']', ' ']).to_owned();
    text.split("\n---").map(|it| it.trim_start_matches('-')).any(is_all_open)
        || values_of("items", text).any(|it| is_open(&inner(it)))
}

fn has_placeholder(text: &str) -> bool {
    is_template(text) || text.contains("${") || text.contains("$(")
}

fn near_kind<'a>(kind: &str, kinds: &[&'a str]) -> Option<&'a str> {
    if OTHER_KINDS.split(' ').any(|it| it == kind) {
        return None;
    }
    let same = kinds.iter().copied().find(|other| other.eq_ignore_ascii_case(kind));
    same.or_else(|| nearest_of(kind, kinds.iter().copied()))
}

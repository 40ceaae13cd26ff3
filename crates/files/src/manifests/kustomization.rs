//! A kustomization, as kustomize reads it. If setguard does not fully understand it, it counts as changing its
//! resources.

use kube_yaml::Document;
use setguard_core::kubernetes::names::dns1123_label;

use super::{
    edits,
    not_checked::{file_may_have_set, may_have_set},
};
use crate::manifests::prelude::*;

/// The file names of kustomizations.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

#[derive(Debug, Default)]
pub(super) struct Kustomization {
    pub(super) file: PathBuf,
    /// Whether it changes its resources, or may do so.
    pub(super) changes: bool,
    pub(super) namespace: Option<String>,
    pub(super) is_component: bool,
    /// As it writes them.
    pub(super) resources: Vec<String>,
    pub(super) components: Vec<String>,
    pub(super) versions: Vec<Version>,
    texts: Vec<String>,
    /// Whether it names every file that it loads. Plugins, for example, load more files.
    is_plain: bool,
}

/// An image, or a generated ConfigMap or Secret. A pod template that names it changes with its version.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) name: String,
    /// Everything in the kustomization about it.
    json: String,
    /// The names in its texts. They can be files.
    pub(super) files: Vec<String>,
}

const VERSIONS: [&str; 4] = ["configMapGenerator", "imageTags", "images", "secretGenerator"];

/// The keys that change no resource. `images` may change at most the version of an image.
const QUIET: &str = "apiVersion bases buildMetadata configMapGenerator generatorOptions imageTags images kind \
    metadata namespace resources secretGenerator sortOptions";

/// More keys that name every file that they load.
const PLAIN: &str = "commonAnnotations commonLabels components labels namePrefix nameSuffix patches \
    patchesJson6902 patchesStrategicMerge replacements replicas vars";

/// Reads the first document, with the keys as kustomize spells them.
///
/// Upstream: `Kustomization.Unmarshal` in sigs.k8s.io/kustomize/api/types/kustomization.go. It ignores the case of
/// keys.
pub(super) fn first(text: &str) -> Option<Document<'_>> {
    let mut document = kube_yaml::documents(text).next()?.ok()?;
    if let Value::Map(entries) = &mut document.root.value {
        for (key, _) in entries {
            let mut known = QUIET.split(' ').chain(PLAIN.split(' '));
            if let Some(known) = known.find(|it| it.eq_ignore_ascii_case(&key.name)) {
                key.name = known.into();
            }
        }
    }
    Some(document)
}

impl Kustomization {
    /// Returns whether it labels its output with its manager.
    pub(super) fn names_manager(&self) -> bool {
        self.texts.iter().any(|it| it == "managedByLabel")
    }

    /// Returns a kustomization that setguard does not understand.
    pub(super) fn unknown(file: &Path) -> Self {
        Kustomization { file: file.to_owned(), changes: true, ..Self::default() }
    }

    /// `document` is the result of [`first`] for `text`.
    pub(super) fn of(file: &Path, text: &str, document: Option<&Document<'_>>) -> Self {
        let unknown = Self::unknown(file);
        let Some(Document { root, problems, .. }) = document else { return unknown };
        let Value::Map(entries) = &root.value else { return unknown };
        let mut keys: Vec<_> = entries.iter().map(|(key, _)| &*key.name).collect();
        let is_component = root.get("kind").and_then(Node::as_str) == Some("Component");
        keys.sort_unstable();
        let mut texts = Vec::new();
        all_texts(root, &mut texts);
        let texts = texts.into_iter().map(str::to_owned).collect();
        // A key in two spellings, or twice. The last one counts, in an order that is not the order of the text.
        if !problems.is_empty() || keys.windows(2).any(|it| it[0] == it[1]) {
            return Kustomization { is_component, texts, ..unknown };
        }
        let list = |key| items(root.get(key)).filter_map(Node::as_str).map(str::to_owned);
        let options = root.get("generatorOptions").map(Node::to_json).unwrap_or_default();
        let namespace = root.get("namespace").and_then(Node::as_str);
        let versions = VERSIONS.iter().flat_map(|key| items(root.get(key)));
        Kustomization {
            versions: versions.map(|it| Version::of(it, &options)).collect(),
            changes: entries.iter().any(|(key, value)| !is_quiet(&key.name, value))
                || kube_yaml::documents(text).nth(1).is_some(),
            namespace: namespace.filter(|it| !it.is_empty()).map(str::to_owned),
            is_component,
            resources: list("resources").chain(list("bases")).collect(),
            components: list("components").collect(),
            texts,
            is_plain: keys.iter().all(|key| has(QUIET, key) || has(PLAIN, key)),
            ..unknown
        }
    }

    /// Reads the kustomization in a folder. `None` if there is none.
    pub(super) fn of_folder(folder: &Path) -> Option<Self> {
        let files = NAMES.iter().map(|name| folder.join(name));
        let mut files = files.filter(|it| fs::symlink_metadata(it).is_ok());
        let file = files.next()?;
        if files.next().is_some() {
            return Some(Self::unknown(&file));
        }
        let text = files::text(&file).unwrap_or_default();
        Some(Self::of(&file, &text, first(&text).as_ref()))
    }

    /// Returns whether it may load a file in its folder.
    pub(super) fn may_load(&self, file: &Path) -> bool {
        let Some(name) = file.file_name().and_then(|it| it.to_str()) else { return true };
        !self.is_plain || file == self.file || self.texts.iter().any(|it| it.contains(name))
    }

    /// Returns the files and folders that it may load from its folder. kustomize refuses absolute paths.
    pub(super) fn loads(&self, folder: &Path) -> impl Iterator<Item = PathBuf> {
        let folders = self.resources.iter().chain(&self.components).map(|it| folder.join(it));
        let texts = self.texts.iter().filter(|it| Path::new(it).is_relative());
        let texts = texts.map(|it| folder.join(it));
        // A label can be the name of a folder too.
        let texts = texts.filter(|it| it.is_file() || !self.is_plain && it.is_dir());
        folders.filter(|it| it.exists()).chain(texts)
    }
}

/// Returns whether a chart, or a file that a kustomization loads, may have a set.
pub(super) fn may_build_set(root: &Path) -> bool {
    let (mut open, mut seen) = (vec![root.to_owned()], BTreeSet::new());
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        match Kustomization::of_folder(&path) {
            Some(it) if !it.is_plain || it.resources.iter().any(|it| !path.join(it).exists()) => {
                return true;
            }
            Some(it) => open.extend(it.loads(&path)),
            None if path.is_file() && !file_may_have_set(&path) => {}
            None if path.is_dir()
                && !edits::has(&path, &["aemonSet", "tatefulSet", "kind: {{"]) => {}
            None => return true,
        }
    }
    false
}

impl Version {
    fn of(item: &Node<'_>, options: &str) -> Self {
        let mut texts = Vec::new();
        all_texts(item, &mut texts);
        // A generator's file can have a key before it.
        let files = texts.iter().map(|it| it.split_once('=').map_or(*it, |(_, file)| file));
        Version {
            name: item.get("name").and_then(Node::as_str).unwrap_or_default().to_owned(),
            json: format!("{}{options}", item.to_json()),
            files: files.map(str::to_owned).collect(),
        }
    }

    /// Returns the files of a kustomization with a set that may name one of these.
    pub(super) fn users(versions: &[&Self], kustomization: &Path) -> Vec<PathBuf> {
        let (mut open, mut seen) = (vec![kustomization.to_owned()], BTreeSet::new());
        while let Some(path) = open.pop() {
            if !versions.is_empty() && seen.insert(path.clone()) {
                let of = Kustomization::of_folder(&path);
                open.extend(of.iter().flat_map(|it| it.loads(&path)));
            }
        }
        let has_one = |path: &PathBuf| {
            let text = files::text(path).unwrap_or_default();
            versions.iter().any(|it| text.contains(&it.name)) && may_have_set(&text)
        };
        seen.into_iter().filter(has_one).collect()
    }
}

fn has(list: &str, key: &str) -> bool {
    list.split(' ').any(|it| it == key)
}

fn is_absent(node: &Node<'_>) -> bool {
    match &node.value {
        Value::Null => true,
        Value::Str(text) => text.is_empty(),
        Value::Seq(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

fn is_quiet(key: &str, value: &Node<'_>) -> bool {
    let is_version = !key.starts_with("image") || items(Some(value)).all(is_version);
    // kustomize refuses an invalid namespace.
    let is_valid =
        key != "namespace" || value.as_str().is_some_and(|it| dns1123_label(it).is_empty());
    is_absent(value) || has(QUIET, key) && is_version && is_valid
}

/// Returns whether an item of `images` only chooses the version, or the registry, of an image.
fn is_version(item: &Node<'_>) -> bool {
    let Value::Map(entries) = &item.value else { return false };
    let is_in_image = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let of = |key: &str| {
        let entry = entries.iter().find(|(it, _)| it.name.eq_ignore_ascii_case(key));
        entry.and_then(|(_, value)| value.as_str())
    };
    let base = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let is_plain = entries.iter().all(|(key, value)| {
        let mut known = ["digest", "name", "newName", "newTag"].into_iter();
        let is_text = |text: &str| {
            text.chars().all(is_in_image) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        known.any(|it| key.name.eq_ignore_ascii_case(it))
            && (is_absent(value) || value.as_str().is_some_and(is_text))
    });
    let renamed = of("newName").filter(|it| !it.is_empty());
    is_plain && renamed.is_none_or(|new| of("name").is_some_and(|old| base(new) == base(old)))
}

pub(super) fn all_texts<'n>(node: &'n Node<'_>, texts: &mut Vec<&'n str>) {
    match &node.value {
        Value::Str(text) => texts.push(text),
        Value::Seq(items) => items.iter().for_each(|it| all_texts(it, texts)),
        Value::Map(entries) => entries.iter().for_each(|(_, it)| all_texts(it, texts)),
        _ => {}
    }
}

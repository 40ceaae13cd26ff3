//! The elements of an ApplicationSet's generators, as far as the repository has them.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use serde_json::{Value, json};
use setguard_core::policy::file_patterns::patterns;
use walkdir::{DirEntry, WalkDir};

use super::{
    super::{
        Declared, OPEN, Way, documents_in, keys, may_mean, not_understood, sorted, strings, text,
        without,
    },
    SOURCE, applications, destination, sources, url, way,
};

/// The cluster makes Applications of it. If the repository lacks something about them, setguard follows only what
/// changes no release.
pub(in super::super) fn application_set(object: &Value, top: &Path) -> Vec<Declared> {
    let template = &object["spec"]["template"]["spec"];
    let mut generated = Generated { top, files: Vec::new(), from: Vec::new(), is_open: false };
    let mut elements = generated.by(&object["spec"]["generators"]);
    if elements.is_empty() {
        elements.push(Element::default());
    }
    let Generated { files: overrides, from, is_open, .. } = generated;
    let spec = |(element, own): &Element| {
        let mut template = template.clone();
        merge(&mut template, &own["spec"]);
        (filled(&template, element), template)
    };
    let specs: Vec<_> = elements.iter().map(spec).collect();
    let made = if is_open { Vec::new() } else { made(object, &elements) };
    let has_placeholder = |it: &Way| it.path.contains("{{") || it.source.to_string().contains("{{");
    let count = specs.iter().map(|(_, it)| sources(it).count()).max().unwrap_or_default();
    let of = |i: usize| {
        let all = specs.iter().filter_map(|(spec, raw)| Some((spec, raw, sources(raw).nth(i)?)));
        let all: Vec<_> = all.collect();
        let mut why_not = BTreeSet::new();
        for (.., source) in &all {
            let mut rest = without(source, SOURCE);
            if let (Value::Object(fields), true) =
                (&mut rest, source["directory"]["jsonnet"].is_null())
            {
                fields.remove("directory");
            }
            why_not.extend(keys(&rest).into_iter().map(str::to_owned));
            why_not.extend((!source["helm"].is_null()).then(|| "helm".to_owned()));
        }
        let patch = (!object["spec"]["templatePatch"].is_null()).then_some("templatePatch");
        let why_not: Vec<_> = why_not.iter().map(|it| &**it).chain(patch).collect();
        let is_made = !made.is_empty();
        let ways = all.iter().filter_map(|(spec, ..)| Some(way(spec, sources(spec).nth(i)?)));
        let mut ways: Vec<_> = ways.collect();
        let source = all.first().map_or(&Value::Null, |it| it.2);
        let is_elsewhere = |it: &&Value| {
            ![json!(""), url(source).into()].contains(&it[0])
                || ![Value::Null, "HEAD".into()].contains(&it[1])
        };
        let elsewhere: Vec<_> = from.iter().filter(is_elsewhere).cloned().collect();
        if is_open || ways.iter().any(has_placeholder) {
            // Only the cluster has these values, so everything that selects them counts.
            let says = Value::from(sorted(&json!([object["spec"]["generators"], source])));
            add(&mut ways, &says);
        } else if let all @ [_, ..] = &*elsewhere {
            add(&mut ways, &all.into());
        }
        Declared {
            ways,
            path: text(source, "path").unwrap_or_default(),
            files: strings(&source["helm"]["valueFiles"]),
            overrides: overrides.clone(),
            why_not: not_understood(&why_not).filter(|_| !is_made),
            rest: (!is_made || why_not.iter().any(|it| *it != "helm")).then(|| {
                let helm = if is_made { &Value::Null } else { &source["helm"] };
                sorted(&json!([without(source, SOURCE), helm, object["spec"]["templatePatch"]]))
            }),
            is_made,
            destination: all.iter().find_map(|(.., raw, _)| destination(raw)).filter(|_| !is_made),
            ..Declared::by("ApplicationSet", object)
        }
    };
    let own: Vec<_> = (0..count).map(of).collect();
    let applications = made.iter().flat_map(|it| applications(it, top));
    // The set says where they come from.
    let applications = applications.map(|it| {
        let overrides = [&*overrides, &*it.overrides].concat();
        Declared { ways: Vec::new(), overrides, ..it }
    });
    own.into_iter().chain(applications).collect()
}

/// Adds something that decides where objects come from.
fn add(ways: &mut [Way], says: &Value) {
    let sources = ways.iter_mut().filter_map(|it| it.source.as_array_mut());
    sources.for_each(|it| it.push(says.clone()));
}

/// Returns the Applications of a set, or none if only the cluster knows one of them.
fn made(object: &Value, elements: &[Element]) -> Vec<Value> {
    let (spec, namespace) = (&object["spec"], &object["metadata"]["namespace"]);
    let made = elements.iter().map(|(element, own)| {
        let mut template = spec["template"].clone();
        merge(&mut template, own);
        let mut made = filled(&template, element);
        made["metadata"]["namespace"] = namespace.clone();
        made
    });
    let made: Vec<_> = made.collect();
    let is_known =
        |it: &Value| text(&it["metadata"], "name").is_some() && !it.to_string().contains("{{");
    let are_known = spec["templatePatch"].is_null() && made.iter().all(is_known);
    if are_known { made } else { Vec::new() }
}

/// The values that a generator puts into a template, and the generator's own template.
type Element = (Value, Value);

/// The elements of generators, as far as the repository has them.
struct Generated<'a> {
    top: &'a Path,
    /// The files with elements.
    files: Vec<PathBuf>,
    /// The repositories and revisions of the elements.
    from: Vec<Value>,
    /// Whether only the cluster knows the elements.
    is_open: bool,
}

/// The most elements of a matrix.
const MOST_ELEMENTS: usize = 10_000;

impl Generated<'_> {
    fn by(&mut self, generators: &Value) -> Vec<Element> {
        let all = generators.as_array().into_iter().flatten();
        all.flat_map(|it| self.of(it)).collect()
    }

    /// Upstream: applicationset/generators in github.com/argoproj/argo-cd.
    fn of(&mut self, generator: &Value) -> Vec<Element> {
        self.is_open |= !generator["selector"].is_null();
        let kinds = keys(generator).into_iter().filter(|it| *it != "selector");
        let mut all = Vec::new();
        for kind in kinds {
            let fields = &generator[kind];
            let mut elements = match kind {
                "list" => self.list(fields),
                "git" => self.git(fields),
                "matrix" => self.matrix(&fields["generators"]),
                "merge" => {
                    self.is_open = true;
                    self.by(&fields["generators"])
                }
                _ => vec![Element::default()],
            };
            for (element, own) in &mut elements {
                if !fields["values"].is_null() {
                    let values = filled(&fields["values"], element);
                    merge(element, &json!({ "values": values }));
                }
                merge(own, &fields["template"]);
            }
            all.append(&mut elements);
        }
        all
    }

    fn list(&mut self, list: &Value) -> Vec<Element> {
        self.is_open |= !list["elementsYaml"].is_null();
        let all = list["elements"].as_array().into_iter().flatten();
        all.map(|it| (it.clone(), Value::Null)).collect()
    }

    fn git(&mut self, git: &Value) -> Vec<Element> {
        let paths = |of: &str, is_left_out: bool| {
            let all = git[of].as_array().into_iter().flatten();
            let all = all.filter(move |it| (it["exclude"] == true) == is_left_out);
            let all = all.filter_map(|it| text(it, "path"));
            all.filter(|it| !Path::new(it).components().any(|it| it == Component::ParentDir))
        };
        self.from.push(json!([url(git), git["revision"]]));
        let top = self.top;
        let excluded: Vec<_> = paths("directories", true).map(|it| format!("/{it}")).collect();
        let excluded = patterns(top, &excluded);
        let folders = paths("directories", false).flat_map(|it| folders(top, &it));
        let folders: BTreeSet<_> =
            folders.filter(|it| !excluded.matched(it, true).is_ignore()).collect();
        let folders = folders.iter().filter_map(|it| it.strip_prefix(top).ok());
        let mut all: Vec<Element> = folders.map(|it| (path_element(it), Value::Null)).collect();
        for file in paths("files", false) {
            for file in may_mean(top, file.trim_start_matches('/')) {
                let Some(documents) = documents_in(&file, top) else { continue };
                let of_path = file.parent().and_then(|it| it.strip_prefix(top).ok());
                let of_path = of_path.map(path_element).unwrap_or_default();
                let documents = documents.into_iter().flat_map(|it| match it {
                    Value::Array(all) => all,
                    it => vec![it],
                });
                all.extend(documents.map(|it| {
                    let mut element = of_path.clone();
                    merge(&mut element, &it);
                    (element, Value::Null)
                }));
                self.files.push(file);
            }
        }
        all
    }

    /// Returns each element of the first generator with each of the second.
    fn matrix(&mut self, generators: &Value) -> Vec<Element> {
        let mut all = vec![Element::default()];
        for generator in generators.as_array().into_iter().flatten() {
            let more = self.of(generator);
            if all.len() * more.len() > MOST_ELEMENTS {
                self.is_open = true;
                all.extend(more);
                continue;
            }
            let product = all.iter().flat_map(|(element, own)| {
                more.iter().map(move |(another, its_own)| {
                    let (mut element, mut own) = (element.clone(), own.clone());
                    merge(&mut element, another);
                    merge(&mut own, its_own);
                    (element, own)
                })
            });
            all = product.collect();
        }
        all
    }
}

fn merge(into: &mut Value, fields: &Value) {
    if fields.is_object() {
        json_patch::merge(into, fields);
    }
}

/// Returns the folders in a repository that match a pattern of Argo CD.
fn folders(top: &Path, pattern: &str) -> Vec<PathBuf> {
    let pattern = pattern.trim_matches('/');
    let Some(at) = pattern.find(OPEN) else { return vec![top.join(pattern)] };
    let base = pattern.get(..at).and_then(|it| it.rsplit_once('/')).map_or("", |(it, _)| it);
    let depth = pattern.split('/').count() - base.split('/').filter(|it| !it.is_empty()).count();
    let depth = if pattern.contains("**") { usize::MAX } else { depth };
    let is_it = patterns(top, &[format!("/{pattern}")]);
    let all = WalkDir::new(top.join(base)).max_depth(depth).into_iter();
    let all = all.filter_entry(|it| it.file_name() != ".git").flatten();
    let all = all.filter(|it| it.file_type().is_dir()).map(DirEntry::into_path);
    all.filter(|it| is_it.matched(it, true).is_ignore()).collect()
}

/// Returns the parameters of a folder for a template.
fn path_element(folder: &Path) -> Value {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut element = json!({ "path": folder, "path.basename": name });
    let parts = folder.iter().map(|it| it.to_string_lossy()).enumerate();
    for (i, part) in parts {
        for key in [format!("path[{i}]"), format!("index path.segments {i}")] {
            element[key] = part.clone().into();
        }
    }
    element
}

/// Returns a part of a template with the values of an element.
fn filled(template: &Value, element: &Value) -> Value {
    match template {
        Value::String(text) => {
            let mut parts = text.split("{{");
            let mut filled = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let value = part.split_once("}}").and_then(|(key, rest)| {
                    // With `goTemplate`, a path has parts of its own.
                    let key = key.trim().trim_start_matches('.').replace("path.path", "path");
                    let inside = || element.pointer(&format!("/{}", key.replace('.', "/")));
                    let value = element.get(&key).or_else(inside)?;
                    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned) + rest)
                });
                filled.push_str(&value.unwrap_or_else(|| format!("{{{{{part}")));
            }
            Value::from(filled)
        }
        Value::Array(all) => all.iter().map(|it| filled(it, element)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, it)| (key.clone(), filled(it, element)));
            Value::Object(fields.collect())
        }
        it => it.clone(),
    }
}

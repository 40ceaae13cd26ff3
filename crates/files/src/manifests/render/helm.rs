//! Charts: rendering with Helm, and the way from a rendered value to the template and the values.

use std::{
    ffi::OsString,
    fs, io,
    ops::Range,
    path::{Component, Path, PathBuf},
    process::Command,
    rc::Rc,
    time::Duration,
};

use kube_yaml::{Mark, Node};
use walkdir::WalkDir;

use super::{
    Output, Root, Settings, documents,
    fence::{Fence, Schemas},
    place::{Files, Origin, Part, Place, Step, follow, name_of, value_at},
    program,
    root::{Kind, Release},
    shown,
};
use crate::manifests::{
    files::{LARGEST_POLICY, read_regular},
    git,
    objects::text_of,
    patches::items,
    source::Source,
};

pub(super) fn template(
    root: &Root,
    chart: &Path,
    fence: &Fence<'_>,
    release: &Release,
    settings: &Settings,
) -> Result<Output, String> {
    let (_, program) =
        program::find(&["helm"]).ok_or("a chart needs helm, and it is not on the PATH")?;
    let Schemas { are_packed, leading_out } = fence.chart()?;
    let home = program::home()?;
    let name = release.name.clone().or_else(|| settings.release.clone());
    let name = legal(&name.unwrap_or_else(|| name_of_chart(root)));
    let mut args = vec!["template".into()];
    // Helm installs them. In a folder, they are checked as files, except those in archives.
    args.extend((!root.is_found || are_packed).then(|| "--include-crds".into()));
    args.extend((are_packed || leading_out.is_some()).then(|| SKIP.into()));
    for (name, file) in &release.values {
        let file = dunce::canonicalize(file);
        let file = file.map_err(|error| format!("{}: {error}", name.display()))?;
        // The change chooses the files that a policy, Argo CD or Flux names.
        if root.is_found && !fence.shows(&file) {
            return Err(format!("{} is hidden, or outside of the repository", name.display()));
        }
        // Helm takes a comma for the end of a path, and what follows for the path of a different file.
        if file.to_string_lossy().contains([',', '"']) {
            return Err(format!("{}: Helm reads no path with a comma or quote", name.display()));
        }
        args.extend(["--values".into(), file.into_os_string()]);
    }
    if let Some(inline) = &release.inline {
        let file = home.path().join("inline-values.yaml");
        fs::write(&file, inline).map_err(|error| format!("{}: {error}", file.display()))?;
        args.extend(["--values".into(), file.into_os_string()]);
    }
    let namespace = release.namespace.as_ref().or(settings.namespace.as_ref());
    let flags = [("namespace", namespace), ("kube-version", settings.kube_version.as_ref())];
    let flags = flags.into_iter().filter_map(|(flag, value)| Some(format!("--{flag}={}", value?)));
    args.extend(flags.chain(release.flags.iter().cloned()).map(OsString::from));
    args.extend((root.is_upgrade || settings.is_upgrade).then(|| "--is-upgrade".into()));
    // The change chooses the name of the folder. It must not become a flag.
    args.extend(["--".into(), name.into(), chart.as_os_str().to_owned()]);
    let text = program::run(program::closed(&program, &args, home.path()), settings.timeout)
        .map_err(|why| {
            let why = why.replace(&*chart.to_string_lossy(), &root.folder.to_string_lossy());
            let is_missing = why.contains(MISSING);
            let build = format!("; run helm dependency build {}", root.folder.display());
            let why = why.split("\n\nUse --debug flag").next().unwrap_or_default();
            let is_old = why.contains("unknown flag: --skip");
            let old = "; this chart has packed charts or a schema that leads out of it, and needs Helm 3.16 or newer";
            let more = if is_missing { &*build } else if is_old { old } else { "" };
            format!("helm: {why}{more}")
        })?;
    let mut last = None;
    let part = |(line, range): (usize, Range<usize>)| {
        let mut lines = text.get(range.clone()).unwrap_or_default().lines();
        let template = lines.find_map(|it| it.strip_prefix("# Source: "));
        // Helm names a file of crds/ only in the first of its documents.
        last = template.map(|it| it.trim().to_owned()).or(last.take());
        let origin = last.clone().map_or(Origin::Unknown, Origin::Helm);
        Part { line, range, origin, comments: Vec::new() }
    };
    let parts = documents(&text).into_iter().map(part).collect();
    let note = leading_out.map(|schema| {
        let (root, schema) = (root.name(), schema.display());
        format!("{root}: its values are not validated, because {schema} refers to other documents")
    });
    Ok(Output { text, parts, note })
}

/// Helm's message about a missing archive of a dependency.
pub(super) const MISSING: &str = "missing in charts/ directory";

/// The longest chain of charts that need each other, so that a cycle ends.
pub(super) const LEVELS: usize = 4;

/// A validator reads any file, or asks any server, that a schema refers to.
const SKIP: &str = "--skip-schema-validation";

/// Returns the manifests of an installed release as Helm recorded them, without hooks. The error has Helm's own words,
/// for example if the release does not exist.
pub fn recorded(
    release: &str,
    namespace: Option<&str>,
    context: Option<&str>,
    timeout: Duration,
) -> Result<String, String> {
    let (_, program) = program::find(&["helm"])
        .ok_or("--against-release needs helm, and it is not on the PATH")?;
    let mut command = Command::new(program);
    command.args(["get", "manifest"]);
    command.args(namespace.map(|it| format!("--namespace={it}")));
    command.args(context.map(|it| format!("--kube-context={it}")));
    command.args(["--", release]);
    program::run(command, timeout).map_err(|why| format!("--against-release {release}: {why}"))
}

/// Returns the name of the chart's folder. `.` has only the name that `Chart.yaml` gives it. The name is the same on
/// both sides of a change, even if the change renames the chart.
fn name_of_chart(root: &Root) -> String {
    let folder = root.folder.file_stem().map(|it| it.to_string_lossy().into_owned());
    let named =
        |folder: &Path| of_chart(folder, "Chart.yaml", |it| Some(text_of(it, "name").to_owned()));
    let named = || named(&root.folder).or_else(|| named(&root.at));
    folder.or_else(named).unwrap_or_default()
}

fn of_chart<T>(folder: &Path, file: &str, see: impl FnOnce(&Node<'_>) -> Option<T>) -> Option<T> {
    let bytes = read_regular(&folder.join(file), LARGEST_POLICY).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let document = kube_yaml::documents(&text).next()?.ok()?;
    see(&document.root)
}

/// Returns a name of a release in the characters that Helm allows.
fn legal(name: &str) -> String {
    let name = name.to_lowercase();
    let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let name: String = name.chars().map(|c| if is_allowed(c) { c } else { '-' }).take(53).collect();
    match name.trim_matches('-') {
        "" => "release".to_owned(),
        name => name.to_owned(),
    }
}

/// Adds the dependencies of a chart at a commit. Git often ignores them, and Helm fails without them. A chart in the
/// repository counts as it was at the commit. The work tree may have the archives of the other charts, but a tracked
/// archive there is part of the change. `levels` limits how many charts in the repository may depend on each other in a
/// row.
pub(super) fn add_dependencies(chart: &Path, now: &Path, levels: usize) {
    let (charts, archives) = (chart.join("charts"), now.join("charts"));
    // A link can lead anywhere.
    if charts.is_symlink() {
        return;
    }
    let locked = dependencies(chart, "Chart.lock");
    for [name, version, repository] in
        locked.or_else(|| dependencies(chart, "Chart.yaml")).unwrap_or_default()
    {
        let archive = format!("{name}-{version}.tgz");
        let is_name = Path::new(&archive).file_name().is_some_and(|it| *it == *archive);
        if !is_name || charts.join(&archive).exists() || charts.join(&name).exists() {
            continue;
        }
        let _ = fs::create_dir_all(&charts);
        if let Some(way) = repository.strip_prefix("file://").filter(|_| levels > 0) {
            let inside = chart.join(way);
            if repository_of(&inside).is_none_or(|it| repository_of(chart) != Some(it)) {
                continue;
            }
            add_dependencies(&inside, &now.join(way), levels - 1);
            let _ = copy(&inside, &charts.join(&name));
            continue;
        }
        let archive = (archives.join(&archive), charts.join(&archive));
        let is_own = repository_of(&archives).is_some_and(|it| repository_of(now) == Some(it));
        if is_own
            && !archives.is_symlink()
            && !is_tracked(&archive.0)
            && archive.0.symlink_metadata().is_ok_and(|it| it.is_file())
        {
            let _ = fs::copy(archive.0, archive.1);
        }
    }
}

/// Returns the folder of the repository that a path leads to.
fn repository_of(path: &Path) -> Option<PathBuf> {
    let path = dunce::canonicalize(path).ok()?;
    path.ancestors().find(|it| it.join(".git").exists()).map(Path::to_owned)
}

/// Returns whether git tracks a file, or whether that is unknown.
fn is_tracked(file: &Path) -> bool {
    let tracked = |file: &Path| {
        let file = dunce::canonicalize(file).ok()?;
        let tracked = git::tracked(file.parent()?).ok()?;
        // A whole submodule can count as tracked.
        Some(tracked.iter().any(|it| file.starts_with(it)))
    };
    tracked(file).unwrap_or(true)
}

/// Copies the files of a folder, but no links, because these can lead anywhere.
fn copy(folder: &Path, to: &Path) -> io::Result<()> {
    let all: Vec<_> = WalkDir::new(folder).into_iter().flatten().collect();
    for entry in all.iter().filter(|it| !it.path_is_symlink()) {
        let copy = to.join(entry.path().strip_prefix(folder).unwrap_or(entry.path()));
        match entry.file_type().is_dir() {
            true => fs::create_dir_all(copy)?,
            false => fs::copy(entry.path(), copy).map(|_| ())?,
        }
    }
    Ok(())
}

/// Returns the name, the version and the repository of each dependency in a file of a chart.
fn dependencies(chart: &Path, file: &str) -> Option<Vec<[String; 3]>> {
    of_chart(chart, file, |it| {
        let all = items(it.get("dependencies"));
        let all =
            all.map(|it| ["name", "version", "repository"].map(|key| text_of(it, key).to_owned()));
        Some(all.collect())
    })
}

/// Returns the folders of the dependencies that are in the same repository.
pub(in crate::manifests) fn local_dependencies(chart: &Path) -> Vec<PathBuf> {
    let all = dependencies(chart, "Chart.yaml").unwrap_or_default().into_iter();
    all.filter_map(|[.., it]| Some(chart.join(it.strip_prefix("file://")?))).collect()
}

pub(super) struct Chart<'a> {
    pub(super) root: &'a Root,
    /// Without links.
    pub(super) folder: &'a Path,
}

impl Chart<'_> {
    /// Returns the origin of a value or a comment in the text of an object: a line of the values if the field is one
    /// value alone, otherwise the line of the template.
    pub(super) fn place(
        &self,
        template: &str,
        object: &Node<'_>,
        path: &[Step<'_>],
        comment: Option<&str>,
        files: &mut Files,
    ) -> Option<Place> {
        let (_, inside) = template.split_once('/')?;
        // A template can print such a comment too.
        if !Path::new(inside).components().all(|it| matches!(it, Component::Normal(_))) {
            return None;
        }
        let source = self.read(inside, files)?;
        let line = |line| Mark { line, column: 1, width: 0 };
        if let Some(comment) = comment {
            let mut lines = source.text().lines();
            let at = lines.position(|it| it.trim() == comment.trim())? + 1;
            return Some((source, line(at)));
        }
        let found = Template::of(source.text()).find(object, path);
        let found = found.map(|found| (Rc::clone(&source), found));
        let Some((source, found)) =
            found.or_else(|| self.included(inside, &source, object, path, files))
        else {
            return Some((source, line(1)));
        };
        let template = Template::of(source.text());
        let rest = path.get(found.steps..).unwrap_or_default();
        if let Some(value) = template.value(found.line)
            && let Some(place) = self.value(inside, value, object, rest, files)
        {
            return Some(place);
        }
        let text = source.text().lines().nth(found.line - 1).unwrap_or_default();
        let column = text.len() - text.trim_start().len() + 1;
        let width = text.trim().chars().count();
        Some((source, Mark { line: found.line, column, width }))
    }

    /// Finds the object in a file of named templates, if the template only includes one.
    fn included(
        &self,
        template: &str,
        source: &Source,
        object: &Node<'_>,
        path: &[Step<'_>],
        files: &mut Files,
    ) -> Option<(Rc<Source>, Nearest)> {
        let (before, _) = template.rsplit_once("templates/")?;
        let folder = self.file(&format!("{before}templates/"));
        let entries = WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
        let names = source.text().split("include \"").skip(1);
        let names: Vec<_> = names.filter_map(|it| it.split('"').next()).collect();
        let helpers = entries.filter(|it| it.path().extension().is_some_and(|it| it == "tpl"));
        helpers.into_iter().find_map(|file| {
            let helper = files.get(file.path(), &shown(self.root, self.folder, file.path()))?;
            let defines = |name: &&str| helper.text().contains(&format!("define \"{name}\""));
            names.iter().find(|name| defines(name))?;
            let found = Template::of(helper.text()).find(object, path)?;
            Some((helper, found))
        })
    }

    fn read(&self, inside: &str, files: &mut Files) -> Option<Rc<Source>> {
        let file = self.file(inside);
        files.get(&file, &shown(self.root, self.folder, &file))
    }

    /// Returns the path of a file that Helm names. Helm names a subchart by its alias.
    pub(super) fn file(&self, inside: &str) -> PathBuf {
        let mut chart = self.folder.to_owned();
        let mut rest = inside;
        while let Some((alias, below)) =
            rest.strip_prefix("charts/").and_then(|it| it.split_once('/'))
        {
            let folder = chart.join("charts");
            let name = || {
                of_chart(&chart, "Chart.yaml", |it| {
                    let mut all = items(it.get("dependencies"));
                    let of = all.find(|it| text_of(it, "alias") == alias)?;
                    Some(text_of(of, "name").to_owned())
                })
            };
            let is_there = folder.join(alias).is_dir();
            let name = if is_there { None } else { name() };
            chart = folder.join(name.as_deref().unwrap_or(alias));
            rest = below;
        }
        chart.join(rest)
    }

    /// Returns the line of a value such as `image.tag`. The last file with the value counts. A subchart has its values
    /// under its name.
    fn value(
        &self,
        template: &str,
        value: &str,
        object: &Node<'_>,
        rest: &[Step<'_>],
        files: &mut Files,
    ) -> Option<Place> {
        let keys: Vec<_> = value.split('.').collect();
        let mut charts: Vec<&str> = template.split('/').collect();
        charts.truncate(charts.iter().rposition(|it| *it == "charts").map_or(0, |it| it + 2));
        let is_global = keys.first() == Some(&"global");
        let names = charts.iter().skip(1).step_by(2).copied().filter(|_| !is_global);
        let whole: Vec<_> = names.chain(keys.iter().copied()).collect();
        let Kind::Chart(release) = &self.root.kind else { return None };
        let documents = release.inline.iter().flat_map(|it| kube_yaml::documents(it));
        let steps: Vec<_> = whole.iter().map(|key| Step::Key(key)).collect();
        // Values inside an object of Argo CD or Flux have no place of their own.
        let key = whole.join(".");
        let is_set = |flag: &String| flag.split('=').nth(1) == Some(&key);
        if release.flags.iter().any(is_set)
            || documents.flatten().any(|it| follow(&it.root, object, &steps).0 == steps.len())
        {
            return None;
        }
        let mut candidates = Vec::new();
        for (name, at) in release.values.iter().rev() {
            // setguard has checked the names in a change before Helm ran.
            candidates.push((files.named(at, name), &whole));
        }
        let inner = [&charts[..], &["values.yaml"]].concat().join("/");
        candidates.push((self.read("values.yaml", files), &whole));
        candidates.push((self.read(&inner, files), &keys));
        candidates.into_iter().find_map(|(source, keys)| {
            let source = source?;
            let tree = kube_yaml::documents(source.text()).flatten().next()?.root;
            let steps = keys.iter().map(|key| Step::Key(key));
            let steps: Vec<_> = steps.chain(rest.iter().copied()).collect();
            let (found, mark, _) = follow(&tree, object, &steps);
            (found == steps.len()).then(|| (Rc::clone(&source), mark))
        })
    }
}

/// The lines of a template that look like YAML keys.
struct Template<'t> {
    lines: Vec<&'t str>,
    keys: Vec<KeyLine<'t>>,
}

#[derive(Clone, Copy, Debug)]
struct KeyLine<'t> {
    /// Counted from 1.
    line: usize,
    /// The number of characters before the key.
    indent: usize,
    is_item: bool,
    key: &'t str,
    rest: &'t str,
}

#[derive(Clone, Copy)]
struct Nearest {
    /// The number of existing steps of the path.
    steps: usize,
    line: usize,
}

impl<'t> Template<'t> {
    fn of(text: &'t str) -> Self {
        let lines: Vec<_> = text.lines().collect();
        let keys = lines.iter().enumerate().filter_map(|(i, line)| KeyLine::of(line, i + 1));
        Template { keys: keys.collect(), lines }
    }

    /// Finds the object in the template, and as many steps of a path in it as exist.
    fn find(&self, object: &Node<'_>, path: &[Step<'_>]) -> Option<Nearest> {
        let (kind, name) = (text_of(object, "kind"), name_of(object));
        let starts = self.keys.iter().enumerate();
        let starts = starts.filter(|(_, it)| it.indent == 0 && it.key == "kind" && it.rest == kind);
        let ends = |line: usize| self.lines.get(line - 1).is_some_and(|it| it.starts_with("---"));
        let candidates = starts.map(|(i, it)| {
            let first = (1..it.line).rev().find(|line| ends(*line)).unwrap_or(0);
            let last = (it.line..=self.lines.len()).find(|line| ends(*line)).unwrap_or(usize::MAX);
            let own = self.keys.iter().filter(|key| key.line > first && key.line < last);
            let own: Vec<_> = own.copied().collect();
            let from = self.keys.get(i).map_or(1, |it| it.line);
            let found = within(&own, object, path).unwrap_or(Nearest { steps: 0, line: from });
            (likeness(&own, name), found)
        });
        let rank = |(likeness, found): &(isize, Nearest)| (*likeness, found.steps);
        let best =
            candidates.reduce(|best, next| if rank(&next) > rank(&best) { next } else { best });
        best.map(|(_, found)| found)
    }

    /// Returns the value of the chart that stands alone at a key, such as `image.tag`. A condition on a value, or a
    /// function of it, does not make it the field's value.
    fn value(&self, line: usize) -> Option<&'t str> {
        let rest = self.keys.iter().find(|it| it.line == line)?.rest;
        let action = if rest.is_empty() { self.action(line + 1)? } else { action(rest)? };
        let mut actions = vec![action];
        // `{{- with .Values.resources }}` is above or below the key, and then comes `toYaml .`.
        if action.starts_with("with ") {
            actions.push(self.action(line + 2)?);
        } else if !action.contains(".Values.") {
            actions.push(self.action(line - 1).filter(|it| it.starts_with("with "))?);
        }
        let mut values = Vec::new();
        for (i, word) in actions.iter().flat_map(|it| words(it).enumerate()) {
            match word.trim_start_matches('$').strip_prefix(".Values.") {
                Some(value) => values.push(value),
                None if word == "with" && i == 0 => {}
                None if is_keeping(word) => {}
                None => return None,
            }
        }
        let uses_dot = actions.len() == 1 || actions.iter().any(|it| words(it).any(|it| it == "."));
        let [value] = values[..] else { return None };
        uses_dot.then_some(value)
    }

    fn action(&self, line: usize) -> Option<&'t str> {
        action(self.lines.get(line.checked_sub(1)?)?)
    }
}

/// Returns the content of a text that consists of one action.
fn action(text: &str) -> Option<&str> {
    let inside = text.trim().trim_matches(['"', '\'']).strip_prefix("{{")?.strip_suffix("}}")?;
    let action = inside.trim_matches(['-', ' ']);
    (!action.contains("{{")).then_some(action)
}

/// Returns the words of an action, without texts.
fn words(action: &str) -> impl Iterator<Item = &str> {
    let outside = action.split('"').step_by(2);
    outside.flat_map(|it| it.split([' ', '|', '(', ')'])).filter(|it| !it.is_empty())
}

/// Returns whether a word in an action can keep a value as it is.
fn is_keeping(word: &str) -> bool {
    let functions = "default float64 indent int int64 lower nindent quote required squote toJson toString toYaml tpl \
                     trim trunc upper";
    let mut functions = functions.split(' ');
    matches!(word, "." | "$") || word.parse::<f64>().is_ok() || functions.any(|it| it == word)
}

impl<'t> KeyLine<'t> {
    fn of(line: &'t str, number: usize) -> Option<Self> {
        let text = line.trim_start();
        let item = text.strip_prefix("- ");
        let text = item.map_or(text, str::trim_start);
        let (key, rest) = text.split_once(':')?;
        let key = key.trim_matches(['"', '\'']);
        let is_in_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
        let is_key = !key.is_empty() && key.chars().all(is_in_key);
        let rest = rest.split(" #").next().unwrap_or_default().trim();
        let (is_item, indent) = (item.is_some(), line.len() - text.len());
        is_key.then_some(KeyLine { line: number, indent, is_item, key, rest })
    }

    /// Returns whether the line's value, a name with placeholders, can be this name.
    fn names(&self, name: &str) -> bool {
        literals(self.rest).all(|it| name.contains(it))
    }
}

/// Returns the parts of a text outside of `{{ }}`.
fn literals(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("{{").map(|it| it.split_once("}}").map_or(it, |(_, after)| after));
    parts.map(|it| it.trim_matches(['"', '\'', ' '])).filter(|it| !it.is_empty())
}

/// Returns the number of literal characters of an object's name in its template. Negative for a different name.
fn likeness(keys: &[KeyLine<'_>], name: &str) -> isize {
    let metadata = keys.iter().skip_while(|it| it.key != "metadata").skip(1);
    let mut inside = metadata.take_while(|it| it.indent > 0);
    let Some(line) = inside.find(|it| it.key == "name") else { return 0 };
    if !line.names(name) {
        return -1;
    }
    literals(line.rest).map(str::len).sum::<usize>().try_into().unwrap_or(0)
}

/// Follows a path through the lines of an object, as far as its template has the keys.
fn within(keys: &[KeyLine<'_>], object: &Node<'_>, path: &[Step<'_>]) -> Option<Nearest> {
    let (mut region, mut at, mut nearest) = (keys, Some(object), None);
    for (done, step) in path.iter().enumerate() {
        let indent = region.first()?.indent;
        let found = match step {
            Step::Key(key) => region.iter().position(|it| it.indent == indent && it.key == *key),
            Step::Item(i) => {
                let starts = region.iter().enumerate();
                let starts = starts.filter(|(_, it)| it.is_item && it.indent == indent);
                let starts: Vec<_> = starts.map(|(start, _)| start).collect();
                let node = at.and_then(|it| items(Some(it)).nth(*i));
                let name = node.map_or("", |it| text_of(it, "name"));
                let named = |start: &usize| {
                    let mut lines = region.iter().skip(*start).enumerate();
                    let own = lines
                        .by_ref()
                        .take_while(|(i, it)| *i == 0 || !(it.is_item && it.indent == indent));
                    let mut own = own.map(|(_, it)| it).filter(|it| it.indent == indent);
                    let line = own.find(|it| it.key == "name" && it.names(name))?;
                    Some((literals(line.rest).map(str::len).sum::<usize>(), *start))
                };
                // A literal name counts more than a placeholder.
                let mut all: Vec<_> = starts.iter().filter_map(named).collect();
                all.sort_by_key(|it| std::cmp::Reverse(it.0));
                match (&all[..], &starts[..]) {
                    ([(likeness, one), rest @ ..], _) => {
                        rest.first().is_none_or(|(other, _)| other < likeness).then_some(*one)
                    }
                    ([], [one]) => Some(*one),
                    _ => None,
                }
            }
        };
        let Some(found) = found else { return nearest };
        let start = region.get(found)?;
        nearest = Some(Nearest { steps: done + 1, line: start.line });
        let rest = region.get(found..).unwrap_or_default();
        region = match step {
            Step::Key(_) => {
                let rest = rest.get(1..).unwrap_or_default();
                let end = rest.iter().position(|it| it.indent <= indent);
                rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
            }
            Step::Item(_) => {
                let next = rest.iter().skip(1).position(|it| it.is_item && it.indent <= indent);
                rest.get(..next.map_or(rest.len(), |it| it + 1)).unwrap_or_default()
            }
        };
        at = at.and_then(|it| value_at(it, std::slice::from_ref(step)));
        if region.is_empty() {
            return nearest;
        }
    }
    nearest
}

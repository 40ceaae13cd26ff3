//! The objects before and after the change, and the nodes.

use std::{
    cell::{LazyCell, OnceCell},
    time::Duration,
};

use setguard_core::{
    inventory::fixed::{Id, Refusals},
    object::storage::Storage,
};

use super::configs::Configs;
use crate::{
    dump::{self, ALLOW_EMPTY, is_empty, nothing_in},
    sides::Sides,
};
use setguard_files::manifests::{
    alternatives::Alternatives,
    layout::{Layout, clean, shown},
    listing::place,
    not_a_manifest::has_open_place,
    patches::items,
    render::recorded,
};

use crate::plan::prelude::*;

#[derive(Debug)]
pub(super) struct Given {
    pub(super) id: ObjectId,
    pub(super) resource: &'static Resource,
    pub(super) file: String,
    /// The manifest as JSON. The tree can be read again from it.
    pub(super) json: String,
    pub(super) problems: Vec<Problem>,
}

#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) given: Vec<Given>,
    pub(super) sides: Sides,
    pub(super) world: PlannedCluster,
    pub(super) configs: Configs,
    /// The objects around the sets with immutable fields, before and after.
    neighbors: [Inventory; 2],
    refusals: OnceCell<Refusals>,
    removed: OnceCell<BTreeSet<Id>>,
    pub(super) namespaces: Namespaces,
    pub(super) old_namespaces: Namespaces,
    pub(super) storage: Storage,
    /// Path facts by the name of the new file.
    pub(super) contexts: HashMap<String, PathContext>,
    /// The kustomizations that change image or ConfigMap versions in the sets of a file, by its path without links.
    pub(super) renewed: HashMap<PathBuf, String>,
    /// Objects in the new manifests that are not planned.
    left_out: Vec<NotChecked>,
    /// Whether some new manifests are unreadable. A missing object then may still exist.
    pub(super) lacks_new: bool,
    /// Whether some previous objects are unreadable. A missing object then may not be new.
    pub(super) lacks_previous: bool,
}

/// The rendered output of a root before and after the change, or the manifests outside all rendered roots.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) new: Vec<Source>,
    pub(super) old: Vec<Source>,
    pub(super) contexts: HashMap<String, PathContext>,
    /// The commit with the previous manifests, if these are not rendered.
    pub(super) commit: Option<Commit>,
    pub(super) lacks_new: bool,
    pub(super) lacks_old: bool,
}

#[derive(Debug)]
pub(super) struct Paths<'a> {
    pub(super) new: &'a [PathBuf],
    /// The namespace of manifests, new or previous, that set none.
    pub(super) namespace: Option<&'a str>,
    pub(super) old: &'a [PathBuf],
    /// The commit with the previous manifests, at the same paths as the new manifests.
    pub(super) old_commit: Option<&'a str>,
    pub(super) nodes: &'a [PathBuf],
    pub(super) clusters: &'a Clusters,
    pub(super) exclude: &'a Exclude,
    /// The file of the policy, if there is one.
    pub(super) policy: Option<&'a str>,
    pub(super) may_be_empty: bool,
    pub(super) looks_at_namespaces: bool,
    pub(super) limits_rollouts: bool,
}

impl Input {
    /// Reads all files, the new manifests by the schema of this release. Calls `complain` for each unreadable file and
    /// document.
    pub(super) fn read(
        paths: &Paths<'_>,
        release: Version,
        now: Timestamp,
        complain: &mut dyn FnMut(String),
    ) -> Input {
        let mut input = Input::default();
        input.world.now = now;
        let mut lacks = false;
        let mut complain_of_old = |message| {
            lacks = true;
            complain(message);
        };
        let (mut old, ..) = texts(paths.old, paths, &mut complain_of_old);
        place(old.iter_mut(), paths.old, paths.new);
        let empty = old.iter().find(|it| !paths.may_be_empty && is_empty(it, true)).map(nothing_in);
        empty.into_iter().chain(unbuilt(&old, paths.old)).for_each(&mut complain_of_old);
        let (mut unreadable, mut before, mut commit) = (Vec::new(), Listing::default(), None);
        if let Some(reference) = paths.old_commit {
            let found = Commit::find_start("--against-ref", reference);
            match found.and_then(|it| Ok((at_commit(&it, paths)?, it))) {
                Ok((found, of)) => (before, commit) = (found, Some(of)),
                Err(error) => complain_of_old(error.to_string()),
            }
        }
        for source in before.sources.drain(..) {
            match source {
                Ok(source) => old.push(source),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        match paths.old_commit {
            // The change may fix this file, so it must not fail because of it.
            Some(_) => {
                input.read_previous(old, paths.namespace, &mut |message| unreadable.push(message));
            }
            None => input.read_previous(old, paths.namespace, &mut complain_of_old),
        }
        input.lacks_previous = lacks || !unreadable.is_empty();
        unreadable.iter().for_each(|message| report::note(message));
        lacks = false;
        let mut complain_of_new = |message| {
            lacks = true;
            complain(message);
        };
        let remaining = listing::remaining(paths.new, commit.as_ref());
        let (new, contexts, mut not_read) = texts(&remaining, paths, &mut complain_of_new);
        not_read.retain(|it| it.counts(paths.looks_at_namespaces, true));
        let compared = commit.as_ref().map(|it| {
            it.add_built(before.not_compared, (&remaining, paths.exclude), &mut not_read)?;
            it.compare(&mut not_read, false)?;
            for entry in not_read.iter().filter(|it| it.is_changed) {
                let files = entry.renews.iter().flatten();
                let files = files.filter_map(|it| dunce::canonicalize(it).ok());
                input.renewed.extend(files.map(|it| (it, entry.file.clone())));
            }
            not_read.retain(|it| it.renews.is_none() || paths.limits_rollouts && it.is_changed);
            complain_of_edited(it, paths.policy, &mut not_read, &mut complain_of_new)
        });
        compared.and_then(Result::err).into_iter().for_each(|it| complain_of_new(it.to_string()));
        input.contexts = contexts;
        if !paths.may_be_empty {
            let empty = new.iter().find(|it| it.is_named() && is_empty(it, false)).map(nothing_in);
            let nothing = || format!("there are no objects in the new manifests ({ALLOW_EMPTY})");
            // If git has the manifests, nothing has to write them: the change deletes them.
            let are_deleted = commit.is_some() && !input.sides.old.is_empty();
            let are_all =
                || (!are_deleted && new.iter().all(|it| is_empty(it, false))).then(nothing);
            empty.or_else(are_all).into_iter().for_each(&mut complain_of_new);
        }
        unbuilt(&new, paths.new).into_iter().for_each(&mut complain_of_new);
        input.read_new(new, paths.namespace, release, &mut complain_of_new);
        input.complain_of_left_out(commit.as_ref(), &mut complain_of_new);
        input.lacks_new = lacks;
        input.read_moved_out(&before.moved_out, paths.namespace);
        input.continue_namesakes(false);
        input.read_all_nodes(paths, release, complain);
        input
    }

    pub(super) fn of_root(
        side: Side,
        paths: &Paths<'_>,
        release: Version,
        now: Timestamp,
        complain: &mut dyn FnMut(String),
    ) -> Input {
        let mut input = Input { contexts: side.contexts, ..Input::default() };
        input.world.now = now;
        let mut lacks = side.lacks_old;
        let note = &mut |message: String| report::note(&message);
        input.read_previous(side.old, paths.namespace, &mut noting(&mut lacks, note));
        input.lacks_previous = std::mem::replace(&mut lacks, side.lacks_new);
        input.read_new(side.new, paths.namespace, release, &mut noting(&mut lacks, complain));
        input.complain_of_left_out(side.commit.as_ref(), &mut noting(&mut lacks, complain));
        input.lacks_new = lacks;
        input.continue_namesakes(true);
        input.read_all_nodes(paths, release, complain);
        input
    }

    /// Reports objects in the new manifests that are not planned and differ from a commit. Without a commit, reports
    /// templates that were readable: they may have the objects that seem to be gone.
    fn complain_of_left_out(&mut self, commit: Option<&Commit>, complain: &mut dyn FnMut(String)) {
        let mut left_out = std::mem::take(&mut self.left_out);
        if let Some(commit) = commit {
            let compared = complain_of_edited(commit, None, &mut left_out, complain);
            compared.err().into_iter().for_each(|it| complain(it.to_string()));
        } else if !self.sides.old.is_empty() {
            left_out.retain(|it| it.line.is_none() && !self.sides.was_template(&it.file));
            left_out.iter().for_each(|it| complain(of_plan(&it.sentence())));
        }
    }

    /// Lets an object continue the one that a kustomization or a release moved to a different namespace.
    fn continue_namesakes(&mut self, is_root: bool) {
        for Given { id, file, .. } in &self.given {
            if !id.is_generated
                && !self.sides.old.contains_key(id)
                && let Some(old) = self.sides.moved_to(id, file, is_root).cloned()
                && let Some(was) = self.sides.old.remove(&old)
            {
                self.sides.old.insert(id.clone(), was);
            }
        }
    }

    /// Returns the objects around the sets, and the ones whose change the API server refuses.
    pub(super) fn neighbors(&self) -> (&Inventory, &Refusals) {
        let [old, new] = &self.neighbors;
        let compare = || Refusals::between(old, new.items().map(|(_, item)| item));
        (new, self.refusals.get_or_init(compare))
    }

    /// Returns whether the new manifests lack a claim, so that a tool that prunes deletes it.
    pub(super) fn loses_claim(&self, namespace: &str, name: &str) -> bool {
        let [old, new] = &self.neighbors;
        let removed = self.removed.get_or_init(|| match self.lacks_new {
            true => BTreeSet::new(),
            false => old.removed(new.items().map(|(_, item)| item)),
        });
        let id = (Kind::PersistentVolumeClaim, namespace.into(), name.into());
        !removed.is_empty() && removed.contains(&id)
    }

    /// Returns whether an object is only in the previous manifests.
    fn has_lost(&self, id: &ObjectId) -> bool {
        self.sides.old.contains_key(id)
            && !self.lacks_new
            && self.sides.files_of(id).next().is_none()
    }

    /// Adds the manifests of an installed release.
    pub(super) fn add_release(
        &mut self,
        release: &str,
        paths: &Paths<'_>,
        context: Option<&str>,
        complain: &mut dyn FnMut(String),
    ) -> anyhow::Result<()> {
        let limit = Duration::from_secs(60);
        let text =
            recorded(release, paths.namespace, context, limit).map_err(anyhow::Error::msg)?;
        let source = Source::named(format!("the release {release}"), text);
        self.read_previous(vec![source], paths.namespace, complain);
        Ok(())
    }

    fn read_all_nodes(
        &mut self,
        paths: &Paths<'_>,
        release: Version,
        complain: &mut dyn FnMut(String),
    ) {
        let (nodes, ..) = texts(paths.nodes, paths, complain);
        self.read_nodes(nodes, release, complain);
        if !paths.nodes.is_empty() && self.world.nodes.is_none() {
            complain("--nodes: the input has no Node".to_owned());
        }
    }

    /// Reads texts: the new manifests, the previous manifests and the nodes. An empty text counts as absent.
    pub(super) fn of_texts(
        [new, old, nodes]: [Source; 3],
        release: Version,
        now: Timestamp,
        complain: &mut dyn FnMut(String),
    ) -> Input {
        let mut input = Input::default();
        input.world.now = now;
        let given = |source: Source| match source.text().trim() {
            "" => Vec::new(),
            _ => vec![source],
        };
        let mut lacks = false;
        input.read_previous(given(old), None, &mut noting(&mut lacks, complain));
        input.lacks_previous = std::mem::take(&mut lacks);
        if is_empty(&new, false) && !input.sides.old.is_empty() {
            noting(&mut lacks, complain)(nothing_in(&new));
        }
        input.read_new(given(new), None, release, &mut noting(&mut lacks, complain));
        input.lacks_new = lacks;
        input.read_nodes(given(nodes), release, complain);
        input
    }

    fn read_nodes(
        &mut self,
        sources: Vec<Source>,
        release: Version,
        complain: &mut dyn FnMut(String),
    ) {
        for source in sources {
            self.read_source(&source, Which::Nodes, (None, release), complain);
        }
    }

    fn read_previous(
        &mut self,
        sources: Vec<Source>,
        namespace: Option<&str>,
        complain: &mut dyn FnMut(String),
    ) {
        for source in sources {
            if is_unread_template(source.text()) {
                self.sides.add_template(&source);
            }
            self.read_source(&source, Which::Stored, (namespace, Version::NEWEST), complain);
            self.old_namespaces.add(source.text());
        }
    }

    /// Adds the previous objects of files that a walk leaves out, if they are elsewhere now.
    fn read_moved_out(&mut self, sources: &[Source], namespace: Option<&str>) {
        for source in sources {
            for manifest in sets(source, namespace).filter(|it| !it.is_partial()) {
                let id = ObjectId::of(&manifest.node);
                if self.sides.files_of(&id).next().is_some()
                    && let Some(Decoded { resource, json, .. }) = manifest.decode(Version::NEWEST)
                {
                    self.sides.add_old(id, resource, (source, json));
                }
            }
        }
    }

    fn read_new(
        &mut self,
        sources: Vec<Source>,
        namespace: Option<&str>,
        release: Version,
        complain: &mut dyn FnMut(String),
    ) {
        for source in sources {
            self.namespaces.add(source.text());
            let context = self.contexts.get(source.name());
            let is_of_chart = context.is_some_and(|it| it.chart.is_some());
            let may_have_set = || may_have_set(source.text()) || has_open_place(source.text());
            if !is_of_chart && is_unread_template(source.text()) && may_have_set() {
                let (file, why) = (source.name(), "it cannot be read");
                self.left_out.push(NotChecked::file(file, Cause::Unreadable, why));
            }
            volumes::add(&mut self.storage, source.text());
            self.read_source(&source, Which::New, (namespace, release), complain);
        }
    }

    fn read_source(
        &mut self,
        source: &Source,
        which: Which,
        (namespace, release): (Option<&str>, Version),
        complain: &mut dyn FnMut(String),
    ) {
        let namespace = source.namespace(namespace);
        let importance = LazyCell::new(|| Broken::of(source.text(), source.group()));
        for document in dump::parts(source.text()) {
            let at = |line, what: &str| format!("{}:{line}: {what}", source.name());
            let of = |problem: &Problem| at(problem.mark.line, &problem.message);
            let document = match document {
                Ok(document) => document,
                Err(problem) => {
                    match *importance {
                        Broken::Error => complain(of(&problem)),
                        // A repository contains many files that aren't manifests.
                        Broken::NotAManifest => {}
                        Broken::OtherKind => {
                            report::note(&format!("{}; it is passed over", of(&problem)));
                        }
                    }
                    continue;
                }
            };
            let objects = DocumentObjects::of(document, source.is_named()).in_namespace(namespace);
            objects.strays.iter().for_each(|stray| complain(of(stray)));
            for unread in objects.unread().filter(|_| which != Which::Nodes) {
                if unread.cause != Cause::Unreadable {
                    complain(at(unread.line, &unread.why));
                } else if which == Which::New {
                    let entry =
                        NotChecked::object(source.name(), unread.line, unread.cause, unread.why);
                    self.left_out.push(entry.found_in(source));
                }
            }
            for object in objects.others {
                let is_of_commit = !source.may_be_of_cluster();
                if let Err(error) = self.add_other(&object, (namespace, is_of_commit), which) {
                    let why = format!("this {} cannot be read: {error}", object.kind());
                    complain(at(object.node.mark.line, &why));
                }
            }
            for manifest in objects.manifests {
                let Some(decoded) = manifest.decode(release) else { continue };
                match which {
                    Which::Nodes => {}
                    // A cluster never has a patch as an object.
                    Which::Stored if !source.is_named() && manifest.is_partial() => {}
                    Which::Stored => {
                        let (id, Decoded { resource, json, .. }) =
                            (ObjectId::of(&manifest.node), decoded);
                        self.sides.add_old(id, resource, (source, json));
                    }
                    Which::New => self.add_new(source, manifest, decoded),
                }
            }
        }
    }

    fn add_new(&mut self, source: &Source, manifest: Manifest<'_>, decoded: Decoded) {
        let (file, node) = (source.name().to_owned(), &manifest.node);
        let context = self.contexts.get(&file);
        let partial = context.and_then(|it| Some((it.partial(&manifest)?.clone(), Cause::Partial)));
        let left_out = partial.or_else(|| {
            context.and_then(|it| Some((it.completed(&manifest, "plan")?, Cause::Kustomization)))
        });
        if let Some((why, cause)) = left_out {
            let entry = NotChecked::object(&file, node.mark.line, cause, why);
            self.left_out.push(entry);
            return;
        }
        let Decoded { resource, json, problems } = decoded;
        let id = ObjectId::of(node);
        let problems = manifest.problems.into_iter().chain(problems).collect();
        self.sides.add_new(id.clone(), source);
        self.given.push(Given { id, resource, file, json, problems });
    }

    fn add_other(
        &mut self,
        object: &ManifestObject<'_>,
        (namespace, is_of_commit): (Option<&str>, bool),
        which: Which,
    ) -> Result<(), serde_json::Error> {
        let (kind, json) = (object.kind(), || object.node.to_json());
        let is_new = which == Which::New;
        // Most ConfigMaps can change.
        let may_be_fixed = || {
            let can_be = kind != "ConfigMap" || object.node.get("immutable").is_some();
            can_be || self.configs.had_immutable
        };
        if which != Which::Nodes
            && ObjectSummary::may_have_fixed_fields(object.api_version(), kind)
            && may_be_fixed()
            // The claims in a cluster rarely come from manifests.
            && (kind != "PersistentVolumeClaim" || !has_uid(&object.node))
            && let Some(item) = ObjectSummary::of_json(&json())
            && item.fixed.is_some()
        {
            self.neighbors[usize::from(is_new)].add(item);
        }
        if matches!(kind, "ConfigMap" | "Secret") && which != Which::Nodes {
            return self.configs.add(kind, &json(), namespace, is_new);
        }
        let counts = match which {
            Which::Nodes => kind == "Node",
            Which::Stored => !is_of_cluster(kind) || has_uid(&object.node) && !is_of_commit,
            Which::New => kind == "PodDisruptionBudget",
        };
        if counts { self.world.add(object.api_version(), kind, &json()) } else { Ok(()) }
    }
}

/// Lets objects continue previous ones that were elsewhere and no longer exist there: a root can move, or become a part
/// of a different one.
pub(super) fn continue_moved(inputs: &mut [(Option<String>, Input)]) {
    let mut moved = Vec::new();
    for (i, (_, input)) in inputs.iter().enumerate().filter(|(_, (_, it))| !it.lacks_previous) {
        let is_new = |it: &&Given| !it.id.is_generated && !input.sides.old.contains_key(&it.id);
        for Given { id, file, .. } in input.given.iter().filter(is_new) {
            let continued = |is_lost: bool| {
                let all = inputs.iter().filter(|(_, it)| it.has_lost(id) || !is_lost);
                let all: Vec<_> = all.filter_map(|(_, it)| it.sides.old.get(id)).collect();
                let mut before = Alternatives::default();
                all.iter().for_each(|was| before.extend(&was.all));
                let group = input.sides.group(file);
                let (_, json) = before.continued_by(file, group, &|_, _, _| !is_lost)?;
                Some((i, id.clone(), all.first()?.resource, json.clone()))
            };
            // Otherwise it is a second copy.
            moved.extend(continued(true).or_else(|| continued(false)));
        }
    }
    for (i, id, resource, json) in moved {
        let has_it =
            |it: &Input| it.sides.old.get(&id).is_some_and(|was| was.all.last() == Some(&json));
        let mut lost = inputs.iter_mut().map(|(_, it)| it).filter(|it| it.has_lost(&id));
        if let Some(other) = lost.find(|it| has_it(it)) {
            other.sides.old.remove(&id);
        }
        let Some((_, input)) = inputs.get_mut(i) else { continue };
        input.sides.set_old(id, resource, json);
    }
}

/// Returns a function that complains, and notes that something is missing.
pub(super) fn noting(lacks: &mut bool, complain: &mut dyn FnMut(String)) -> impl FnMut(String) {
    move |message| {
        *lacks = true;
        complain(message);
    }
}

/// Returns the manifests below paths as of a commit, and prints the notes about them.
fn at_commit(commit: &Commit, paths: &Paths<'_>) -> Result<Listing, FileError> {
    let old = commit.manifests(paths.new, paths.exclude, paths.clusters, &FolderNames::new())?;
    old.notes.iter().for_each(|note| report::note(note));
    Ok(old)
}

/// Returns the texts below paths, the facts from the folders around them, and the skipped files.
pub(super) fn texts(
    files: &[PathBuf],
    paths: &Paths<'_>,
    complain: &mut dyn FnMut(String),
) -> (Vec<Source>, HashMap<String, PathContext>, Vec<NotChecked>) {
    let mut texts = Vec::new();
    // Both sides leave out the same files.
    let exclude = match (files, paths.new) {
        ([old], [new]) => &paths.exclude.in_copy(old, new),
        _ => paths.exclude,
    };
    let listing = listing::list(files, exclude, &FolderNames::new());
    listing.all_notes().for_each(|note| report::note(&of_plan(&note)));
    for source in listing.sources {
        match source.and_then(|it| paths.clusters.assign(it).read()) {
            Ok(source) => texts.push(source),
            Err(error) => complain(error.to_string()),
        }
    }
    (texts, listing.contexts, listing.not_checked)
}

/// Reports skipped files that differ from a commit: a change must not decide what the plan covers. If it edits the
/// policy file, that may exclude them.
pub(super) fn complain_of_edited(
    commit: &Commit,
    policy: Option<&str>,
    not_read: &mut [NotChecked],
    complain: &mut dyn FnMut(String),
) -> Result<(), FileError> {
    let policy = policy.map(|it| NotChecked::file(it, Cause::Unreadable, ""));
    let mut policy: Vec<_> = policy.into_iter().collect();
    commit.compare(&mut policy, false)?;
    commit.compare(not_read, policy.iter().any(|it| it.is_changed))?;
    let edited = not_read.iter().filter(|it| it.is_changed);
    edited.map(|it| of_plan(&it.sentence())).for_each(complain);
    Ok(())
}

/// Replaces the name of the check command by the name of the plan command.
pub(super) fn of_plan(sentence: &str) -> String {
    sentence.replace("setguard check -", "setguard plan -").replace("not checked", "not planned")
}

/// Returns whether a text is a template with an unreadable document.
fn is_unread_template(text: &str) -> bool {
    is_template(text) && kube_yaml::documents(text).any(|it| it.is_err())
}

/// Returns a message for each kustomization that builds on files outside of these paths, because its objects aren't
/// known.
fn unbuilt(sources: &[Source], paths: &[PathBuf]) -> Vec<String> {
    let kustomizations = sources.iter().filter(|it| {
        let name = Path::new(it.name()).file_name();
        name.is_some_and(|name| Layout::KUSTOMIZATIONS.iter().any(|it| name == *it))
    });
    let outside = |source: &Source| {
        let folder = Path::new(source.name()).parent()?;
        let is_inside = |entry: &str| {
            let path = clean(&folder.join(entry));
            let is_remote =
                ["://", "?ref=", "git@", "github.com/"].iter().any(|it| entry.contains(it));
            !is_remote && paths.iter().any(|it| path.starts_with(clean(it)))
        };
        let document = kube_yaml::documents(source.text()).flatten().next()?;
        let lists = ["resources", "bases", "components"];
        let mut entries = lists.iter().flat_map(|key| items(document.root.get(key)));
        let entry = entries.find(|it| it.as_str().is_some_and(|entry| !is_inside(entry)))?;
        Some(format!(
            "{}:{}: {} is not among the manifests, so setguard can't say what is applied; plan what is built: \
             setguard plan -k {}",
            source.name(),
            entry.mark.line,
            entry.as_str().unwrap_or_default(),
            shown(folder).display()
        ))
    };
    kustomizations.filter_map(outside).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Nodes,
    /// For kinds that the cluster creates, only objects with a `uid`, and none in a commit: a chart may have a Pod for
    /// a test, and a folder may have a claim to copy.
    Stored,
    /// Only PodDisruptionBudgets, ConfigMaps and Secrets.
    New,
}

/// Returns whether controllers, not users, create most objects of a kind.
fn is_of_cluster(kind: &str) -> bool {
    matches!(kind, "ControllerRevision" | "Node" | "PersistentVolumeClaim" | "Pod")
}

fn has_uid(node: &Node<'_>) -> bool {
    node.get("metadata").and_then(|metadata| metadata.get("uid")).is_some()
}

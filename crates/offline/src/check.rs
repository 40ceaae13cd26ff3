//! `setguard check`: reads manifests, runs the engine on them, and reports the findings.

mod baseline;
mod checked_file;
mod cross_object;
pub mod editor;
mod finding_sink;
mod fix;
mod ignores;
pub(crate) mod in_memory;
mod inventory;
mod known_findings;
pub(crate) mod manifest_check;
mod new_manifests;
mod old_manifests;
mod old_objects;
mod policy;
pub(crate) mod rendered;
mod selection;
mod workers;

use setguard_core::policy::{Exception, file_patterns};

use self::{
    checked_file::{CheckedPart, CheckedSource, Content, PART, Reader},
    cross_object::CrossObject,
    finding_sink::FindingSink,
    fix::{FixArgs, Fixes},
    known_findings::{Collected, Known, KnownArgs},
    manifest_check::{Checker, InputContext},
    new_manifests::NewManifests,
    old_manifests::OldManifests,
    old_objects::OldObjects,
    policy::{Choice, Loaded},
    selection::Selection,
};
use crate::prelude::*;
use crate::{
    dump::{is_empty, nothing_in},
    proposal::apply::Delivery,
};
use setguard_files::manifests::{
    exclude::{exempt_earlier, exempt_files, whole},
    layout::Wrong,
    render::{missing, root::Root},
};

/// Check manifests as the API server and the webhook would, without a cluster
///
/// Reads files, folders (every .yaml, .yml and .json file below them, except those that git ignores)
/// and standard input (`-`). Checks DaemonSets and StatefulSets, also those inside a List: each alone,
/// then together with each other and with the objects of other kinds in the same run that matter to
/// them, such as Services, Deployments, PodDisruptionBudgets and Namespaces. Skips everything else.
/// Input that isn't a Kubernetes object is an error; in a folder only if it seems to be meant as
/// one.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  nothing would be denied
  1  at least one object would be denied, a file in a folder cannot be read and may have a set,
     or the baseline has findings that are fixed
  2  wrong usage, an invalid policy, a file that is named and cannot be read (whatever else was
     found), or nothing to check

Examples:
  setguard check daemonset.yaml
  setguard check deploy/ --policy policy.yaml --kube-version 1.36
  setguard check -k overlays/prod --deny-warnings
  setguard check --chart charts/agent --values prod.yaml
  setguard check --render . --against-ref origin/main --new-only
  helm template . | setguard check -
  setguard check deploy/ -o sarif=setguard.sarif -o junit=setguard.xml
  setguard check deploy/ --against-ref origin/main --new-only
  setguard check deploy/ --baseline setguard-baseline
  setguard check deploy/ --fix --dry-run
  helm template . | setguard check - -n shop --against shop.yaml
  kubectl get sts,ds -A -o yaml --show-managed-fields > live.yaml
  setguard check deploy/ --against live.yaml --as server-side-apply")]
pub struct CheckArgs {
    #[command(flatten)]
    manifests: ManifestArgs,
    /// Leaves out the files and folders that match a pattern, in folders that are named. The pattern is
    /// like one in `.gitignore`, from the working folder, such as `/examples` or `*.values.yaml`. You can
    /// repeat it
    #[arg(long, value_name = "PATTERN", value_parser = pattern, hide_short_help = true)]
    exclude: Vec<String>,
    /// The namespace of manifests that set none, also of previous ones. `helm template` prints no namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Manifests of objects that the cluster has: Nodes, StorageClasses, PriorityClasses,
    /// ServiceAccounts and others, such as `kubectl get nodes,sc,pc,sa -A -o yaml`. Only with all
    /// objects of a kind can a rule find that one is missing. You can repeat it
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    inventory: Vec<PathBuf>,
    /// The name of standard input in the report, such as the path of a chart
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    stdin_path: Option<String>,
    /// Succeeds without a DaemonSet or StatefulSet
    #[arg(long, hide_short_help = true)]
    allow_empty: bool,
    #[command(flatten, next_help_heading = "Report")]
    output: OutputArgs,
    #[command(flatten, next_help_heading = "Report")]
    selection: Selection,
    #[command(flatten, next_help_heading = "Policy")]
    policy: PolicyArgs,
    /// Uses no policy file, except the one in --policy. Otherwise the nearest setguard.yaml,
    /// .setguard.yaml or .github/setguard.yaml counts, from the working folder up to the root of its
    /// repository
    #[arg(long, hide_short_help = true, help_heading = "Policy")]
    no_config: bool,
    /// The previous manifests: an object that is also in them is checked as an update, so that
    /// changes of immutable fields are found. You can repeat it
    #[arg(
        long,
        value_name = "PATH",
        group = "old",
        help_heading = "Comparison",
        hide_short_help = true
    )]
    against: Vec<PathBuf>,
    #[command(flatten)]
    delivery: Delivery,
    #[command(flatten, next_help_heading = "Comparison")]
    known: KnownArgs,
    #[command(flatten, next_help_heading = "Fixes")]
    fix: FixArgs,
    /// Reports as if nothing exempted itself from warnings: neither by a comment `# setguard: ignore[RULE]
    /// reason` nor by the annotation setguard.io/ignore
    #[arg(long, hide_short_help = true, help_heading = "Policy")]
    no_ignores: bool,
    /// Treats warnings as denials
    #[arg(long, help_heading = "Policy")]
    deny_warnings: bool,
}

fn pattern(text: &str) -> Result<String, String> {
    file_patterns::check(text).map(|()| text.to_owned())
}

/// Runs `setguard check`. Fails if the policy or a feature gate is invalid, or the report cannot be written.
pub fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let Some(paths) = args.manifests.paths("check") else { return Ok(Exit::Error) };
    args.output.set_color();
    let repository = Repository::find();
    let strictness = Strictness { deny_warnings: args.deny_warnings };
    let (flags, no_config, known) = (&args.policy, args.no_config, &args.known);
    let choice = Choice { flags, no_config, known, repository: &repository, strictness };
    let start = |reference: &str| Commit::find_start("--against-ref", reference);
    let commit = known.against_ref.as_deref().map(start);
    let found = commit.as_ref().and_then(|it| it.as_ref().ok()).cloned();
    let Some(chosen) = choice.load(found.as_ref())? else { return Ok(Exit::Error) };
    let (Loaded { mut policy, root, .. }, weakened) = chosen;
    let exclude = Exclude::new(&args.exclude, &policy.exclude, &root);
    let clusters = Clusters::of(&policy, &root);
    if args.fix.fix {
        let (paths, exclude, policy, root) = (&paths, &exclude, &policy, &root);
        let fixes = Fixes { args, paths, exclude, policy, root, repository: &repository };
        if let Some(exit) = fixes.run()? {
            return Ok(exit);
        }
    }
    let mut reports = Reports::open(&args.output, &repository, &policy)?;
    reports.limit(|format| args.selection.min_severity(format));
    let (mut known, added) = Known::open(&args.known, found.as_ref())?;
    let namespace = args.namespace.as_deref();
    let version = args.policy.kube_version.map(|it| it.to_string());
    let mut rendering = args.manifests.rendering(namespace, version, args.allow_empty);
    rendering.releases = (policy.render.clone(), root.clone());
    rendering.upgrades_too = found.is_some();
    let names = &policy.folder_names;
    let mut rendered = rendering.read(None, &exclude, names, &mut Progress::rendering());
    // A kustomization can only have an exception for files that it takes.
    let exceptions = policy.exceptions.iter();
    let (by_file, others): (Vec<_>, Vec<_>) = exceptions.partition(|it| it.names_files());
    let has_namespaces = others.iter().any(|it| !it.namespaces.is_empty() || !it.names.is_empty());
    let patterns: Vec<_> = by_file.iter().map(|it| it.patterns(&whole(&root))).collect();
    let is_exempt = |it: &Root| patterns.iter().any(|own| own.matches(&whole(&it.file())));
    let has_none = |takers: &[Root]| !has_namespaces && !takers.iter().any(is_exempt);
    rendered.inner.iter_mut().filter(|it| has_none(&it.1)).for_each(|it| it.1.clear());
    let both = args.manifests.renders().then_some((&rendering, &rendered));
    let mut old = OldManifests::read(
        &args.against,
        commit,
        &paths,
        (&exclude, &clusters, names),
        both,
        namespace,
    );
    if !args.against.is_empty() && !args.allow_empty {
        let empty = old.sources.iter().filter(|it| it.is_named() && is_empty(it, true));
        old.failures.extend(empty.map(nothing_in));
    }
    old.notes.iter().for_each(|it| reports.note(it));
    if let Some(commit) = &found {
        rendering.also_moved(commit, old.sources.iter(), &mut rendered);
    }
    if let Some(old) = &old.roots {
        rendering.also(old, None, &mut rendered);
        missing(&rendered.roots, old).for_each(|it| reports.note(&format!("{} is new", it.name())));
        missing(old, &rendered.roots)
            .for_each(|it| reports.note(&format!("{} was removed", it.name())));
    }
    let mut progress = Progress::new("checking");
    let stdin_path = args.stdin_path.as_deref();
    let paths = listing::remaining(&paths, found.as_ref());
    let mut listing = listing::list(&paths, &exclude, names);
    if let Some(commit) = &found {
        rendered.take_again(commit, old.sources.iter());
    }
    listing.extend(rendered);
    for (root, mut empty) in std::mem::take(&mut listing.empty) {
        empty.is_changed = old.has_rendered(&root);
        listing.not_checked.push(empty);
    }
    if let Some(commit) = &found {
        let (new, limits) = (listing.not_checked.iter_mut(), policy.limits_rollouts());
        NotChecked::compare_objects(new, &old.not_checked, limits);
        let built = std::mem::take(&mut old.not_built);
        commit.add_built(built, (&paths, &exclude), &mut listing.not_checked)?;
    }
    let new = NewManifests::read(listing, &clusters, stdin_path, &mut progress);
    let takers = new.context.paths.values().flat_map(|it| &it.takers).collect();
    let names_files = policy.exceptions.iter().any(Exception::names_files);
    let new_takers =
        found.as_ref().filter(|_| names_files).map(|it| it.new_takers(&takers).unwrap_or(takers));
    // An object that a change deploys differently counts too.
    let is_same = |it: &Source| {
        old.sources.iter().any(|old| old.name() == it.name() && old.text() == it.text())
    };
    let of_release = |it: &Source| {
        let (rendered, found) = (it.rendered()?, found.as_ref()?);
        if !names_files || is_same(it) {
            return None;
        }
        let mut files = rendered.deployed_from_outside().into_iter();
        let file = files.find(|file| found.has_edited(file).unwrap_or(true))?;
        Some((it.name().to_owned(), file))
    };
    let releases: HashMap<_, _> = new.sources.iter().flatten().filter_map(of_release).collect();
    let files = new.sources.iter().flatten().filter_map(Source::file).map(|(name, path)| {
        let takers = new.context.paths.get(&name).into_iter().flat_map(|it| &it.takers);
        let takers = takers.filter(|it| new_takers.as_ref().is_some_and(|new| new.contains(it)));
        let takers = takers.map(|(file, _)| file.clone());
        let release = releases.get(&name).cloned();
        let paths = std::iter::once(path).chain(takers).chain(release).collect();
        (name, paths)
    });
    exempt_files(&mut policy, &root, files);
    let earlier = old.sources.iter().filter(|it| !releases.contains_key(it.name()));
    exempt_earlier(&mut policy, &root, earlier);
    let previous = Arc::new(std::mem::take(&mut old.objects).followed_by(&new.sources));
    if args.known.needs_old() {
        let mut context = InputContext::of_namespace(namespace);
        (context.paths, context.no_ignores) = (std::mem::take(&mut old.contexts), args.no_ignores);
        let sources = std::mem::take(&mut old.sources);
        let found = findings(sources, context, &policy, repository.clone(), strictness)?;
        known.old = Some((found, Arc::clone(&previous)));
        known.new_only = args.known.new_only;
    }
    let context = InputContext {
        namespace: args.namespace.clone(),
        no_ignores: args.no_ignores,
        old_namespaces: old.namespaces,
        may_refuse: new.context.may_refuse || !args.inventory.is_empty(),
        ..new.context
    };
    let delivery = args.delivery.checked()?;
    let checker = Checker::new(&policy, &previous, delivery, context, strictness);
    let (cluster, unreadable) = inventory::read(&args.inventory, args.allow_empty);

    let mut sink = FindingSink::new(repository, reports, known, progress);
    sink.selection = args.selection.clone();
    sink.fixes_files = true;
    old.failures.iter().chain(&unreadable).for_each(|it| sink.failure(it));
    let by_namespace = policy.looks_at_namespaces() || checker.may_refuse();
    let not_checked = new.not_checked.into_iter();
    let renews = found.is_some() && policy.limits_rollouts();
    let counts = |it: &NotChecked| it.counts(by_namespace, renews);
    sink.not_checked.extend(not_checked.filter(counts));
    for Wrong { file, problem } in new.wrong {
        let source = Source::File(file, Group::Alone).reread();
        sink.unreadable(&source, manifest_check::syntax(problem, false))?;
    }
    for root in check_all(new.sources, cluster, &checker, &mut sink)? {
        sink.reports.note(&format!(
            "{root} chooses API versions by what the cluster serves, so API versions that no cluster serves are not \
             reported"
        ));
    }
    if let Some(commit) = &found {
        // The policy of the work tree is part of the change.
        let is_of_exclude = |it: &Diagnostic| it.field.starts_with("exclude");
        let weakened = weakened.iter().flat_map(|(_, report)| &report.diagnostics);
        let excludes_more = weakened.into_iter().any(is_of_exclude);
        let excludes_more = excludes_more && args.known.policy_from_ref.is_none();
        // A change must not decide what the check covers.
        if let Err(error) = commit.compare(&mut sink.not_checked, excludes_more) {
            sink.failure(&error.to_string());
        }
    }
    sink.not_checked.retain(|it| it.renews.is_none() || it.is_changed);
    if sink.summary.is_empty() && sink.failures.is_empty() && !args.allow_empty {
        sink.failure(&nothing_to_check(&sink));
    }
    for (source, mut weakened) in weakened.into_iter().chain(added) {
        sink.object(&source, &mut weakened)?;
    }
    sink.finish(&args.known)
}

/// Returns the charts and kustomizations whose API versions depend on the cluster.
fn check_all(
    sources: Vec<Result<Source, FileError>>,
    cluster: Vec<ObjectSummary>,
    checker: &Checker<'_>,
    sink: &mut FindingSink,
) -> io::Result<BTreeSet<String>> {
    let mut cross_object = CrossObject::default();
    cluster.into_iter().for_each(|item| cross_object.in_cluster(item));
    let fixes_files = sink.fixes_files;
    workers::in_order(
        sources,
        |source| CheckedSource::of(source?, checker, fixes_files),
        |checked| match checked {
            Ok(checked) => record(checked, checker, &mut cross_object, sink),
            Err(error) => {
                sink.failure(&error.to_string());
                Ok(())
            }
        },
    )?;
    let unserved = std::mem::take(&mut cross_object.unserved);
    cross_object.run(checker, |source, worst, object| sink.more(source, worst, object))?;
    Ok(unserved)
}

/// Returns the findings in the previous manifests, as if these were new.
fn findings(
    old: Vec<Source>,
    mut context: InputContext,
    policy: &Policy,
    repository: Repository,
    strictness: Strictness,
) -> io::Result<Collected> {
    for source in &old {
        context.add(source.text());
    }
    let previous = OldObjects::default();
    let checker = Checker::new(policy, &previous, Delivery::default(), context, strictness);
    let (reports, progress) = (Reports::default(), Progress::new("checking"));
    let known = Known { collected: Some(HashMap::new()), ..Known::default() };
    let mut sink = FindingSink::new(repository, reports, known, progress);
    check_all(old.into_iter().map(Ok).collect(), Vec::new(), &checker, &mut sink)?;
    Ok(sink.known.collected.unwrap_or_default())
}

/// Records the findings in a source. If the source is long, checks its parts here, on all cores.
fn record(
    CheckedSource { source, again, all }: CheckedSource,
    checker: &Checker<'_>,
    cross_object: &mut CrossObject,
    sink: &mut FindingSink,
) -> io::Result<()> {
    cross_object.begin(source.group().clone());
    sink.progress.advance();
    sink.summary.files += 1;
    let mut broken = None;
    let has_fixes = sink.fixes_files && again.is_some();
    let mut take = |mut part: CheckedPart| {
        broken = broken.take().or(part.broken.take());
        record_part(part, &source, cross_object, sink)
    };
    match all {
        Some(all) => take(all)?,
        None => {
            let reader = Reader::of(&source);
            let check = |documents| reader.check_with_fixes(documents, checker, has_fixes);
            let parts = kube_yaml::documents(source.text()).cut(PART);
            workers::in_batches(parts, 1, check, take)?;
        }
    }
    match broken {
        None => {}
        Some((Broken::OtherKind, place)) => sink.broken.push(place),
        Some(_) => sink.strangers.push(source.name().to_owned()),
    }
    cross_object.end(again, source);
    Ok(())
}

fn record_part(
    part: CheckedPart,
    source: &Source,
    cross_object: &mut CrossObject,
    sink: &mut FindingSink,
) -> io::Result<()> {
    sink.summary.others += part.others;
    sink.summary.passed_over += part.passed_over;
    let mut number = 0;
    for content in part.contents {
        match content {
            Content::Unreadable(diagnostic) => sink.unreadable(source, diagnostic)?,
            Content::Related(item, is_stored) => cross_object.related(item, is_stored),
            Content::NotChecked(entry) => sink.not_checked(source, entry),
            Content::Ignores(ignores) => cross_object.ignores(source.name(), number, ignores),
            Content::Checked(mut manifest) => {
                sink.object(source, &mut manifest.report)?;
                number = manifest.report.number;
                cross_object.checked(*manifest);
            }
        }
    }
    Ok(())
}

/// Returns the message for a run that checks nothing. Such a run fails, because otherwise a pipeline with wrong paths
/// always succeeds.
fn nothing_to_check(sink: &FindingSink) -> String {
    let Summary { files, others, .. } = &sink.summary;
    let instead = match sink.not_checked.first() {
        Some(NotChecked { file, why, .. }) => format!("{file}: {why}"),
        None => "if there need not be any, use --allow-empty".to_owned(),
    };
    format!(
        "nothing was checked: no DaemonSet and no StatefulSet was found (files: {files}, other objects: \
         {others}); {instead}"
    )
}

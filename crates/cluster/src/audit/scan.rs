//! Reads a cluster. Reduces each object as soon as it arrives, and first evaluates each set without other objects.

use futures::stream;
use serde_json::value::RawValue;
use setguard_core::inventory::{kind, view::Freshness};
use setguard_files::report::progress::Progress;

use super::{evaluator::Evaluator, found::Found, webhook_health};
use crate::live::{
    collections::{
        AROUND, CLAIMS, ENDPOINTS, NAMESPACES, OPENKRUISE, OPENKRUISE_SETS, SETS, UNHEALTHY,
        VOLUMES, WEBHOOKS,
    },
    reader::AT_ONCE,
};
use crate::prelude::*;

pub(super) struct Scan<'a> {
    reader: &'a Reader,
    evaluator: &'a Evaluator<'a>,
    /// Empty for all.
    namespaces: &'a [String],
    sets: Vec<&'static Collection>,
    seen: RefCell<Seen>,
}

pub(super) struct Seen {
    pub(super) found: Found,
    pub(super) observed: Observed,
    pub(super) missing: Missing,
    pub(super) has_read_sets: bool,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Debug, Default)]
pub(super) struct Missing {
    /// For each kind: the namespaces, and the first answer of the API server.
    forbidden: BTreeMap<String, (Vec<String>, String)>,
    pub(super) optional: BTreeMap<Kind, String>,
    pub(super) notes: Vec<String>,
    pub(super) failures: Vec<String>,
    kinds: BTreeSet<Kind>,
    /// Whether a read failed for a reason other than missing rights.
    pub(super) is_incomplete: bool,
}

pub(super) async fn scan<'a>(
    reader: &'a Reader,
    evaluator: &'a Evaluator<'a>,
    namespaces: &'a [String],
    progress: Arc<Mutex<Progress>>,
) -> Seen {
    let seen = RefCell::new(Seen {
        found: Found::new(evaluator.strictness),
        observed: Observed::at(evaluator.now),
        missing: Missing::default(),
        has_read_sets: false,
        progress,
    });
    let mut sets: Vec<_> = SETS.iter().collect();
    // Every user may discover APIs. Listing a resource that is not served may be forbidden.
    if reader.get(&format!("/apis/{OPENKRUISE}")).await.is_ok() {
        sets.extend(&OPENKRUISE_SETS);
    }
    let scan = Scan { reader, evaluator, namespaces, sets, seen };
    scan.read_all(scan.jobs(scan.sets.iter().copied())).await;
    if !scan.seen.borrow().has_read_sets {
        return scan.seen.into_inner();
    }
    scan.read_namespaces().await;
    scan.read_all(scan.jobs(&AROUND)).await;
    scan.read_storage().await;
    scan.read_all(scan.around_unhealthy_sets()).await;
    scan.read_webhooks().await;
    let mut seen = scan.seen.into_inner();
    seen.finish(namespaces);
    seen.found.together(evaluator);
    seen
}

type Job = (&'static Collection, Option<String>);

impl Scan<'_> {
    fn jobs(&self, collections: impl IntoIterator<Item = &'static Collection>) -> Vec<Job> {
        let jobs = collections.into_iter().flat_map(|collection| {
            let places = match self.namespaces {
                some if collection.kind.is_namespaced() && !some.is_empty() => {
                    some.iter().cloned().map(Some).collect()
                }
                _ => vec![None],
            };
            places.into_iter().map(move |place| (collection, place))
        });
        jobs.collect()
    }

    fn around_unhealthy_sets(&self) -> Vec<Job> {
        let seen = self.seen.borrow();
        let namespaces = seen.observed.namespaces_with_unhealthy_sets().into_iter();
        let jobs =
            namespaces.flat_map(|it| UNHEALTHY.iter().map(move |kind| (kind, Some(it.to_owned()))));
        jobs.collect()
    }

    /// Reads the webhooks of other programs, and the endpoints of their Services.
    async fn read_webhooks(&self) {
        if !self.namespaces.is_empty() {
            let mut seen = self.seen.borrow_mut();
            WEBHOOKS.iter().for_each(|it| seen.observed.forbid(it.kind, None));
            return;
        }
        self.read_all(WEBHOOKS.iter().map(|it| (it, None)).collect()).await;
        let namespaces: BTreeSet<String> = {
            let mut seen = self.seen.borrow_mut();
            let webhooks = &mut seen.observed.webhooks;
            for webhook in webhooks.iter_mut() {
                webhook.expired = webhook_health::expired(&std::mem::take(&mut webhook.ca_bundle))
                    .filter(|it| *it < self.evaluator.now.as_second());
            }
            let services = webhooks.iter().filter_map(|it| it.service.as_ref());
            services.map(|(namespace, _)| namespace.to_string()).collect()
        };
        let endpoints = namespaces.into_iter().map(|it| (&ENDPOINTS, Some(it)));
        self.read_all(endpoints.collect()).await;
    }

    async fn read_all(&self, jobs: Vec<Job>) {
        let read = |(collection, namespace): Job| async move {
            let add = |seen: &mut Seen, json: &str| seen.add(collection, json, self.evaluator);
            self.read(collection, namespace.as_deref(), add).await;
        };
        stream::iter(jobs).for_each_concurrent(AT_ONCE, read).await;
    }

    async fn read(
        &self,
        collection: &'static Collection,
        namespace: Option<&str>,
        add: impl Fn(&mut Seen, &str) -> Result<(), String>,
    ) {
        let name = collection.name();
        let now = match namespace {
            Some(namespace) => format!("{name} in {namespace}"),
            None => name,
        };
        self.seen.borrow().progress.lock().says(now);
        let on_page = |items: &[&RawValue]| {
            let mut seen = self.seen.borrow_mut();
            for item in items {
                if let Err(failure) = add(&mut seen, item.get()) {
                    seen.missing.failures.push(failure);
                }
            }
            seen.progress.lock().advance_by(items.len());
        };
        let listed = self.reader.list(&collection.list(namespace), on_page).await;
        let mut seen = self.seen.borrow_mut();
        match listed {
            Ok(_) => seen.has_read_sets = true,
            Err(problem) => seen.problem(collection, namespace, &problem),
        }
    }

    /// Reads all namespaces, or the ones from the command line. Those must exist.
    async fn read_namespaces(&self) {
        if self.namespaces.is_empty() {
            return self.read_all(vec![(&NAMESPACES, None)]).await;
        }
        for namespace in self.namespaces {
            let json = self.reader.get(&NAMESPACES.object(namespace)).await;
            let mut seen = self.seen.borrow_mut();
            match json {
                Ok(json) => {
                    if let Err(failure) = seen.add(&NAMESPACES, &json, self.evaluator) {
                        seen.missing.failures.push(failure);
                    }
                }
                Err(Problem::Absent(_)) => {
                    let failure = format!("there is no namespace {namespace}");
                    seen.missing.failures.push(failure);
                }
                Err(problem) => seen.problem(&NAMESPACES, Some(namespace), &problem),
            }
        }
    }

    /// Reads claims and volumes where they matter, and evaluates the sets that depend on them again.
    async fn read_storage(&self) {
        let (again, namespaces) = {
            let seen = self.seen.borrow();
            let again = seen.found.namespaces_without_storage();
            let mut namespaces: BTreeSet<String> = again.iter().cloned().collect();
            let with_claims = seen.observed.namespaces_with_claim_templates().into_iter();
            namespaces.extend(with_claims.map(str::to_owned));
            (again, namespaces)
        };
        if namespaces.is_empty() {
            return;
        }
        let claims = namespaces.into_iter().map(|namespace| (&CLAIMS, Some(namespace)));
        self.read_all([(&VOLUMES, None)].into_iter().chain(claims).collect()).await;
        let storage = self.seen.borrow().observed.storage();
        for namespace in again {
            for collection in &self.sets {
                let evaluate_again = |seen: &mut Seen, json: &str| {
                    seen.found.alone_again(self.evaluator.alone(
                        collection,
                        json,
                        Some(&storage),
                    )?);
                    Ok(())
                };
                self.read(collection, Some(&namespace), evaluate_again).await;
            }
        }
    }
}

impl Seen {
    fn add(
        &mut self,
        of: &Collection,
        json: &str,
        evaluator: &Evaluator<'_>,
    ) -> Result<(), String> {
        let &Collection { api_version, kind, .. } = of;
        let wrong = |error: serde_json::Error| format!("a {kind} cannot be read: {error}");
        if !of.is_openkruise() {
            self.observed.add(kind, json).map_err(wrong)?;
        }
        match kind {
            Kind::DaemonSet | Kind::StatefulSet => {
                self.found.alone(evaluator.alone(of, json, None)?);
            }
            _ => {
                let kind = kind::of(api_version, kind.as_str());
                let item = kind.and_then(|kind| ObjectSummary::read(kind, json));
                item.map(|item| self.found.view.inventory.put(item));
            }
        }
        Ok(())
    }

    fn problem(&mut self, of: &Collection, namespace: Option<&str>, problem: &Problem) {
        let name = of.name();
        if !of.is_openkruise() {
            self.observed.forbid(of.kind, namespace);
            self.missing.kinds.insert(of.kind);
        }
        match (problem, of.unknown) {
            (Problem::Forbidden(_) | Problem::Absent(_), Some("")) => {}
            (Problem::Forbidden(why) | Problem::Absent(why), Some(what)) => {
                let place = namespace.map(|it| format!(" in namespace {it}")).unwrap_or_default();
                let note =
                    format!("setguard can't read {name}{place}, so it can't say {what}: {why}");
                self.missing.optional.entry(of.kind).or_insert(note);
            }
            (Problem::Forbidden(why) | Problem::Absent(why), None) => {
                let forbidden = self.missing.forbidden.entry(name);
                let (namespaces, _) = forbidden.or_insert_with(|| (vec![], why.clone()));
                namespaces.extend(namespace.map(str::to_owned));
            }
            // All later lists fail for the same reason.
            (Problem::Unreachable(why), _) => {
                if !self.missing.failures.contains(why) {
                    self.missing.failures.push(why.clone());
                }
            }
            (problem, _) => {
                let place = namespace.map(|it| format!(" in namespace {it}")).unwrap_or_default();
                self.missing.failures.push(format!("{name}{place}: {problem}"));
            }
        }
    }

    /// Records which kinds are completely known.
    fn finish(&mut self, namespaces: &[String]) {
        self.missing.is_incomplete = !self.missing.failures.is_empty();
        let read = SETS.iter().chain(&AROUND).chain([&NAMESPACES]);
        let read = read.filter(|collection| !self.missing.kinds.contains(&collection.kind));
        for kind in read.filter_map(|it| kind::of(it.api_version, it.kind.as_str())) {
            self.found.view.set_freshness(kind, Freshness::Fresh);
        }
        let named = (!namespaces.is_empty()).then(|| namespaces.iter().cloned().collect());
        self.found.view.namespaces = named;
    }
}

impl Missing {
    pub(super) fn noted(&self) -> impl Iterator<Item = String> {
        self.notes.iter().chain(self.optional.values()).cloned()
    }

    pub(super) fn forbidden(&self) -> impl Iterator<Item = String> {
        self.forbidden.iter().map(|(name, (namespaces, why))| {
            let place = match &**namespaces {
                [] => String::new(),
                [one] => format!(" in namespace {one}"),
                some => format!(" in {} namespaces", some.len()),
            };
            format!("{name} cannot be read{place}, so the rules about them are silent: {why}")
        })
    }

    pub(super) fn is_forbidden(&self) -> bool {
        !self.forbidden.is_empty()
    }

    pub(super) fn has_all_sets(&self) -> bool {
        self.failures.is_empty() && !SETS.iter().any(|set| self.kinds.contains(&set.kind))
    }
}

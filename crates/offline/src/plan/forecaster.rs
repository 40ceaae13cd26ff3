mod daemon_set;
mod deleted;
mod old_state;
mod stateful_set;

use k8s_openapi::api::core::v1::PodTemplateSpec;

use super::{
    headline::UNREAD,
    input::{Given, Input},
    live::is_kept,
    refusal,
};
use crate::check::{manifest_check::placeholder_at, rendered::TWICE};
use crate::plan::prelude::*;
use crate::proposal::{
    Outcome, Proposal, Simulator, Stored,
    apply::{Delivery, Removals},
};
pub(super) use setguard_core::{
    engine::{Context, evaluate_before_validation, evaluate_rollout},
    finding::difference::{differences, differences_by_meaning},
    object::{Subject, deployer::Deployer},
    rollout::stateful_set::ordinals,
    rules::{
        deleted_as_hook::{becomes_hook, recreation},
        limit_exceeded::{Cause, Wave},
        neighbor_refused,
        schema::SCHEMA,
    },
};
pub(super) use setguard_files::manifests::{layout::shown, namespaces};

pub(super) struct Forecaster<'a> {
    pub(super) input: &'a Input,
    pub(super) context: Context<'a>,
    pub(super) delivery: Delivery,
    pub(super) never_ready: &'a [String],
    /// Whether to delete cluster objects that are not in the manifests.
    pub(super) prune: bool,
    /// The chart or kustomization that the manifests are rendered from.
    pub(super) root: Option<&'a str>,
}

#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) forecasts: Vec<Forecast>,
    /// Objects with an unknown change, each with the reason.
    pub(super) unknown: Vec<String>,
    /// Messages about input that could not be read or used.
    pub(super) errors: Vec<String>,
    /// Cluster objects that are not in the manifests. kubectl keeps them.
    pub(super) left_alone: Vec<String>,
    /// Whether the plan omits unchanged objects.
    pub(super) has_unchanged: bool,
}

impl Plan {
    /// Adds the plan of a root, unless nothing in it changes.
    pub(super) fn add(&mut self, other: Plan, root: Option<&str>) {
        let mut forecasts = other.forecasts;
        if let Some(root) = root {
            if forecasts.iter().all(Forecast::is_idle) {
                self.has_unchanged |= !forecasts.is_empty();
                forecasts.clear();
            }
            forecasts.iter_mut().for_each(|it| it.file = Some(root.to_owned()));
        }
        self.forecasts.extend(forecasts);
        self.unknown.extend(other.unknown);
        self.left_alone.extend(other.left_alone);
    }
}

/// A change that the API server stores, or makes by deleting and creating the object.
struct Transition<'a> {
    id: &'a ObjectId,
    object: &'a Object<'a>,
    /// The old object; `None` if the object is new.
    before: Option<&'a Object<'a>>,
    template_changes: bool,
    /// Whether the spec changes, but not the template.
    leaves_template: bool,
    /// Whether the object is deleted with orphaned pods and created again.
    starts_anew: bool,
    /// Whether the API server refuses all pods of a new template.
    never_created: bool,
}

#[derive(Default)]
struct Simulated {
    settings: Vec<String>,
    notes: Vec<String>,
    rollout: Option<Rollout>,
}

impl Simulated {
    fn none(note: impl Into<String>) -> Self {
        Simulated { notes: vec![note.into()], ..Simulated::default() }
    }
}

impl Forecaster<'_> {
    /// Returns whether a value of `--never-ready` names a pod of a StatefulSet in the input, new or previous.
    pub(super) fn has_pod(&self, pod: &str) -> bool {
        let Some((set, ordinal)) = pod.rsplit_once('-') else { return pod == "new" };
        let Ok(ordinal) = ordinal.parse::<u32>() else { return false };
        let has_it = |id: &ObjectId, resource: &'static Resource, json: &String| {
            let pods = || {
                let object = Object::parse(resource, json).ok()?;
                object.stateful_set().map(ordinals)
            };
            // A set that isn't simulated has no known pods.
            id.kind == "StatefulSet"
                && id.name == set
                && (resource.is_kruise() || pods().is_some_and(|it| it.contains(&ordinal.into())))
        };
        let Input { given, sides, .. } = self.input;
        given.iter().any(|it| has_it(&it.id, it.resource, &it.json))
            || sides
                .old
                .iter()
                .any(|(id, was)| was.all.last().is_some_and(|json| has_it(id, was.resource, json)))
    }

    /// Returns the forecasts of the objects in the manifests, then of the removed objects.
    pub(super) fn all(&self) -> Plan {
        let (mut plan, sides) = (Plan::default(), &self.input.sides);
        let root = self.root.map(|root| format!(" in {root}")).unwrap_or_default();
        for given in &self.input.given {
            if self.input.lacks_previous && !sides.old.contains_key(&given.id) {
                plan.unknown.push(format!("{}{root}: it may be new or not, {UNREAD}", given.id));
            } else {
                let mut forecast = self.given(given);
                // A tool replaces it, unless the user named the file to apply.
                let placeholder = forecast.placeholder().cloned();
                if let Some(text) =
                    placeholder.filter(|_| *sides.group(&given.file) != Group::Named)
                {
                    let why = format!("{text} seems to be replaced before this is applied");
                    plan.unknown.push(format!("{}{root}: {why}", given.id));
                    let before = sides.before(&given.id, &given.file);
                    if before.is_none_or(|(_, json)| json != given.json) {
                        plan.errors.push(format!("{}: {why}; plan what is applied", given.file));
                    }
                    continue;
                }
                let renewed = &self.input.renewed;
                let path = || dunce::canonicalize(&given.file).unwrap_or_default();
                if !renewed.is_empty()
                    && let Some(kustomization) = renewed.get(&path())
                {
                    let folder = shown(Path::new(kustomization).parent().unwrap_or(Path::new("")));
                    let why = format!(
                        "{kustomization} changes the image or configuration of its pods; plan what it builds: setguard plan -k {}",
                        folder.display()
                    );
                    if forecast.is_idle() {
                        plan.unknown.push(format!("{}: {why}", given.id));
                        continue;
                    }
                    forecast.notes.push(why);
                }
                if forecast.change == ChangeKind::Create && sides.was_template(&given.file) {
                    forecast.notes.push(format!("{} was a template before", given.file));
                }
                let is_one_of_several = sides.files_of(&given.id).nth(1).is_some();
                forecast.file = is_one_of_several.then(|| given.file.clone());
                plan.forecasts.push(forecast);
            }
        }
        let gone = sides.old.iter().filter(|(id, _)| sides.files_of(id).next().is_none());
        let mut gone: Vec<_> = gone.collect();
        gone.sort_by_key(|(_, was)| was.order);
        for (id, was) in gone {
            let Some(json) = was.all.last() else { continue };
            let Ok(old) = Object::parse(was.resource, json) else { continue };
            if self.input.lacks_new {
                plan.unknown.push(format!("{id}{root}: it may be deleted or not, {UNREAD}"));
            } else if is_kept(json) {
                plan.left_alone.push(format!("{id} (helm.sh/resource-policy: keep)"));
            } else if old.metadata.uid.is_some() && !self.prune {
                plan.left_alone.push(id.to_string());
            } else {
                let note = "the new manifests lack it; this happens if you delete it".to_owned();
                plan.forecasts.push(self.deleted(id, &old, note));
            }
        }
        plan
    }

    /// Returns a note if a new object has the name of a removed object and may belong in its namespace.
    fn namesake(&self, new: &ObjectId) -> Option<String> {
        let sides = &self.input.sides;
        let namesakes =
            sides.namesakes(new).filter(|_| new.namespace == namespace_or_default(None));
        let mut gone = namesakes.filter(|id| sides.files_of(id).next().is_none());
        let (Some(one), None) = (gone.next(), gone.next()) else { return None };
        Some(namespaces::hint(&one.namespace))
    }

    fn given(&self, given: &Given) -> Forecast {
        let old = self.input.sides.before(&given.id, &given.file).map(|(_, json)| json);
        let problem = |problem: &Problem| PlanFinding {
            rule: SCHEMA.id,
            field: problem.field.to_string(),
            message: problem.message.clone(),
            ..PlanFinding::default()
        };
        let mut problems: Vec<_> = given.problems.iter().map(problem).collect();
        let nothing = |change, refusals, notes| Forecast {
            id: given.id.clone(),
            change,
            refusals,
            notes,
            ..Forecast::default()
        };
        let Some(Ok(document)) = kube_yaml::documents(&given.json).next() else {
            return nothing(ChangeKind::Create, problems, Vec::new());
        };
        let node = &document.root;
        for (of, Problem { field, message, .. }) in problems.iter_mut().zip(&given.problems) {
            of.placeholder = placeholder_at(field, message, node.locate(field), node);
        }
        let proposal =
            Proposal { id: &given.id, resource: given.resource, node, json: &given.json, old };
        self.simulator().apply(&proposal, |_, applied| match applied {
            Outcome::Stored(stored) => {
                let mut forecast = self.stored(&proposal, &stored, &given.file, problems);
                if forecast.change == ChangeKind::Refused {
                    let id = (&*given.id.kind, &*given.id.name);
                    let context = self.input.contexts.get(&given.file);
                    forecast.notes.extend(context.and_then(|it| it.built(id, "plan")));
                }
                forecast
            }
            Outcome::TooLarge(_) => {
                let change = if old.is_some() { ChangeKind::Update } else { ChangeKind::Create };
                let note = "not simulated: the object is too large to check".to_owned();
                nothing(change, problems, vec![note])
            }
            Outcome::Undecodable(error) => {
                let message = error.to_string();
                let refusals = match problems.is_empty() {
                    true => {
                        vec![PlanFinding { rule: SCHEMA.id, message, ..PlanFinding::default() }]
                    }
                    false => problems,
                };
                nothing(ChangeKind::Refused, refusals, Vec::new())
            }
        })
    }

    fn simulator(&self) -> Simulator<'_> {
        Simulator {
            context: Context { view: Some(&self.input.world.view), ..self.context },
            delivery: &self.delivery,
            storage: &self.input.storage,
            namespaces: &self.input.namespaces,
            old_namespaces: &self.input.old_namespaces,
        }
    }

    fn stored(
        &self,
        proposal: &Proposal<'_, '_>,
        stored: &Stored<'_>,
        file: &str,
        problems: Vec<PlanFinding>,
    ) -> Forecast {
        let Proposal { id, resource, .. } = *proposal;
        let object = &stored.subject.object;
        let before = stored.old.and_then(|json| Object::parse(resource, json).ok());
        let mut differs = Vec::new();
        if let Some(before) = &before {
            let (old, new) = (spec(before), spec(object));
            differences_by_meaning(old.each_ref(), new.each_ref(), "spec", &mut differs);
        }
        // kubectl drops all but the last value of a key, so the API server does not see the others.
        let (twice, mut refusals): (Vec<_>, Vec<_>) =
            problems.into_iter().partition(|it| it.message.contains(TWICE));
        let twice = twice
            .into_iter()
            .map(|it| format!("{}: {}; the last one counts", it.field, it.message));
        refusals.extend(refusal::of(&stored.verdict, proposal.node));
        if before.is_none() && self.input.world.ends_since(&id.namespace).is_some() {
            refusals.push(refusal::of_ending_namespace(&id.namespace));
        }
        let of_limits = refusal::exceeded(&stored.verdict);
        if refusals.is_empty()
            && let Some(before) = &before
            && let Some(hook) = becomes_hook(&before.metadata, &object.metadata)
        {
            let then = recreation(hook);
            let note = format!("`helm upgrade` deletes it, because it becomes a hook, and {then}");
            return Forecast { exceeded: of_limits.collect(), ..self.deleted(id, before, note) };
        }
        let change = match &before {
            _ if !refusals.is_empty() => ChangeKind::Refused,
            Some(_) => ChangeKind::of(&differs),
            None => ChangeKind::Create,
        };
        let remedies = match change {
            ChangeKind::Refused => {
                refusal::remedies(&evaluate_before_validation(&stored.subject, &self.context))
            }
            _ => Vec::new(),
        };
        // If the selector still matches the pods, simulate the remedy: deleting the object, keeping its pods, and
        // creating it again.
        let same_selector = before.as_ref().map(Object::selector) == Some(object.selector());
        let of_pods = refusal::of_pods(&stored.verdict);
        let going = before.as_ref().and_then(|it| self.being_deleted(id, it));
        let simulated = going.unwrap_or_else(|| match change {
            ChangeKind::Refused if remedies.is_empty() || !same_selector => Simulated::default(),
            _ => {
                let is_created = of_pods.is_none();
                self.simulated(id, &stored.subject, before.as_ref(), change, is_created)
            }
        });
        let mut exceeded: Vec<_> = of_limits.collect();
        if let Some(rollout) = simulated.rollout.as_ref().filter(|_| change.is_stored_update()) {
            exceeded.extend(self.exceeded(&stored.subject, before.as_ref(), rollout));
        }
        let mut forecast = Forecast {
            id: id.clone(),
            file: None,
            change,
            differences: differs,
            refusals,
            exceeded,
            notes: remedies
                .into_iter()
                .chain(of_pods)
                .chain(twice)
                .chain(refusal::remarks(&stored.verdict))
                .chain(refusal::otherwise(&stored.verdict).filter(|_| change != ChangeKind::None))
                .chain(stored.of_injection.warnings().map(|it| it.finding.text().into_owned()))
                .chain(removals(&self.simulator().removals(proposal)))
                .chain(self.refused_neighbors(object))
                .chain(self.lost_claims(&id.namespace, before.as_ref(), object))
                .chain(simulated.notes)
                .collect(),
            settings: simulated.settings,
            rollout: simulated.rollout,
        };
        if stop::line(&forecast).is_some() {
            forecast.notes.extend(Deployer::of(&object.metadata).map(|it| it.after_undo()));
        }
        if change == ChangeKind::Create {
            forecast.notes.extend(self.namesake(id));
            forecast.notes.extend(self.input.sides.unclear(id, file));
        }
        forecast
    }

    fn refused_neighbors(&self, object: &Object<'_>) -> Vec<String> {
        let (new, refusals) = self.input.neighbors();
        if refusals.is_empty() {
            return Vec::new();
        }
        let set = ObjectSummary::of(object).with_template(object.template());
        let all = neighbor_refused::changes(refusals, new, &set);
        all.map(|(kind, _, message)| format!("{message}; {}", neighbor_refused::instead(kind)))
            .collect()
    }

    /// Returns how to roll back a change. `is_breaking` is whether a rollout of the template is under way and has broken
    /// a pod. At rest, a change that leaves the template alone has no rollout to undo, and the previous revision is that
    /// of an earlier change.
    fn undo(
        &self,
        transition: &Transition<'_>,
        is_breaking: bool,
        template: &PodTemplateSpec,
        min_ready: i64,
    ) -> Undo {
        if transition.before.is_some() && !transition.template_changes && !is_breaking {
            return if transition.leaves_template { Undo::Manifest } else { Undo::None };
        }
        match self.input.world.undo(&transition.set(), template, min_ready) {
            // A new set has no revision to go back to.
            Undo::Before if transition.before.is_none() => Undo::None,
            undo => undo,
        }
    }

    /// Returns notes on claims that the pods name and the new manifests lack.
    fn lost_claims(
        &self,
        namespace: &str,
        before: Option<&Object<'_>>,
        object: &Object<'_>,
    ) -> Vec<String> {
        let pods = before.into_iter().chain([object]).filter_map(|it| it.template().spec.as_ref());
        let volumes = pods.flat_map(|pod| pod.volumes.iter().flatten());
        let claims =
            volumes.filter_map(|it| Some(&*it.persistent_volume_claim.as_ref()?.claim_name));
        let lost: BTreeSet<_> =
            claims.filter(|name| self.input.loses_claim(namespace, name)).collect();
        let note = |name| {
            format!(
                "the new manifests lack PersistentVolumeClaim {name}; if it is deleted, so is its data, once no pod uses it"
            )
        };
        lost.into_iter().map(note).collect()
    }

    /// Returns the limits that a rollout of the existing pods exceeds.
    fn exceeded(
        &self,
        subject: &Subject<'_>,
        before: Option<&Object<'_>>,
        rollout: &Rollout,
    ) -> Vec<PlanFinding> {
        let down = rollout.course.at_most_unavailable;
        let is_worse = rollout.down_before.is_some_and(|before| down > before);
        let is_real = self.never_ready.is_empty() && !self.context.policy.limits.is_empty();
        let Some(before) = before.filter(|_| is_worse && is_real) else { return Vec::new() };
        let all = match &before.workload {
            Workload::DaemonSet(_) => rollout.nodes().iter().filter(|it| it.had_pod).count(),
            Workload::StatefulSet(spec) => spec.replicas.unwrap_or(1).try_into().unwrap_or(0),
        };
        let [down, all] = [down, all].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        let cause = match subject.template_changes(&self.context.policy.cluster) {
            true => Cause::Template,
            false => Cause::Strategy,
        };
        let wave = Wave { down, replaced: down, all, cause };
        let verdict = evaluate_rollout(subject, &wave, &self.context);
        refusal::exceeded(&verdict).collect()
    }

    fn simulated(
        &self,
        id: &ObjectId,
        subject: &Subject<'_>,
        before: Option<&Object<'_>>,
        change: ChangeKind,
        is_created: bool,
    ) -> Simulated {
        let object = &subject.object;
        if object.resource.is_kruise() {
            return Simulated::none("not simulated: OpenKruise has a controller of its own");
        }
        let cluster = &self.context.policy.cluster;
        let template_changes = before.is_some() && subject.template_changes(cluster);
        let transition = Transition {
            id,
            object,
            before,
            template_changes,
            leaves_template: change.is_stored_update() && !template_changes,
            starts_anew: change == ChangeKind::Refused,
            never_created: !is_created && (before.is_none() || template_changes),
        };
        let mut simulated = match &object.workload {
            Workload::StatefulSet(spec) => self.stateful_set(spec, &transition),
            Workload::DaemonSet(spec) => self.daemon_set(spec, &transition),
        };
        simulated.notes.extend(self.notes_around(&transition, simulated.rollout.as_ref()));
        if before.is_some() && !template_changes {
            let pod = object.template().spec.as_ref();
            let notes = pod.map(|it| self.input.configs.notes(&id.namespace, it));
            simulated.notes.extend(notes.unwrap_or_default());
        }
        simulated
    }
}

fn removals(removals: &Removals) -> Option<String> {
    match removals {
        Removals::Known => None,
        Removals::Inferred(writer) => Some(format!(
            "fields that the manifest lacks are removed, as in {writer}, the last to write the template; \
             --as selects another command"
        )),
        Removals::Unknown(specs) => {
            let (mut differs, [kept, removed]) = (Vec::new(), &**specs);
            differences(&stored(kept.clone()), &stored(removed.clone()), "spec", &mut differs);
            if differs.is_empty() {
                return None;
            }
            let fields: Vec<_> = differs.iter().take(3).map(|it| it.path.as_str()).collect();
            let more = if differs.len() > fields.len() { ", …" } else { "" };
            Some(format!(
                "it isn't known whether fields stay that the manifest lacks: {}{more}; the managed fields \
                 say who set them (--live, or kubectl get --show-managed-fields)",
                fields.join(", ")
            ))
        }
    }
}

fn spec(object: &Object<'_>) -> [Value; 2] {
    let spec = object.spec_with_meaning();
    match &object.workload {
        Workload::DaemonSet(_) => spec,
        Workload::StatefulSet(_) => spec.map(stored),
    }
}

/// Adds the defaults of the update strategy to a StatefulSet's spec. Whether the API server stores them depends on the
/// release and on how the object was written.
fn stored(mut spec: Value) -> Value {
    if spec["updateStrategy"]["type"] == "RollingUpdate" {
        let strategy = &mut spec["updateStrategy"];
        for (field, default) in [("partition", 0), ("maxUnavailable", 1)] {
            let value = &mut strategy["rollingUpdate"][field];
            if value.is_null() {
                *value = default.into();
            }
        }
    }
    spec
}

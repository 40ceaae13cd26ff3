//! The consequences of a change for one object.

mod daemon_set;
mod known;
mod stateful_set;

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    difference::{Difference, differences},
    input::{Given, Input},
    refusal::{self, Exceeded, Refusal},
    undo::{Remedy, Undo},
    world::{Set, World, around::OverBudget},
};
use crate::{
    engine::Context,
    manifests::id::ObjectId,
    object::{Object, Workload},
    proposal::{Applier, Outcome, Proposal, Stored, apply::Verb},
    rollout::{
        Course, Stop, Target, Waits,
        node::{Node, Placement},
    },
    rules::api_validation::meta::SCHEMA,
    yaml,
};

/// The annotation of a DaemonSet with the generation of its template.
const GENERATION: &str = "deprecated.daemonset.template.generation";

/// The kind of change to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Create,
    Update,
    Scale,
    Delete,
    None,
    Refused,
}

impl Change {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Change::Create => "create",
            Change::Update => "update",
            Change::Scale => "scale",
            Change::Delete => "delete",
            Change::None => "none",
            Change::Refused => "refused",
        }
    }
}

/// Everything that a plan says about an object.
#[derive(Debug)]
pub(super) struct Forecast {
    pub(super) id: ObjectId,
    pub(super) change: Change,
    /// The way the object is rolled out, in a few words.
    pub(super) settings: Vec<String>,
    pub(super) differences: Vec<Difference>,
    pub(super) refusals: Vec<Refusal>,
    /// The consequences that limits of the policy forbid.
    pub(super) exceeded: Vec<Exceeded>,
    /// Other facts that the reader needs.
    pub(super) notes: Vec<String>,
    /// The simulated rollout. If the change is refused, this is the rollout of the remedy.
    pub(super) course: Course,
    /// The pods that are left alone, and whether they have the new template.
    pub(super) kept: Vec<(Target, bool)>,
    /// The reason why pods with the old template are left alone, if they are.
    pub(super) why_kept: Option<String>,
    /// The obstacle that would stop the rollout if pods with the new template never became ready.
    pub(super) if_broken: Option<Stop>,
    /// The claims that are deleted while their volumes, with the data, are retained.
    pub(super) retained: BTreeSet<String>,
    /// The seconds that the rollout may take, by what its pods took before, and the basis in words.
    pub(super) estimate: Option<(i64, String)>,
    /// The PodDisruptionBudgets that would allow fewer evictions than the rollout takes down.
    pub(super) over_budgets: Vec<OverBudget>,
    /// The command that helps where the rollout stops, if it does.
    pub(super) remedy: Option<Remedy>,
    /// The revision to which a rollback has to go.
    pub(super) undo: Undo,
    pub(super) is_ordered: bool,
    pub(super) min_ready_seconds: i64,
    /// The nodes of a DaemonSet, which of them have a pod now, and which will.
    pub(super) nodes: Vec<Node>,
    pub(super) before: Vec<bool>,
    pub(super) after: Vec<Placement>,
}

impl Forecast {
    fn new(id: ObjectId, change: Change) -> Self {
        Forecast {
            id,
            change,
            settings: Vec::new(),
            differences: Vec::new(),
            refusals: Vec::new(),
            exceeded: Vec::new(),
            notes: Vec::new(),
            course: Course::default(),
            kept: Vec::new(),
            why_kept: None,
            if_broken: None,
            retained: BTreeSet::new(),
            estimate: None,
            over_budgets: Vec::new(),
            remedy: None,
            undo: Undo::default(),
            is_ordered: false,
            min_ready_seconds: 0,
            nodes: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Returns whether nothing changes and nothing happens.
    pub(super) fn is_idle(&self) -> bool {
        self.change == Change::None && self.course.steps.is_empty() && self.course.stop.is_none()
    }

    /// Returns the name of a pod of a StatefulSet, or of the node of a pod of a DaemonSet.
    pub(super) fn name(&self, target: &Target) -> String {
        match target {
            Target::Ordinal(ordinal) => format!("{}-{ordinal}", self.id.name),
            Target::Node(index) => self.node(*index).to_owned(),
            Target::SomeNodes { count: 1, .. } => "one of the nodes".to_owned(),
            Target::SomeNodes { count, .. } => format!("{count} of the nodes"),
        }
    }

    pub(super) fn node(&self, index: usize) -> &str {
        self.nodes.get(index).map_or("", |node| &node.name)
    }

    /// Returns why the controller does not go on.
    pub(super) fn why(&self, stop: &Stop) -> String {
        let name = self.name(&stop.target);
        match (&stop.target, stop.why) {
            (Target::Ordinal(_), Waits::ForThisPod) => {
                format!("{name} never becomes available, and no other pod is touched before")
            }
            (Target::Ordinal(_), Waits::Budget) => {
                format!("{name} never becomes available and uses up maxUnavailable")
            }
            (Target::Ordinal(_), Waits::ForTheLast) => format!("{name} never becomes available"),
            (_, Waits::Volumes) => format!(
                "{name} lacks the volume of a claim template; none can be added to a pod, and no \
                 other pod is touched before {name} is deleted"
            ),
            (_, Waits::Name) => format!(
                "{name} cannot be created, because another pod has this name, and no other pod is \
                 touched before that one is gone"
            ),
            (_, Waits::ForThisPod | Waits::Budget) => {
                "the new pods never become available and use up what may be unavailable".to_owned()
            }
            (_, Waits::ForTheLast) => "the new pods never become available".to_owned(),
        }
    }
}

/// A maker of forecasts.
pub(super) struct Forecaster<'a> {
    input: &'a Input,
    context: Context<'a>,
    verb: Verb,
    never_ready: &'a [String],
    prune: bool,
}

/// The forecasts, and what cannot be forecast.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) forecasts: Vec<Forecast>,
    /// Objects whose change isn't known, because something could not be read.
    pub(super) unknown: Vec<String>,
    /// Objects of a cluster that the manifests lack. kubectl leaves them as they are.
    pub(super) left_alone: Vec<String>,
}

impl<'a> Forecaster<'a> {
    pub(super) const fn new(
        input: &'a Input,
        context: Context<'a>,
        verb: Verb,
        never_ready: &'a [String],
        prune: bool,
    ) -> Self {
        Forecaster { input, context, verb, never_ready, prune }
    }

    /// Returns the pods of `--never-ready` that belong to no StatefulSet in the input.
    pub(super) fn unknown_pods(&self) -> impl Iterator<Item = &'a str> {
        let sets = self.input.given.iter().map(|given| &given.id).chain(self.input.previous.keys());
        let sets: BTreeSet<&str> =
            sets.filter(|id| id.kind == "StatefulSet").map(|id| &*id.name).collect();
        let is_known = move |pod: &&str| {
            let ordinal = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            *pod == "new"
                || pod
                    .rsplit_once('-')
                    .is_some_and(|(set, last)| sets.contains(set) && ordinal(last))
        };
        self.never_ready.iter().map(String::as_str).filter(move |pod| !is_known(pod))
    }

    /// Returns the forecasts of all objects: first the objects in the manifests, then those that
    /// the manifests no longer contain.
    pub(super) fn all(&self) -> Plan {
        let mut plan = Plan::default();
        for given in &self.input.given {
            if self.input.lacks_previous && !self.input.previous.contains_key(&given.id) {
                plan.unknown.push(format!("{}: it may be new or not", given.id));
            } else {
                plan.forecasts.push(self.given(given));
            }
        }
        let is_given = |id: &ObjectId| self.input.given.iter().any(|given| given.id == *id);
        let mut gone: Vec<_> = self.input.previous.iter().filter(|(id, _)| !is_given(id)).collect();
        gone.sort_by_key(|(_, (order, ..))| *order);
        for (id, (_, resource, json)) in gone {
            let Ok(old) = Object::parse(resource, json) else { continue };
            if self.input.lacks_new {
                plan.unknown.push(format!("{id}: it may be deleted or not"));
            } else if old.metadata.uid.is_some() && !self.prune {
                plan.left_alone.push(id.to_string());
            } else {
                plan.forecasts.push(self.deleted(id, &old));
            }
        }
        plan
    }

    fn given(&self, given: &Given) -> Forecast {
        let old = self.input.previous.get(&given.id).filter(|_| !given.id.is_generated);
        let old = old.filter(|(_, resource, _)| *resource == given.resource);
        let mut forecast = Forecast::new(given.id.clone(), Change::Create);
        forecast.refusals.extend(given.problems.iter().map(|problem| Refusal {
            rule: SCHEMA.id,
            field: problem.field.to_string(),
            message: problem.message.clone(),
        }));
        let Some(Ok(document)) = yaml::documents(&given.json).next() else { return forecast };
        let proposal = Proposal {
            id: &given.id,
            resource: given.resource,
            node: &document.root,
            json: &given.json,
            old: old.map(|(_, _, json)| json.as_str()),
        };
        self.applier().apply(&proposal, |_, outcome| match outcome {
            Outcome::Stored(stored) => self.stored(given, &stored, forecast),
            Outcome::TooLarge(_) => {
                if proposal.old.is_some() {
                    forecast.change = Change::Update;
                }
                forecast.notes.push("not simulated: the object is too large to check".to_owned());
                forecast
            }
            Outcome::Undecodable(error) => {
                if forecast.refusals.is_empty() {
                    let (field, message) = (String::new(), error.to_string());
                    forecast.refusals.push(Refusal { rule: SCHEMA.id, field, message });
                }
                forecast.change = Change::Refused;
                forecast
            }
        })
    }

    fn applier(&self) -> Applier<'_> {
        Applier {
            context: self.context,
            verb: self.verb,
            storage: &self.input.storage,
            namespaces: &self.input.namespaces,
            old_namespaces: &self.input.old_namespaces,
        }
    }

    fn stored(&self, given: &Given, stored: &Stored<'_>, mut forecast: Forecast) -> Forecast {
        let subject = &stored.subject;
        forecast.refusals.extend(refusal::of(&stored.verdict));
        forecast.exceeded.extend(refusal::exceeded(&stored.verdict));
        let before = stored.old.and_then(|json| Object::parse(given.resource, json).ok());
        if let Some(before) = &before {
            differences(&spec(before), &spec(&subject.object), "spec", &mut forecast.differences);
            forecast.change = change(&forecast.differences);
        }
        let is_refused = !forecast.refusals.is_empty();
        if is_refused {
            forecast.change = Change::Refused;
            forecast.notes = refusal::remedies(&stored.verdict);
            // The remedy, recreating the object around its pods, is simulated if the selector still
            // matches them.
            let same_selector =
                before.as_ref().map(Object::selector) == Some(subject.object.selector());
            if forecast.notes.is_empty() || !same_selector {
                return forecast;
            }
        }
        if subject.object.resource.is_kruise() {
            let note = "not simulated: OpenKruise has a controller of its own";
            forecast.notes.push(note.to_owned());
            return forecast;
        }
        let cluster = &self.context.policy.cluster;
        let changes = before.is_some() && subject.template_changes(cluster);
        let mut inner = Forecast::new(forecast.id.clone(), forecast.change);
        match &subject.object.workload {
            Workload::StatefulSet(spec) => {
                let old = before.as_ref().and_then(Object::stateful_set);
                let status = before.as_ref().and_then(|it| it.status.read());
                self.stateful_set(spec, old, changes, is_refused, status, &mut inner);
            }
            Workload::DaemonSet(spec) => {
                let old = before.as_ref().and_then(|old| match &old.workload {
                    Workload::DaemonSet(spec) => Some(&**spec),
                    Workload::StatefulSet(_) => None,
                });
                let of = before.as_ref().unwrap_or(&subject.object);
                let generation = of.metadata.annotation(GENERATION).and_then(|it| it.parse().ok());
                let generation = match generation {
                    // Kubernetes: `PrepareForCreate`, pkg/registry/apps/daemonset/strategy.go.
                    generation if before.is_none() => Some(generation.unwrap_or(1).max(1)),
                    generation => generation.map(|it: i64| it + i64::from(changes)),
                };
                self.daemon_set(spec, old, changes, generation, &mut inner);
            }
        }
        self.add_known(&subject.object, changes, &mut inner);
        inner.differences = forecast.differences;
        inner.refusals = forecast.refusals;
        inner.exceeded = forecast.exceeded;
        inner.notes.splice(0..0, forecast.notes);
        inner
    }
}

/// Returns a note about the pods that a set adopts, if there are any.
fn adopted(world: &World, set: &Set<'_>) -> Option<String> {
    let mut names: Vec<_> = world.adopted(set).map(|it| &*it.pod.name).collect();
    names.sort_by_key(|name| (name.len(), *name));
    let (first, last) = (names.first()?, names.last()?);
    Some(match names.len() {
        1 => format!("{first} has no owner and is adopted"),
        2 => format!("{first} and {last} have no owner and are adopted"),
        count => format!("{first} … {last} ({count} pods) have no owner and are adopted"),
    })
}

fn spec(object: &Object<'_>) -> Value {
    match &object.workload {
        Workload::DaemonSet(spec) => serde_json::to_value(spec),
        Workload::StatefulSet(spec) => serde_json::to_value(spec),
    }
    .unwrap_or_default()
}

fn change(differences: &[Difference]) -> Change {
    match differences {
        [] => Change::None,
        all if all.iter().all(|it| it.path == "spec.replicas") => Change::Scale,
        _ => Change::Update,
    }
}

//! The consequences of a change for a StatefulSet.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::StatefulSetStatus;

use super::{Change, Forecast, Forecaster, adopted};
use crate::{
    kubernetes::{cluster::STATEFUL_SET_RECREATE_STRATEGY, resource::WorkloadKind},
    manifests::id::ObjectId,
    object::{Object, StatefulSetSpec, Workload},
    observed::Member,
    plan::{undo::Remedy, world::Set},
    rollout::{
        Action, Course, Health, NeverReady, Revision, Step, Stop, Target, Waits,
        stateful_set::{Pod, Settings, State, Strategy, simulate},
    },
};

/// The new spec, and the set as it is.
struct Now<'a> {
    settings: &'a Settings,
    spec: &'a StatefulSetSpec,
    /// The status; `None` if the set is new.
    status: Option<StatefulSetStatus>,
    template_changes: bool,
}

impl Forecaster<'_> {
    /// Simulates the rollout. `starts_anew` is set if the object is deleted without its pods and
    /// created again.
    pub(super) fn stateful_set(
        &self,
        spec: &StatefulSetSpec,
        old: Option<&StatefulSetSpec>,
        template_changes: bool,
        starts_anew: bool,
        status: Option<StatefulSetStatus>,
        forecast: &mut Forecast,
    ) {
        let cluster = &self.context.policy.cluster;
        let name = forecast.id.name.clone();
        let Some(settings) = Settings::of(&name, spec, cluster) else {
            let note = "not simulated: this update strategy is not known";
            forecast.notes.push(note.to_owned());
            return;
        };
        if settings.strategy == Strategy::Recreate
            && !cluster.enabled(STATEFUL_SET_RECREATE_STRATEGY)
        {
            let note = format!(
                "nothing happens, whatever changes: the controller leaves a set with the update \
                 strategy Recreate alone while the feature gate {STATEFUL_SET_RECREATE_STRATEGY} is off"
            );
            forecast.notes.push(note);
            return;
        }
        forecast.is_ordered = settings.is_ordered;
        forecast.min_ready_seconds = spec.min_ready_seconds.unwrap_or(0).into();
        forecast.settings = describe(&settings, spec);
        let revision = if template_changes { Revision::Old } else { Revision::New };
        let before = old.and_then(|old| Settings::of(&name, old, cluster));
        let never_ready = self.never_ready(&name);
        let mut state = State {
            is_current: !template_changes || starts_anew,
            ..before.as_ref().map(|old| state(old, revision)).unwrap_or_default()
        };
        if let Some(before) = before.as_ref().filter(|before| !settings.fit_pods_of(before)) {
            state.misfits = before.ordinals.clone().collect();
        }
        let id = forecast.id.clone();
        let kind = WorkloadKind::StatefulSet;
        let set = Set { id: &id, kind, selector: spec.selector.as_ref() };
        let now = Now { settings: &settings, spec, status, template_changes };
        self.as_it_is(&set, &now, &never_ready, &mut state);
        state.is_current |= starts_anew;
        forecast.notes.extend(adopted(&self.input.world, &set));
        self.forget_claims(&forecast.id.namespace, &settings, &mut state);
        let going = self.input.world.claims_that_go(&forecast.id.namespace, &name);
        for claim in going.values().flatten() {
            state.claims.remove(claim);
        }
        forecast.undo = self.input.world.undo(&set, &spec.template, settings.min_ready_seconds);
        forecast.course = simulate(&settings, state.clone(), &never_ready);
        forecast.remedy = remedy(&settings, &state, &forecast.course);
        let moved: BTreeSet<_> = forecast.course.steps.iter().map(ordinal).collect();
        let kept = state.pods.iter().filter(|(ordinal, _)| !moved.contains(ordinal));
        forecast.kept = kept
            .map(|(ordinal, pod)| (Target::Ordinal(*ordinal), pod.revision == Revision::New))
            .collect();
        if template_changes && forecast.kept.iter().any(|(_, is_new)| !is_new) {
            forecast.why_kept = Some(why_kept(&settings, &forecast.course));
        }
        add_going(going, revision, forecast);
        add_unused(forecast);
        self.add_retained(forecast);
        let all_new = NeverReady { all_new: true, ..NeverReady::default() };
        if forecast.course.stop.is_none() && !forecast.course.steps.is_empty() {
            forecast.if_broken = simulate(&settings, state, &all_new).stop;
        }
    }

    /// Replaces the assumptions about pods by the known facts.
    fn as_it_is(&self, set: &Set<'_>, now: &Now<'_>, never_ready: &NeverReady, state: &mut State) {
        let world = &self.input.world;
        let Some(pods) = world.pods(set) else { return };
        let known = world.revision(set, &now.spec.template);
        let update = match &now.status {
            Some(status) if !now.template_changes => status.update_revision.as_deref(),
            Some(_) | None => known,
        };
        let current = now.status.as_ref().map(|status| status.current_revision.as_deref());
        // A new set begins with the revision of its template.
        state.is_current = current.is_none_or(|current| update.is_some() && current == update);
        state.pods.clear();
        state.misfits.clear();
        for Member { pod, claims, .. } in pods {
            let Some(ordinal) = pod.ordinal(&set.id.name) else { continue };
            let is_new = update.is_some_and(|update| pod.is_of(update));
            let revision = if is_new { Revision::New } else { Revision::Old };
            let never = never_ready.ordinals.contains(&ordinal) || (never_ready.all_new && is_new);
            let health = match world.health(pod, now.settings.min_ready_seconds) {
                Health::Starting if never => Health::Broken,
                health => health,
            };
            state.pods.insert(ordinal, Pod { revision, health });
            if !now.settings.fits(ordinal, claims) {
                state.misfits.insert(ordinal);
            }
        }
        let missing = now.settings.ordinals.clone().filter(|it| !state.pods.contains_key(it));
        let is_taken = |ordinal: &i64| world.is_taken(set, &format!("{}-{ordinal}", set.id.name));
        state.taken = missing.filter(is_taken).collect();
    }

    fn add_retained(&self, forecast: &mut Forecast) {
        let deleted = forecast.course.steps.iter().filter(|it| it.action == Action::Delete);
        let claims = deleted.flat_map(|step| &step.claims);
        let namespace = &forecast.id.namespace;
        let retained = claims.filter(|claim| self.input.world.retains(namespace, claim));
        forecast.retained = retained.cloned().collect();
    }

    /// Replaces the assumptions about claims by the known facts.
    fn forget_claims(&self, namespace: &str, settings: &Settings, state: &mut State) {
        let all = state.pods.keys().copied().chain(settings.ordinals.clone());
        let names: BTreeSet<_> = all.flat_map(|ordinal| settings.claims_of(ordinal)).collect();
        for name in names {
            match self.input.world.has_claim(namespace, &name) {
                Some(true) => drop(state.claims.insert(name)),
                Some(false) => drop(state.claims.remove(&name)),
                None => {}
            }
        }
    }

    fn never_ready(&self, set: &str) -> NeverReady {
        let ordinals = self.never_ready.iter().filter_map(|pod| {
            let (name, ordinal) = pod.rsplit_once('-')?;
            (name == set).then(|| ordinal.parse().ok())?
        });
        NeverReady {
            all_new: self.never_ready.iter().any(|pod| pod == "new"),
            ordinals: ordinals.collect(),
        }
    }

    /// Returns the forecast for an object that is no longer in the manifests.
    pub(super) fn deleted(&self, id: &ObjectId, old: &Object<'_>) -> Forecast {
        let mut forecast = Forecast::new(id.clone(), Change::Delete);
        forecast.notes.push(
            "it is no longer among the manifests: this is what happens if it is deleted".to_owned(),
        );
        let Workload::StatefulSet(spec) = &old.workload else {
            forecast.notes.push("its pods are deleted, all at once".to_owned());
            return forecast;
        };
        let Some(settings) = Settings::of(&id.name, spec, &self.context.policy.cluster) else {
            return forecast;
        };
        let retention = spec.persistent_volume_claim_retention_policy.as_ref();
        let deletes = retention.and_then(|it| it.when_deleted.as_deref()) == Some("Delete");
        let claims = |ordinal| {
            if deletes { settings.claims_of(ordinal).collect() } else { Vec::new() }
        };
        // The garbage collector deletes the pods in no particular order.
        let steps = settings.ordinals.clone().map(|ordinal| Step {
            wave: 1,
            action: Action::Delete,
            target: Target::Ordinal(ordinal),
            revision: Revision::Old,
            claims: claims(ordinal),
        });
        let steps: Vec<_> = steps.collect();
        forecast.course =
            Course { waves: usize::from(!steps.is_empty()), steps, ..Course::default() };
        self.add_retained(&mut forecast);
        forecast
    }
}

/// Returns the state of a set whose rollout is complete.
fn state(settings: &Settings, revision: Revision) -> State {
    let pod = Pod { revision, health: Health::Available };
    let ordinals = settings.ordinals.clone();
    State {
        claims: ordinals.clone().flat_map(|it| settings.claims_of(it)).collect(),
        pods: ordinals.map(|it| (it, pod)).collect(),
        ..State::default()
    }
}

const fn ordinal(step: &Step) -> i64 {
    match step.target {
        Target::Ordinal(ordinal) => ordinal,
        Target::Node(_) | Target::SomeNodes { .. } => -1,
    }
}

fn describe(settings: &Settings, spec: &StatefulSetSpec) -> Vec<String> {
    let count = settings.ordinals.end - settings.ordinals.start;
    let mut words = match settings.strategy {
        Strategy::OnDelete => vec!["OnDelete".to_owned()],
        Strategy::Recreate => vec!["Recreate".to_owned()],
        Strategy::RollingUpdate { .. } => vec!["RollingUpdate".to_owned()],
    };
    words.push(spec.pod_management_policy.clone().unwrap_or_default());
    words.push(if count == 1 { "1 replica".to_owned() } else { format!("{count} replicas") });
    if let Strategy::RollingUpdate { partition, max_unavailable } = settings.strategy {
        if partition > 0 {
            words.push(format!("partition {partition}"));
        }
        if let Some(most) = max_unavailable.filter(|most| *most > 1) {
            words.push(format!("maxUnavailable {most}"));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn why_kept(settings: &Settings, course: &Course) -> String {
    match settings.strategy {
        Strategy::OnDelete => "OnDelete: until they are deleted".to_owned(),
        Strategy::Recreate => "the rollout stops earlier".to_owned(),
        Strategy::RollingUpdate { .. } if course.stop.as_ref().is_some_and(is_early) => {
            "the rollout stops earlier".to_owned()
        }
        Strategy::RollingUpdate { partition, .. } => format!("partition {partition}"),
    }
}

fn is_early(stop: &crate::rollout::Stop) -> bool {
    stop.why != Waits::ForTheLast
}

/// Adds the ends of pods that are being deleted already, and that take claims with them.
fn add_going(going: BTreeMap<i64, Vec<String>>, revision: Revision, forecast: &mut Forecast) {
    if going.is_empty() {
        return;
    }
    forecast.course.waves = forecast.course.waves.max(1);
    let mut steps = Vec::new();
    for (ordinal, claims) in going {
        let target = Target::Ordinal(ordinal);
        forecast.notes.push(format!(
            "{} is being deleted already, and owns {}, deleted with it whatever is applied",
            forecast.name(&target),
            claims.join(", ")
        ));
        steps.push(Step { wave: 1, action: Action::Delete, target, revision, claims });
    }
    forecast.course.steps.splice(..0, steps);
}

/// Returns the command that helps where the rollout stops, if it does.
fn remedy(settings: &Settings, state: &State, course: &Course) -> Option<Remedy> {
    let Stop { target: Target::Ordinal(ordinal), .. } = course.stop.as_ref()? else { return None };
    let is_it =
        |step: &&Step| step.action == Action::Create && step.target == Target::Ordinal(*ordinal);
    let created = course.steps.iter().rev().find(is_it).map(|step| step.revision);
    let comes_back_new = state.is_current
        || settings.replaced().contains(ordinal)
        || !matches!(settings.strategy, Strategy::RollingUpdate { .. });
    Some(match created.or_else(|| Some(state.pods.get(ordinal)?.revision)) {
        Some(Revision::New) => Remedy::Undo,
        Some(Revision::Old) if created.is_none() && comes_back_new => Remedy::Delete,
        Some(Revision::Old) | None => Remedy::Look,
    })
}

/// Adds a note about claims that are created for pods that cannot use them.
fn add_unused(forecast: &mut Forecast) {
    let claims = forecast.course.unused_claims.iter().flat_map(|(_, claims)| claims);
    let claims: Vec<_> = claims.map(String::as_str).collect();
    if !claims.is_empty() {
        let claims = claims.join(", ");
        forecast.notes.push(format!("created for pods that cannot use it yet: {claims}"));
    }
}

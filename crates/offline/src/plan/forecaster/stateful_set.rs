use std::ops::Range;

use k8s_openapi::api::apps::v1::StatefulSetStatus;
use setguard_core::{
    kubernetes::cluster::STATEFUL_SET_RECREATE_STRATEGY,
    object::StatefulSetSpec,
    observed::{NotReadyKind, NotReadyReason, TRY_AGAIN},
    rollout::stateful_set::{Replica, Settings, State, Strategy, ordinals, simulate},
};

use super::{
    Simulated, Transition,
    old_state::{MAY_BE_OLD, adopted, estimate},
};
use crate::plan::forecast::Remedy;
use crate::plan::prelude::*;

/// The maximum number of simulated pods: Kubernetes supports no cluster with more.
pub(super) const MOST_PODS: i64 = 150_000;

pub(super) fn count(ordinals: &Range<i64>) -> i64 {
    ordinals.end.saturating_sub(ordinals.start)
}

/// The new settings of a set, and the current facts that the simulation needs.
struct Present<'a> {
    settings: &'a Settings,
    spec: &'a StatefulSetSpec,
    transition: &'a Transition<'a>,
    set: &'a SetQuery<'a>,
    never_ready: &'a NeverReady,
}

impl Forecaster<'_> {
    pub(super) fn stateful_set(
        &self,
        spec: &StatefulSetSpec,
        transition: &Transition<'_>,
    ) -> Simulated {
        let cluster = &self.context.policy.cluster;
        let Some(settings) = Settings::of(&transition.id.name, spec, cluster) else {
            return Simulated::none("not simulated: unknown update strategy");
        };
        if settings.strategy == Strategy::Recreate
            && !cluster.enabled(STATEFUL_SET_RECREATE_STRATEGY)
        {
            return Simulated::none(format!(
                "nothing happens, whatever changes: the controller leaves a set with the update \
                 strategy Recreate alone while the feature gate {STATEFUL_SET_RECREATE_STRATEGY} is off"
            ));
        }
        let before = transition.before.and_then(Object::stateful_set).map(ordinals);
        let most = before.map_or(0, |it| count(&it)).max(count(&settings.ordinals));
        if most > MOST_PODS {
            return Simulated::none(format!(
                "not simulated: {most} pods are more than the {MOST_PODS} that a cluster holds"
            ));
        }
        let present = Present {
            settings: &settings,
            spec,
            transition,
            set: &transition.set(),
            never_ready: &self.never_ready(transition),
        };
        self.simulated_set(&present)
    }

    fn simulated_set(&self, present: &Present<'_>) -> Simulated {
        let Present { settings, spec, transition, set, never_ready } = *present;
        let (world, namespace) = (&self.input.world, &transition.id.namespace);
        let state = self.state(present);
        let pods = world.pods(set).unwrap_or_default();
        let failing = failing(&state, never_ready, &pods, &set.id.name);
        let all_new = NeverReady { all_new: true, ordinals: never_ready.ordinals.clone() };
        let never_ready = if failing.is_some() { &all_new } else { never_ready };
        let mut course = simulate(settings, state.clone(), never_ready);
        let moved: BTreeSet<_> = course.steps.iter().filter_map(ordinal).collect();
        let kept = state.pods.iter().filter(|(ordinal, _)| !moved.contains(ordinal));
        let kept =
            kept.map(|(it, pod)| Kept { target: Target::Ordinal(*it), revision: pod.revision });
        let kept: Vec<_> = kept.collect();
        let keeps_old = kept.iter().any(|it| it.revision == Revision::Old);
        let why_kept =
            (transition.template_changes && keeps_old).then(|| why_kept(settings, &course));
        let alive = state.pods.iter().filter(|(it, _)| !state.stranded.contains_key(it));
        let alive: Vec<_> = alive.map(|(_, pod)| pod).collect();
        let new = alive.iter().filter(|pod| pod.revision == Revision::New);
        let new: Vec<_> = new.map(|pod| pod.health).collect();
        let is_under_way = !state.is_current || new.len() < alive.len();
        let is_breaking = is_under_way && new.contains(&Health::Broken);
        let undo = self.undo(transition, is_breaking, &spec.template, settings.min_ready_seconds);
        let remedy = remedy(settings, &state, &course, undo);
        let mut notes: Vec<_> = adopted(world, set).into_iter().collect();
        let stops = |never_ready| simulate(settings, state.clone(), never_ready).stop.is_some();
        notes.extend(failing.filter(|_| !stops(present.never_ready)).map(|it| {
            let pod = format!("{}-{it}", set.id.name);
            format!("{pod} fails with this template, so the plan expects the next pods to fail too")
        }));
        let unready_note = self.unready_note(present, &state, &course);
        notes.extend(ending_note(&state, &course));
        notes.extend(add_going(settings, &state, transition, &mut course));
        notes.extend(claim_notes(&course));
        notes.extend(self.stalled_note(present, &state));
        let without = |before: &Object<'_>| {
            let before = before.stateful_set()?;
            let name = &transition.id.name;
            let mut settings = Settings::of(name, before, &self.context.policy.cluster)?;
            // A new template starts a new rollout.
            if transition.template_changes {
                settings.strategy = Strategy::OnDelete;
            }
            Some(simulate(&settings, state.clone(), never_ready).at_most_unavailable)
        };
        notes.extend(unready_note);
        let may_be_old = world.pods(set).is_none() && self.may_be_old(present);
        notes.extend(may_be_old.then(|| MAY_BE_OLD.to_owned()));
        let down_before = transition.before.and_then(without);
        let works = course.stop.is_none() && !course.steps.is_empty();
        let if_broken = works.then(|| simulate(settings, state, &NeverReady::all_new()));
        let rollout = Rollout {
            kept,
            why_kept,
            down_before,
            if_broken,
            undo,
            estimate: estimate(&world.times_to_ready(set), &course),
            over_budgets: self.over_budgets(transition, &course),
            of_kind: OfKind::StatefulSet {
                is_ordered: settings.is_ordered,
                min_ready_seconds: settings.min_ready_seconds,
                retained: self.retained(namespace, &course),
                remedy,
            },
            course,
        };
        Simulated { settings: describe(settings, spec), notes, rollout: Some(rollout) }
    }

    /// Returns a note about pods that aren't ready now, if the rollout stops earlier when they stay so.
    fn unready_note(
        &self,
        present: &Present<'_>,
        state: &State,
        course: &Course,
    ) -> Option<String> {
        let Present { settings, transition, never_ready, .. } = *present;
        let is_starting = |pod: &Replica| pod.health == Health::Starting;
        if !state.pods.values().any(is_starting) {
            return None;
        }
        let mut stays = state.clone();
        let unready = stays.pods.values_mut().filter(|pod| is_starting(pod));
        unready.for_each(|pod| pod.health = Health::Broken);
        let broken = simulate(settings, stays.clone(), never_ready);
        let is_earlier = broken.steps.len() < course.steps.len();
        let Stop { target: Target::Ordinal(ordinal), .. } = broken.stop.as_ref()? else {
            return None;
        };
        let is_unready = state.pods.get(ordinal).is_some_and(is_starting);
        let name = format!("{}-{ordinal}", transition.id.name);
        let command = match remedy(settings, &stays, &broken, Undo::Before) {
            Some(Remedy::Delete(_) | Remedy::GiveUp) => "delete",
            _ => "describe",
        };
        let then = match broken.steps.is_empty() {
            true => "nothing happens".to_owned(),
            false => format!("the plan ends after wave {}", broken.waves),
        };
        (is_unready && is_earlier).then(|| {
            format!(
                "{name} isn't ready now, and the plan expects it to become ready; if it doesn't, {then}; then: kubectl \
                 {command} pod {name} -n {}",
                transition.id.namespace
            )
        })
    }

    /// Returns whether the controller replaces pods that OnDelete or a partition kept, if they have an older template.
    fn may_be_old(&self, Present { settings, transition, .. }: &Present<'_>) -> bool {
        let Some(before) = transition.before.filter(|_| !transition.template_changes) else {
            return false;
        };
        let status = before.status.read::<StatefulSetStatus>();
        let is_updated = status.filter(|it| it.update_revision.is_some()).is_some_and(|it| {
            it.current_revision == it.update_revision || it.updated_replicas == Some(it.replicas)
        });
        let spec = before.stateful_set().filter(|_| !is_updated);
        let cluster = &self.context.policy.cluster;
        let before = spec.and_then(|spec| Settings::of(&transition.id.name, spec, cluster));
        before.is_some_and(|it| {
            let now = settings.replaced();
            let kept = it.ordinals.start..it.replaced().start;
            kept.start.max(now.start) < kept.end.min(now.end)
        })
    }

    /// Returns a note about a pod that the controller may have stopped making while the claim of its predecessor was being
    /// deleted. A change of the set makes it try at once.
    fn stalled_note(&self, present: &Present<'_>, state: &State) -> Option<String> {
        let Present { settings, transition, set, .. } = *present;
        let world = &self.input.world;
        let is_unchanged = !transition.template_changes && !transition.leaves_template;
        let id = transition.before.filter(|_| is_unchanged).map(|_| transition.id)?;
        let exists = |it: &i64| state.pods.contains_key(it) || state.terminating.contains_key(it);
        let missing = settings.ordinals.clone().find(|it| !exists(it))?;
        let mut claims = settings.claims_of(missing).peekable();
        let lacks = |claim: String| world.has_claim(set, &claim) == Some(false);
        let may_stall = settings.deletes_claims && world.pods(set).is_some();
        (may_stall && claims.peek().is_some() && claims.all(lacks)).then(|| {
            format!(
                "with whenScaled: Delete the controller does not notice when the claim of a previous {}-{missing} is gone, so \
                 the new pod may come minutes later, or at once after {}",
                id.name,
                try_again(id)
            )
        })
    }

    /// Returns the initial state of the simulation: the pods and claims of the input, otherwise those of the previous
    /// object, all available.
    fn state(&self, present: &Present<'_>) -> State {
        let Present { settings, transition, .. } = *present;
        let cluster = &self.context.policy.cluster;
        let name = &transition.id.name;
        let old = transition.before.and_then(Object::stateful_set);
        let before = old.and_then(|old| Settings::of(name, old, cluster));
        let is_changed = transition.template_changes;
        let revision = if is_changed { Revision::Old } else { Revision::New };
        let mut state = State {
            is_current: !is_changed || transition.starts_anew,
            ..before.as_ref().map(|old| complete(old, revision)).unwrap_or_default()
        };
        if let Some(before) = before.as_ref().filter(|before| !settings.fit_pods_of(before)) {
            state.misfits = before.ordinals.clone().collect();
        }
        self.as_it_is(present, &mut state);
        state.is_current |= transition.starts_anew;
        self.forget_claims(present.set, settings, &mut state);
        state
    }

    fn as_it_is(&self, present: &Present<'_>, state: &mut State) {
        let Present { settings, spec, transition, set, never_ready } = *present;
        let world = &self.input.world;
        let Some(pods) = world.pods(set) else { return };
        let ending = world.ending(set);
        let status = transition.before.and_then(|it| it.status.read::<StatefulSetStatus>());
        let known = world.revision(set, &spec.template);
        let update = match &status {
            Some(status) if !transition.template_changes => status.update_revision.as_deref(),
            Some(_) | None => known,
        };
        let current = status.as_ref().map(|status| status.current_revision.as_deref());
        // A new set starts with the revision of its template.
        state.is_current = current.is_none_or(|current| update.is_some() && current == update);
        state.pods.clear();
        state.misfits.clear();
        let revision_of = |pod: &Pod| match update.is_some_and(|update| pod.is_of(update)) {
            true => Revision::New,
            false => Revision::Old,
        };
        self.claims_with_pods(present, pods.iter().copied().chain(ending), state);
        for Member { pod, .. } in ending {
            let Some(ordinal) = pod.ordinal(&set.id.name) else { continue };
            let health = if pod.has_ended { Health::Ended } else { Health::Starting };
            state.terminating.insert(ordinal, Replica { revision: revision_of(pod), health });
            state.stranded.extend(world.stranded(pod).map(|why| (ordinal, why)));
            if pod.is_pending {
                state.pending.insert(ordinal);
            }
        }
        for Member { pod, .. } in pods {
            let Some(ordinal) = pod.ordinal(&set.id.name) else { continue };
            let revision = revision_of(pod);
            let health = world.health(pod, settings.min_ready_seconds);
            let mut health = never_ready.health(health, revision, Some(ordinal));
            if let Some(why) = world.stranded(pod) {
                state.stranded.insert(ordinal, why);
                health = Health::Broken;
            }
            state.pods.insert(ordinal, Replica { revision, health });
            let is_stray = |current: Option<&str>| !current.is_some_and(|it| pod.is_of(it));
            if revision == Revision::Old && current.is_some_and(is_stray) {
                state.strays.insert(ordinal);
            }
            if pod.is_pending {
                state.pending.insert(ordinal);
            }
            if !settings.fits(ordinal, &pod.claims) {
                state.misfits.insert(ordinal);
            }
        }
        let exists = |it: &i64| state.pods.contains_key(it) || state.terminating.contains_key(it);
        let missing = settings.ordinals.clone().filter(|it| !exists(it));
        let is_taken = |ordinal: &i64| world.is_taken(set, &format!("{}-{ordinal}", set.id.name));
        state.taken = missing.filter(is_taken).collect();
    }

    fn claims_with_pods<'m>(
        &self,
        present: &Present<'_>,
        members: impl Iterator<Item = &'m Member>,
        state: &mut State,
    ) {
        let Present { settings, set, .. } = *present;
        let world = &self.input.world;
        for member in members {
            let Some(ordinal) = member.pod.ordinal(&set.id.name) else { continue };
            let owned = world.claims_owned_by(member);
            if !owned.is_empty() {
                state.owned.insert(ordinal, owned);
            }
            let mut kept = world.claims_kept_by(member);
            kept.retain(|claim| settings.claims_of(ordinal).any(|it| it == *claim));
            if !kept.is_empty() {
                state.ending_claims.insert(ordinal, kept);
            }
        }
        state.doomed = world.doomed_claims(&set.id.namespace, &set.id.name);
        state.doomed.retain_mut(|(ordinal, claims)| {
            claims.retain(|claim| settings.claims_of(*ordinal).any(|it| it == *claim));
            !claims.is_empty()
        });
    }

    fn forget_claims(&self, set: &SetQuery<'_>, settings: &Settings, state: &mut State) {
        let all = state.pods.keys().chain(state.terminating.keys()).copied();
        let all = all.chain(settings.ordinals.clone());
        let names: BTreeSet<_> = all.flat_map(|ordinal| settings.claims_of(ordinal)).collect();
        for name in names {
            match self.input.world.has_claim(set, &name) {
                Some(true) => drop(state.claims.insert(name)),
                Some(false) => drop(state.claims.remove(&name)),
                None => {}
            }
        }
    }

    fn never_ready(&self, transition: &Transition<'_>) -> NeverReady {
        let ordinals = self.never_ready.iter().filter_map(|pod| {
            let (name, ordinal) = pod.rsplit_once('-')?;
            (name == transition.id.name).then(|| ordinal.parse().ok())?
        });
        NeverReady {
            all_new: transition.never_created || self.never_ready.iter().any(|pod| pod == "new"),
            ordinals: ordinals.collect(),
        }
    }
}

fn complete(settings: &Settings, revision: Revision) -> State {
    let pod = Replica { revision, health: Health::Available };
    let ordinals = settings.ordinals.clone();
    State {
        claims: ordinals.clone().flat_map(|it| settings.claims_of(it)).collect(),
        pods: ordinals.map(|it| (it, pod)).collect(),
        ..State::default()
    }
}

fn try_again(id: &ObjectId) -> String {
    format!("kubectl annotate sts/{} -n {} --overwrite {TRY_AGAIN}", id.name, id.namespace)
}

const fn ordinal(step: &Step) -> Option<i64> {
    match step.target {
        Target::Ordinal(ordinal) => Some(ordinal),
        Target::Node(_) | Target::SomeNodes { .. } => None,
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

/// Returns a pod that the kubelet cannot start from the new template, if none of these is available. A pod in a crash loop
/// may fail because of its own data.
fn failing(state: &State, never_ready: &NeverReady, pods: &[&Member], set: &str) -> Option<i64> {
    let of_template =
        |it: &NotReadyReason| it.kind == NotReadyKind::Broken && &*it.reason != "CrashLoopBackOff";
    let cannot_start = |ordinal: i64| {
        let mut pods = pods.iter().map(|it| &it.pod).filter(|it| it.ordinal(set) == Some(ordinal));
        pods.any(|it| it.trouble.as_ref().is_some_and(|it| of_template(it)))
    };
    let new = state.pods.iter().filter(|(_, it)| it.revision == Revision::New);
    let is_failing = |(ordinal, it): &(&i64, &Replica)| {
        it.health == Health::Broken
            && !state.stranded.contains_key(ordinal)
            && !never_ready.ordinals.contains(ordinal)
            && !never_ready.all_new
            && cannot_start(**ordinal)
    };
    let works = new.clone().any(|(_, it)| it.health == Health::Available);
    new.filter(is_failing).map(|(ordinal, _)| *ordinal).next().filter(|_| !works)
}

fn why_kept(settings: &Settings, course: &Course) -> String {
    let is_early = course.stop.as_ref().is_some_and(|stop| stop.why != Waits::ForTheLast);
    match settings.strategy {
        Strategy::OnDelete => "OnDelete: until they are deleted".to_owned(),
        Strategy::Recreate => "the rollout stops earlier".to_owned(),
        Strategy::RollingUpdate { .. } if is_early => "the rollout stops earlier".to_owned(),
        Strategy::RollingUpdate { partition, .. } => format!("partition {partition}"),
    }
}

/// Adds the terminating pods that take claims with them. Returns notes about them.
fn add_going(
    settings: &Settings,
    state: &State,
    transition: &Transition<'_>,
    course: &mut Course,
) -> Vec<String> {
    if course.going.is_empty() {
        return Vec::new();
    }
    course.waves = course.waves.max(1);
    course.going.sort();
    let (mut steps, mut notes) = (Vec::new(), Vec::new());
    for (ordinal, claims) in std::mem::take(&mut course.going) {
        let mut note = format!(
            "{}-{ordinal} is being deleted already, and {} with it",
            transition.id.name,
            claims.join(", ")
        );
        // The controller waits for the end of such claims only if it deletes claims. It does not notice that end.
        if settings.ordinals.contains(&ordinal) {
            note.push_str(&match settings.deletes_claims {
                true => format!(
                    "; the new pod may come minutes later, or at once after {}",
                    try_again(transition.id)
                ),
                false => {
                    "; if the new pod comes first, it still gets the old claim, which goes with it"
                        .to_owned()
                }
            });
        }
        notes.push(note);
        let revision = state.terminating.get(&ordinal).map_or(Revision::Old, |it| it.revision);
        let target = Target::Ordinal(ordinal);
        steps.push(Step { wave: 1, action: Action::Delete, target, revision, claims });
    }
    course.steps.splice(..0, steps);
    notes
}

/// Returns a note about terminating claims that end when the change deletes a pod.
fn ending_note(state: &State, course: &Course) -> Option<String> {
    let ending: BTreeSet<_> = state.ending_claims.values().flatten().collect();
    let lost = course.steps.iter().flat_map(|step| &step.claims).filter(|it| ending.contains(it));
    let lost: BTreeSet<_> = lost.map(String::as_str).collect();
    let lost: Vec<_> = lost.into_iter().collect();
    let note = || format!("already being deleted, so gone with the pod: {}", lost.join(", "));
    (!lost.is_empty()).then(note)
}

fn remedy(settings: &Settings, state: &State, course: &Course, undo: Undo) -> Option<Remedy> {
    let Stop { target: Target::Ordinal(ordinal), .. } = course.stop.as_ref()? else { return None };
    if !settings.ordinals.contains(ordinal) {
        return Some(Remedy::GiveUp);
    }
    let is_it =
        |step: &&Step| step.action == Action::Create && step.target == Target::Ordinal(*ordinal);
    let created = course.steps.iter().rev().find(is_it).map(|step| step.revision);
    let counts = |it: i64| it != *ordinal && !state.strays.contains(&it);
    let others = state.pods.iter();
    let others = others.filter(|(it, pod)| counts(**it) && pod.revision == Revision::Old);
    let comes_back_new = state.is_current || !settings.creates_old(*ordinal, others.count());
    Some(match created.or_else(|| Some(state.pods.get(ordinal)?.revision)) {
        // The partition covers a pod that has its template from before.
        Some(Revision::New) if created.is_none() && !comes_back_new => {
            Remedy::Delete(Revision::Old)
        }
        Some(Revision::New) if created.is_none() && undo == Undo::Manifest => Remedy::Look,
        Some(Revision::New) => Remedy::Undo,
        Some(Revision::Old) if created.is_none() && comes_back_new => Remedy::Delete(Revision::New),
        Some(Revision::Old) if created.is_none() && settings.is_bare => Remedy::Complete,
        Some(Revision::Old) | None => Remedy::Look,
    })
}

fn claim_notes(course: &Course) -> Vec<String> {
    let note = |all: &[(i64, Vec<String>)], what: &str| {
        let claims: Vec<_> =
            all.iter().flat_map(|(_, claims)| claims).map(String::as_str).collect();
        (!claims.is_empty()).then(|| format!("created for pods that {what}: {}", claims.join(", ")))
    };
    let unused = note(&course.unused_claims, "cannot use it yet");
    unused.into_iter().chain(note(&course.missing_claims, "wait for it")).collect()
}

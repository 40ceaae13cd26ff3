use setguard_core::{object::StatefulSetSpec, rollout::stateful_set::Settings};

use super::{
    Simulated,
    old_state::query,
    stateful_set::{MOST_PODS, count},
};
use crate::plan::prelude::*;

impl Forecaster<'_> {
    /// Returns the forecast for an object that the change removes from the manifests.
    pub(super) fn deleted(&self, id: &ObjectId, old: &Object<'_>, note: String) -> Forecast {
        let (more, rollout) = match &old.workload {
            Workload::StatefulSet(spec) => {
                let set = query(id, old, Some(old));
                let pods = self.input.world.pods(&set);
                (None, self.deleted_pods(&set, spec, pods.as_deref(), false))
            }
            Workload::DaemonSet(_) => (Some("its pods are deleted, all at once".to_owned()), None),
        };
        Forecast {
            id: id.clone(),
            change: ChangeKind::Delete,
            notes: std::iter::once(note).chain(more).collect(),
            rollout,
            ..Forecast::default()
        }
    }

    /// Returns the forecast for a terminating object: its controller creates and replaces no pods, whatever the
    /// manifest says.
    ///
    /// Kubernetes: `updateStatefulSet`, pkg/controller/statefulset/stateful_set_control.go; `syncDaemonSet`,
    /// pkg/controller/daemon/daemon_controller.go.
    pub(super) fn being_deleted(&self, id: &ObjectId, old: &Object<'_>) -> Option<Simulated> {
        let own = old.metadata.deletion_timestamp.as_deref();
        let of_namespace = self.input.world.ends_since(&id.namespace);
        let since = own.or(of_namespace)?;
        let finalizers = old.metadata.finalizers.iter().flatten().map(|it| &**it);
        let finalizers: Vec<&str> = finalizers.collect();
        let (world, set) = (&self.input.world, query(id, old, Some(old)));
        // A terminating set adopts no pods, but a terminating namespace deletes these too.
        let goes = |it: &&Member| it.orphan.is_none() || of_namespace.is_some();
        let pods = world.pods(&set).map(|it| it.into_iter().filter(goes).collect::<Vec<_>>());
        let is_none_left = pods.as_ref().is_some_and(Vec::is_empty);
        let are_ending = is_none_left && !world.ending(&set).is_empty();
        let has_orphans = is_none_left && !are_ending && world.adopted(&set).next().is_some();
        let is_orphaned = of_namespace.is_none() && finalizers.contains(&"orphan") || has_orphans;
        let rollout = match &old.workload {
            Workload::StatefulSet(spec) if !is_orphaned => {
                self.deleted_pods(&set, spec, pods.as_deref(), of_namespace.is_none())
            }
            Workload::StatefulSet(_) | Workload::DaemonSet(_) => None,
        };
        let pods = match (is_orphaned, are_ending) {
            (true, _) => "its pods stay, without a controller",
            (false, true) => "its pods are being deleted already",
            (false, false) => "its pods go with it",
        };
        let held = match &finalizers[..] {
            [] => String::new(),
            all => format!(" (finalizers: {})", all.join(", ")),
        };
        let (what, then) = match of_namespace {
            Some(_) => ("its namespace", "there is a new namespace"),
            None => ("it", "the set no longer exists"),
        };
        let note = format!(
            "the cluster has been deleting {what} since {since}{held}: no pod is created or replaced, {pods}, and this \
             change is lost; apply the manifest again once {then}"
        );
        Some(Simulated { notes: vec![note], rollout, ..Simulated::default() })
    }

    /// The controller gives a terminating set no more claims, so only the claims that the set owns go with it. Each pod
    /// takes its own claims with it.
    fn deleted_pods(
        &self,
        set: &SetQuery<'_>,
        spec: &StatefulSetSpec,
        pods: Option<&[&Member]>,
        is_terminating: bool,
    ) -> Option<Rollout> {
        let (id, world) = (set.id, &self.input.world);
        let settings = Settings::of(&id.name, spec, &self.context.policy.cluster)
            .filter(|it| count(&it.ordinals) <= MOST_PODS)?;
        let retention = spec.persistent_volume_claim_retention_policy.as_ref();
        let deletes = retention.and_then(|it| it.when_deleted.as_deref()) == Some("Delete")
            || world.ends_since(&id.namespace).is_some();
        let goes = |claim: &String| match world.has_claim(set, claim) {
            Some(exists) => exists && deletes && !is_terminating,
            None => deletes,
        };
        let claims = |ordinal| settings.claims_of(ordinal).filter(goes).collect::<BTreeSet<_>>();
        let mut all: BTreeMap<i64, _> =
            settings.ordinals.clone().map(|ordinal| (ordinal, claims(ordinal))).collect();
        let members = pods.into_iter().flatten().copied().chain(world.ending(set));
        for member in members {
            let owned = world.claims_owned_by(member).into_iter();
            if let Some(ordinal) = member.pod.ordinal(&id.name) {
                let claims = all.entry(ordinal).or_default();
                claims.extend(owned.chain(world.claims_kept_by(member)));
            }
        }
        for claim in world.claims_of_set(id).filter(|_| deletes || is_terminating) {
            let ordinal = claim.rsplit_once('-').and_then(|(_, ordinal)| ordinal.parse().ok());
            if let Some(ordinal) = ordinal {
                all.entry(ordinal).or_default().insert(claim.to_owned());
            }
        }
        // The change does not delete a terminating pod again, but it deletes the pod's claims.
        let pods = pods.map(|pods| {
            pods.iter().filter_map(|it| it.pod.ordinal(&id.name)).collect::<BTreeSet<_>>()
        });
        let is_deleted = |(ordinal, claims): &(i64, BTreeSet<String>)| {
            pods.as_ref().is_none_or(|pods| pods.contains(ordinal)) || !claims.is_empty()
        };
        // The garbage collector deletes the pods in no particular order.
        let steps = all.into_iter().filter(is_deleted).map(|(ordinal, claims)| Step {
            wave: 1,
            action: Action::Delete,
            target: Target::Ordinal(ordinal),
            revision: Revision::Old,
            claims: claims.into_iter().collect(),
        });
        let steps: Vec<_> = steps.collect();
        let course = Course {
            waves: usize::from(!steps.is_empty()),
            at_most_unavailable: steps.len(),
            steps,
            ..Course::default()
        };
        Some(Rollout {
            of_kind: OfKind::StatefulSet {
                is_ordered: settings.is_ordered,
                min_ready_seconds: settings.min_ready_seconds,
                retained: self.retained(&id.namespace, &course),
                remedy: None,
            },
            course,
            kept: Vec::new(),
            why_kept: None,
            down_before: None,
            if_broken: None,
            undo: Undo::Before,
            estimate: None,
            over_budgets: Vec::new(),
        })
    }

    pub(super) fn retained(&self, namespace: &str, course: &Course) -> BTreeSet<String> {
        let deleted = course.steps.iter().filter(|it| it.action == Action::Delete);
        let claims = deleted.flat_map(|step| &step.claims);
        claims.filter(|claim| self.input.world.retains(namespace, claim)).cloned().collect()
    }
}

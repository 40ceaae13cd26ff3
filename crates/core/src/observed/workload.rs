use k8s_openapi::api::{
    apps::v1::{DaemonSetStatus, StatefulSetStatus},
    core::v1::PodTemplateSpec,
};

use super::{managed::Writes, readiness::Readiness};
use crate::observed::prelude::*;
use crate::{
    kubernetes::{
        cluster::Version,
        containers,
        pod_security::{FailedCheck, Standard},
    },
    object::{
        DaemonSetSpec, StatefulSetSpec, annotations::IGNORE_ANNOTATION, defaults,
        deployer::Deployer,
    },
    rollout::{daemon_set::Settings, node::Placing},
};

/// The annotation with the generation of a DaemonSet's template. Its pods have the generation as a label.
const GENERATION_ANNOTATION: &str = "deprecated.daemonset.template.generation";

const GRACE: i64 = 30;

/// The parts of a pod template that are read.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Template {
    #[serde(default)]
    metadata: Labelled,
    /// The fields that determine where a DaemonSet's pods run.
    #[serde(default, rename = "spec")]
    pub placing: Placing,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Labelled {
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WithTemplate {
    template: PodTemplateSpec,
}

/// A DaemonSet or StatefulSet, reduced to what the status rules need.
#[derive(Debug)]
pub struct WorkloadStatus {
    namespace: Box<str>,
    name: Box<str>,
    uid: Box<str>,
    generation: i64,
    ignore: Option<Box<str>>,
    /// The tool that deploys the set, if its metadata shows it.
    pub(crate) deployer: Option<Box<Deployer>>,
    /// The time of creation, in seconds since 1970.
    pub created: i64,
    deletion: Option<Box<Deletion>>,
    /// When the status was last written, if known.
    pub(crate) status_written: Option<i64>,
    /// When anything but the status was last written, if known.
    pub(crate) spec_written: Option<i64>,
    /// When a different client last did that.
    pub(crate) spec_written_by_other: Option<i64>,
    needs_privileged: bool,
    /// Whether the pods end once all containers have exited. Known only for an unhealthy set.
    pub(crate) ends: bool,
    /// Known only for an unhealthy set.
    pub(crate) readiness: Readiness,
    /// The spec and status.
    pub state: WorkloadState,
}

/// How many pods a set should have, and how many its status counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) wanted: i32,
    pub(crate) exist: i32,
    pub(crate) ready: i32,
    pub(crate) available: i32,
    pub(crate) updated: i32,
}

/// How many pods of a set are ready, and how many should be.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Ready pods.
    pub ready: i32,
    /// Pods that the controller should run.
    pub wanted: i32,
}

impl Ready {
    /// Returns whether no pod is ready although some should be.
    pub const fn is_outage(self) -> bool {
        self.ready <= 0 && self.wanted > 0
    }
}

#[derive(Debug)]
pub(crate) struct Deletion {
    /// In seconds since 1970.
    pub(crate) requested: i64,
    pub(crate) finalizers: Vec<Box<str>>,
    /// The grace period of the pods, in seconds.
    pub(crate) grace: i64,
}

/// The spec and status, by kind.
#[derive(Debug)]
pub enum WorkloadState {
    /// A DaemonSet.
    DaemonSet(Box<DaemonSet>),
    /// A StatefulSet.
    StatefulSet(Box<StatefulSet>),
}

/// The spec and status of a DaemonSet.
#[derive(Debug)]
pub struct DaemonSet {
    pub spec: DaemonSetSpec<Template>,
    pub status: DaemonSetStatus,
    /// The generation of the template.
    pub generation: Option<Box<str>>,
}

/// The spec and status of a StatefulSet.
#[derive(Debug)]
pub struct StatefulSet {
    pub spec: StatefulSetSpec<Template>,
    pub status: StatefulSetStatus,
}

impl WorkloadStatus {
    pub(super) fn daemon_set(json: &str) -> serde_json::Result<Self> {
        let Whole::<Metadata, _, _> { metadata, mut spec, status } = serde_json::from_str(json)?;
        defaults::daemon_set(&mut spec);
        let generation = metadata.annotation(GENERATION_ANNOTATION).map(Into::into);
        let state = WorkloadState::DaemonSet(Box::new(DaemonSet { spec, status, generation }));
        WorkloadStatus::of(metadata, state, json)
    }

    pub(super) fn stateful_set(json: &str) -> serde_json::Result<Self> {
        let Whole::<Metadata, _, _> { metadata, mut spec, status } = serde_json::from_str(json)?;
        defaults::stateful_set(&mut spec);
        WorkloadStatus::of(
            metadata,
            WorkloadState::StatefulSet(Box::new(StatefulSet { spec, status })),
            json,
        )
    }

    fn of(metadata: Metadata, state: WorkloadState, json: &str) -> serde_json::Result<Self> {
        let writes = Writes::of(metadata.managed_fields.as_deref().unwrap_or_default());
        let deployer = Deployer::named(|label| metadata.label(label), |it| metadata.annotation(it));
        let mut set = WorkloadStatus {
            deployer: deployer.map(Box::new),
            ignore: metadata.annotation(IGNORE_ANNOTATION).map(Into::into),
            created: metadata.created(),
            deletion: None,
            status_written: writes.status,
            spec_written: writes.spec,
            spec_written_by_other: writes.by_other,
            namespace: metadata.namespace().into(),
            name: metadata.name().into(),
            uid: metadata.uid().into(),
            generation: metadata.generation,
            needs_privileged: false,
            ends: false,
            readiness: Readiness::default(),
            state,
        };
        if let Some(requested) = metadata.deleted() {
            let spec = template(json)?.spec;
            let grace = spec.and_then(|it| it.termination_grace_period_seconds);
            set.deletion = Some(Box::new(Deletion {
                requested,
                finalizers: metadata.finalizers.unwrap_or_default(),
                grace: grace.unwrap_or(GRACE),
            }));
        }
        if !set.is_healthy() {
            let template = template(json)?;
            let baseline = Standard::of(Some("baseline"), None, Version::NEWEST.minor());
            set.readiness = Readiness::of(&template);
            set.ends = template.spec.as_ref().is_some_and(containers::ends);
            set.needs_privileged =
                baseline.is_some_and(|standard| !FailedCheck::by(standard, &template).is_empty());
        }
        Ok(set)
    }

    /// Returns the strictest Pod Security level below `restricted` that allows the pods. Valid only for an unhealthy
    /// set.
    pub(crate) const fn least_pod_security(&self) -> &'static str {
        if self.needs_privileged { "privileged" } else { "baseline" }
    }

    pub const fn kind(&self) -> WorkloadKind {
        match self.state {
            WorkloadState::DaemonSet(_) => WorkloadKind::DaemonSet,
            WorkloadState::StatefulSet(_) => WorkloadKind::StatefulSet,
        }
    }

    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// Returns the generation of the spec.
    pub const fn generation(&self) -> i64 {
        self.generation
    }

    /// Returns whether the set is being deleted.
    pub const fn is_being_deleted(&self) -> bool {
        self.deletion.is_some()
    }

    pub(crate) fn deletion(&self) -> Option<&Deletion> {
        self.deletion.as_deref()
    }

    /// Returns how long a pod must be ready before it is available, in seconds.
    pub fn min_ready_seconds(&self) -> i64 {
        let seconds = match &self.state {
            WorkloadState::DaemonSet(it) => it.spec.min_ready_seconds,
            WorkloadState::StatefulSet(it) => it.spec.min_ready_seconds,
        };
        seconds.unwrap_or_default().into()
    }

    /// Returns whether fewer pods exist than desired, according to the status.
    pub fn lacks_pods(&self) -> bool {
        let Counts { wanted, exist, .. } = self.counts();
        exist < wanted
    }

    pub(crate) fn counts(&self) -> Counts {
        match &self.state {
            WorkloadState::DaemonSet(it) => Counts {
                wanted: it.status.desired_number_scheduled,
                exist: it.status.current_number_scheduled,
                ready: it.status.number_ready,
                available: it.status.number_available.unwrap_or_default(),
                updated: it.status.updated_number_scheduled.unwrap_or_default(),
            },
            WorkloadState::StatefulSet(it) => Counts {
                wanted: it.spec.replicas.unwrap_or(1),
                exist: it.status.replicas,
                ready: it.status.ready_replicas.unwrap_or_default(),
                available: it.status.available_replicas.unwrap_or_default(),
                updated: it.status.updated_replicas.unwrap_or_default(),
            },
        }
    }

    /// Returns whether a DaemonSet with `maxSurge` still waits for new pods next to old ones.
    pub(crate) fn lacks_surge(&self) -> bool {
        let WorkloadState::DaemonSet(it) = &self.state else { return false };
        let Counts { wanted, updated, .. } = self.counts();
        let settings = Settings::of(&it.spec);
        !settings.is_on_delete()
            && updated < wanted
            && settings.budget(usize::try_from(wanted).unwrap_or_default()).max_surge > 0
    }

    /// Returns whether pods get a new template only after they are deleted manually.
    pub fn is_on_delete(&self) -> bool {
        match &self.state {
            WorkloadState::DaemonSet(it) => Settings::of(&it.spec).is_on_delete(),
            WorkloadState::StatefulSet(it) => {
                let strategy = it.spec.update_strategy.as_ref();
                strategy.and_then(|it| it.type_.as_deref()) == Some("OnDelete")
            }
        }
    }

    pub(crate) fn has_generation_of(&self, pod: &Pod) -> bool {
        let WorkloadState::DaemonSet(it) = &self.state else { return false };
        it.generation.as_deref().is_some_and(|it| pod.is_of_generation(it))
    }

    /// Returns the annotation `setguard.io/ignore`.
    pub fn ignore(&self) -> Option<&str> {
        self.ignore.as_deref()
    }

    pub(crate) const fn pod_labels(&self) -> Option<&BTreeMap<String, String>> {
        let template = match &self.state {
            WorkloadState::DaemonSet(it) => &it.spec.template,
            WorkloadState::StatefulSet(it) => &it.spec.template,
        };
        template.metadata.labels.as_ref()
    }

    /// Returns whether each pod gets its own claims.
    pub fn has_claim_templates(&self) -> bool {
        match &self.state {
            WorkloadState::DaemonSet(_) => false,
            WorkloadState::StatefulSet(it) => {
                it.spec.volume_claim_templates.as_ref().is_some_and(|list| !list.is_empty())
            }
        }
    }

    /// Returns whether the status is current. The status of a set that is being deleted does not matter.
    pub fn is_current(&self) -> bool {
        !self.is_being_deleted() && self.observed_generation() >= self.generation
    }

    /// Returns whether the controller has not yet observed the latest change.
    pub fn is_unobserved(&self) -> bool {
        !self.is_being_deleted() && self.observed_generation() < self.generation
    }

    /// 0 for none.
    pub(crate) fn observed_generation(&self) -> i64 {
        let observed = match &self.state {
            WorkloadState::DaemonSet(it) => it.status.observed_generation,
            WorkloadState::StatefulSet(it) => it.status.observed_generation,
        };
        observed.unwrap_or_default()
    }

    /// Returns how many pods are ready and desired, according to the status.
    pub fn ready(&self) -> Ready {
        let Counts { wanted, ready, .. } = self.counts();
        match self.kind() {
            WorkloadKind::DaemonSet => Ready { ready, wanted },
            // The status also counts pods that a scale-down has yet to delete.
            WorkloadKind::StatefulSet => Ready { ready: ready.min(wanted), wanted },
        }
    }

    /// Returns whether all desired pods exist, are available and have the current revision, according to the status. A
    /// set also counts as healthy if it is being deleted or the controller has not observed it: its status shows
    /// nothing.
    pub fn is_healthy(&self) -> bool {
        if !self.is_current() {
            return true;
        }
        let Counts { wanted, exist, ready, available, updated } = self.counts();
        let is_through = match &self.state {
            WorkloadState::DaemonSet(it) => it.status.number_misscheduled == 0,
            WorkloadState::StatefulSet(it) => {
                it.status.current_revision == it.status.update_revision
            }
        };
        // A ready pod that is being deleted counts as ready but not as updated.
        is_through && [exist, ready, available, updated] == [wanted; 4]
    }
}

fn template(json: &str) -> serde_json::Result<PodTemplateSpec> {
    let Whole::<IgnoredAny, WithTemplate> { spec, .. } = serde_json::from_str(json)?;
    Ok(spec.template)
}

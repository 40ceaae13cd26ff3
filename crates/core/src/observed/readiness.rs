use k8s_openapi::api::core::v1::PodTemplateSpec;

/// The defaults of a probe: seconds and failures.
const PERIOD: i32 = 10;
const THRESHOLD: i32 = 3;

/// All zero without readiness probes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Readiness {
    /// The longest interval between two probes, in seconds.
    pub(crate) period: i64,
    /// The longest time until failing probes make a pod unready, in seconds.
    pub(crate) loss: i64,
}

impl Readiness {
    pub(super) fn of(template: &PodTemplateSpec) -> Self {
        let containers = template
            .spec
            .iter()
            .flat_map(|spec| spec.containers.iter().chain(spec.init_containers.iter().flatten()));
        let probes = containers.filter_map(|it| it.readiness_probe.as_ref());
        probes.fold(Readiness::default(), |all, probe| {
            let period = i64::from(probe.period_seconds.unwrap_or(PERIOD).max(1));
            let loss = period * i64::from(probe.failure_threshold.unwrap_or(THRESHOLD).max(1));
            Readiness { period: all.period.max(period), loss: all.loss.max(loss) }
        })
    }
}

//! Fields that the API server drops before validation, because their feature gate is off.
//!
//! Kubernetes: `dropDisabledFields`, `pkg/api/pod/util.go`. It keeps a field that the old spec uses.

mod label_keys;
mod user_fields;

use std::{borrow::Cow, collections::HashSet};

use k8s_openapi::api::core::v1::{
    Container, LifecycleHandler, PodSpec, PodTemplateSpec, Probe, VolumeProjection,
};

use crate::kubernetes::{
    absent::list,
    cluster::{Cluster, since},
    containers::{containers, is_sidecar},
};

const CONTAINER_RESTART_RULES: &str = "ContainerRestartRules";

struct Feature {
    gate: &'static str,
    used: fn(&PodSpec) -> bool,
    drop: fn(&mut PodSpec),
}

/// A feature with one field: of the pod, of its security context, or of the sources of projected volumes.
macro_rules! field {
    ($gate:literal, spec.$field:ident) => {
        Feature { gate: $gate, used: |spec| spec.$field.is_some(), drop: |spec| spec.$field = None }
    };
    ($gate:literal, context.$field:ident) => {
        Feature {
            gate: $gate,
            used: |spec| spec.security_context.as_ref().is_some_and(|it| it.$field.is_some()),
            drop: |spec| {
                if let Some(context) = &mut spec.security_context {
                    context.$field = None;
                }
            },
        }
    };
    ($gate:literal, projection.$field:ident) => {
        Feature {
            gate: $gate,
            used: |spec| projections(spec).any(|it| it.$field.is_some()),
            drop: |spec| each_projection(spec, |it| it.$field = None),
        }
    };
}

const FEATURES: &[Feature] = &[
    field!("UserNamespacesSupport", spec.host_users),
    field!("SupplementalGroupsPolicy", context.supplemental_groups_policy),
    field!("PodLevelResources", spec.resources),
    Feature { gate: "ProcMountType", used: proc_mount, drop: drop_proc_mount },
    Feature {
        gate: "MatchLabelKeysInPodTopologySpread",
        used: |spec| {
            let mut all = list(&spec.topology_spread_constraints).iter();
            all.any(|c| !list(&c.match_label_keys).is_empty())
        },
        drop: |spec| {
            for constraint in spec.topology_spread_constraints.iter_mut().flatten() {
                constraint.match_label_keys = None;
            }
        },
    },
    Feature { gate: "MatchLabelKeysInPodAffinity", used: label_keys::used, drop: label_keys::drop },
    Feature {
        gate: "DynamicResourceAllocation",
        used: |spec| {
            !list(&spec.resource_claims).is_empty()
                || containers(spec)
                    .any(|c| c.resources.as_ref().is_some_and(|r| r.claims.is_some()))
        },
        drop: |spec| {
            spec.resource_claims = None;
            each_container(spec, |c| {
                if let Some(resources) = &mut c.resources {
                    resources.claims = None;
                }
            });
        },
    },
    field!("ClusterTrustBundleProjection", projection.cluster_trust_bundle),
    field!("PodCertificateRequest", projection.pod_certificate),
    field!("GenericWorkload", spec.scheduling_group),
    Feature {
        gate: "InPlacePodVerticalScaling",
        used: |spec| containers(spec).any(|c| !list(&c.resize_policy).is_empty()),
        drop: |spec| each_container(spec, |c| c.resize_policy = None),
    },
    Feature {
        gate: CONTAINER_RESTART_RULES,
        used: container_restart_rules,
        drop: |spec| {
            for container in spec.init_containers.iter_mut().flatten() {
                if !is_sidecar(container) {
                    container.restart_policy = None;
                }
                container.restart_policy_rules = None;
            }
            for container in &mut spec.containers {
                (container.restart_policy, container.restart_policy_rules) = (None, None);
            }
            for container in spec.ephemeral_containers.iter_mut().flatten() {
                (container.restart_policy, container.restart_policy_rules) = (None, None);
            }
        },
    },
    field!("HostnameOverride", spec.hostname_override),
    Feature {
        gate: "EnvFiles",
        used: file_key_ref,
        drop: |spec| {
            each_container(spec, |c| {
                for source in c.env.iter_mut().flatten().filter_map(|e| e.value_from.as_mut()) {
                    source.file_key_ref = None;
                }
            });
        },
    },
    Feature {
        gate: "ImageVolume",
        used: |spec| list(&spec.volumes).iter().any(|v| v.image.is_some()),
        drop: drop_image_volumes,
    },
    field!("SELinuxChangePolicy", context.se_linux_change_policy),
    Feature {
        gate: "ContainerStopSignals",
        used: |spec| {
            containers(spec).any(|c| c.lifecycle.as_ref().is_some_and(|l| l.stop_signal.is_some()))
        },
        drop: |spec| {
            each_container(spec, |c| {
                if let Some(lifecycle) = &mut c.lifecycle
                    && lifecycle.stop_signal.take().is_some()
                    && lifecycle.post_start.is_none()
                    && lifecycle.pre_stop.is_none()
                {
                    c.lifecycle = None;
                }
            });
        },
    },
    Feature {
        gate: "AtomicWriteVolumeUserFields",
        used: user_fields::used,
        drop: user_fields::drop,
    },
    Feature {
        gate: "EmptyDirVolumeMode",
        used: |spec| {
            let mut all = list(&spec.volumes).iter().filter_map(|v| v.empty_dir.as_ref());
            all.any(|empty| empty.mode.is_some())
        },
        drop: |spec| {
            let volumes = spec.volumes.iter_mut().flatten();
            volumes.filter_map(|v| v.empty_dir.as_mut()).for_each(|empty| empty.mode = None);
        },
    },
    Feature {
        gate: "EvictionRequestAPI",
        used: |spec| !list(&spec.eviction_responders).is_empty(),
        drop: |spec| spec.eviction_responders = None,
    },
    Feature {
        gate: "GRPCContainerProbeTLS",
        used: |spec| {
            let mut all = containers(spec).flat_map(probes).filter_map(|p| p.grpc.as_ref());
            all.any(|grpc| grpc.mode.is_some())
        },
        drop: |spec| {
            each_container(spec, |c| {
                for grpc in probes_mut(c).filter_map(|probe| probe.grpc.as_mut()) {
                    grpc.mode = None;
                }
            });
        },
    },
    Feature {
        gate: "H2CContainerProbe",
        used: |spec| {
            let probes = containers(spec).flat_map(probes).filter_map(|p| p.http_get.as_ref());
            let hooks = containers(spec).flat_map(hooks).filter_map(|h| h.http_get.as_ref());
            probes.chain(hooks).any(|http| http.protocol.is_some())
        },
        drop: |spec| {
            each_container(spec, |c| {
                for http in probes_mut(c).filter_map(|probe| probe.http_get.as_mut()) {
                    http.protocol = None;
                }
                let hooks =
                    c.lifecycle.iter_mut().flat_map(|l| [&mut l.post_start, &mut l.pre_stop]);
                for http in hooks.flatten().filter_map(|hook| hook.http_get.as_mut()) {
                    http.protocol = None;
                }
            });
        },
    },
    Feature {
        gate: "VolumeBindMountOptions",
        used: |spec| {
            let mut mounts = containers(spec).flat_map(|c| list(&c.volume_mounts));
            mounts.any(|mount| !list(&mount.bind_mount_options).is_empty())
        },
        drop: |spec| {
            each_container(spec, |c| {
                c.volume_mounts.iter_mut().flatten().for_each(|m| m.bind_mount_options = None);
            });
        },
    },
];

/// Returns whether the API server drops a feature's fields, unless the old spec uses it.
fn drops(feature: &Feature, cluster: &Cluster) -> bool {
    let exists =
        feature.gate != CONTAINER_RESTART_RULES || cluster.has(since::CONTAINER_RESTART_RULES);
    exists && !cluster.enabled(feature.gate)
}

/// Assumes no old spec.
pub(crate) fn uses_disabled(spec: &PodSpec, cluster: &Cluster) -> bool {
    FEATURES.iter().any(|feature| drops(feature, cluster) && (feature.used)(spec))
}

/// Returns the disabled gates whose fields the spec uses, each with the spec without these fields. Assumes that there
/// is no old spec.
pub(crate) fn disabled(
    spec: &PodSpec,
    cluster: &Cluster,
) -> impl Iterator<Item = (&'static str, PodSpec)> {
    let used = FEATURES.iter().filter(|it| drops(it, cluster) && (it.used)(spec));
    used.map(|feature| {
        let mut without = spec.clone();
        (feature.drop)(&mut without);
        (feature.gate, without)
    })
}

/// Copies the spec only if a field is dropped.
pub(crate) fn drop_disabled<'a>(
    spec: &'a PodSpec,
    old: Option<&PodSpec>,
    cluster: &Cluster,
) -> Cow<'a, PodSpec> {
    let mut spec = Cow::Borrowed(spec);
    for feature in FEATURES {
        if drops(feature, cluster) && (feature.used)(&spec) && !old.is_some_and(feature.used) {
            (feature.drop)(spec.to_mut());
        }
    }
    spec
}

pub(super) fn template<'a>(
    template: &'a PodTemplateSpec,
    old: Option<&PodSpec>,
    cluster: &Cluster,
) -> Cow<'a, PodTemplateSpec> {
    let spec = template.spec.as_ref().map(|spec| drop_disabled(spec, old, cluster));
    match spec {
        Some(Cow::Owned(spec)) => {
            let metadata = template.metadata.clone();
            Cow::Owned(PodTemplateSpec { metadata, spec: Some(spec) })
        }
        Some(Cow::Borrowed(_)) | None => Cow::Borrowed(template),
    }
}

pub(crate) fn selinux_change_policy(spec: &PodSpec) -> bool {
    spec.security_context.as_ref().is_some_and(|c| c.se_linux_change_policy.is_some())
}

pub(crate) fn file_key_ref(spec: &PodSpec) -> bool {
    let mut sources =
        containers(spec).flat_map(|c| list(&c.env)).filter_map(|env| env.value_from.as_ref());
    sources.any(|source| source.file_key_ref.is_some())
}

/// A restart policy that makes a container a sidecar does not count.
pub(crate) fn container_restart_rules(spec: &PodSpec) -> bool {
    let rules = |c: &Container| !list(&c.restart_policy_rules).is_empty();
    let mut init = list(&spec.init_containers).iter();
    let mut ephemeral = list(&spec.ephemeral_containers).iter();
    init.any(|c| rules(c) || (c.restart_policy.is_some() && !is_sidecar(c)))
        || ephemeral.any(|c| c.restart_policy.is_some() || c.restart_policy_rules.is_some())
        || spec.containers.iter().any(|c| rules(c) || c.restart_policy.is_some())
}

fn proc_mount(spec: &PodSpec) -> bool {
    containers(spec).any(|c| {
        let context = c.security_context.as_ref();
        context.and_then(|c| c.proc_mount.as_deref()).is_some_and(|mount| mount != "Default")
    })
}

fn drop_proc_mount(spec: &mut PodSpec) {
    each_container(spec, |c| {
        if let Some(mount) = c.security_context.as_mut().and_then(|c| c.proc_mount.as_mut()) {
            "Default".clone_into(mount);
        }
    });
}

fn projections(spec: &PodSpec) -> impl Iterator<Item = &VolumeProjection> {
    let volumes = list(&spec.volumes).iter().filter_map(|v| v.projected.as_ref());
    volumes.flat_map(|projected| list(&projected.sources))
}

fn each_projection(spec: &mut PodSpec, change: impl Fn(&mut VolumeProjection)) {
    let volumes = spec.volumes.iter_mut().flatten().filter_map(|v| v.projected.as_mut());
    volumes.flat_map(|projected| projected.sources.iter_mut().flatten()).for_each(change);
}

fn each_container(spec: &mut PodSpec, change: impl Fn(&mut Container)) {
    spec.init_containers.iter_mut().flatten().chain(&mut spec.containers).for_each(change);
}

fn probes(container: &Container) -> impl Iterator<Item = &Probe> {
    let probes = [&container.liveness_probe, &container.readiness_probe, &container.startup_probe];
    probes.into_iter().flatten()
}

fn probes_mut(container: &mut Container) -> impl Iterator<Item = &mut Probe> {
    let probes = container.liveness_probe.iter_mut().chain(&mut container.readiness_probe);
    probes.chain(&mut container.startup_probe)
}

fn hooks(container: &Container) -> impl Iterator<Item = &LifecycleHandler> {
    let lifecycle = container.lifecycle.iter();
    lifecycle.flat_map(|it| [&it.post_start, &it.pre_stop]).flatten()
}

fn drop_image_volumes(spec: &mut PodSpec) {
    let mut images = HashSet::new();
    if let Some(volumes) = &mut spec.volumes {
        volumes.retain(|volume| {
            if volume.image.is_some() {
                images.insert(volume.name.clone());
            }
            volume.image.is_none()
        });
    }
    each_container(spec, |c| {
        if let Some(mounts) = &mut c.volume_mounts {
            mounts.retain(|mount| !images.contains(&mount.name));
        }
    });
}

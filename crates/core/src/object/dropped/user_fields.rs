//! Kubernetes: `dropDisabledAtomicWriteVolumeUserFields`, `pkg/api/pod/util.go`.

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, KeyToPath, PodSpec, Volume, VolumeProjection,
};

pub(super) fn used(spec: &PodSpec) -> bool {
    spec.volumes.iter().flatten().any(has)
}

pub(super) fn drop(spec: &mut PodSpec) {
    spec.volumes.iter_mut().flatten().for_each(|volume| each(volume, |user| *user = None));
}

fn has(volume: &Volume) -> bool {
    let paths = |items: &Option<Vec<KeyToPath>>| items.iter().flatten().any(|i| i.user.is_some());
    let files = |items: &Option<Vec<DownwardAPIVolumeFile>>| {
        items.iter().flatten().any(|file| file.user.is_some())
    };
    let in_source = |source: &VolumeProjection| {
        source.secret.as_ref().is_some_and(|it| paths(&it.items))
            || source.config_map.as_ref().is_some_and(|it| paths(&it.items))
            || source.downward_api.as_ref().is_some_and(|it| files(&it.items))
            || source.service_account_token.as_ref().is_some_and(|it| it.user.is_some())
            || source.cluster_trust_bundle.as_ref().is_some_and(|it| it.user.is_some())
            || source.pod_certificate.as_ref().is_some_and(|it| it.user.is_some())
    };
    volume.secret.as_ref().is_some_and(|it| it.default_user.is_some() || paths(&it.items))
        || volume
            .config_map
            .as_ref()
            .is_some_and(|it| it.default_user.is_some() || paths(&it.items))
        || volume
            .downward_api
            .as_ref()
            .is_some_and(|it| it.default_user.is_some() || files(&it.items))
        || volume.projected.as_ref().is_some_and(|it| {
            it.default_user.is_some() || it.sources.iter().flatten().any(in_source)
        })
}

fn each(volume: &mut Volume, mut see: impl FnMut(&mut Option<i64>)) {
    if let Some(secret) = &mut volume.secret {
        see(&mut secret.default_user);
        secret.items.iter_mut().flatten().for_each(|item| see(&mut item.user));
    }
    if let Some(map) = &mut volume.config_map {
        see(&mut map.default_user);
        map.items.iter_mut().flatten().for_each(|item| see(&mut item.user));
    }
    if let Some(downward) = &mut volume.downward_api {
        see(&mut downward.default_user);
        downward.items.iter_mut().flatten().for_each(|item| see(&mut item.user));
    }
    let Some(projected) = &mut volume.projected else { return };
    see(&mut projected.default_user);
    for source in projected.sources.iter_mut().flatten() {
        let secret = source.secret.iter_mut().flat_map(|it| it.items.iter_mut().flatten());
        let map = source.config_map.iter_mut().flat_map(|it| it.items.iter_mut().flatten());
        secret.chain(map).for_each(|item| see(&mut item.user));
        let downward = source.downward_api.iter_mut().flat_map(|it| it.items.iter_mut().flatten());
        downward.for_each(|item| see(&mut item.user));
        source.service_account_token.iter_mut().for_each(|it| see(&mut it.user));
        source.cluster_trust_bundle.iter_mut().for_each(|it| see(&mut it.user));
        source.pod_certificate.iter_mut().for_each(|it| see(&mut it.user));
    }
}
